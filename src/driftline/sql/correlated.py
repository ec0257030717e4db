"""Subqueries about the row outside them, written so that they stand alone.

    SELECT f FROM u WHERE u.k = t.k AND p    =    SELECT f, u.k AS $tie0 FROM u WHERE p,
                                                  joined with t on t.k = $tie0

Where the subquery makes groups, cuts off or ranks, it does so for each value of the ties: these
are further keys of GROUP BY and PARTITION BY, and LIMIT counts in each of them. Where the row
outside is used otherwise than in `inner = outer`, its values are joined with the subquery's rows:

    SELECT f FROM u WHERE u.x < t.x          =    SELECT f, d.x AS $tie0 FROM d, u WHERE u.x < d.x,
                                                  joined with t on t.x <=> $tie0,
                                                  with d = SELECT DISTINCT x FROM t
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.expressions import Column, Expression
from driftline.plan.functions import AGGREGATES
from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.explode import lateral
from driftline.sql.order import has_ties, limit_of, offset_of
from driftline.sql.scope import Relations, Scope, columns_in, replaced, walked
from driftline.sql.tables import BindQuery, bind_from

TIE, OUTER = "$tie", "$outer"
_AROUND_AGGREGATES = (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)
_SEVERAL_SETS = ("grouping_sets", "rollup", "cube")


@dataclass(frozen=True)
class Untied:
    """A subquery that stands alone: the rows of `plan` have its own columns and then the ties.

    `conditions` tie them to the row outside, which is one of `domain`'s if that is given.
    """

    plan: nodes.Node
    ties: tuple[str, ...] = ()
    conditions: tuple[exp.Expr, ...] = ()
    grouped: bool = False  # by GROUP BY, as it was written
    domain: nodes.Node | None = None

    @property
    def own(self) -> list[Column]:
        """The columns of the subquery."""
        return self._columns()[: len(self.plan.schema) - len(self.ties)]

    @property
    def tied(self) -> list[Column]:
        """The columns that the conditions are about."""
        return self._columns()[len(self.plan.schema) - len(self.ties) :]

    def _columns(self) -> list[Column]:
        schema = self.plan.schema
        return [
            Column(name, each.type, each.qualifier)
            for name, each in zip(schema.names, schema, strict=True)
        ]

    def under(self, prefix: str) -> tuple[tuple[nodes.Named, ...], tuple[exp.Expr, ...]]:
        """The ties as columns with names of their own, and the conditions about these."""
        names = {tie: f"{prefix}{place}" for place, tie in enumerate(self.ties)}

        def called(column: exp.Column) -> exp.Expr | None:
            return _column(names[column.name], column) if column.name in names else None

        columns = zip(names.values(), self.tied, strict=True)
        return (
            tuple(nodes.Named(name, value) for name, value in columns),
            tuple(replaced(each, called) for each in self.conditions),
        )


def untied(
    query: exp.Expr,
    outer: Scope,
    names: Relations,
    bind: BindQuery,
    *,
    by_value: bool = False,
    by_domain: bool = False,
) -> Untied | None:
    """A subquery about the rows of `outer` that stands alone; None if it does as it is written.

    `by_value`: a row outside is tied to one value of the ties alone; `by_domain`: and that is there
    for every row outside.
    """
    inside = unwrapped(query)
    if not isinstance(inside, exp.Select) or inside.args.get("from_") is None:
        return None
    if inside.args.get("with_") is not None:
        return None
    return _Untying(inside.copy(), outer, names, bind).result(by_value, by_domain)


class _Untying:
    def __init__(self, query: exp.Select, outer: Scope, names: Relations, bind: BindQuery) -> None:
        self.query, self.outer, self.names, self.bind = query, outer, names, bind
        uses(query.args["from_"], "this")
        self.inner = bind_from(query.args["from_"].this, query.args.get("joins") or [], names, bind)
        for each in query.args.get("laterals") or ():
            self.inner = lateral(self.inner, each)
        self.given = {each.alias.lower() for each in query.expressions if each.alias}

    def result(self, by_value: bool, by_domain: bool) -> Untied | None:
        where = self.query.args.get("where")
        parts: list[exp.Expr] = []
        if where is not None:
            uses(where, "this")
            parts = conjuncts_of(where.this)
        ties = [part for part in parts if self._outside(part)]
        stray = [part for part in self._other_parts() if self._outside(part)]
        if not ties and not stray:
            return None
        keys = [self._key(part) for part in ties]
        together = by_value or self._is_together()
        if by_domain or stray or (together and None in keys):
            return self._by_domain()
        own = [part for part in parts if all(part is not tie for tie in ties)]
        self.query.set("where", exp.Where(this=exp.and_(*own, copy=False)) if own else None)
        if together:
            return self._tied(
                [inside for inside, _ in filter(None, keys)],
                lambda names: tuple(
                    self._equal(outside, name)
                    for (_, outside), name in zip(filter(None, keys), names, strict=True)
                ),
            )
        needed: dict[exp.Expr, str] = {}

        def of_the_inside(column: exp.Column) -> exp.Expr | None:
            if not self.inner.has(column):
                return None
            name = needed.setdefault(column, f"{TIE}{len(needed)}")
            return _column(name, column)

        conditions = tuple(replaced(tie, of_the_inside) for tie in ties)
        return self._tied(list(needed), lambda names: conditions)

    def _by_domain(self) -> Untied:
        """The subquery over its rows joined with the values that it uses of the row outside."""
        columns: dict[Expression, str] = {}
        written: list[exp.Expr] = []

        def of_the_domain(column: exp.Column) -> exp.Expr | None:
            if not self._is_outside(column):
                return None
            value = self.outer.resolve(column)
            if value not in columns:
                columns[value] = f"c{len(columns)}"
                written.append(column.copy())
            return _column(columns[value], column, OUTER)

        query = self.query
        query.set(
            "expressions", [each for item in query.expressions for each in self._listed(item)]
        )
        for key in ("expressions", "where", "group", "having", "qualify", "order"):
            part = query.args.get(key)
            if isinstance(part, list):
                query.set(key, [replaced(each, of_the_domain) for each in part])
            elif part is not None:
                query.set(key, replaced(part, of_the_domain))
        domain = nodes.Distinct(
            nodes.Project(
                self.outer.plan,
                tuple(nodes.Named(name, value) for value, name in columns.items()),
            )
        )
        self.names = Relations(self.names)
        self.names.define(OUTER, domain)
        table = exp.Table(this=exp.to_identifier(OUTER, quoted=True))
        joins = query.args.get("joins") or []
        first = exp.Join(this=query.args["from_"].this, kind="CROSS")
        query.set("from_", exp.From(this=table))
        query.set("joins", [first, *joins])
        keys: list[exp.Expr] = [_column(name, None, OUTER) for name in columns.values()]

        def same(names: list[str]) -> tuple[exp.Expr, ...]:
            one, other = _struct(written), _struct([_column(name, None) for name in names])
            return (exp.EQ(this=one, expression=other),)

        return self._tied(keys, same, domain)

    def _listed(self, item: exp.Expr) -> list[exp.Expr]:
        """An item of the select list, with the columns that a plain * means: not the domain's."""
        if not isinstance(item, exp.Star) or item.args.get("except_") or item.args.get("replace"):
            return [item]
        uses(item)
        if self.inner.merged:
            raise refuse("name the columns of a subquery about the row outside", item)
        return [
            exp.column(
                exp.to_identifier(each.name, quoted=True),
                each.qualifier and exp.to_identifier(each.qualifier, quoted=True),
            )
            for each in self.inner.schema
            if self.inner.schema.key(each) not in self.inner.hidden
        ]

    def _tied(
        self,
        keys: list[exp.Expr],
        conditions: Callable[[list[str]], tuple[exp.Expr, ...]],
        domain: nodes.Node | None = None,
    ) -> Untied:
        """The subquery with keys as further columns, one by one for each of their values."""
        names = [f"{TIE}{place}" for place in range(len(keys))]
        grouped = self.query.args.get("group") is not None
        query = self._each(self.query, keys)
        for key, name in zip(keys, names, strict=True):
            query.append("expressions", exp.alias_(key.copy(), name, quoted=True))
        plan = self.bind(query, self.names)
        return Untied(plan, tuple(names), conditions(names), grouped, domain)

    def _each(self, query: exp.Select, keys: list[exp.Expr]) -> exp.Select:
        """A query that computes for each value of the keys what it computed for all rows."""
        if self._has_aggregates():
            group = query.args.get("group")
            if group is None:
                query.set("group", exp.Group(expressions=[key.copy() for key in keys]))
            elif any(group.args.get(each) for each in _SEVERAL_SETS) or any(
                isinstance(each, (exp.Rollup, exp.Cube, exp.GroupingSets))
                for each in group.expressions
            ):
                raise refuse("grouping sets in a subquery about the row outside", group)
            elif not group.args.get("all"):
                group.set("expressions", [*group.expressions, *(key.copy() for key in keys)])
        for part in self._other_parts():
            for window in [each for each in walked(part) if isinstance(each, exp.Window)]:
                if window.args.get("alias") is not None:
                    raise refuse(
                        "a named WINDOW in a subquery about the row outside: write it out", window
                    )
                old = window.args.get("partition_by") or []
                window.set("partition_by", [*old, *(key.copy() for key in keys)])
        order, limit = query.args.get("order"), query.args.get("limit")
        if order is not None:
            uses(order, "expressions")
        count, offset = limit_of(limit, order), offset_of(query, order)
        method = "rank" if has_ties(query) else "row_number"
        query.set("limit", None)
        query.set("offset", None)
        query.set("order", None)
        if order is None or (count is None and not offset):
            return query
        if query.args.get("distinct") is not None:
            raise refuse("DISTINCT with LIMIT in a subquery about the row outside", order)
        place = exp.Window(
            this=exp.Anonymous(this=method, expressions=[]),
            partition_by=[key.copy() for key in keys],
            order=exp.Order(expressions=[self._by(each) for each in order.expressions]),
        )
        place.this.meta.update(order.meta)
        bounds: list[exp.Expr] = []
        if count is not None:
            bounds.append(exp.LTE(this=place, expression=exp.Literal.number(offset + count)))
        if offset:
            bounds.append(exp.GT(this=place.copy(), expression=exp.Literal.number(offset)))
        qualify = query.args.get("qualify")
        if qualify is not None:
            raise refuse("QUALIFY with LIMIT in a subquery about the row outside", order)
        query.set("qualify", exp.Qualify(this=exp.and_(*bounds, copy=False)))
        return query

    def _by(self, item: exp.Expr) -> exp.Expr:
        """An item of ORDER BY, with what a name or a number of the select list stands for."""
        item = item.copy()
        node = item.this
        items = self.query.expressions
        uses(item, "this", "desc", "nulls_first")
        if isinstance(node, exp.Literal) and not node.is_string:
            uses(node, "this")
            place = int(node.this) if node.this.isdigit() else 0
            if not 1 <= place <= len(items):
                raise refuse(f"there is no column {node.this} to order by", node)
            item.set("this", items[place - 1].unalias().copy())
        elif isinstance(node, exp.Column) and not node.table and node.name.lower() in self.given:
            uses(node, "this")
            named = next(each for each in items if each.alias.lower() == node.name.lower())
            item.set("this", named.unalias().copy())
        return item

    # What is used of the row outside

    def _other_parts(self) -> list[exp.Expr]:
        """The parts besides FROM and WHERE."""
        found: list[exp.Expr] = list(self.query.expressions)
        for key in ("group", "having", "qualify", "order"):
            part = self.query.args.get(key)
            if part is not None:
                found.append(part)
        return found

    def _outside(self, node: exp.Expr) -> bool:
        return any(map(self._is_outside, columns_in(node)))

    def _is_outside(self, column: exp.Column) -> bool:
        if isinstance(column.this, exp.Star) or self.inner.has(column):
            return False
        if not column.table and column.name.lower() in self.given:
            return False
        return self.outer.has(column)

    def _key(self, part: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
        """Both sides of `inner = outer`."""
        if not isinstance(part, exp.EQ):
            return None
        for inside, outside in ((part.this, part.expression), (part.expression, part.this)):
            columns = columns_in(inside)
            if columns and not self._outside(inside) and _is_plain(inside):
                outer = columns_in(outside)
                if outer and all(map(self._is_outside, outer)) and _is_plain(outside):
                    uses(part, "this", "expression")
                    return inside, outside
        return None

    @staticmethod
    def _equal(outside: exp.Expr, name: str) -> exp.Expr:
        return exp.EQ(this=outside.copy(), expression=_column(name, None))

    def _is_together(self) -> bool:
        """Whether the result for one row depends on other rows."""
        query = self.query
        if any(query.args.get(key) for key in ("distinct", "limit", "offset", "group", "qualify")):
            return True
        return self._has_aggregates() or any(
            isinstance(part, exp.Window) for item in query.expressions for part in walked(item)
        )

    def _has_aggregates(self) -> bool:
        query = self.query
        if query.args.get("group") is not None or query.args.get("having") is not None:
            return True
        order = query.args.get("order")
        return any(map(is_aggregate, [*query.expressions, *([] if order is None else [order])]))


def unwrapped(query: exp.Expr) -> exp.Expr:
    """A query without redundant brackets around it."""
    while isinstance(query, exp.Subquery) and not any(
        value for key, value in query.args.items() if key != "this"
    ):
        uses(query, "this")
        query = query.this
    return query


def conjuncts_of(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND joins."""
    inner = node
    while isinstance(inner, exp.Paren):
        uses(inner, "this")
        inner = inner.this
    if isinstance(inner, exp.And):
        uses(inner, "this", "expression")
        return [*conjuncts_of(inner.this), *conjuncts_of(inner.expression)]
    return [inner]


def is_aggregate(node: exp.Expr) -> bool:
    """Whether there is an aggregate in it, other than one OVER (…)."""
    windows: set[int] = set()
    for part in walked(node):
        if isinstance(part, exp.Window):
            function = part.this
            while isinstance(function, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls)):
                windows.add(id(function))
                function = function.this
            windows.add(id(function))
        elif id(part) in windows:
            continue
        elif isinstance(part, exp.Anonymous):
            if str(part.this).lower() in AGGREGATES:
                return True
        elif isinstance(part, exp.Any) and not isinstance(part.parent, (exp.Like, exp.ILike)):
            return True
    return False


def aggregates_in(node: exp.Expr) -> list[exp.Expr]:
    """The aggregates in an expression, each with its FILTER and its order, but none OVER (…)."""
    found = []
    for part in walked(node):
        if not isinstance(part, exp.Anonymous) or str(part.this).lower() not in AGGREGATES:
            continue
        whole: exp.Expr = part
        while isinstance(whole.parent, _AROUND_AGGREGATES) and whole.parent.this is whole:
            whole = whole.parent
        if not isinstance(whole.parent, exp.Window):
            found.append(whole)
    return found


def _is_plain(node: exp.Expr) -> bool:
    return not any(isinstance(part, (exp.Query, exp.Exists)) for part in walked(node))


def _column(name: str, like: exp.Expr | None, table: str | None = None) -> exp.Column:
    """A column of ours, at the place of one that was written."""
    made = exp.column(
        exp.to_identifier(name, quoted=True), table and exp.to_identifier(table, quoted=True)
    )
    if like is not None and isinstance(like.this, exp.Expr):
        made.this.meta.update(like.this.meta)
    return made


def _struct(values: Iterable[exp.Expr]) -> exp.Expr:
    """Several values as one struct; two are equal where all values are, nulls included."""
    parts: list[exp.Expr] = []
    for place, value in enumerate(values):
        parts += [exp.Literal.string(f"c{place}"), value.copy()]
    return exp.Anonymous(this="named_struct", expressions=parts)
