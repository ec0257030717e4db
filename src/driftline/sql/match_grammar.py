"""The grammar of MATCH_RECOGNIZE.

MATCH_RECOGNIZE (
    [PARTITION BY column, …]
    ORDER BY expression, …
    [MEASURES expression AS name, …]
    [ONE ROW PER MATCH
     | ALL ROWS PER MATCH [SHOW EMPTY MATCHES | OMIT EMPTY MATCHES | WITH UNMATCHED ROWS]]
    [AFTER MATCH SKIP PAST LAST ROW | TO NEXT ROW | TO [FIRST | LAST] variable]
    PATTERN (…) [WITHIN duration]
    [SUBSET name = (variable, …), …]
    [DEFINE variable AS condition, …]
) [[AS] name]
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from driftline.sql.syntax import MatchRecognize, Subset

WORD = "MATCH_RECOGNIZE"
_CLAUSES = (
    "PARTITION BY, ORDER BY, MEASURES, ONE ROW or ALL ROWS PER MATCH, AFTER MATCH SKIP, PATTERN, "
    "WITHIN, SUBSET, DEFINE"
)
_EMPTY_MATCHES = {
    ("SHOW", "EMPTY", "MATCHES"): "all",
    ("OMIT", "EMPTY", "MATCHES"): "omit empty",
    ("WITH", "UNMATCHED", "ROWS"): "with unmatched",
}
_AFTER_MEASURES = ("ONE", "ALL", "AFTER", "PATTERN")
_ENDS = {TokenType.R_PAREN: -1, TokenType.L_PAREN: 1}


def match_recognize(parser: Any) -> MatchRecognize:
    """The clause at which a parser stands, with the alias after it."""
    start = parser._curr
    parser._advance(2)
    made = MatchRecognize(
        partition=parser._parse_partition_by(),
        order=parser._parse_order(),
        measures=_measures(parser),
        rows=_rows(parser),
        **_skip(parser),
        **_pattern(parser),
        within=_within(parser),
        subsets=_subsets(parser),
        define=_define(parser),
    )
    if not parser._match(TokenType.R_PAREN):
        parser.refuse(f"{WORD} has these clauses, in this order: {_CLAUSES}")
    made.set("alias", parser._parse_table_alias())
    return made.update_positions(start)


def _measures(parser: Any) -> list[exp.Expr] | None:
    if not parser._match_text_seq("MEASURES"):
        return None

    def measure() -> exp.Expr | None:
        start = parser._curr
        found: exp.Expr | None = parser._parse_expression()
        unnamed = not isinstance(found, exp.Alias) or found.alias.upper() in _AFTER_MEASURES
        if found is not None and unnamed:
            parser.refuse("a measure needs a name: write … AS name", start)
        return found

    found: list[exp.Expr] = parser._parse_csv(measure)
    if not found:
        parser.refuse("MEASURES needs an expression with a name")
    return found


def _rows(parser: Any) -> str:
    if parser._match_text_seq("ONE"):
        _expect(parser, "ROW", "PER", "MATCH")
    elif parser._match_text_seq("ALL"):
        _expect(parser, "ROWS", "PER", "MATCH")
        for words, rows in _EMPTY_MATCHES.items():
            if parser._match_text_seq(*words):
                return rows
        return "all"
    return "one"


def _skip(parser: Any) -> dict[str, Any]:
    if not parser._match_text_seq("AFTER"):
        return {}
    _expect(parser, "MATCH", "SKIP")
    if parser._match_text_seq("PAST"):
        _expect(parser, "LAST", "ROW")
        return {"skip": "past last"}
    _expect(parser, "TO")
    if parser._match_text_seq("NEXT", "ROW"):
        return {"skip": "next"}
    ahead = parser._next
    skip = "last"  # TO variable is TO LAST variable
    if ahead and ahead.token_type != TokenType.R_PAREN and ahead.text.upper() != "PATTERN":
        skip = "first" if parser._match_text_seq("FIRST") else "last"
        if skip == "last":
            _expect(parser, "LAST")
    return {"skip": skip, "skip_to": _variable(parser, "AFTER MATCH SKIP TO")}


def _pattern(parser: Any) -> dict[str, Any]:
    if not parser._match_text_seq("PATTERN"):
        parser.refuse(f"PATTERN is expected here: {WORD} has, in this order, {_CLAUSES}")
    opened = parser._curr
    if not parser._match(TokenType.L_PAREN):
        parser.refuse("a ( is expected after PATTERN", opened or parser._prev)
    depth = 1
    while parser._curr and depth:
        depth += _ENDS.get(parser._curr.token_type, 0)
        parser._advance()
    closed: Token = parser._prev
    if depth:
        parser.refuse("the ( of PATTERN is not closed", opened)
    text = parser.sql[opened.end + 1 : closed.start]
    return {"pattern": text, "line": opened.line, "column": opened.col + 1}


def _within(parser: Any) -> exp.Expr | None:
    if not parser._match_text_seq("WITHIN"):
        return None
    found: exp.Expr = parser._duration(TokenType.R_PAREN, words=("SUBSET", "DEFINE"))
    return found


def _subsets(parser: Any) -> list[exp.Expr] | None:
    if not parser._match_text_seq("SUBSET"):
        return None

    def subset() -> exp.Expr:
        start = parser._curr
        name = _variable(parser, "SUBSET")
        if not parser._match(TokenType.EQ):
            parser.refuse("SUBSET is written SUBSET name = (variable, …)", start)
        if not parser._match(TokenType.L_PAREN):
            parser.refuse("SUBSET is written SUBSET name = (variable, …)", start)
        members = [_variable(parser, "SUBSET")]
        while parser._match(TokenType.COMMA):
            members.append(_variable(parser, "SUBSET"))
        if not parser._match(TokenType.R_PAREN):
            parser.refuse("a ) is missing after the variables of SUBSET")
        return Subset(this=name, expressions=members)

    found = [subset()]
    while parser._match(TokenType.COMMA):
        found.append(subset())
    return found


def _define(parser: Any) -> list[exp.Expr] | None:
    if not parser._match_text_seq("DEFINE"):
        return None

    def condition() -> exp.Expr:
        name = _variable(parser, "DEFINE")
        _expect(parser, "AS")
        value = parser._parse_disjunction()
        if value is None:
            parser.refuse(f"a condition of {name.name} is expected", parser._curr or parser._prev)
        return exp.Alias(this=value, alias=name)

    found = [condition()]
    while parser._match(TokenType.COMMA):
        found.append(condition())
    return found


def _variable(parser: Any, clause: str) -> exp.Expr:
    token = parser._curr
    name = parser._parse_id_var(any_token=True)
    if not isinstance(name, exp.Identifier):
        parser.refuse(f"{clause} needs the name of a variable", token or parser._prev)
    assert isinstance(name, exp.Identifier)
    return name


def _expect(parser: Any, *words: str) -> None:
    if not parser._match_text_seq(*words):
        parser.refuse(f"{' '.join(words)} is expected here", parser._curr or parser._prev)
