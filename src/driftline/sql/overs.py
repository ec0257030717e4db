"""Window functions: ROW_NUMBER, RANK and DENSE_RANK OVER (PARTITION BY … ORDER BY …).

Each becomes a Rank before the projection, and a column in the expression it was written in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import conjuncts, together
from driftline.plan.expressions import Cast, Column, Expression, Literal
from driftline.plan.functions import AGGREGATES
from driftline.plan.types import INT, Field, Schema
from driftline.sql.errors import refuse
from driftline.sql.order import order_item
from driftline.sql.scope import walked

RANKS: dict[str, nodes.RankMethod] = {
    "row_number": "row_number",
    "rank": "rank",
    "dense_rank": "dense_rank",
}
NEIGHBOURS = ("lag", "lead", "first_value", "last_value", "nth_value")
PREFIX = "$over"

Resolve = Callable[[exp.Expr], Expression]


@dataclass(frozen=True)
class Over:
    """A window function of a query: the name of its column, and how it was written."""

    name: str
    node: exp.Window

    @property
    def field(self) -> Field:
        return Field(self.name, INT)

    def applied(self, plan: nodes.Node, resolve: Resolve) -> nodes.Node:
        """The plan with the column; `resolve` reads expressions over its rows."""
        method = RANKS[_function(self.node)]
        order = self.node.args.get("order")
        if order is None:
            raise refuse(f"{method} needs an order: OVER (… ORDER BY …)", self.node)
        items = tuple(order_item(each, resolve(each.this)) for each in order.expressions)
        parts = tuple(resolve(each) for each in self.node.args.get("partition_by") or ())
        return nodes.Rank(plan, parts, items, method, self.name)


class Overs:
    """The window functions of one SELECT, each once."""

    def __init__(self, schema: Schema, named: Mapping[str, exp.Window]) -> None:
        self.schema = schema
        self.named = named
        self.found: list[Over] = []

    @property
    def fields(self) -> Schema:
        return Schema(tuple(each.field for each in self.found))

    def taken_out(self, node: exp.Expr, alias: str | None = None) -> exp.Expr:
        """The expression with a column in the place of every window function in it."""
        if not any(isinstance(part, exp.Window) for part in walked(node)):
            return node
        copy = node.copy()
        for part in [each for each in walked(copy) if isinstance(each, exp.Window)]:
            window = self._complete(part)
            _check(window)
            whole = part is copy
            column = exp.column(
                exp.to_identifier(self._name(window, alias if whole else None), quoted=True)
            )
            column.this.meta.update(window.this.meta)
            if whole:
                return column
            part.replace(column)
        return copy

    def _complete(self, window: exp.Window) -> exp.Window:
        """OVER name, with what WINDOW name AS (…) says."""
        name = window.args.get("alias")
        if name is None:
            return window
        base = self.named.get(name.name.lower())
        if base is None:
            raise refuse(f"there is no WINDOW {name.name}", window)
        whole = base.copy()
        whole.set("this", window.this.copy())
        whole.set("alias", None)
        return whole

    def _name(self, window: exp.Window, alias: str | None) -> str:
        for over in self.found:
            if over.node == window:
                return over.name
        name = alias if alias and not self.schema.find(alias) else f"{PREFIX}{len(self.found)}"
        if any(over.name.lower() == name.lower() for over in self.found):
            name = f"{PREFIX}{len(self.found)}"
        self.found.append(Over(name, window))
        return name


def _function(window: exp.Window) -> str:
    inner = window.this
    return str(inner.this).lower() if isinstance(inner, exp.Anonymous) else ""


def _check(window: exp.Window) -> None:
    name = _function(window)
    if name in RANKS:
        if window.this.expressions:
            raise refuse(f"{name}() takes no arguments", window)
        if window.args.get("spec") is not None:
            raise refuse(f"{name} takes no ROWS or RANGE", window)
        return
    if name in NEIGHBOURS:
        raise refuse(f"{name.upper()} OVER (…) is not supported yet", window)
    if name in AGGREGATES or not name:
        raise refuse(
            "an aggregate OVER (…) is not supported yet: a window in brackets and GROUP BY may do",
            window,
        )
    raise refuse(f"{name} OVER (…) is not supported: there are {', '.join(RANKS)}", window)


def limited(plan: nodes.Node, predicate: Expression | None) -> nodes.Node:
    """The rows that fulfil a predicate; `rn <= k` over a rank becomes its limit."""
    if predicate is None:
        return plan
    parts = conjuncts(predicate)
    for part in parts:
        bound = _upper_bound(part)
        if bound is None:
            continue
        ranked = _with_limit(plan, *bound)
        if ranked is not None:
            rest = together([each for each in parts if each is not part])
            return ranked if rest is None else limited(ranked, rest)
    return nodes.Select(plan, predicate)


def _upper_bound(part: Expression) -> tuple[str, int] | None:
    """(column, k) of a condition that says column <= k, or column = 1."""
    function, args = getattr(part, "function", ""), part.children
    flipped = {"greater": "less", "greater_equal": "less_equal", "equal": "equal"}
    if len(args) != 2:  # noqa: PLR2004 - two sides
        return None
    column, bound = args
    if isinstance(column, Literal):
        column, bound, function = bound, column, flipped.get(function, "")
    while isinstance(column, Cast):
        column = column.value
    if not isinstance(column, Column) or not isinstance(bound, Literal):
        return None
    if not isinstance(bound.value, int) or isinstance(bound.value, bool):
        return None
    limit = {"less": bound.value - 1, "less_equal": bound.value}.get(function)
    if function == "equal" and bound.value == 1:
        limit = 1
    return None if limit is None or limit < 1 else (column.name, limit)


def _with_limit(plan: nodes.Node, column: str, limit: int) -> nodes.Node | None:
    """The plan with a limit on the rank that is this column; None if it is none."""
    if isinstance(plan, nodes.Alias):
        inner = _with_limit(plan.input, column, limit)
        return None if inner is None else replace(plan, input=inner)
    if isinstance(plan, nodes.Project):
        for each in plan.columns:
            if each.name == column and isinstance(each.value, Column):
                inner = _with_limit(plan.input, each.value.name, limit)
                return None if inner is None else replace(plan, input=inner)
        return None
    if isinstance(plan, nodes.Rank) and plan.name == column:
        least = limit if plan.limit is None else min(limit, plan.limit)
        return replace(plan, limit=least)
    return None
