"""Aggregate functions: DISTINCT, FILTER, IGNORE NULLS and WITHIN GROUP."""

from __future__ import annotations

from sqlglot import exp

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Column, Expression
from driftline.plan.functions import AGGREGATES, aggregate_value, ordered_aggregate
from driftline.plan.resolver.arguments import in_order
from driftline.plan.resolver.base import Resolving
from driftline.plan.resolver.syntax import METHODS
from driftline.plan.used import uses

_AGGREGATES = (exp.Anonymous, exp.Any, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)


class Aggregates(Resolving):
    """What aggregates mean."""

    def aggregate(
        self, node: exp.Expr, filtered: exp.Expr | None = None, ignore_nulls: bool = False
    ) -> Expression:
        """An aggregate function, with DISTINCT, FILTER and IGNORE NULLS."""
        if not isinstance(node, _AGGREGATES):
            raise ExpressionError(f"{node.sql('spark')} is not an aggregate function")
        uses(node, *METHODS[type(node)][1:])
        if isinstance(node, exp.IgnoreNulls):
            return self.aggregate(node.this, filtered, ignore_nulls=True)
        if isinstance(node, exp.RespectNulls):
            return self.aggregate(node.this, filtered, ignore_nulls)
        if isinstance(node, exp.WithinGroup):
            return self.within_group(node, filtered)
        name = str(node.this).lower() if isinstance(node, exp.Anonymous) else "any"
        if name not in AGGREGATES:
            raise ExpressionError(f"{node.sql('spark')} is not an aggregate function")
        nodes = node.expressions if isinstance(node, exp.Anonymous) else [node.this]
        distinct = bool(nodes) and isinstance(nodes[0], exp.Distinct)
        if distinct:
            uses(nodes[0], "expressions")
            nodes = nodes[0].expressions
        nodes = in_order(name, nodes)
        star = bool(nodes) and isinstance(nodes[0], exp.Star)
        if star:
            uses(nodes[0])
        args = () if star else self.all(nodes)
        if star and distinct:  # rows in which no column is null
            schema = self.schema
            args = tuple(Column(schema.key(each), each.type, each.qualifier) for each in schema)
        if not args and not nodes:
            raise ExpressionError(f"{name} takes at least 1 argument, or * to count rows")
        where = None if filtered is None else self.resolve(filtered)
        return aggregate_value(name, args, distinct, where, ignore_nulls)

    def within_group(self, node: exp.WithinGroup, filtered: exp.Expr | None) -> Expression:
        """`percentile_cont(0.5) WITHIN GROUP (ORDER BY x)`; so are listagg and mode written."""
        call, ordered = node.this, node.expression.expressions
        name = str(call.this).lower()
        uses(call, "this", "expressions")
        uses(node.expression, "expressions")
        where = None if filtered is None else self.resolve(filtered)
        order: list[tuple[Expression, bool, bool]] = []
        for each in ordered:
            uses(each, "this", "desc", "nulls_first")
            descending = bool(each.args.get("desc"))
            order.append((self.resolve(each.this), descending, bool(each.args.get("nulls_first"))))
        nodes = call.expressions
        distinct = bool(nodes) and isinstance(nodes[0], exp.Distinct)
        if distinct:
            uses(nodes[0], "expressions")
            nodes = [*nodes[0].expressions, *nodes[1:]]
        return ordered_aggregate(name, self.all(nodes), order, distinct, where)

    def filter_(self, node: exp.Filter) -> Expression:
        """`aggregate(…) FILTER (WHERE condition)`."""
        uses(node.expression, "this")
        return self.aggregate(node.this, node.expression.this)
