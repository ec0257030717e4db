"""FROM: tables, subqueries, windows and joins, as plans with a scope of names."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.combining import need_same_time
from driftline.plan.errors import ExpressionError, PlanError
from driftline.plan.expressions import Call, Column, Expression, Literal
from driftline.plan.functions.base import cast_to
from driftline.plan.names import as_written, told_apart
from driftline.plan.resolver import resolve
from driftline.plan.types import BOOLEAN, VOID
from driftline.plan.until import until
from driftline.plan.used import uses
from driftline.sql.errors import at, refuse
from driftline.sql.explode import (
    is_range,
    is_table_function,
    lateral,
    of_constants,
    only_items,
    table_function,
)
from driftline.sql.matches import match_rows
from driftline.sql.pivots import pivoted
from driftline.sql.query_parts import has_subquery
from driftline.sql.scope import MergedColumn, Relations, Scope, walked
from driftline.sql.syntax import WindowTable
from driftline.sql.values import one_row, values
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
        scope = self.rows(node)
        alias = node.args.get("alias")
        if alias is not None:
            scope = self.aliased(scope, alias)
        for pivot in node.args.get("pivots") or ():
            scope = pivoted(scope, pivot)
            if pivot.args.get("alias") is not None:
                scope = self.aliased(scope, pivot.args["alias"])
        for join in node.args.get("joins") or ():
            scope = self.join(scope, join)
        return scope

    def aliased(self, scope: Scope, alias: exp.Expr) -> Scope:
        """The rows under a name; or the matches of a pattern in these, with the alias after it."""
        uses(alias, "this", "columns", "brackets", "match")
        scope = self.under_name(scope, alias)
        match = alias.args.get("match")
        if match is None:
            return scope
        scope = Scope(match_rows(scope, match))
        after = match.args.get("alias")
        return scope if after is None else self.aliased(scope, after)

    def under_name(self, scope: Scope, alias: exp.Expr) -> Scope:
        """The rows with brackets, under another name, with other names for the columns."""
        plan = scope.plan
        for bracket in alias.args.get("brackets") or ():
            with at(bracket):
                if bracket.args["form"] == "until":
                    plan = self.until(plan, alias, bracket)
                else:
                    plan = window(plan, bracket)
        scope = scope.over(plan)
        columns = alias.args.get("columns")
        if columns:
            scope = Scope(renamed(scope, columns, alias))
        if alias.this is None:
            return scope
        if not scope.is_plain:
            scope = Scope(nodes.Project(scope.plan, tuple(scope.star())))
        return Scope(self.named(scope.plan, alias.name))

    def until(self, plan: nodes.Node, alias: exp.Expr, bracket: exp.Expr) -> nodes.Node:
        """`[UNTIL other ON condition]`."""
        uses(bracket, "form", "other", "on")
        left = Scope(plan if alias.this is None else self.named(plan, alias.name))
        right = self.table(bracket.args["other"])
        refuse_same_names(left, right, bracket)
        same_time(left.plan, right.plan, bracket)
        return until(left.plan, right.plan, self.condition(left, right, bracket.args["on"]))

    def rows(self, node: exp.Expr) -> Scope:
        if isinstance(node, exp.Table):
            _refuse_versions(node)
            uses(node, "this", "alias", "joins", "pivots", "db", "catalog")
            inner = node.this
            if isinstance(inner, WindowTable):
                uses(inner, "this", "name", "time", "keys", "expressions")
                rows = self.table(inner.this)
                with at(inner):
                    return rows.over(window_columns(rows.plan, inner))
            if isinstance(inner, exp.Identifier):
                plan = self.names.find(node)
                own = {(each.qualifier or "").lower() for each in plan.schema}
                if own == {node.name.lower()}:
                    return Scope(plan)
                return Scope(self.named(plan, node.name))
            if isinstance(inner, exp.Anonymous) and is_table_function(inner):
                return Scope(table_function(inner, self.names))
            raise refuse(
                f"{inner.name or inner.sql_name()} is not a table here"
                if isinstance(inner, exp.Func)
                else "a table in FROM is a name, a subquery, TUMBLE(…), HOP(…) or SESSION(…)",
                node,
            )
        if isinstance(node, exp.Subquery):
            inside = node.this
            uses(node, "this", "alias", "joins", "pivots")
            return self.table(inside) if is_table(inside) else Scope(self.bind(inside, self.names))
        if isinstance(node, exp.Values):
            uses(node, "expressions", "alias", "joins", "pivots")
            return Scope(values(node, self.names))
        if isinstance(node, exp.Unnest) and of_constants(node):
            rows = Scope(one_row(self.names))
            width = len(rows.schema)
            rows = lateral(rows, node)
            return Scope(rows.plan, rows.merged, rows.hidden | {*rows.schema.names[:width]})
        if isinstance(node, exp.Lateral) and not node.args.get("view"):
            uses(node, "this", "alias", "joins", "pivots")
            inside = node.this
            if isinstance(inside, exp.Query):
                return Scope(self.bind(inside, self.names))
            if isinstance(inside, exp.Anonymous) and is_table_function(inside):
                return Scope(table_function(inside, self.names))
        if isinstance(node, (exp.Lateral, exp.Unnest)):
            raise refuse("LATERAL and UNNEST come after a table: FROM t, LATERAL explode(…)", node)
        raise refuse("a table in FROM is a name, a subquery, TUMBLE(…), HOP(…) or SESSION(…)", node)

    def named(self, plan: nodes.Node, name: str) -> nodes.Node:
        """The rows under a name."""
        schema = plan.schema
        names = told_apart([as_written(each.name) for each in schema])
        if names != [each.name for each in schema]:
            columns = zip(names, schema.names, schema, strict=True)
            plan = nodes.Project(
                plan,
                tuple(
                    nodes.Named(new, Column(old, each.type, each.qualifier))
                    for new, old, each in columns
                ),
            )
        return nodes.Alias(plan, name)

    # Joins

    def join(self, left: Scope, node: exp.Join) -> Scope:
        uses(node, "this", "method", "side", "kind", "on", "using", "match_condition")
        method = (node.args.get("method") or "").upper()
        side, kind = (node.args.get("side") or "").upper(), (node.args.get("kind") or "").upper()
        how = _JOINS.get((side, kind))
        version = node.this.args.get("version") if isinstance(node.this, exp.Table) else None
        if how is not None and (method == "ASOF" or _is_as_of(version)):
            return self.as_of(left, node, how, version)
        if how is None or method not in ("", "NATURAL"):
            raise refuse(
                f"{' '.join(filter(None, (method, side, kind)))} JOIN is not supported", node
            )
        if isinstance(node.this, exp.Lateral) and node.this.args.get("view"):
            raise refuse("LATERAL VIEW comes after a table, without JOIN or a comma", node.this)
        if isinstance(node.this, (exp.Lateral, exp.Unnest)):
            return self.lateral(left, node, how)
        right = self.table(node.this)
        if method == "NATURAL" or node.args.get("using"):
            left, right = _with_name(left, "left"), _with_name(right, "right")
        refuse_same_names(left, right, node.this)
        same_time(left.plan, right.plan, node.this)
        using, on = node.args.get("using"), node.args.get("on")
        if method == "NATURAL":
            if using or on is not None:
                raise refuse("a NATURAL JOIN takes no ON and no USING", node)
            using = _common(left, right)
        if using:
            return self.join_using(left, right, how, using)
        if on is not None and has_subquery(on):
            from driftline.sql.subqueries import beside_join
            from driftline.sql.where import filtered

            if how == "inner":
                pairs = left.beside(nodes.Join(left.plan, right.plan, how, None), right)
                return filtered(pairs, on, "ON", self.names, self.bind)
            left, right, on = beside_join(left, right, on, self.names, self.bind)
        condition = self.condition(left, right, on)
        plan = nodes.Join(left.plan, right.plan, how, condition)
        return left.over(plan) if how in ("semi", "anti") else left.beside(plan, right)

    def as_of(
        self, left: Scope, node: exp.Join, how: nodes.JoinKind, version: exp.Expr | None
    ) -> Scope:
        """A join with the latest row of the right."""
        from driftline.sql.as_of import as_of_join

        table = node.this
        if version is not None:
            uses(version, "this", "kind", "expression")
            table = table.copy()
            table.set("version", None)
        right = self.table(table)
        conditions = [node.args.get("match_condition"), node.args.get("on")]
        using, merged = node.args.get("using") or [], []
        if using:
            left, right = _with_name(left, "left"), _with_name(right, "right")
        for place, name in enumerate(using, 1):
            one = self.side_of_using(left, "left", name)
            other = self.side_of_using(right, "right", name)
            is_time = place == len(using) and conditions[0] is None
            kind = exp.GTE if is_time else exp.EQ  # as DuckDB has it: the last one is the time
            conditions.append(kind(this=one.copy(), expression=other.copy()))
            merged.append((MergedColumn(name.name, one), (one, other)))
        refuse_same_names(left, right, node.this)
        same_time(left.plan, right.plan, node.this)
        of = version and version.args.get("expression")
        rows = as_of_join(left, right, how, node, list(filter(None, conditions)), of)
        hidden, schema = set(rows.hidden), rows.plan.schema
        for side in (side for _, sides in merged for side in sides):
            hidden |= resolve(side.copy(), schema).columns()
        return Scope(rows.plan, (*(each for each, _ in merged), *rows.merged), frozenset(hidden))

    def lateral(self, left: Scope, node: exp.Join, how: nodes.JoinKind) -> Scope:
        """A join with what each row of the left side holds."""
        on = node.args.get("on")
        if how not in ("inner", "left") or node.args.get("using") or node.args.get("method"):
            raise refuse("LATERAL goes with CROSS JOIN, JOIN or LEFT JOIN, and ON", node)
        if isinstance(node.this, exp.Lateral) and isinstance(node.this.this, exp.Query):
            from driftline.sql.laterals import lateral_query

            return lateral_query(left, node.this, how, on, self.names, self.bind)
        if isinstance(node.this.this, exp.Anonymous) and is_range(node.this.this):
            rows = self.table(node.this)
            refuse_same_names(left, rows, node.this)
            plan = nodes.Join(left.plan, rows.plan, how, self.condition(left, rows, on))
            return left.beside(plan, rows)
        rows = lateral(left, node.this, outer=how == "left")
        return where_on(rows, how, on)

    def condition(self, left: Scope, right: Scope, on: exp.Expr | None) -> Expression | None:
        if on is None:
            return None
        for part in walked(on):
            if isinstance(part, (exp.Query, exp.Exists)):
                raise refuse("a subquery cannot be in ON here: put it into WHERE", part)
        both = nodes.Join(left.plan, right.plan, "inner", None)
        value = left.beside(both, right).resolve(on)
        value = condition_of(value, on, "ON")
        always = isinstance(value, Literal) and value.value is True
        return None if always else value

    def join_using(
        self,
        left: Scope,
        right: Scope,
        how: nodes.JoinKind,
        using: list[exp.Expr],
    ) -> Scope:
        rows = nodes.Join(left.plan, right.plan, "inner", None)
        both = left.beside(rows, right)
        equal: list[Expression] = []
        merged: list[MergedColumn] = []
        hidden = set(both.hidden)
        for each in using:
            one, other = (
                self.side_of_using(scope, what, each)
                for scope, what in ((left, "left"), (right, "right"))
            )
            with at(each):
                if any(known.name.lower() == each.name.lower() for known in merged):
                    raise ExpressionError(f"USING names the column {each.name} twice")
                equal.append(resolve(exp.EQ(this=one.copy(), expression=other.copy()), rows.schema))
                for side in (one, other):
                    hidden |= resolve(side.copy(), rows.schema).columns()
            chosen = other if how == "right" else one
            if how == "full":
                chosen = exp.Anonymous(this="coalesce", expressions=[one.copy(), other.copy()])
            name = one.name if isinstance(one, exp.Column) else each.name
            merged.append(MergedColumn(name, chosen))
        condition = reduce(lambda one, two: Call("and", (one, two), BOOLEAN), equal)
        plan = nodes.Join(left.plan, right.plan, how, condition)
        if how in ("semi", "anti"):
            return left.over(plan)
        again = {each.name.lower() for each in merged}
        kept = (each for each in both.merged if each.name.lower() not in again)
        return Scope(plan, (*merged, *kept), frozenset(hidden))

    def side_of_using(self, scope: Scope, what: str, name: exp.Expr) -> exp.Expr:
        """A column of one side of USING, written so that it is clear on both."""
        with at(name):
            merged = scope.merged_as(name.name)
            if merged is not None:
                return merged.value
            found = scope.schema.find(name.name)
            if not found:
                raise refuse(f"USING: the {what} side has no column {name.name}", name)
            if len(found) > 1:
                raise refuse(f"USING: the column {name.name} is ambiguous on the {what} side", name)
        qualifier = found[0].qualifier
        if qualifier is None:
            raise refuse(f"USING: give the tables of the {what} side names (… AS name)", name)
        return exp.column(
            exp.to_identifier(found[0].name, quoted=True),
            exp.to_identifier(qualifier, quoted=True),
        )


def _with_name(scope: Scope, side: str) -> Scope:
    """A side of USING, whose columns need the name of a table."""
    if scope.merged or any(each.qualifier for each in scope.schema):
        return scope
    return scope.over(nodes.Alias(scope.plan, f"${side}{len(scope.schema)}"))


def _common(left: Scope, right: Scope) -> list[exp.Expr]:
    """The columns that both sides of a NATURAL JOIN have."""
    own = {each.name.lower() for each in right.schema}
    return [
        exp.to_identifier(name, quoted=True)
        for name in {each.name.lower(): each.name for each in left.schema}.values()
        if name.lower() in own
    ]


def is_table(node: exp.Expr) -> bool:
    """Whether what is in brackets is a table or a join, and not a query."""
    if isinstance(node, exp.Subquery) and is_table(node.this):
        return True
    named = any(node.args.get(key) for key in ("alias", "joins", "pivots"))
    return not isinstance(node, exp.Query) or (isinstance(node, exp.Subquery) and named)


def _refuse_versions(node: exp.Table) -> None:
    version = node.args.get("version")
    if version is not None:
        by = "VERSION" if str(version.this).upper() == "VERSION" else "SYSTEM_TIME or TIMESTAMP"
        raise refuse(
            f"{by} AS OF is not supported: a join sees the rows that are valid at the same time, "
            "so leave it out, or name the time of the left, FOR SYSTEM_TIME AS OF l.ts",
            node,
        )


def _is_as_of(version: exp.Expr | None) -> bool:
    """Whether it is FOR SYSTEM_TIME AS OF a column, which a join has."""
    if version is None or str(version.this).upper() != "TIMESTAMP":
        return False
    return version.args.get("kind") == "AS OF" and isinstance(version.expression, exp.Column)


def same_time(left: nodes.Node, right: nodes.Node, node: exp.Expr) -> None:
    """An error if one side counts microseconds and the other numbers of its own."""
    try:
        need_same_time(left, right)
    except PlanError as error:
        raise refuse(str(error), node) from None


def refuse_same_names(left: Scope, right: Scope, node: exp.Expr) -> None:
    """An error if a name of the right side is one of the left, too."""
    have = {(each.qualifier or "").lower(): each.qualifier for each in left.schema}
    for each in right.schema:
        qualifier = (each.qualifier or "").lower()
        if qualifier in have and (each.qualifier or left.schema.find(each.name)):
            problem = (
                f"two tables have the name {each.qualifier}"
                if each.qualifier
                else (f"two tables without names have the column {each.name}")
            )
            raise refuse(f"{problem}: give one an alias (FROM … AS other)", node)


def renamed(rows: Scope | nodes.Node, columns: list[exp.Expr], node: exp.Expr) -> nodes.Node:
    """The rows with other names for their columns, as in `AS t (a, b)`."""
    scope = rows if isinstance(rows, Scope) else Scope(rows)
    values = scope.star()
    if len(columns) != len(values):
        raise refuse(f"there are {len(columns)} names for {len(values)} columns", node)
    seen: set[str] = set()
    for name in columns:
        if name.name.lower() in seen:
            raise refuse(f"two columns would have the name {name.name}", name)
        seen.add(name.name.lower())
    return nodes.Project(
        scope.plan,
        tuple(
            nodes.Named(name.name, value.value) for name, value in zip(columns, values, strict=True)
        ),
    )


def where_on(rows: Scope, how: nodes.JoinKind, on: exp.Expr | None) -> Scope:
    """Rows beside what each of them holds, for which the condition of the join is true."""
    if on is None:
        return rows
    value = condition_of(rows.resolve(on), on, "ON")
    if isinstance(value, Literal) and value.value is True:
        return rows
    if how == "left":
        return rows.over(only_items(rows.plan, value))
    return rows.over(nodes.Select(rows.plan, value))


def condition_of(value: Expression, node: exp.Expr, clause: str) -> Expression:
    """A condition on single rows; an error if it is none."""
    if value.aggregates():
        raise refuse(
            f"an aggregate cannot be in {clause}"
            + (": use HAVING, or a subquery" if clause == "WHERE" else ""),
            node,
        )
    return truth(value, node, clause)


def truth(value: Expression, node: exp.Expr, clause: str) -> Expression:
    """The value as a BOOLEAN, which NULL is, too; an error if it is none."""
    if value.type not in (BOOLEAN, VOID):
        raise refuse(f"{clause} needs a condition, and {node.sql('spark')} is none", node)
    return cast_to(value, BOOLEAN)
