"""The grammar of pipes: FROM t |> WHERE … |> AGGREGATE … GROUP BY … |> ORDER BY … |> LIMIT ….

Each operator is a SELECT over the query before it, or a clause of that where the meaning is the
same, so that the names of its tables stay known.

WHERE c                         SELECT * FROM q WHERE c
SELECT a, EXTEND a              SELECT a FROM q,  SELECT *, a FROM q
SET x = e, DROP x               SELECT * REPLACE (e AS x) FROM q,  SELECT * EXCEPT (x) FROM q
AGGREGATE f(x) GROUP BY k       SELECT k, f(x) FROM q GROUP BY k
AS name                         q AS name
JOIN t ON c                     q JOIN t ON c
UNION ALL (r), ORDER BY, LIMIT, PIVOT, UNPIVOT   as they are
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from driftline.plan.functions import AGGREGATES

_OPERATORS = (
    "WHERE, SELECT, EXTEND, SET, DROP, AGGREGATE, AS, JOIN, UNION, INTERSECT, EXCEPT, ORDER BY, "
    "LIMIT, OFFSET, PIVOT and UNPIVOT"
)
_TABLES = {"expressions", "from_", "joins", "laterals"}
"""What a SELECT has that only names tables."""
_SET_WORDS = ("UNION", "INTERSECT", "EXCEPT", "MINUS")


def piped(parser: Any, query: exp.Expr) -> exp.Expr:
    """A query with the operators after it, at the first of which a parser stands."""
    while parser._match(TokenType.PIPE_GT):
        start = parser._curr
        if not start:
            parser.refuse(f"an operator is expected after |>: {_OPERATORS}", parser._prev)
        query = _operator(parser, query)
        if isinstance(query, exp.Select) and "line" not in query.meta:
            query.update_positions(start)
    return query


def _operator(parser: Any, query: exp.Expr) -> exp.Expr:
    word = parser._curr.text.upper()
    if word in _CLAUSES:
        parser._advance()
        return _CLAUSES[word](parser, query)
    if word in ("ORDER", "ORDER BY", "LIMIT", "OFFSET"):
        return _in_order(parser, query)
    if word == "TABLESAMPLE":
        parser.refuse("a sample would be other rows each time: leave TABLESAMPLE out")
    if word in ("PIVOT", "UNPIVOT"):
        table = _table(query)
        table.set("pivots", parser._parse_pivots())
        return all_of(table)
    if word in _SET_WORDS:
        joined = parser._parse_set_operations(query)
        if joined is not query:
            return joined  # type: ignore[no-any-return]
    rows = _rows_of(query, {"joins"})
    join = parser._parse_join()
    if join is None:
        parser.refuse(f"after |> there are {_OPERATORS}")
    rows.append("joins", join)
    return rows


def _where(parser: Any, query: exp.Expr) -> exp.Expr:
    condition = _needed(parser, parser._parse_disjunction(), "WHERE")
    rows = _rows_of(query)
    rows.set("where", exp.Where(this=condition))
    return rows


def _select(parser: Any, query: exp.Expr) -> exp.Expr:
    rows = _rows_of(query, {"where"})
    rows.set("hint", parser._parse_hint())
    if parser._match(TokenType.DISTINCT):
        rows.set("distinct", exp.Distinct())
    else:
        parser._match(TokenType.ALL)
    rows.set("expressions", _listed(parser, "SELECT"))
    if parser._match(TokenType.WINDOW, advance=False):
        key, windows = parser.QUERY_MODIFIER_PARSERS[TokenType.WINDOW](parser)
        rows.set(key, windows)
    return rows


def _extend(parser: Any, query: exp.Expr) -> exp.Expr:
    rows = _rows_of(query, {"where"})
    rows.set("expressions", [exp.Star(), *_listed(parser, "EXTEND")])
    return rows


def _set(parser: Any, query: exp.Expr) -> exp.Expr:
    """Each assignment sees the ones before it."""
    while True:
        name = _needed(parser, parser._parse_id_var(), "SET")
        parser._match(TokenType.EQ) or parser.refuse(f"{name.name} needs a value: SET x = …")
        value = _needed(parser, parser._parse_disjunction(), "=")
        replaced = exp.Star(replace=[exp.Alias(this=value, alias=name)])
        rows = _rows_of(query, {"where"})
        rows.set("expressions", [replaced])
        query = rows
        if not parser._match(TokenType.COMMA):
            return query


def _drop(parser: Any, query: exp.Expr) -> exp.Expr:
    names = parser._parse_csv(parser._parse_id_var)
    if not names:
        parser.refuse("a column is expected after DROP")
    rows = _rows_of(query, {"where"})
    rows.set("expressions", [exp.Star(except_=names)])
    return rows


def _as(parser: Any, query: exp.Expr) -> exp.Expr:
    name = _needed(parser, parser._parse_id_var(), "AS")
    return all_of(_table(query, exp.TableAlias(this=name)))


def _aggregate(parser: Any, query: exp.Expr) -> exp.Expr:
    rows = _rows_of(query, {"where"})
    at_keys = parser._match(TokenType.GROUP_BY, advance=False)
    values = [] if at_keys else _listed(parser, "AGGREGATE")
    keys = _listed(parser, "GROUP BY") if parser._match(TokenType.GROUP_BY) else []
    if not keys and not all(map(_aggregates, values)):
        parser.refuse("AGGREGATE without GROUP BY takes aggregates", parser._prev)
    if keys:
        group = exp.Group(expressions=[each.unalias().copy() for each in keys])
        rows.set("group", group)
    rows.set("expressions", [*keys, *values])
    return rows


def _in_order(parser: Any, query: exp.Expr) -> exp.Expr:
    """ORDER BY, LIMIT and OFFSET: of one query, as long as none comes twice or out of turn."""
    order, limit, offset = parser._parse_order(), parser._parse_limit(), parser._parse_offset()
    ends = {"limit", "offset"} if order is None else {"order", "limit", "offset"}
    if any(query.args.get(each) for each in ends):
        query = all_of(_table(query))
    for key, part in (("order", order), ("limit", limit), ("offset", offset)):
        if part is not None:
            query.set(key, part)
    return query


_CLAUSES: dict[str, Callable[[Any, exp.Expr], exp.Expr]] = {
    "WHERE": _where,
    "SELECT": _select,
    "EXTEND": _extend,
    "SET": _set,
    "DROP": _drop,
    "AS": _as,
    "AGGREGATE": _aggregate,
}


def _listed(parser: Any, word: str) -> list[exp.Expr]:
    start = parser._curr
    found: list[exp.Expr] = parser._parse_expressions()
    if not found:
        parser.refuse(f"an expression is expected after {word}")
    if word == "GROUP BY" and any(isinstance(each, exp.Literal) for each in found):
        parser.refuse("after AGGREGATE keys are expressions, and no places", start)
    if word == "EXTEND" and any(map(_aggregates, found)):
        parser.refuse(f"{word} takes no aggregate: write |> AGGREGATE", start)
    return found


def _aggregates(node: exp.Expr) -> bool:
    """Whether an aggregate is in an expression, not counting window functions and subqueries."""
    parts = node.walk(prune=lambda each: isinstance(each, (exp.Window, exp.Query)))
    return any(
        isinstance(part, exp.Anonymous) and str(part.this).lower() in AGGREGATES for part in parts
    )


def _needed(parser: Any, part: Any, word: str) -> exp.Expr:
    if part is None:
        parser.refuse(f"something is missing after {word}", parser._prev)
    assert isinstance(part, exp.Expr)
    return part


def _rows_of(query: exp.Expr, more: frozenset[str] | set[str] = frozenset()) -> exp.Select:
    """A SELECT * of the rows of a query: itself, if it has no other clauses than these."""
    used = {name for name, value in query.args.items() if value}
    if (
        isinstance(query, exp.Select)
        and used <= _TABLES | more
        and len(query.expressions) == 1
        and isinstance(query.expressions[0], exp.Star)
        and not any(query.expressions[0].args.values())
    ):
        return query
    return all_of(_table(query))


def _table(query: exp.Expr, alias: exp.TableAlias | None = None) -> exp.Subquery:
    if isinstance(query, exp.Subquery) and not query.args.get("alias") and alias is None:
        return query
    return exp.Subquery(this=query, alias=alias)


def all_of(table: exp.Expr) -> exp.Select:
    """SELECT * FROM a table."""
    return exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))
