"""WHERE: plain conditions become a selection, EXISTS and IN become semi and anti joins.

EXISTS q        left semi join q on what ties q to the row
NOT EXISTS q    left anti join
x IN q          left semi join on x = the column of q
x NOT IN q      no row of q equals x; no null in q; and if x is null, q is empty
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import conjuncts, together
from driftline.plan.expressions import Call, Column, Expression, Literal
from driftline.plan.functions import operators
from driftline.plan.types import BOOLEAN, INT, Schema
from driftline.plan.used import uses
from driftline.sql.correlated import conjuncts_of, unwrapped
from driftline.sql.errors import at, refuse
from driftline.sql.explode import lateral
from driftline.sql.overs import limited
from driftline.sql.pushdown import has_bare_join, pushed_down
from driftline.sql.scalar import compared, compared_subquery
from driftline.sql.scope import Relations, Scope, columns_in, is_star, replaced, starred, walked
from driftline.sql.tables import BindQuery, bind_from, condition_of, same_time

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
        plain.append(condition_of(value, part, clause))
    plan = scope.plan
    if plain:
        plan = pushed_down(plan, plain) if has_bare_join(plan) else limited(plan, together(plain))
    for part in subqueries:
        plan = _Subquery(scope.over(plan), names, bind).applied(part)
    return scope.over(plan)


@dataclass(frozen=True)
class _Tied:
    """The rows of a subquery about the row outside, the conditions that tie them to it, and what
    its select list gives."""

    rows: Scope
    ties: list[exp.Expr]
    values: list[Expression]

    @property
    def aggregates(self) -> bool:
        """Whether it gives one row of all that it finds."""
        return any(each.aggregates() for each in self.values)


class _Subquery:
    """One EXISTS or IN over the rows of a scope."""

    def __init__(self, scope: Scope, names: Relations, bind: BindQuery) -> None:
        self.scope, self.names, self.bind = scope, names, bind

    def applied(self, node: exp.Expr) -> nodes.Node:
        how: nodes.JoinKind = "semi"
        inner = node
        while isinstance(inner, (exp.Not, exp.Paren)):
            uses(inner, "this")
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
        uses(node, "this")
        query = unwrapped(node.this)
        tied = self._tied(query)
        if tied is None:
            plan = self.bind(query, self.names)
            same_time(self.scope.plan, plan, query)
            if _is_one_row(plan):
                return self._always(how)
            return nodes.Join(self.scope.plan, _one_column(plan), how, None)
        same_time(self.scope.plan, tied.rows.plan, query)
        if tied.aggregates:
            return self._always(how)
        return self._joined(tied.rows, tied.ties, [], how)

    def _always(self, how: nodes.JoinKind) -> nodes.Node:
        """EXISTS of an aggregate without GROUP BY, which has one row, of however many it is."""
        rows = self.scope.plan
        return rows if how == "semi" else nodes.Select(rows, Literal(False, BOOLEAN))

    def _in(self, node: exp.In, how: nodes.JoinKind) -> nodes.Node:
        uses(node, "this", "query")
        query = unwrapped(node.args["query"])
        left = node.this.unnest()
        sides = [left]
        if isinstance(left, exp.Tuple):
            uses(left, "expressions")
            sides = left.expressions
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
            if tied.aggregates:
                raise refuse(
                    "IN with an aggregate about the row is not supported: compare with it, as in "
                    "x = (SELECT max(y) FROM … WHERE …)",
                    query,
                )
            rows, ties, values = tied.rows, tied.ties, tied.values
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

    def _tied(self, query: exp.Expr) -> _Tied | None:
        """A subquery about the row outside; None if it is about itself alone."""
        if not isinstance(query, exp.Select) or query.args.get("from_") is None:
            return None
        if query.args.get("with_") is not None:
            return None
        joins = query.args.get("joins") or []
        inner = bind_from(query.args["from_"].this, joins, self.names, self.bind)
        for each in query.args.get("laterals") or ():
            inner = lateral(inner, each)
        where = query.args.get("where")
        parts = conjuncts_of(where.this) if where is not None else []
        ties = [part for part in parts if self._is_tie(part, inner)]
        self._refuse_other_ties(query, inner, bool(ties))
        if not ties:
            return None
        uses(query, "from_", "joins", "laterals", "where", "expressions", "distinct")
        uses(query.args["from_"], "this")
        uses(query.args["where"], "this")
        if query.args.get("distinct") is not None:
            uses(query.args["distinct"])
        own = [part for part in parts if part not in ties]
        if own:
            inner = filtered(inner, exp.and_(*own, copy=True), "WHERE", self.names, self.bind)
        return _Tied(inner, ties, _listed(query, inner))

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
            conditions.append(condition_of(value, tie, "WHERE"))
        conditions += [operators.compare("equal", one, other) for one, other in pairs]
        columns = tuple(nodes.Named(name, value) for value, name in needed.items())
        inner = nodes.Project(rows.plan, columns) if columns else _one_column(rows.plan)
        condition = reduce(lambda one, two: Call("and", (one, two), BOOLEAN), conditions)
        return nodes.Join(self.scope.plan, inner, how, together(conjuncts(condition)))


def _listed(query: exp.Select, rows: Scope) -> list[Expression]:
    """What the select list of a subquery gives."""
    values: list[Expression] = []
    for each in query.expressions:
        if is_star(each):
            values += [named.value for named in starred(rows, each)]
        else:
            if isinstance(each, exp.Alias):
                uses(each, "this", "alias")
            values.append(rows.resolve(each.unalias()))
    return values


def _is_one_row(plan: nodes.Node) -> bool:
    """Whether it is an aggregate without GROUP BY and HAVING."""
    while isinstance(plan, (nodes.Project, nodes.Alias, nodes.Distinct)):
        plan = plan.input
    return isinstance(plan, nodes.Aggregate) and not plan.keys


def _one_column(plan: nodes.Node) -> nodes.Node:
    """As many rows, of a constant."""
    return nodes.Project(plan, (nodes.Named("$one", Literal(1, INT)),))
