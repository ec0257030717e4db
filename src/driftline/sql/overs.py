"""Window functions of a SELECT: ranks, aggregates, LAG and LEAD … OVER (PARTITION BY … ORDER BY …).

A rank becomes a Rank before the projection, others an Over, one for all that have the same order of
the same partitions; each is a column in the expression it was written in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import conjuncts, together
from driftline.plan.dialect import parse_sql
from driftline.plan.errors import PlanError
from driftline.plan.expressions import AggregateCall, Cast, Column, Expression, Literal
from driftline.plan.functions.collections import in_key_order
from driftline.plan.naming import parse_aliased
from driftline.plan.nodes import Over as OverNode
from driftline.plan.nodes import OverColumn
from driftline.plan.resolver import resolve
from driftline.plan.types import INT, Field, Schema
from driftline.plan.used import uses, uses_all
from driftline.sql.errors import refuse
from driftline.sql.order import order_item
from driftline.sql.scope import walked
from driftline.sql.window_functions import (
    NEIGHBOURS,
    Resolve,
    called,
    column_of,
    frame_of,
    is_known,
)
from driftline.sql.written_out import EXTREMES, SHARES, written_out

RANKS: dict[str, nodes.RankMethod] = {
    "row_number": "row_number",
    "rank": "rank",
    "dense_rank": "dense_rank",
}
PREFIX = "$over"
_RANKED = ("rank", "dense_rank", "percent_rank")
_PARTS_OF_A_WINDOW = {"partition_by": "PARTITION BY", "order": "ORDER BY", "spec": "frame"}


@dataclass(frozen=True)
class _Over:
    """A window function of a query: its column, and how it was written."""

    field: Field
    node: exp.Window

    @property
    def name(self) -> str:
        return self.field.name

    def applied(self, plan: nodes.Node, resolve: Resolve) -> nodes.Node:
        """The plan with the column; `resolve` reads expressions over its rows."""
        items = _order(self.node, resolve)
        keys = self.node.args.get("partition_by") or ()
        parts = tuple(in_key_order(resolve(each)) for each in keys)
        method = RANKS.get(called(self.node).name)
        if method is None:
            column = column_of(self.node, self.name, items, resolve)
            return with_functions(plan, parts, items, column)
        if not items:
            raise refuse(f"{method} needs an order: OVER (… ORDER BY …)", self.node)
        return nodes.Rank(plan, parts, items, method, self.name)


def with_functions(
    plan: nodes.Node,
    partition: tuple[Expression, ...],
    order: tuple[nodes.OrderItem, ...],
    *columns: OverColumn,
) -> nodes.Node:
    """The plan with window functions; an Over of the same window takes them up."""
    if isinstance(plan, OverNode) and (plan.partition, plan.order) == (partition, order):
        return replace(plan, columns=(*plan.columns, *columns))
    return OverNode(plan, partition, order, columns)


def _order(window: exp.Window, resolve: Resolve) -> tuple[nodes.OrderItem, ...]:
    order = window.args.get("order")
    if order is not None:
        uses(order, "expressions")
    items = () if order is None else order.expressions
    return tuple(order_item(each, resolve(each.this)) for each in items)


def window_function(
    text: str, frame: str, order: tuple[nodes.OrderItem, ...], schema: Schema
) -> OverColumn:
    """The column of a window function that is written without OVER, and the text of its frame,
    which LAG and LEAD do not heed."""
    node, name = parse_aliased(text)
    whole = parse_sql(f"count(*) OVER (ORDER BY 1 {frame})")
    window = exp.Window(this=node)
    if called(window).name not in NEIGHBOURS:
        window.set("spec", whole.args.get("spec"))
    if called(window).name in RANKS:
        raise PlanError(f"{text}: a place in an order is what rank(…) gives")
    if called(window).name in (*SHARES, *EXTREMES):
        raise PlanError(f"{text}: over(…) does not take it, SQL's OVER does")
    _check(window)
    return column_of(window, name or text, order, lambda part: resolve(part, schema))


class Overs:
    """The window functions of one SELECT, each once."""

    def __init__(self, schema: Schema, named: Iterable[exp.Window], resolve: Resolve) -> None:
        self.schema, self.resolve = schema, resolve
        self.named: dict[str, exp.Window] = {}
        self.found: list[_Over] = []
        for window in named:
            self._define(window)

    def _define(self, window: exp.Window) -> None:
        """Define WINDOW name AS (…), which may refine a window defined before it."""
        if window.name.lower() in self.named:
            raise refuse(f"there are two windows {window.name}", window)
        uses(window, "this", "alias", "partition_by", "order", "spec")
        whole = self._complete(window)
        for each in whole.args.get("partition_by") or ():
            self.resolve(each)
        frame_of(whole, _order(whole, self.resolve), self.resolve)
        self.named[window.name.lower()] = whole

    @property
    def fields(self) -> Schema:
        return Schema(tuple(each.field for each in self.found))

    def taken_out(self, node: exp.Expr, alias: str | None = None) -> exp.Expr:
        """The expression with a column in the place of every window function in it."""
        if not any(isinstance(part, exp.Window) for part in walked(node)):
            return node
        copy = self._written_out(_without_ranked(node.copy()))
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

    def _written_out(self, node: exp.Expr) -> exp.Expr:
        """With other window functions in the place of those that are expressions over them."""
        for part in [each for each in walked(node) if isinstance(each, exp.Window)]:
            meaning = written_out(self._complete(part), self._typed)
            if meaning is not None:
                if part is node:
                    return meaning
                part.replace(exp.paren(meaning, copy=False))
        return node

    def _complete(self, window: exp.Window) -> exp.Window:
        """OVER name and OVER (name …), completed by the definition of WINDOW name AS (…)."""
        name = window.args.get("alias")
        if name is None:
            return window
        uses(window, "this", "alias", "order", "spec", "over", "partition_by")
        base = self.named.get(name.name.lower())
        if base is None:
            raise refuse(f"there is no WINDOW {name.name}", window)
        whole = base.copy()
        whole.set("this", window.this.copy())
        for key, written in _PARTS_OF_A_WINDOW.items():
            part = window.args.get(key)
            if not part:
                continue
            if key == "partition_by" or whole.args.get(key):
                raise refuse(
                    f"{name.name} is a window already, and takes no other {written}: write the "
                    "whole window in OVER (…)",
                    window,
                )
            whole.set(key, part.copy())
        return whole

    def _name(self, window: exp.Window, alias: str | None) -> str:
        for over in self.found:
            if over.node == window:
                uses_all(window)
                return over.name
        name = alias if alias and not self.schema.find(alias) else f"{PREFIX}{len(self.found)}"
        if any(over.name.lower() == name.lower() for over in self.found):
            name = f"{PREFIX}{len(self.found)}"
        self.found.append(_Over(self._field(name, window), window))
        return name

    def _field(self, name: str, window: exp.Window) -> Field:
        if called(window).name in RANKS:
            return Field(name, INT)

        order = _order(window, self._typed)
        return Field(name, column_of(window, name, order, self._typed).value.type)

    def _typed(self, node: exp.Expr) -> Expression:
        """With columns in the place of aggregates, which groups will compute."""
        return self.resolve(node).transform(
            lambda part: Column("", part.type) if isinstance(part, AggregateCall) else part
        )


def _without_ranked(node: exp.Expr) -> exp.Expr:
    """The expression with rank() in the place of rank(x, …): Spark takes what the order is by, too,
    and goes by the order."""
    for part in walked(node):
        call = part.this if isinstance(part, exp.Window) else None
        if isinstance(call, exp.Anonymous) and call.name.lower() in _RANKED:
            ranked = [each for each in call.expressions if not isinstance(each, exp.Distinct)]
            for each in ranked:
                uses_all(each)
            call.set("expressions", [each for each in call.expressions if each not in ranked])
    return node


def _check(window: exp.Window) -> None:
    call = called(window)
    if call.name in RANKS:
        if call.args:
            raise refuse(f"{call.name}() takes no arguments", window)
        if window.args.get("spec") is not None:
            raise refuse(f"{call.name} takes no ROWS or RANGE", window)
        if call.distinct or call.filter is not None or call.ignore_nulls:
            raise refuse(f"{call.name} takes no DISTINCT, FILTER or IGNORE NULLS", window)
    elif not is_known(call.name):
        raise refuse(
            f"{call.name or window.this.sql('spark')} OVER (…) is not supported: there are "
            f"aggregates, {', '.join((*RANKS, *SHARES))}, lag, lead, first_value, last_value and "
            "nth_value",
            window,
        )


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
    """(column, k) of a condition column <= k or column = 1."""
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


def refuse_window_functions(node: exp.Expr, clause: str) -> None:
    """Refuses window functions in a clause that comes before them."""
    for part in walked(node):
        if isinstance(part, exp.Window):
            raise refuse(f"a window function cannot be in {clause}: compute it in a subquery", part)
