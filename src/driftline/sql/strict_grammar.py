"""The grammar of queries without what sqlglot passes over.

Where sqlglot drops a word that it cannot use, or takes a half-written clause for a whole one, this
parser refuses it, with its place. It also keeps places and texts that sqlglot does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from driftline.plan.dialect import DriftlineSpark
from driftline.plan.errors import ExpressionError
from driftline.plan.used import place_of
from driftline.sql.json_grammar import JSON_FUNCTIONS, part
from driftline.sql.name_grammar import with_names
from driftline.sql.pipe_grammar import all_of, piped

TEXT = "text"
"""In the meta of an item of a select list: how it was written."""
_UNFINISHED = frozenset(
    [TokenType.COLLATE, TokenType.DEFAULT, TokenType.FORMAT, TokenType.ALIAS, TokenType.COMMA]
)
"""Tokens that cannot stand before a closing bracket."""


_SET_OPERATIONS = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
_AFTER_COMMA = "after comma"
"""In the meta of a join: that it is written as a comma."""
_TYPES = {"FLOAT64": TokenType.DOUBLE, "BYTES": TokenType.BINARY}
"""Types as BigQuery names them."""


def start_column(token: Token) -> int:
    """The column, from 1, where a token starts; sqlglot keeps where it ends."""
    return max(1, token.col - (token.end - token.start))


def _with_place(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A clause of a query with the place where it begins."""

    def parsed(parser: Any) -> Any:
        start = parser._curr
        key, clause = parse(parser)
        if isinstance(clause, exp.Expr) and "line" not in clause.meta:
            clause.update_positions(start)
        if key == "limit" and clause is not None and clause.expressions:
            key = "limit_by"  # which may stand beside a LIMIT of the whole
        return key, clause

    return parsed


def _join_applied(join: exp.Join) -> None:
    """CROSS APPLY and OUTER APPLY, as CROSS JOIN LATERAL and LEFT JOIN LATERAL."""
    crosses = join.this.args.pop("cross_apply", None)
    if crosses is not None and not crosses:
        join.set("side", "LEFT")


def _bound_together(joins: list[exp.Join]) -> list[exp.Join]:
    """JOIN binds tighter than a comma: `a, b RIGHT JOIN c` is a beside (b RIGHT JOIN c). Brackets
    say so where the rows or their columns would be others without them."""
    groups: list[list[exp.Join]] = [[]]
    for join in joins:
        if join.meta.get(_AFTER_COMMA):
            groups.append([])
        groups[-1].append(join)
    made, *others = groups
    for group in others:
        comma, *inner = group
        if any(each.side in ("RIGHT", "FULL") or _goes_by_names(each) for each in inner):
            table = comma.this
            table.set("joins", [*(table.args.get("joins") or ()), *inner])
            comma.set("this", exp.Subquery(this=table))
            del group[1:]
        made += group
    return made


def _goes_by_names(join: exp.Join) -> bool:
    return join.method == "NATURAL" or bool(join.args.get("using"))


class StrictParser(DriftlineSpark.Parser):
    """Reads queries; what it refuses has a place."""

    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Callable[[Any], Any]]] = {
        token: _with_place(parse)
        for token, parse in DriftlineSpark.Parser.QUERY_MODIFIER_PARSERS.items()
    }

    FUNCTION_PARSERS: ClassVar[dict[str, Callable[[Any], Any]]] = {
        **DriftlineSpark.Parser.FUNCTION_PARSERS,
        **JSON_FUNCTIONS,
        "SAFE_CAST": DriftlineSpark.Parser.FUNCTION_PARSERS["TRY_CAST"],
        "FLOOR": lambda self: self._parse_floor(),
        "CEIL": lambda self: self._parse_floor(),
        "CEILING": lambda self: self._parse_floor(),
    }
    RANGE_PARSERS: ClassVar[dict[TokenType, Callable[[Any, Any], Any]]] = {
        **DriftlineSpark.Parser.RANGE_PARSERS,
        TokenType.TILDE: lambda self, this: exp.Anonymous(  # as Postgres writes rlike
            this="rlike", expressions=[this, self._parse_bitwise()]
        ),
        TokenType.IRLIKE: lambda self, this: exp.Anonymous(
            this="rlike",
            expressions=[
                this,
                exp.Anonymous(
                    this="concat",
                    expressions=[exp.Literal.string("(?i)"), self._parse_bitwise()],
                ),
            ],
        ),
    }
    COLUMN_OPERATORS: ClassVar[dict[TokenType, Any]] = {
        **DriftlineSpark.Parser.COLUMN_OPERATORS,
        TokenType.ARROW: part(exp.JSONExtract),
        TokenType.DARROW: part(exp.JSONExtractScalar),
    }
    SUPPORTS_TABLE_QUERY: ClassVar[bool] = True

    def _is_table_query(self) -> bool:
        return bool(self._curr and self._next) and super()._is_table_query()

    def _parse(self, parse_method: Any, raw_tokens: Any, sql: str | None = None) -> Any:
        raw_tokens = with_names(raw_tokens)
        mutual = {
            id(token)  # every WITH RECURSIVE is mutual
            for token, after in pairwise(raw_tokens)
            if token.text.upper() == "MUTUALLY" and after.token_type == TokenType.RECURSIVE
        }
        raw_tokens = [token for token in raw_tokens if id(token) not in mutual]
        for before, token in pairwise(raw_tokens):
            if before.token_type == TokenType.GROUP_BY and token.token_type == TokenType.WINDOW:
                token.token_type = TokenType.VAR  # GROUP BY window(…), and no clause WINDOW
            if before.token_type == TokenType.VAR:
                before.token_type = _TYPES.get(before.text.upper(), TokenType.VAR)
            if before.text.upper() == "SESSION" and token.token_type == TokenType.L_PAREN:
                before.token_type = TokenType.VAR  # GROUP BY SESSION(…)
        for place, (before, token) in enumerate(pairwise(raw_tokens)):
            is_type = token.token_type == TokenType.LT and place + 3 < len(raw_tokens)
            is_type = is_type and raw_tokens[place + 3].token_type in self.TYPE_TOKENS
            if before.token_type == TokenType.ROW and is_type:
                before.token_type = TokenType.STRUCT  # ROW<name TYPE, …>
            if before.text.upper() == "LEFT" and token.token_type == TokenType.ASOF:
                raw_tokens[place : place + 2] = [token, before]  # LEFT ASOF JOIN
        return super()._parse(parse_method, raw_tokens, sql)

    def refuse(self, message: str, token: Token | None = None) -> NoReturn:
        """Raises an error with a place; unlike a ParseError, nothing tries another way."""
        place = token or self._curr or self._prev
        raise ExpressionError(message, place.line, start_column(place))

    def _at(self, kind: TokenType) -> bool:
        return bool(self._curr) and self._curr.token_type == kind

    def _expect(self, word: str) -> None:
        if not self._match_text_seq(word):
            self.refuse(f"{word} is expected here", self._curr or self._prev)

    # Places and texts that sqlglot does not keep

    def _parse_select(self, *args: Any, **options: Any) -> exp.Expr | None:
        start = self._curr
        query = super()._parse_select(*args, **options)
        if isinstance(query, exp.Select) and "line" not in query.meta:
            query.update_positions(start)
        if isinstance(query, exp.Values) and self._at(TokenType.PIPE_GT):
            query = self._parse_pipe_syntax_query(all_of(query))
        return query

    def _parse_expression(self) -> exp.Expr | None:
        start = self._curr
        node = super()._parse_expression()
        if node is not None and start and self._prev and self._prev.end >= start.start:
            node.meta[TEXT] = self._find_sql(start, self._prev)
            if place_of(node)[0] is None:
                node.update_positions(start)
        return node

    # What sqlglot passes over

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        start = self._curr
        made = super()._parse_alias(this, explicit)
        if made is this and self._curr is not start:
            self.raise_error("a name is expected after this", start)
        return made

    def _parse_join(self, *args: Any, **options: Any) -> exp.Join | None:
        comma = self._curr if self._at(TokenType.COMMA) else None
        join = super()._parse_join(*args, **options)
        if comma and join is None:
            self.refuse("a table is expected after the ,", comma)
        if comma and join is not None:
            join.meta[_AFTER_COMMA] = True
        if join is not None and isinstance(join.this, exp.Lateral):
            _join_applied(join)
        if join is not None and self._match_text_seq("MATCH_CONDITION"):
            join.set("match_condition", self._parse_wrapped(self._parse_comparison))
            if self._match(TokenType.ON):
                join.set("on", self._parse_disjunction())
            elif self._match(TokenType.USING):
                join.set("using", self._parse_using_identifiers())
        return join

    def _parse_joins(self, *args: Any, **options: Any) -> Iterator[exp.Join]:
        return iter(_bound_together(list(super()._parse_joins(*args, **options))))

    def _parse_ordered(self, *args: Any, **options: Any) -> exp.Ordered | None:
        start = self._index
        item = super()._parse_ordered(*args, **options)
        words = [token.text.upper() for token in self._tokens[start : self._index]]
        for pair in (["ASC", "DESC"], ["FIRST", "NULLS"]):
            if any(words[place : place + 2] == pair for place in range(len(words))):
                self.refuse("an item of ORDER BY has one direction", self._tokens[start])
        return item

    def _parse_partition_by(self) -> list[exp.Expr]:
        start = self._curr
        keys = super()._parse_partition_by()
        if not keys and self._curr is not start:
            self.refuse(f"{start.text} needs an expression", start)
        return keys

    def _parse_window_spec(self) -> dict[str, Any]:
        if self._at(TokenType.BETWEEN) and self._prev.text.upper() in ("BETWEEN", "AND"):
            self.refuse("BETWEEN is not expected here")
        return super()._parse_window_spec()

    def _parse_star_op(self, *keywords: str) -> list[exp.Expr] | None:
        start = self._curr
        found = super()._parse_star_op(*keywords)
        if not found and self._curr is not start:
            self.refuse(f"* {start.text} needs the names of columns: * EXCEPT (a, b)", start)
        return found

    def parse_set_operation(self, *args: Any, **options: Any) -> exp.SetOperation | None:
        method, before = self._curr, self._set_from
        self._set_from = self._index
        made = super().parse_set_operation(*args, **options)
        self._set_from = before
        if made is not None and method.token_type in self.JOIN_METHODS:
            self.refuse(f"{method.text} is not expected here", method)
        return made

    def _parse_floor(self) -> exp.Expr:
        """floor(x), and FLOOR(t TO HOUR), which is date_trunc('HOUR', t); CEIL(t TO HOUR) is the
        next one, if t is none."""
        name = self._tokens[self._index - 2].text
        args = self._parse_csv(self._parse_lambda)
        if len(args) == 1 and self._match_text_seq("TO"):
            unit = exp.Literal.string(self._curr.text if self._curr else "")
            self._advance()
            start = exp.Anonymous(this="date_trunc", expressions=[unit, *args])
            if name.upper() == "FLOOR":
                return start
            one = exp.Interval(this=exp.Literal.string("1"), unit=exp.var(unit.this.upper()))
            following = exp.Add(this=start.copy(), expression=one)
            same = exp.EQ(this=start, expression=args[0].copy())
            whole = exp.Case(ifs=[exp.If(this=same, true=args[0].copy())], default=following)
            return exp.paren(whole, copy=False)
        return exp.Anonymous(this=name, expressions=args)

    def _parse_unnest(self, with_alias: bool = True) -> exp.Unnest | None:
        start = self._index
        made = super()._parse_unnest(with_alias)
        words = (token.token_type for token in self._tokens[start : self._index])
        if made is not None and TokenType.ORDINALITY in words:
            made.set("ordinality", True)
        return made

    def _parse_derived_table_values(self, *args: Any, **options: Any) -> exp.Values | None:
        """(VALUES …) as a table; one that a UNION or the like follows is a query."""
        depth = 0
        for token in self._tokens[self._index :]:
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            if depth == 0:
                break
            if depth == 1 and token.token_type in _SET_OPERATIONS:
                return None
        return super()._parse_derived_table_values(*args, **options)

    def _parse_pivot_aggregation(self) -> exp.Expr | None:
        """An aggregate of PIVOT, also in an expression: avg(x) + 1 AS y."""
        return self._parse_alias(self._parse_bitwise())

    _set_from: int | None = None
    """Where the set operation begins whose right side is read: a |> after it is about both."""

    def _parse_pipe_syntax_query(self, query: Any) -> Any:
        if self._set_from is not None:
            kinds = [token.token_type for token in self._tokens[self._set_from : self._index]]
            if kinds.count(TokenType.L_PAREN) == kinds.count(TokenType.R_PAREN):
                return query
        return piped(self, query)

    def _parse_cast(self, *args: Any, **options: Any) -> exp.Expr:
        made = super()._parse_cast(*args, **options)
        if self._prev.token_type in _UNFINISHED:
            self.raise_error("something is missing after this", self._prev)
        return made

    def _parse_limit(self, *args: Any, **options: Any) -> exp.Expr | None:
        if self._match_pair(TokenType.LIMIT, TokenType.COMMA, advance=False):
            self.refuse("LIMIT needs a number", self._next)
        limit = super()._parse_limit(*args, **options)
        if isinstance(limit, exp.Limit) and self._at(TokenType.OFFSET):
            index = self._index
            offset = self._parse_offset()
            if offset is not None and offset.expressions:  # LIMIT n OFFSET m BY k
                limit.set("offset", offset.expression)
                limit.set("expressions", offset.expressions)
            else:
                self._retreat(index)
        return limit

    def _parse_projections(self) -> Any:
        if self._prev and self._prev.token_type == TokenType.ALIAS:
            self.refuse("AS stands after an expression", self._prev)
        found = super()._parse_projections()
        if self._prev and self._prev.token_type == TokenType.COMMA:
            self.refuse("a column is expected after the ,", self._prev)
        return found
