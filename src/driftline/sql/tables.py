"""FROM: tables, subqueries, windows and joins, as plans with a scope of names."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.combining import need_same_time
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.resolver import resolve
from driftline.plan.types import BOOLEAN
from driftline.sql.errors import at, refuse
from driftline.sql.explode import lateral
from driftline.sql.scope import Relations, Scope
from driftline.sql.syntax import WindowTable
from driftline.sql.windows import window, window_columns

BindQuery = Callable[[exp.Expr, Relations], nodes.Node]

_JOINS: dict[tuple[str, str], nodes.JoinKind] = {
    ("", ""): "inner",
    ("", "INNER"): "inner",
    ("", "CROSS"): "inner",
    ("LEFT", ""): "left",
    ("LEFT", "OUTER"): "left",
    ("RIGHT", ""): "right",
    ("RIGHT", "OUTER"): "right",
    ("FULL", ""): "full",
    ("FULL", "OUTER"): "full",
    ("LEFT", "SEMI"): "semi",
    ("", "SEMI"): "semi",
    ("LEFT", "ANTI"): "anti",
    ("", "ANTI"): "anti",
}
_UNSUPPORTED_PARTS = {
    "pivots": "PIVOT",
    "sample": "TABLESAMPLE",
    "version": "VERSION AS OF",
    "when": "AT",
    "partition": "PARTITION",
    "laterals": "LATERAL VIEW",
}


def bind_from(node: exp.Expr, joins: list[exp.Join], names: Relations, bind: BindQuery) -> Scope:
    """The rows of FROM and its joins; `bind` is how a subquery becomes a plan."""
    return _Tables(names, bind).joined(node, joins)


class _Tables:
    def __init__(self, names: Relations, bind: BindQuery) -> None:
        self.names = names
        self.bind = bind

    def joined(self, node: exp.Expr, joins: list[exp.Join]) -> Scope:
        scope = self.table(node)
        for join in joins:
            scope = self.join(scope, join)
        return scope

    def table(self, node: exp.Expr) -> Scope:
        """One table with its brackets, its alias, and joins that are written inside it."""
        for part, said in _UNSUPPORTED_PARTS.items():
            if node.args.get(part):
                raise refuse(f"{said} is not supported", node)
        alias = node.args.get("alias")
        scope = self.rows(node)
        plan = scope.plan
        for bracket in (alias.args.get("brackets") if alias else None) or ():
            with at(bracket):
                plan = window(plan, bracket)
        if alias is not None and alias.args.get("columns"):
            plan = renamed(plan, alias.args["columns"], alias)
        if alias is not None and alias.this is not None:
            scope = Scope(self.named(plan, alias.name, alias))
        else:
            scope = scope.over(plan)
        for join in node.args.get("joins") or ():
            scope = self.join(scope, join)
        return scope

    def rows(self, node: exp.Expr) -> Scope:
        if isinstance(node, exp.Table):
            inner = node.this
            if isinstance(inner, WindowTable):
                rows = self.table(inner.this)
                with at(inner):
                    return rows.over(window_columns(rows.plan, inner))
            if isinstance(inner, exp.Identifier):
                plan = self.names.find(node)
                own = {(each.qualifier or "").lower() for each in plan.schema}
                if own == {node.name.lower()}:
                    return Scope(plan)
                return Scope(self.named(plan, node.name, node))
            raise refuse(
                f"{inner.name or inner.sql_name()} is no table here"
                if isinstance(inner, exp.Func)
                else "a table in FROM is a name, a subquery, TUMBLE(…) or HOP(…)",
                node,
            )
        if isinstance(node, exp.Subquery):
            inside = node.this
            if isinstance(inside, exp.Table):  # a join in brackets
                return self.table(inside)
            return Scope(self.bind(inside, self.names))
        if isinstance(node, exp.Values):
            raise refuse("VALUES has no times: a query reads streams", node)
        if isinstance(node, (exp.Lateral, exp.Unnest)):
            raise refuse("LATERAL and UNNEST come after a table: FROM t, LATERAL explode(…)", node)
        raise refuse("a table in FROM is a name, a subquery, TUMBLE(…) or HOP(…)", node)

    def named(self, plan: nodes.Node, name: str, node: exp.Expr) -> nodes.Node:
        """The rows under a name, by which each column must be clear."""
        seen: set[str] = set()
        for each in plan.schema:
            if each.name.lower() in seen:
                raise refuse(
                    f"{name} would have two columns {each.name}: name one of them with AS", node
                )
            seen.add(each.name.lower())
        return nodes.Alias(plan, name)

    # Joins

    def join(self, left: Scope, node: exp.Join) -> Scope:
        method = (node.args.get("method") or "").upper()
        side, kind = (node.args.get("side") or "").upper(), (node.args.get("kind") or "").upper()
        how = _JOINS.get((side, kind))
        if how is None or method not in ("", "NATURAL"):
            raise refuse(
                f"{' '.join(filter(None, (method, side, kind)))} JOIN is not supported", node
            )
        if isinstance(node.this, (exp.Lateral, exp.Unnest)):
            return self.lateral(left, node, how)
        right = self.table(node.this)
        _refuse_same_names(left, right, node.this)
        same_time(left.plan, right.plan, node.this)
        using = node.args.get("using")
        if method == "NATURAL":
            own = {each.name.lower() for each in right.schema}
            using = [
                exp.to_identifier(name, quoted=True)
                for name in dict.fromkeys(each.name for each in left.schema)
                if name.lower() in own
            ]
        if using:
            return self.join_using(left, right, how, using, node)
        condition = self.condition(left, right, node.args.get("on"))
        merged = {} if how in ("semi", "anti") else right.merged
        return Scope(
            nodes.Join(left.plan, right.plan, how, condition),
            {**merged, **left.merged},
            left.hidden | (frozenset() if how in ("semi", "anti") else right.hidden),
        )

    def lateral(self, left: Scope, node: exp.Join, how: nodes.JoinKind) -> Scope:
        """A join with what each row of the left side holds."""
        on = node.args.get("on")
        if how not in ("inner", "left") or node.args.get("using"):
            raise refuse("LATERAL goes with CROSS JOIN, JOIN or LEFT JOIN", node)
        if on is not None and not (isinstance(on, exp.Boolean) and on.this):
            raise refuse("LATERAL and UNNEST take no condition but true: use WHERE", on)
        return lateral(left, node.this, outer=how == "left")

    def condition(self, left: Scope, right: Scope, on: exp.Expr | None) -> Expression | None:
        if on is None:
            return None
        both = Scope(
            nodes.Join(left.plan, right.plan, "inner", None), {**right.merged, **left.merged}
        )
        value = both.resolve(on)
        check_condition(value, on, "ON")
        always = isinstance(value, Literal) and value.value is True
        return None if always else value

    def join_using(
        self,
        left: Scope,
        right: Scope,
        how: nodes.JoinKind,
        using: list[exp.Expr],
        node: exp.Join,
    ) -> Scope:
        both = nodes.Join(left.plan, right.plan, "inner", None).schema
        equal: list[Expression] = []
        merged: dict[str, exp.Expr] = {}
        hidden: set[str] = set(left.hidden | right.hidden)
        for each in using:
            sides = []
            for scope, what in ((left, "left"), (right, "right")):
                column = exp.column(each.copy())
                if not scope.has(column):
                    raise refuse(f"USING: the {what} side has no column {each.name}", each)
                sides.append(self.qualified(scope, column))
            one, other = sides
            with at(each):
                equal.append(resolve(exp.EQ(this=one.copy(), expression=other.copy()), both))
                for side in sides:
                    hidden |= resolve(side.copy(), both).columns()
            if how == "full":
                chosen: exp.Expr = exp.Anonymous(
                    this="coalesce", expressions=[one.copy(), other.copy()]
                )
            else:
                chosen = other if how == "right" else one
            merged[each.name.lower()] = chosen
        condition = reduce(lambda one, two: Call("and", (one, two), BOOLEAN), equal)
        plan = nodes.Join(left.plan, right.plan, how, condition)
        if how in ("semi", "anti"):
            return left.over(plan)
        return Scope(plan, {**merged, **right.merged, **left.merged, **merged}, frozenset(hidden))

    def qualified(self, scope: Scope, column: exp.Column) -> exp.Expr:
        """A column of one side, written so that it is clear on both."""
        if column.name.lower() in scope.merged:
            return scope.merged[column.name.lower()]
        with at(column):
            found = scope.schema.find(column.name)
            if len(found) > 1 or found[0].qualifier is None:
                raise refuse(f"USING: the column {column.name} is ambiguous", column)
        return exp.column(
            exp.to_identifier(found[0].name, quoted=True),
            exp.to_identifier(found[0].qualifier, quoted=True),
        )


def same_time(left: nodes.Node, right: nodes.Node, node: exp.Expr) -> None:
    """An error if one side counts microseconds and the other numbers of its own."""
    try:
        need_same_time(left, right)
    except PlanError as error:
        raise refuse(str(error), node) from None


def _refuse_same_names(left: Scope, right: Scope, node: exp.Expr) -> None:
    have = {(each.qualifier or "").lower(): each.qualifier for each in left.schema}
    for each in right.schema:
        qualifier = (each.qualifier or "").lower()
        if qualifier in have and (each.qualifier or left.schema.find(each.name)):
            said = (
                f"two tables have the name {each.qualifier}"
                if each.qualifier
                else (f"two tables without names have the column {each.name}")
            )
            raise refuse(f"{said}: give one an alias (FROM … AS other)", node)


def renamed(plan: nodes.Node, columns: list[exp.Expr], node: exp.Expr) -> nodes.Node:
    """The rows with other names for their columns, as in `AS t (a, b)`."""
    if len(columns) != len(plan.schema):
        raise refuse(f"there are {len(columns)} names for {len(plan.schema)} columns", node)
    schema = plan.schema
    values = Scope(plan).star()
    assert len(values) == len(schema)
    return nodes.Project(
        plan,
        tuple(
            nodes.Named(name.name, value.value) for name, value in zip(columns, values, strict=True)
        ),
    )


def check_condition(value: Expression, node: exp.Expr, clause: str) -> None:
    """An error unless it is a condition on single rows."""
    if value.aggregates():
        raise refuse(
            f"an aggregate cannot be in {clause}"
            + (": use HAVING, or a subquery" if clause == "WHERE" else ""),
            node,
        )
    if value.type != BOOLEAN and not (isinstance(value, Literal) and value.value is None):
        raise refuse(f"{clause} needs a condition, and {node.sql('spark')} is none", node)
