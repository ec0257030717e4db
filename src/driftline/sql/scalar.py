"""Comparisons with the one value of a subquery: `price > (SELECT avg(price) FROM trades)`.

The subquery is an aggregate without GROUP BY, so that at any time it has one row or none. With none
its value is null, and the comparison not true: this is a semi join on the comparison.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import AggregateCall, Column, Expression
from driftline.plan.resolver import place_of
from driftline.plan.types import Schema
from driftline.sql.errors import refuse
from driftline.sql.scope import Relations, Scope, walked
from driftline.sql.tables import BindQuery, check_condition, same_time

VALUE = "$value"
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE)
_NULL_OF_NULL = (exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Cast)
_NOT_NULL_OF_NOTHING = ("count", "count_if", "approx_count_distinct", "array_agg", "collect_set")


def compared_subquery(node: exp.Expr) -> exp.Subquery | None:
    """The subquery of a comparison that is null when the subquery is."""
    if not isinstance(node, _COMPARISONS):
        return None
    found = [part for part in walked(node) if isinstance(part, exp.Subquery)]
    if len(found) != 1:
        return None
    part = found[0].parent
    while part is not node:
        if not isinstance(part, _NULL_OF_NULL):
            return None
        part = part.parent
    return found[0]


def compared(
    scope: Scope,
    node: exp.Expr,
    query: exp.Subquery,
    names: Relations,
    bind: BindQuery,
    resolve: Callable[[exp.Expr, Schema], Expression] | None = None,
) -> Callable[[nodes.Node], nodes.Node]:
    """What keeps the rows for which a comparison with a subquery is true.

    `resolve` reads the comparison, if not over the rows of the scope (but over groups of them).
    """
    plan = _bound(scope, query, names, bind)
    same_time(scope.plan, plan, query)
    if len(plan.schema) != 1:
        raise refuse(f"a value is expected, and the query gives {len(plan.schema)}", query)
    _check_one_row(plan, query)
    kind = plan.schema.fields[0].type
    right = nodes.Project(plan, (nodes.Named(VALUE, Column(plan.schema.names[0], kind)),))
    copy = node.copy()
    inner = compared_subquery(copy)
    assert inner is not None
    inner.replace(exp.column(exp.to_identifier(VALUE, quoted=True)))
    condition = (resolve or scope.resolve)(copy, Schema.of({VALUE: kind}))
    check_condition(condition, node, "WHERE")
    return lambda rows: nodes.Join(rows, right, "semi", condition)


def _bound(scope: Scope, query: exp.Subquery, names: Relations, bind: BindQuery) -> nodes.Node:
    try:
        return bind(query.this, names)
    except ExpressionError as error:
        for column in query.find_all(exp.Column):
            if place_of(column) == (error.line, error.column) and scope.has(column):
                raise refuse(
                    "a subquery whose value is compared cannot use columns from outside it: join "
                    "with the same query, grouped by what ties the two",
                    column,
                ) from None
        raise


def _check_one_row(plan: nodes.Node, query: exp.Subquery) -> None:
    while isinstance(plan, (nodes.Project, nodes.Select, nodes.Alias)):
        plan = plan.input
    if not isinstance(plan, nodes.Aggregate) or plan.keys:
        raise refuse(
            "a subquery can be compared if it gives one row: an aggregate without GROUP BY", query
        )
    for each in plan.aggregates:
        if isinstance(each.value, AggregateCall) and each.value.function in _NOT_NULL_OF_NOTHING:
            raise refuse(
                f"{each.value.function} in a compared subquery is not supported: no row is said of "
                "nothing, where Spark would say 0; join with the query instead",
                query,
            )
