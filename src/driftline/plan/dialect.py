"""Spark SQL as Driftline reads it: sqlglot's Spark dialect, made to mean what Spark means.

Where sqlglot's own dialect rewrites or regroups what was written, this one does not:
- A function call stays a call of that name (`exp.Anonymous`): which function it is, and with
  which types, is decided by `driftline.plan.resolver` alone.
- Operators bind as in Spark's grammar: `||` like `+`; then shifts, `&`, `^`, `|`; then all
  comparisons, equality included; then IN, LIKE, BETWEEN and IS, which take the whole comparison
  before them (`a = b IS NULL` asks whether `a = b` is null).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp, parse_one
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokenizer_core import Token, TokenType

from driftline.plan.depth import room
from driftline.plan.errors import ExpressionError

DEEPEST = 200
"""How many brackets, CASEs and signs may be inside one another."""
CALLS = 50 * DEEPEST
"""Python's calls, at most, to read what is inside one another."""
_OPENS = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE)
_CLOSES = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END)
_SIGNS = (TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE)
_COMPARISONS: dict[TokenType, type[exp.Binary]] = {
    TokenType.EQ: exp.EQ,
    TokenType.NEQ: exp.NEQ,
    TokenType.NULLSAFE_EQ: exp.NullSafeEQ,
    TokenType.LT: exp.LT,
    TokenType.LTE: exp.LTE,
    TokenType.GT: exp.GT,
    TokenType.GTE: exp.GTE,
}
# Functions whose arguments have a syntax of their own; all others are plain calls.
_OWN_SYNTAX = {"CAST", "TRY_CAST", "EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION", "OVERLAY"}
_TERMINAL_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_NOT_CLOSED = re.compile(r"Missing (\S+) from \d+:(\d+)")
_TEXTS = r"'(?:\\.|''|[^'\\])*'|\"(?:\\.|\"\"|[^\"\\])*\"|`[^`]*`|--[^\n]*|/\*.*?\*/"
_HEX = re.compile(rf"\bx'([^']*)'|{_TEXTS}", re.IGNORECASE | re.DOTALL)
_NESTING = re.compile(
    rf"(?P<open>[(\[]|\bCASE\b|\b(?:ARRAY|MAP|STRUCT)<)|(?P<close>[)\]]|\bEND\b)|{_TEXTS}",
    re.IGNORECASE | re.DOTALL,
)
_PLAINER = {
    "Invalid expression / Unexpected token": "this is not expected here",
    "Expecting )": "a ) is missing",
    "Expecting (": "a ( is missing",
}


_OF_MATCHES = ("RUNNING", "FINAL")
"""Before a function over the rows of a match: up to the current row, or all."""


class OfMatch(exp.Expression):
    """`RUNNING f(…)` or `FINAL f(…)`."""

    arg_types: ClassVar[dict[str, Any]] = {"this": True, "final": False}


class InOrder(exp.Expression):
    """The last fields of an array of structs in the order of the others, which has directions; no
    text means it."""

    arg_types: ClassVar[dict[str, Any]] = {"this": True, "directions": True}


class DriftlineSpark(Spark):
    """The dialect; `sqlglot.parse(text, dialect=DriftlineSpark)`."""

    class Parser(SparkParser):
        """Reads operators by Spark's precedence and leaves function calls as they are."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parse
            for name, parse in SparkParser.FUNCTION_PARSERS.items()
            if name in _OWN_SYNTAX
        }
        NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parse
            for name, parse in SparkParser.NO_PAREN_FUNCTION_PARSERS.items()
            if name != "TRANSFORM"  # with USING, a script; here it is a function
        }
        # v:a.b[0] is what a path leads to in a VARIANT.
        COLON_IS_VARIANT_EXTRACT: ClassVar[bool] = True
        # So that array(…)[0] is an item of an array.
        ARRAY_CONSTRUCTORS: ClassVar[dict[str, Any]] = {}
        TERM: ClassVar[dict[TokenType, type[exp.Binary]]] = {
            **SparkParser.TERM,
            TokenType.DPIPE: exp.DPipe,
        }

        def _parse(self, parse_method: Any, raw_tokens: Any, sql: str | None = None) -> Any:
            _check_tokens(raw_tokens)
            with room(CALLS):
                return super()._parse(parse_method, raw_tokens, sql)

        def _parse_types(self, *args: Any, **options: Any) -> exp.Expr | None:
            # array(NULL) is a call, though ARRAY and NULL are also names of types.
            ahead = self._next.token_type if self._next else None
            if options.get("check_func") and ahead == TokenType.L_PAREN:
                return None
            return super()._parse_types(*args, **options)

        def _parse_unary(self) -> exp.Expr | None:
            ahead = self._tokens[self._index + 1 : self._index + 3]
            if self._is_bytes():
                start, text = self._curr, self._next.text
                self._advance(2)
                return self._parse_column_ops(exp.HexString(this=text).update_positions(start))
            is_call = (
                bool(self._curr)
                and self._curr.text.upper() in _OF_MATCHES
                and len(ahead) > 1
                and ahead[1].token_type == TokenType.L_PAREN
                and ahead[0].token_type in (TokenType.VAR, TokenType.FIRST)
            )
            if not is_call:
                return super()._parse_unary()
            start = self._curr
            self._advance()
            call = self._parse_function()
            made = OfMatch(this=call, final=start.text.upper() == "FINAL").update_positions(start)
            return self._parse_column_ops(made)

        def _is_bytes(self) -> bool:
            """Whether X 'F0' comes next: bytes, with a space before their digits."""
            return (
                bool(self._curr and self._next)
                and self._curr.token_type == TokenType.VAR
                and self._curr.text.upper() == "X"
                and self._next.token_type == TokenType.STRING
            )

        def _parse_equality(self, parse_is: bool = True) -> exp.Expr | None:
            return self._parse_range(parse_is=True)

        def _parse_comparison(self, this: exp.Expr | None = None) -> exp.Expr | None:
            return self._parse_range(this, parse_is=True)

        def _parse_range(
            self, this: exp.Expr | None = None, parse_is: bool = False
        ) -> exp.Expr | None:
            operand = this or self._parse_comparisons()
            return super()._parse_range(operand, parse_is=True)

        def _parse_comparisons(self) -> exp.Expr | None:
            return self._left_to_right(_COMPARISONS, self._parse_bitwise)

        def _parse_bitwise(self) -> exp.Expr | None:
            return self._left_to_right({TokenType.PIPE: exp.BitwiseOr}, self._parse_xor)

        def _parse_xor(self) -> exp.Expr | None:
            return self._left_to_right({TokenType.CARET: exp.BitwiseXor}, self._parse_and)

        def _parse_and(self) -> exp.Expr | None:
            return self._left_to_right({TokenType.AMP: exp.BitwiseAnd}, self._parse_shift)

        def _parse_shift(self) -> exp.Expr | None:
            this = self._parse_term()
            while True:
                if self._match_pair(TokenType.LT, TokenType.LT):
                    kind: type[exp.Binary] = exp.BitwiseLeftShift
                elif self._match_pair(TokenType.GT, TokenType.GT):
                    if self._match(TokenType.GT):
                        both = [this, self._parse_term()]
                        this = exp.Anonymous(this="shiftrightunsigned", expressions=both)
                        continue
                    kind = exp.BitwiseRightShift
                else:
                    return this
                this = self.expression(kind(this=this, expression=self._parse_term()))

        def _parse_csv(self, parse_method: Any, sep: TokenType = TokenType.COMMA) -> list[Any]:
            def parsed() -> Any:
                item = parse_method()
                if item is None and (self._prev and self._prev.token_type == sep):
                    self.raise_error("a value is expected after this", self._prev)
                if item is None and self._curr and self._curr.token_type == sep:
                    self.raise_error("a value is expected before this")
                return item

            return super()._parse_csv(parsed, sep)

        def _left_to_right(
            self,
            operators: dict[TokenType, type[exp.Binary]],
            parse_operand: Callable[[], exp.Expr | None],
        ) -> exp.Expr | None:
            this = parse_operand()
            while self._match_set(operators):
                kind = operators[self._prev.token_type]
                this = self.expression(kind(this=this, expression=parse_operand()))
            return this

    class Tokenizer(Spark.Tokenizer):
        """A doubled quote in a text is that quote; EXPLAIN is an ordinary word."""

        STRING_ESCAPES: ClassVar[list[str]] = ["\\", "'", '"']
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind for word, kind in Spark.Tokenizer.KEYWORDS.items() if word != "EXPLAIN"
        }


def _check_tokens(tokens: list[Token]) -> None:
    """An error at the bracket, CASE or sign that is inside too many others, and at 0x1F, which is
    no number in Spark."""
    depth = signs = 0
    for token in tokens:
        kind = token.token_type
        signs = signs + 1 if kind in _SIGNS else 0
        if kind in _OPENS:
            depth += 1
        elif kind in _CLOSES and depth > 0:
            depth -= 1
        if kind == TokenType.HEX_STRING and token.end - token.start + 1 == len(token.text) + 2:
            raise ExpressionError(
                "0x… is not a number in Spark SQL: write one with the digits 0 to 9, bytes as X'…'",
                token.line,
                token.col - (token.end - token.start),
            )
        if depth + max(signs - 1, 0) > DEEPEST:  # one may stand between two operands
            column = token.col - (token.end - token.start)
            raise ExpressionError(
                f"this is nested more than {DEEPEST} deep: take parts out, into columns of a "
                "subquery or into views",
                token.line,
                column,
            )


def parse_sql(text: str, into: type[exp.Expr] | None = None) -> exp.Expr:
    """The syntax tree of one expression, or of another part of a query, `into`.

    >>> parse_sql("a = b IS NULL").sql("spark")
    '(a = b) IS NULL'
    """
    if not isinstance(text, str):
        raise ExpressionError(f"an expression is written as text, 'price * qty', not {text!r}")
    try:
        dialect = DriftlineSpark()
        trees = dialect.parse(text) if into is None else dialect.parse_into(into, text)
    except ParseError as error:
        raise readable(error) from None
    except TokenError as error:
        raise unreadable(error, text) from None
    tree = trees[0] if len(trees) == 1 else None
    if tree is None:
        raise ExpressionError(
            "an expression is expected, and there is " + ("a ';'" if trees[1:] else "none")
        )
    return tree


def parse_data_type(text: str) -> exp.Expr:
    """The syntax tree of a type name."""
    try:
        # DataType.build leaves out what it does not understand.
        return parse_one(text, dialect=DriftlineSpark, into=exp.DataType)
    except (ParseError, TokenError):
        raise ExpressionError(f"{text!r} is not the name of a type") from None


def readable(error: ParseError) -> ExpressionError:
    """The parser's message in one line, with the place where the wrong word starts."""
    if not error.errors:
        return ExpressionError(_TERMINAL_STYLE.sub("", str(error)))
    first = error.errors[0]
    near = first["highlight"] or ""
    column = (first["col"] or 1) - max(len(near) - 1, 0)
    what = (first["description"] or "this is not an expression").rstrip(".")
    what = "something is missing here" if "missing for <class" in what else what.split(" <")[0]
    what = _PLAINER.get(what, what)
    message = f"syntax error near {near.strip()!r}: {what}" if near else f"syntax error: {what}"
    return ExpressionError(message, first["line"], max(column, 1))


def unreadable(error: TokenError, text: str) -> ExpressionError:
    """What stops the tokenizer: in nearly all cases a quote that is not closed."""
    for hexadecimal in _HEX.finditer(text):
        if re.search("[^0-9a-fA-F]", hexadecimal[1] or ""):
            return ExpressionError(
                f"{hexadecimal[0]} is not binary: X'…' takes the digits 0 to 9 and A to F",
                *_place(text, hexadecimal.start()),
            )
    found = _NOT_CLOSED.search(str(error.__cause__ or error))
    if found is None and "/*" in text and text.rfind("/*") > text.rfind("*/"):
        found = _NOT_CLOSED.match(f"Missing /* from 1:{text.rfind('/*')}")
    if found is None:
        what = " ".join(_TERMINAL_STYLE.sub("", str(error)).split())
        what = what.replace("Error tokenizing", "cannot read")
        return ExpressionError(f"{what}: is a quote or a comment not closed?")
    return ExpressionError(
        f"a {found[1]} is opened here and not closed", *_place(text, int(found[2]))
    )


def deepest(text: str) -> tuple[int, int]:
    """Line and column of the bracket that the most others are around.

    >>> deepest("f(x,\\n ((y)))")
    (2, 3)
    """
    depth, most, start = 0, 0, 0
    for each in _NESTING.finditer(text):
        depth += bool(each["open"]) - bool(each["close"])
        if depth > most:
            most, start = depth, each.start()
    return _place(text, start)


def _place(text: str, start: int) -> tuple[int, int]:
    """Line and column, from 1, of a character."""
    before = text[:start]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
