"""WHERE: plain conditions become a selection, EXISTS and IN become semi and anti joins.

EXISTS q        left semi join q on what ties q to the row
NOT EXISTS q    left anti join
x IN q          left semi join on x = the column of q
x NOT IN q      no row of q equals x; no null in q; and if x is null, q is empty
"""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import conjuncts, together
from driftline.plan.expressions import Call, Column, Expression, Literal
from driftline.plan.functions import operators
from driftline.plan.types import BOOLEAN, INT, Schema
from driftline.sql.correlated import conjuncts_of
from driftline.sql.errors import at, refuse
from driftline.sql.overs import limited
from driftline.sql.pushdown import has_bare_join, pushed_down
from driftline.sql.scalar import compared, compared_subquery
from driftline.sql.scope import Relations, Scope, columns_in, replaced, walked
from driftline.sql.tables import BindQuery, bind_from, check_condition, same_time

_TIES_NOT = ("group", "having", "limit", "order", "windows")


def filtered(
    scope: Scope, where: exp.Expr, clause: str, names: Relations, bind: BindQuery
) -> Scope:
    """The rows of a scope for which a condition is true."""
    plain: list[Expression] = []
    subqueries: list[exp.Expr] = []
    for part in conjuncts_of(where):
        if any(isinstance(each, (exp.Query, exp.Exists)) for each in walked(part)):
            subqueries.append(part)
            continue
        value = scope.resolve(part)
        check_condition(value, part, clause)
        plain.append(value)
    plan = scope.plan
    if plain:
        plan = pushed_down(plan, plain) if has_bare_join(plan) else limited(plan, together(plain))
    for part in subqueries:
        plan = _Subquery(scope.over(plan), names, bind).applied(part)
    return scope.over(plan)


class _Subquery:
    """One EXISTS or IN over the rows of a scope."""

    def __init__(self, scope: Scope, names: Relations, bind: BindQuery) -> None:
        self.scope, self.names, self.bind = scope, names, bind

    def applied(self, node: exp.Expr) -> nodes.Node:
        how: nodes.JoinKind = "semi"
        inner = node
        while isinstance(inner, (exp.Not, exp.Paren)):
            if isinstance(inner, exp.Not):
                how = "anti" if how == "semi" else "semi"
            inner = inner.this
        if isinstance(inner, exp.Exists):
            return self._exists(inner, how)
        if isinstance(inner, exp.In) and inner.args.get("query") is not None:
            return self._in(inner, how)
        query = compared_subquery(inner) if how == "semi" else None
        if query is not None:
            return compared(self.scope, inner, query, self.names, self.bind)(self.scope.plan)
        raise refuse(
            "a subquery in WHERE is [NOT] EXISTS (…), [NOT] IN (…) or the value of a comparison, "
            "and AND joins it with other conditions: write OR as UNION, and the rest as a join",
            next(
                (part for part in walked(inner) if isinstance(part, (exp.Query, exp.Exists))), inner
            ),
        )

    def _exists(self, node: exp.Exists, how: nodes.JoinKind) -> nodes.Node:
        query = node.this
        tied = self._tied(query)
        if tied is None:
            plan = self.bind(query, self.names)
            same_time(self.scope.plan, plan, query)
            return nodes.Join(self.scope.plan, _one_column(plan), how, None)
        right, ties = tied
        same_time(self.scope.plan, right.plan, query)
        return self._joined(right, ties, [], how)

    def _in(self, node: exp.In, how: nodes.JoinKind) -> nodes.Node:
        query = node.args["query"]
        query = query.unnest() if isinstance(query, exp.Subquery) else query
        left = node.this.unnest()
        sides = left.expressions if isinstance(left, exp.Tuple) else [left]
        tied = self._tied(query)
        if tied is None:
            right = self.bind(query, self.names)
            values: list[Expression] = [
                Column(name, each.type, each.qualifier)
                for name, each in zip(right.schema.names, right.schema, strict=True)
            ]
            rows = Scope(right)
            ties: list[exp.Expr] = []
        else:
            rows, ties = tied
            values = [rows.resolve(each.unalias()) for each in query.expressions]
        same_time(self.scope.plan, rows.plan, query)
        if len(values) != len(sides):
            raise refuse(f"IN compares {len(sides)} values with {len(values)} columns", node)
        wanted = [self.scope.resolve(side) for side in sides]
        if how == "semi":
            return self._joined(rows, ties, list(zip(wanted, values, strict=True)), how)
        if ties or len(sides) > 1:
            raise refuse(
                "NOT IN with a subquery about the row, or of several columns, is not supported: "
                "write NOT EXISTS (SELECT … WHERE …)",
                node,
            )
        return self._not_in(
            wanted[0], nodes.Project(rows.plan, (nodes.Named("$in", values[0]),)), node
        )

    def _not_in(self, wanted: Expression, right: nodes.Node, node: exp.Expr) -> nodes.Node:
        """Spark's NOT IN: a null on either side is neither in nor not in, unless q is empty."""
        column = Column("$in", right.schema.fields[0].type)
        with at(node):
            same = operators.compare("equal", wanted, column)
        plan = nodes.Join(self.scope.plan, right, "anti", same)
        nulls = nodes.Select(right, operators.is_null((column,)))
        plan = nodes.Join(plan, nodes.Distinct(_one_column(nulls)), "anti", None)
        if isinstance(wanted, Literal) and wanted.value is not None:
            return plan
        missing = operators.is_null((wanted,))
        return nodes.Join(plan, nodes.Distinct(_one_column(right)), "anti", missing)

    def _tied(self, query: exp.Expr) -> tuple[Scope, list[exp.Expr]] | None:
        """The rows of a subquery about the row outside, and the conditions that tie them to it.

        None if the subquery is about itself alone.
        """
        query = query.unnest() if isinstance(query, exp.Subquery) else query
        if not isinstance(query, exp.Select) or query.args.get("from_") is None:
            return None
        ctes = query.args.get("with_")
        if ctes is not None:
            return None
        joins = query.args.get("joins") or []
        inner = bind_from(query.args["from_"].this, joins, self.names, self.bind)
        where = query.args.get("where")
        parts = conjuncts_of(where.this) if where is not None else []
        ties = [part for part in parts if self._is_tie(part, inner)]
        self._refuse_other_ties(query, inner, bool(ties))
        if not ties:
            return None
        own = [part for part in parts if part not in ties]
        if own:
            inner = filtered(inner, exp.and_(*own, copy=True), "WHERE", self.names, self.bind)
        return inner, ties

    def _is_tie(self, part: exp.Expr, inner: Scope) -> bool:
        return any(not inner.has(column) and self.scope.has(column) for column in columns_in(part))

    def _refuse_other_ties(self, query: exp.Select, inner: Scope, tied: bool) -> None:
        for item in query.expressions:
            if self._is_tie(item, inner):
                raise refuse(
                    "the select list of a subquery cannot use columns from outside it", item
                )
        for key in _TIES_NOT:
            part = query.args.get(key)
            if part and (tied or (isinstance(part, exp.Expr) and self._is_tie(part, inner))):
                raise refuse(
                    "a subquery that uses columns from outside can have FROM and WHERE only: "
                    "join with the grouped query instead",
                    part[0] if isinstance(part, list) else part,
                )

    def _joined(
        self,
        right: Scope | nodes.Node,
        ties: list[exp.Expr],
        equal: list[tuple[Expression, Expression]],
        how: nodes.JoinKind,
    ) -> nodes.Node:
        """The semi or anti join; what the ties need of the right side becomes columns of it."""
        rows = right if isinstance(right, Scope) else Scope(right)
        needed: dict[Expression, str] = {}

        def named(value: Expression) -> str:
            return needed.setdefault(value, f"$inner{len(needed)}")

        def of_the_right(column: exp.Column) -> exp.Expr | None:
            if not rows.has(column):
                return None
            name = exp.to_identifier(named(rows.resolve(column)), quoted=True)
            name.meta.update(column.this.meta)
            return exp.column(name)

        written = [replaced(tie, of_the_right) for tie in ties]
        pairs = [(one, Column(named(other), other.type)) for one, other in equal]
        schema = Schema.of({name: value.type for value, name in needed.items()})
        conditions = []
        for tie in written:
            value = self.scope.resolve(tie, schema)
            check_condition(value, tie, "WHERE")
            conditions.append(value)
        conditions += [operators.compare("equal", one, other) for one, other in pairs]
        columns = tuple(nodes.Named(name, value) for value, name in needed.items())
        inner = nodes.Project(rows.plan, columns) if columns else _one_column(rows.plan)
        condition = reduce(lambda one, two: Call("and", (one, two), BOOLEAN), conditions)
        return nodes.Join(self.scope.plan, inner, how, together(conjuncts(condition)))


def _one_column(plan: nodes.Node) -> nodes.Node:
    """As many rows, of a constant."""
    return nodes.Project(plan, (nodes.Named("$one", Literal(1, INT)),))
