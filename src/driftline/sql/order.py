"""ORDER BY and LIMIT."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.expressions import Column, Expression, Literal
from driftline.plan.folding import folded
from driftline.plan.functions.operators import compare
from driftline.plan.resolver import resolve
from driftline.plan.types import INT, Schema, is_integer, is_orderable, type_name
from driftline.plan.used import uses
from driftline.sql.errors import at, refuse

PLACE = "$place"

OTHER_ORDERS = {
    "sort": "SORT BY says nothing of all rows: use ORDER BY … LIMIT",
    "distribute": "DISTRIBUTE BY says nothing of all rows: use ORDER BY … LIMIT",
    "cluster": "CLUSTER BY says nothing of all rows: use ORDER BY … LIMIT",
    "locks": "FOR UPDATE is not supported",
}
_WITHIN_TASKS = ("sort", "cluster", "distribute")


def unsupported_order(node: Any) -> None:
    """Refuses what has no meaning for a stream after the rows of a query. SORT BY and its like are
    about the order within tasks: without LIMIT they are an ORDER BY, which has no effect either."""
    if not any(node.args.get(key) for key in ("order", "limit", "offset")):
        items: list[exp.Expr] = []
        for key in _WITHIN_TASKS:
            part = node.args.get(key)
            if part is not None:
                uses(part, "expressions")
                items += [
                    each if isinstance(each, exp.Ordered) else exp.Ordered(this=each)
                    for each in part.expressions
                ]
                node.set(key, None)
        if items:
            node.set("order", exp.Order(expressions=items))
            node.args["order"].meta.update(node.meta)
    for key, reason in OTHER_ORDERS.items():
        part = node.args.get(key)
        if part:
            raise refuse(reason, part[0] if isinstance(part, list) else part)


def limit_of(limit: exp.Expr | None) -> int | None:
    """How many rows LIMIT or FETCH FIRST asks for; None if all."""
    if limit is None:
        return None
    if isinstance(limit, exp.Fetch):
        uses(limit, "direction", "count", "limit_options")
        count = limit.args.get("count") or exp.Literal.number(1)
    else:
        uses(limit, "expression", "limit_options")
        count = limit.expression
    if isinstance(count, (exp.Var, exp.Column)) and count.name.upper() == "ALL":
        uses(count, "this")
        return None
    return whole("LIMIT", count)


def has_ties(node: Any) -> bool:
    """Whether rows that are equal in order to the last one of LIMIT or FETCH FIRST come, too."""
    limit = node.args.get("limit")
    options = limit.args.get("limit_options") if limit is not None else None
    if options is None:
        return False
    if options.args.get("percent"):
        raise refuse("a share of the rows (PERCENT) is not supported: say how many", limit)
    uses(options, "rows", "with_ties")
    if options.args.get("with_ties") and node.args.get("order") is None:
        raise refuse("WITH TIES needs ORDER BY, which says which rows are equal", limit)
    if options.args.get("with_ties") and node.args.get("offset") is not None:
        raise refuse("WITH TIES with OFFSET is not supported: use RANK() OVER (…)", limit)
    return bool(options.args.get("with_ties"))


def offset_of(node: Any) -> int:
    """How many rows OFFSET leaves out."""
    offset = node.args.get("offset")
    if offset is None:
        return 0
    uses(offset, "expression")
    return whole("OFFSET", offset.expression)


def whole(word: str, count: exp.Expr) -> int:
    """The number of rows that LIMIT or OFFSET says."""
    if count.find(exp.Column, exp.Query) is not None:
        raise refuse(f"{word} takes a whole number", count)
    with at(count):
        value = folded(resolve(count, Schema(())))
    number = value.value if isinstance(value, Literal) and is_integer(value.type) else None
    if number is None or number < 0:
        raise refuse(f"{word} takes a whole number", count)
    return int(number)


def no_order(word: str, node: exp.Expr) -> Exception:
    """The error of a LIMIT for whose rows no order can be made up."""
    return refuse(
        f"{word} without ORDER BY would be any rows: say with ORDER BY which come first", node
    )


MOST_PLACES = 2**31 - 1
"""There is no row after so many."""


def top(
    plan: nodes.Node,
    order: tuple[nodes.OrderItem, ...],
    count: int | None,
    offset: int,
    ties: bool = False,
) -> nodes.Node:
    """The first rows in an order (None: all of them), without those before the offset. Without an
    order it would be any rows: it is always the same ones, the first by their columns."""
    order = order or tuple(
        nodes.OrderItem(each.value)
        for each in plain_columns(plan.schema)
        if is_orderable(each.value.type)
    )
    if offset == 0:
        return nodes.Rank(plan, (), order, "rank" if ties else "row_number", name=None, limit=count)
    offset = min(offset, MOST_PLACES)
    last = None if count is None else min(offset + count, MOST_PLACES)
    ranked = nodes.Rank(plan, (), order, name=PLACE, limit=last)
    after = compare("greater", Column(PLACE, INT), Literal(offset, INT))
    return nodes.Project(nodes.Select(ranked, after), plain_columns(plan.schema))


def plain_columns(schema: Schema) -> tuple[nodes.Named, ...]:
    """All columns as they are."""
    return tuple(
        nodes.Named(name, Column(name, each.type, each.qualifier))
        for name, each in zip(schema.names, schema, strict=True)
    )


def order_item(node: exp.Expr, value: Expression) -> nodes.OrderItem:
    """One item of ORDER BY; nulls first is the default when ascending, and last when descending."""
    if not isinstance(node, exp.Ordered):
        return nodes.OrderItem(value)
    uses(node, "this", "desc", "nulls_first")
    if not is_orderable(value.type):
        raise refuse(f"one cannot order by a {type_name(value.type)}", node)
    descending = bool(node.args.get("desc"))
    nulls_first = bool(node.args.get("nulls_first"))
    return nodes.OrderItem(value, descending, None if nulls_first != descending else nulls_first)
