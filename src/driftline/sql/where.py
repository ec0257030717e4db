"""WHERE: plain conditions become a selection, EXISTS and IN become semi and anti joins.

EXISTS q        left semi join q on what ties q to the row
NOT EXISTS q    left anti join
x IN q          left semi join on x = the column of q
x NOT IN q      no row of q equals x; no null in q; and if x is null, q is empty

Other conditions with subqueries are those of `driftline.sql.subqueries`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.conditions import together
from driftline.plan.expressions import Column, Expression, Literal
from driftline.plan.functions import FUNCTIONS, operators
from driftline.plan.types import BOOLEAN, INT, Field, Schema
from driftline.plan.used import uses
from driftline.sql.correlated import Untied, untied
from driftline.sql.errors import at, refuse
from driftline.sql.now_filters import asks_for_now, cut_by_now, sides_of
from driftline.sql.overs import limited
from driftline.sql.pushdown import has_bare_join, pushed_down
from driftline.sql.query_parts import conjuncts_of, has_subquery
from driftline.sql.scalar import compared, compared_subquery
from driftline.sql.scope import Relations, Scope, walked
from driftline.sql.subqueries import Subqueries, as_comparison, bare, is_one_row
from driftline.sql.tables import BindQuery, condition_of, same_time


def filtered(
    scope: Scope, where: exp.Expr, clause: str, names: Relations, bind: BindQuery
) -> Scope:
    """The rows of a scope for which a condition is true."""
    plain: list[Expression] = []
    subqueries: list[exp.Expr] = []
    now: list[exp.Expr] = []
    for part in conjuncts_of(where):
        if any(isinstance(each, (exp.Query, exp.Exists)) for each in walked(part)):
            subqueries.append(part)
            continue
        if asks_for_now(part):
            now += sides_of(part)
            continue
        plain.append(condition_of(scope.resolve(part), part, clause))
    scope = cut_by_now(scope, now)
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
            uses(inner, "this")
            if isinstance(inner, exp.Not):
                how = "anti" if how == "semi" else "semi"
            inner = inner.this
        if isinstance(inner, exp.Exists) and not is_one_row(inner.this):
            return self._exists(inner, how)
        if isinstance(inner, exp.In) and inner.args.get("query") is not None:
            one_row = is_one_row(inner.args["query"])
            if not one_row and not has_subquery(inner.this):
                return self._in(inner, how)
        if isinstance(inner, exp.In) and inner.args.get("query") is not None and one_row:
            inner = node = as_comparison(inner, how == "semi")
            how = "semi"
        query = compared_subquery(inner) if how == "semi" else None
        if query is not None:
            keep = compared(self.scope, inner, query, self.names, self.bind)
            if keep is not None:
                return keep(self.scope.plan)
        found = Subqueries(self.scope, self.names, self.bind)
        plain = found.taken_out(node)
        condition = condition_of(self.scope.resolve(plain, found.added), node, "WHERE")
        return nodes.Select(found.applied(self.scope.plan), condition)

    def _exists(self, node: exp.Exists, how: nodes.JoinKind) -> nodes.Node:
        uses(node, "this")
        return self._joined(self._tied(node.this), [], how)

    def _in(self, node: exp.In, how: nodes.JoinKind) -> nodes.Node:
        uses(node, "this", "query")
        left = bare(node.this)
        sides = [left]
        if isinstance(left, exp.Tuple):
            uses(left, "expressions")
            sides = left.expressions
        found = self._tied(node.args["query"])
        if len(found.own) != len(sides):
            raise refuse(f"IN compares {len(sides)} values with {len(found.own)} columns", node)
        wanted = [self.scope.resolve(side) for side in sides]
        with at(node):
            if how == "semi":
                return self._joined(found, wanted, how)
            if found.ties or len(sides) > 1:
                return self._none_equal(found, wanted)
            return self._not_in(wanted[0], found)

    def _not_in(self, wanted: Expression, found: Untied) -> nodes.Node:
        """Spark's NOT IN: a null on either side is neither in nor not in, unless q is empty."""
        right = nodes.Project(found.plan, (nodes.Named("$in", found.own[0]),))
        column = Column("$in", right.schema.fields[0].type)
        same = operators.compare("equal", wanted, column)
        plan = nodes.Join(self.scope.plan, right, "anti", same)
        nulls = nodes.Select(right, operators.is_null((column,)))
        plan = nodes.Join(plan, nodes.Distinct(_one_column(nulls)), "anti", None)
        if isinstance(wanted, Literal) and wanted.value is not None:
            return plan
        missing = operators.is_null((wanted,))
        return nodes.Join(plan, nodes.Distinct(_one_column(right)), "anti", missing)

    def _none_equal(self, found: Untied, wanted: list[Expression]) -> nodes.Node:
        """NOT IN of several columns, or about the row outside: true if in no row of q all values
        are equal, where null equals anything. Rows without nulls, which are most, are looked up."""
        plan = self._joined(found, wanted, "anti")
        nulls = replace(found, plan=nodes.Select(found.plan, _any_null(found.own)))
        plan = self._joined(nulls, wanted, "anti", plan, or_null=True)
        return self._joined(found, wanted, "anti", plan, or_null=True, missing=True)

    def _tied(self, query: exp.Expr) -> Untied:
        """The rows of a subquery, and what ties them to the row outside."""
        found = untied(query, self.scope, self.names, self.bind)
        if found is None:
            found = Untied(self.bind(query, self.names))
        same_time(self.scope.plan, found.plan, query)
        return found

    def _joined(
        self,
        found: Untied,
        wanted: Sequence[Expression],
        how: nodes.JoinKind,
        rows: nodes.Node | None = None,
        *,
        or_null: bool = False,
        missing: bool = False,
    ) -> nodes.Node:
        """The semi or anti join by the ties and by equal values. `or_null`: a null counts as equal;
        `missing`: only rows with a null take part."""
        columns, ties = found.under("$inner")
        schema = Schema(tuple(Field(each.name, each.value.type) for each in columns))
        conditions = []
        for tie in ties:
            conditions.append(condition_of(self.scope.resolve(tie, schema), tie, "WHERE"))
        for one, other in zip(wanted, found.own, strict=False):
            name = f"$inner{len(columns)}"
            columns = (*columns, nodes.Named(name, other))
            same = operators.compare("equal", one, Column(name, other.type))
            if or_null:
                same = FUNCTIONS["coalesce"]((same, Literal(True, BOOLEAN)))
            conditions.append(same)
        if missing:
            conditions.append(_any_null(wanted))
        inner = nodes.Project(found.plan, columns) if columns else _one_column(found.plan)
        return nodes.Join(rows or self.scope.plan, inner, how, together(conditions))


def _any_null(values: Sequence[Expression]) -> Expression:
    return reduce(
        lambda one, other: operators.logical("or", one, other),
        [operators.is_null((each,)) for each in values],
    )


def _one_column(plan: nodes.Node) -> nodes.Node:
    """The same number of rows, with one constant column."""
    return nodes.Project(plan, (nodes.Named("$one", Literal(1, INT)),))
