"""Queries: SELECT, set operations, ORDER BY … LIMIT and CTEs, as plans."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.combining import with_common_types
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Column, Expression
from driftline.plan.types import Schema, is_integer, type_name
from driftline.plan.used import uses
from driftline.sql.errors import at, refuse
from driftline.sql.order import (
    OTHER_ORDERS,
    has_ties,
    limit_of,
    offset_of,
    order_item,
    plain_columns,
    top,
    unsupported_order,
)
from driftline.sql.other_spellings import respelled
from driftline.sql.plainer import plainer
from driftline.sql.recursion import bind_loop, in_order, is_recursive
from driftline.sql.scope import Relations, Scope, columns_in
from driftline.sql.select import bind_select
from driftline.sql.tables import renamed, same_time
from driftline.sql.values import values

_AFTER_ROWS = ("with_", "order", "limit", "offset", *OTHER_ORDERS)


def bind_query(node: exp.Expr, names: Relations) -> nodes.Node:
    """The plan of a query."""
    ctes = node.args.get("with_")
    if ctes is not None:
        names = _with_ctes(ctes, names)
    if isinstance(node, exp.Select):
        return bind_select(plainer(respelled(node)), names, bind_query)
    if isinstance(node, exp.SetOperation):
        uses(node, "this", "expression", "distinct", "by_name", *_AFTER_ROWS)
        return _ordered(_set_operation(node, names), node)
    if isinstance(node, exp.Subquery):
        uses(node, "this", *_AFTER_ROWS)
        return _ordered(bind_query(node.this, names), node)
    if isinstance(node, exp.Values):
        uses(node, "expressions", *_AFTER_ROWS)
        return _ordered(values(node, names), node)
    raise refuse("a query is expected: SELECT … FROM …", node)


def _with_ctes(ctes: exp.With, names: Relations) -> Relations:
    uses(ctes, "expressions", "recursive")
    inner = Relations(names)
    seen: set[str] = set()
    for cte in ctes.expressions:
        if cte.args.get("materialized") is not None:
            raise refuse("[NOT] MATERIALIZED is not supported: leave it out", cte)
        uses(cte, "this", "alias")
        uses(cte.args["alias"], "this", "columns", "limit")
        if cte.alias.lower() in seen:
            raise refuse(f"there are two CTEs {cte.alias}", cte)
        seen.add(cte.alias.lower())
    inner.to_come = seen
    groups = in_order(ctes.expressions) if ctes.recursive else ([cte] for cte in ctes.expressions)
    for group in groups:
        if ctes.recursive and is_recursive(group):
            plans = bind_loop(group, inner, bind_query)
            for cte in group:
                inner.define(cte.alias, _typed(plans[cte.alias], cte))
            continue
        for cte in group:
            if cte.args["alias"].args.get("limit"):
                raise refuse(f"{cte.alias} is not recursive: leave out MAX RECURSION LEVEL", cte)
            plan = bind_query(cte.this, inner)
            columns = cte.args["alias"].args.get("columns")
            if columns:
                plan = renamed(plan, columns, cte)
            inner.define(cte.alias, _typed(plan, cte))
    return inner


def _typed(plan: nodes.Node, cte: exp.CTE) -> nodes.Node:
    """The rows of a CTE with the types that `name (column TYPE, …)` gives its columns, which are
    those that they have, or whole numbers of another size."""
    columns = cte.args["alias"].args.get("columns") or ()
    if not any(isinstance(each, exp.ColumnDef) for each in columns):
        return plan
    scope, typed = Scope(plan), []
    for column, key, field in zip(columns, plan.schema.names, plan.schema, strict=True):
        value: Expression = Column(key, field.type)
        if isinstance(column, exp.ColumnDef) and column.kind is not None:
            uses(column, "this", "kind")
            name = exp.column(exp.to_identifier(field.name, quoted=True))
            with at(column):
                value = scope.resolve(exp.Cast(this=name, to=column.kind.copy()))
            whole = is_integer(field.type) and is_integer(value.type)
            if value.type != field.type and not whole:
                raise refuse(
                    f"{column.name} is a {type_name(field.type)} by its query: CAST it there, or "
                    "declare it so",
                    column,
                )
        typed.append(nodes.Named(field.name, value))
    return nodes.Project(plan, tuple(typed))


def _set_operation(node: exp.SetOperation, names: Relations) -> nodes.Node:
    word = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}[type(node)]
    if isinstance(node, exp.Union) and _is_plain_union(node.this):
        return _unions(node, names)
    left, right = bind_query(node.this, names), bind_query(node.expression, names)
    return _combined(node, left, right, word)


def _combined(node: exp.SetOperation, left: nodes.Node, right: nodes.Node, word: str) -> nodes.Node:
    same_time(left, right, node.expression)
    if node.args.get("by_name"):
        right = _by_name(left, right, word, node)
    try:
        left, right = with_common_types(left, right, word)
    except PlanError as error:
        raise refuse(str(error), node.expression) from None
    distinct = bool(node.args.get("distinct"))
    if isinstance(node, exp.Union):
        both = nodes.Union(left, right)
        return nodes.Distinct(both) if distinct else both
    kind = "intersect" if isinstance(node, exp.Intersect) else "minus"
    return nodes.SetOperation(left, right, kind, distinct)  # type: ignore[arg-type]


def _is_plain_union(node: exp.Expr) -> bool:
    """Whether it is a UNION of two queries and has no other clause."""
    used = {name for name, value in node.args.items() if value}
    return isinstance(node, exp.Union) and used <= {"this", "expression", "distinct"}


def _unions(node: exp.Union, names: Relations) -> nodes.Node:
    """The plan of a UNION b UNION c …: where all have the same types a tree of little depth."""
    chain = [node]
    while _is_plain_union(chain[-1].this):
        chain.append(chain[-1].this)
        uses(chain[-1], "this", "expression", "distinct")
    chain.reverse()
    first = bind_query(chain[0].this, names)
    others = [bind_query(each.expression, names) for each in chain]
    kinds = [each.type for each in first.schema]
    if any([each.type for each in plan.schema] != kinds for plan in others) or any(
        each.args.get("by_name") for each in chain
    ):
        plan = first
        for each, other in zip(chain, others, strict=True):
            plan = _combined(each, plan, other, "UNION")
        return plan
    for each, other in zip(chain, others, strict=True):
        same_time(first, other, each.expression)
    # A UNION of distinct rows leaves nothing to do for those before it.
    distinct = max((at for at, each in enumerate(chain, 2) if each.args.get("distinct")), default=0)
    plans = [first, *others]
    if not distinct:
        return _together(plans)
    return _together([nodes.Distinct(_together(plans[:distinct])), *plans[distinct:]])


def _together(plans: list[nodes.Node]) -> nodes.Node:
    """The union of one query or several."""
    if len(plans) == 1:
        return plans[0]
    half = (len(plans) + 1) // 2
    return nodes.Union(_together(plans[:half]), _together(plans[half:]))


def _by_name(left: nodes.Node, right: nodes.Node, word: str, node: exp.SetOperation) -> nodes.Node:
    columns = []
    for each in left.schema:
        found = right.schema.find(each.name)
        if len(found) != 1:
            raise refuse(
                f"{word} BY NAME: the right side has no column {each.name}", node.expression
            )
        value = Column(right.schema.key(found[0]), found[0].type, found[0].qualifier)
        columns.append(nodes.Named(each.name, value))
    if len(columns) != len(right.schema):
        raise refuse(f"{word} BY NAME: the right side has further columns", node.expression)
    return nodes.Project(right, tuple(columns))


def _ordered(plan: nodes.Node, node: Any) -> nodes.Node:
    """ORDER BY and LIMIT after a set operation or a query in brackets."""
    unsupported_order(node)
    order, limit = node.args.get("order"), node.args.get("limit")
    count, offset = limit_of(limit), offset_of(node)
    if order is None:
        return top(plan, (), count, offset, has_ties(node)) if count is not None or offset else plan
    uses(order, "expressions")
    output = Scope(nodes.Project(plan, plain_columns(plan.schema)))
    items = []
    for each in order.expressions:
        number = each.this
        if isinstance(number, exp.Literal) and not number.is_string:
            uses(number, "this")
            items.append(order_item(each, _by_position(plan.schema, number)))
            continue
        for column in columns_in(each.this):
            if column.table:
                raise refuse("ORDER BY takes columns of the result here, without a table", column)
        items.append(order_item(each, output.resolve(each.this)))
    if count is None and not offset:
        return plan
    return top(plan, tuple(items), count, offset, has_ties(node))


def _by_position(schema: Schema, number: exp.Literal) -> Column:
    place = int(number.this) if number.this.isdigit() else 0
    if not 1 <= place <= len(schema):
        raise refuse(f"there is no column {number.this}: there are {len(schema)}", number)
    return Column(schema.names[place - 1], schema.fields[place - 1].type)
