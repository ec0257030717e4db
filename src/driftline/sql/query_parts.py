"""Parts of queries and conditions: what AND joins, aggregates, queries without brackets or CTEs."""

from __future__ import annotations

from sqlglot import exp

from driftline.plan.functions import AGGREGATES
from driftline.plan.used import uses
from driftline.sql.scope import walked

_AROUND_AGGREGATES = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


def unwrapped(query: exp.Expr) -> exp.Expr:
    """A query without redundant brackets around it."""
    while isinstance(query, exp.Subquery) and not any(
        value for key, value in query.args.items() if key != "this"
    ):
        uses(query, "this")
        query = query.this
    return query


def inlined(query: exp.Expr) -> exp.Expr | None:
    """A copy of a query in which its CTEs are subqueries; None if one of them is recursive."""
    copy = query.copy()
    for part in reversed(list(copy.find_all(exp.Query))):  # inner names hide outer ones
        ctes = part.args.get("with_")
        if ctes is None:
            continue
        if ctes.args.get("recursive"):
            return None
        uses(ctes, "expressions")
        part.set("with_", None)
        for place, cte in enumerate(ctes.expressions):
            uses(cte, "this", "alias")
            uses(cte.args["alias"], "this", "columns")
            for below in (*(each.this for each in ctes.expressions[place + 1 :]), part):
                _inline(cte, below)
    return copy


def _inline(cte: exp.CTE, query: exp.Expr) -> None:
    for table in list(query.find_all(exp.Table)):
        if table.name.lower() != cte.alias.lower() or table.args.get("db") is not None:
            continue
        uses(table, "this", "alias", "joins", "pivots")
        rows: exp.Expr = exp.Subquery(this=cte.this.copy())
        columns = cte.args["alias"].args.get("columns")
        if columns:
            rows.set("alias", cte.args["alias"].copy())
            rows = exp.Subquery(this=exp.select("*").from_(rows, copy=False))
        name = exp.TableAlias(this=table.this.copy())
        rows.set("alias", table.args.get("alias") or name)
        for key in ("joins", "pivots"):
            rows.set(key, table.args.get(key))
        table.replace(rows)


def conjuncts_of(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND joins."""
    inner = node
    while isinstance(inner, exp.Paren):
        uses(inner, "this")
        inner = inner.this
    if isinstance(inner, exp.And):
        uses(inner, "this", "expression")
        return [*conjuncts_of(inner.this), *conjuncts_of(inner.expression)]
    return [inner]


def has_subquery(node: exp.Expr) -> bool:
    """Whether there is a query in it."""
    return any(isinstance(part, (exp.Query, exp.Exists)) for part in walked(node))


def is_aggregate(node: exp.Expr) -> bool:
    """Whether there is an aggregate in it, other than one OVER (…)."""
    windows: set[int] = set()
    for part in walked(node):
        if isinstance(part, exp.Window):
            function = part.this
            while isinstance(function, _AROUND_AGGREGATES):
                windows.add(id(function))
                function = function.this
            windows.add(id(function))
        elif id(part) in windows:
            continue
        elif isinstance(part, exp.Anonymous):
            if str(part.this).lower() in AGGREGATES:
                return True
        elif isinstance(part, exp.Any) and not isinstance(part.parent, (exp.Like, exp.ILike)):
            return True
    return False


def aggregates_in(node: exp.Expr) -> list[exp.Expr]:
    """The aggregates in an expression, each with its FILTER and its order, but none OVER (…)."""
    found = []
    for part in walked(node):
        if not isinstance(part, exp.Anonymous) or str(part.this).lower() not in AGGREGATES:
            continue
        whole: exp.Expr = part
        while isinstance(whole.parent, _AROUND_AGGREGATES) and whole.parent.this is whole:
            whole = whole.parent
        if not isinstance(whole.parent, exp.Window):
            found.append(whole)
    return found
