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
from driftline.plan.used import uses, uses_all
from driftline.sql.errors import refuse
from driftline.sql.order import has_ties, limit_of, no_order, offset_of
from driftline.sql.outside import Outside
from driftline.sql.query_parts import conjuncts_of, inlined, is_aggregate, unwrapped
from driftline.sql.scope import Relations, Scope, columns_in, replaced, walked
from driftline.sql.tables import BindQuery, is_table

TIE, OUTER = "$tie", "$outer"
_SEVERAL_SETS = ("grouping_sets", "rollup", "cube")
_ROWS = "$rows"
_AFTER_ROWS = ("order", "limit", "offset")
_KEEP_RIGHT = ("RIGHT", "FULL")


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
    inside = inlined(unwrapped(query))
    if inside is None:
        return None
    if isinstance(inside, exp.Select) and not _cuts_distinct(inside):
        return _Untying(inside, outer, names, bind).result(by_value, by_domain)
    found = Outside(inside, outer, names, bind)
    if not found.columns:
        return None
    if isinstance(inside, exp.SetOperation) and not any(map(inside.args.get, _AFTER_ROWS)):
        return _of_several(inside, found, outer, names, bind)
    if isinstance(inside, exp.Select):
        _order_by_place(inside)
    rows = exp.select("*")
    for key in _AFTER_ROWS:
        rows.set(key, inside.args.get(key))
        inside.set(key, None)
    alias = exp.TableAlias(this=exp.to_identifier(_ROWS, quoted=True))
    rows.set("from_", exp.From(this=exp.Subquery(this=unwrapped(inside), alias=alias)))
    return _Untying(rows, outer, names, bind).result(by_value, by_domain)


def _cuts_distinct(query: exp.Select) -> bool:
    """Whether it takes the first of rows that are made distinct, or chosen by QUALIFY, before."""
    return any(map(query.args.get, ("distinct", "qualify"))) and any(
        map(query.args.get, ("limit", "offset"))
    )


def _order_by_place(query: exp.Select) -> None:
    """Write the places of the select list in ORDER BY."""
    order = query.args.get("order")
    listed = [each.unalias() for each in query.expressions]
    names = [each.alias_or_name.lower() for each in query.expressions]
    for item in order.expressions if order is not None else ():
        node = item.this
        if isinstance(node, exp.Literal):
            continue
        if isinstance(node, exp.Column) and not node.table and node.name.lower() in names:
            place = names.index(node.name.lower())
        elif node in listed:
            place = listed.index(node)
        else:
            raise refuse(
                "a subquery about the row outside, with DISTINCT or QUALIFY and LIMIT, is ordered "
                "by columns of its select list",
                node,
            )
        uses_all(node)
        item.set("this", exp.Literal.number(place + 1))


def _of_several(
    query: exp.SetOperation, found: Outside, outer: Scope, names: Relations, bind: BindQuery
) -> Untied:
    """UNION and its like: each of the queries has the ties as further columns."""
    domain = _Domain(found.columns, outer)
    names, table = domain.defined(names)
    ties = [f"{TIE}{place}" for place in range(len(domain.columns))]

    def tied(node: exp.Expr) -> exp.Expr:
        node = unwrapped(node)
        if isinstance(node, exp.SetOperation) and not any(map(node.args.get, _AFTER_ROWS)):
            node.set("this", tied(node.this))
            node.set("expression", tied(node.expression))
            return node
        rows = exp.to_identifier(_ROWS, quoted=True)
        branch = exp.Lateral(this=exp.Subquery(this=node), alias=exp.TableAlias(this=rows.copy()))
        select = exp.Select(expressions=[exp.Column(this=exp.Star(), table=rows)])
        for key, name in zip(domain.keys(table), ties, strict=True):
            select.append("expressions", exp.alias_(key, name, quoted=True))
        select.set("from_", exp.From(this=_table(table)))
        select.set("joins", [exp.Join(this=branch, kind="CROSS")])
        return select

    domain.replace(table)
    plan = bind(tied(query), names)
    return Untied(plan, tuple(ties), domain.same(ties), False, domain.plan)


class _Domain:
    """The values that a subquery uses of the row outside it."""

    def __init__(self, used: list[exp.Column], outer: Scope) -> None:
        self.used = used
        self.columns: dict[Expression, str] = {}
        self.written: list[exp.Expr] = []
        self.names: list[str] = []
        for column in used:
            value = outer.resolve(column)
            if value not in self.columns:
                self.columns[value] = f"c{len(self.columns)}"
                self.written.append(column.copy())
            self.names.append(self.columns[value])
        named = tuple(nodes.Named(name, value) for value, name in self.columns.items())
        self.plan = nodes.Distinct(nodes.Project(outer.plan, named))

    def defined(self, names: Relations) -> tuple[Relations, str]:
        """Relations with the values as one of them, and how it is called."""
        taken = sum(each.startswith(OUTER) for each in names.names())
        name = f"{OUTER}{taken or ''}"
        inner = Relations(names)
        inner.define(name, self.plan)
        return inner, name

    def replace(self, table: str) -> None:
        """Write columns of the table in the place of those of the row outside."""
        for column, name in zip(self.used, self.names, strict=True):
            uses(column, "this", "table", "db", "catalog")
            new: exp.Expr = _column(name, column, table)
            if isinstance(column.parent, exp.Select) and column.arg_key == "expressions":
                new = exp.alias_(new, column.name, quoted=True)
            column.replace(new)

    def keys(self, table: str) -> list[exp.Expr]:
        return [_column(name, None, table) for name in self.columns.values()]

    def same(self, names: list[str]) -> tuple[exp.Expr, ...]:
        """That columns have the values of the row outside, nulls included."""
        one, other = _struct(self.written), _struct([_column(name, None) for name in names])
        return (exp.EQ(this=one, expression=other),)


class _Untying:
    def __init__(self, query: exp.Select, outer: Scope, names: Relations, bind: BindQuery) -> None:
        self.query, self.outer, self.names, self.bind = query, outer, names, bind
        self.outside = Outside(query, outer, names, bind)
        self.given = {each.alias.lower() for each in query.expressions if each.alias}

    def result(self, by_value: bool, by_domain: bool) -> Untied | None:
        if not self.outside.columns:
            return None
        where = self.query.args.get("where")
        parts: list[exp.Expr] = []
        if where is not None:
            uses(where, "this")
            parts = conjuncts_of(where.this)
        ties = [part for part in parts if self.outside.are_in(part)]
        near = {
            id(column)
            for part in ties
            if not isinstance(part, exp.Query)
            for column in columns_in(part)
        }
        keys = [self._key(part) for part in ties]
        together = by_value or self._is_together()
        if any(id(each) not in near for each in self.outside.columns):
            by_domain = True  # it is used elsewhere, or by a subquery of this one
        if by_domain or (together and None in keys):
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
            if self.outside.inner is None or not self.outside.inner.has(column):
                return None
            name = needed.setdefault(column, f"{TIE}{len(needed)}")
            return _column(name, column)

        conditions = tuple(replaced(tie, of_the_inside) for tie in ties)
        return self._tied(list(needed), lambda names: conditions)

    def _by_domain(self) -> Untied:
        """The subquery over its rows joined with the values that it uses of the row outside."""
        query = self.query
        query.set(
            "expressions", [each for item in query.expressions for each in self._listed(item)]
        )
        tables = self._tables()
        domain = _Domain(self.outside.columns, self.outer)
        self.names, table = domain.defined(self.names)
        domain.replace(table)
        query.set("from_", exp.From(this=_table(table)))
        query.set("joins", tables)
        return self._tied(domain.keys(table), domain.same, domain.plan)

    def _tables(self) -> list[exp.Join]:
        """What FROM joins, as it is joined with the values of the row outside: a subquery, or an
        explode and its like, that uses these as a LATERAL one."""
        source, joins = self.query.args.get("from_"), self.query.args.get("joins") or []
        if source is None:
            return []
        uses(source, "this")
        first = source.this
        if any(join.side in _KEEP_RIGHT for join in joins):
            for node in (first, *joins):
                if self.outside.are_in(node):
                    raise refuse(
                        "a subquery about the row outside uses it in no RIGHT or FULL JOIN", node
                    )
            first.set("joins", [*(first.args.get("joins") or ()), *joins])
            return [exp.Join(this=exp.Subquery(this=first), kind="CROSS")]
        made = [exp.Join(this=first, kind="CROSS"), *joins]
        for join in made:
            rows = join.this
            if not self.outside.are_in(rows):
                continue
            if isinstance(rows, exp.Table) and isinstance(rows.this, exp.Anonymous):
                uses(rows, "this", "alias")
                join.set("this", exp.Lateral(this=rows.this, alias=rows.args.get("alias")))
            if not isinstance(rows, exp.Subquery):
                continue
            if is_table(rows.this):
                raise refuse("brackets around a join with the row outside: leave them out", rows)
            uses(rows, "this", "alias")
            alias = rows.args.get("alias")
            rows.set("alias", None)
            join.set("this", exp.Lateral(this=rows, alias=alias))
        return made

    def _listed(self, item: exp.Expr) -> list[exp.Expr]:
        """An item of the select list, with the columns that a plain * means: not the domain's."""
        if not isinstance(item, exp.Star) or item.args.get("except_") or item.args.get("replace"):
            return [item]
        uses(item)
        inner = self.outside.inner
        if inner is None:
            return [item]
        if inner.merged:
            raise refuse("name the columns of a subquery about the row outside", item)
        return [
            exp.column(
                exp.to_identifier(each.name, quoted=True),
                each.qualifier and exp.to_identifier(each.qualifier, quoted=True),
            )
            for each in inner.schema
            if inner.schema.key(each) not in inner.hidden
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
                raise refuse(
                    "a subquery about the row outside takes no GROUPING SETS, ROLLUP or CUBE", group
                )
            elif not group.args.get("all"):
                group.set("expressions", [*group.expressions, *(key.copy() for key in keys)])
        windows = list(query.args.get("windows") or ())
        for part in self._other_parts():
            if not isinstance(part, exp.Query):
                windows += [each for each in walked(part) if isinstance(each, exp.Window)]
        for window in windows:
            if window.args.get("alias") is None:  # otherwise WINDOW name AS (…) has the keys
                old = window.args.get("partition_by") or []
                window.set("partition_by", [*old, *(key.copy() for key in keys)])
        order, limit = query.args.get("order"), query.args.get("limit")
        if order is not None:
            uses(order, "expressions")
        count, offset = limit_of(limit), offset_of(query)
        method = "rank" if has_ties(query) else "row_number"
        query.set("limit", None)
        query.set("offset", None)
        if count is None and not offset:
            return query
        listed = [each.unalias() for each in self.query.expressions]
        if order is not None:
            items = [self._by(each) for each in order.expressions]
        elif any(each.find(exp.Star, exp.Window, exp.Query) is not None for each in listed):
            raise no_order("LIMIT", query)
        else:
            items = [exp.Ordered(this=each.copy(), nulls_first=True) for each in listed]
        query.set("order", None)
        place = exp.Window(
            this=exp.Anonymous(this=method, expressions=[]),
            partition_by=[key.copy() for key in keys],
            order=exp.Order(expressions=items),
        )
        place.this.meta.update(query.meta if order is None else order.meta)
        bounds: list[exp.Expr] = []
        if count is not None:
            bounds.append(exp.LTE(this=place, expression=exp.Literal.number(offset + count)))
        if offset:
            bounds.append(exp.GT(this=place.copy(), expression=exp.Literal.number(offset)))
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

    def _key(self, part: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
        """Both sides of `inner = outer`."""
        if not isinstance(part, exp.EQ):
            return None
        for inside, outside in ((part.this, part.expression), (part.expression, part.this)):
            columns = columns_in(inside)
            if columns and not self.outside.are_in(inside) and _is_plain(inside):
                outer = columns_in(outside)
                if outer and all(map(self.outside.has, outer)) and _is_plain(outside):
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


def _table(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def _struct(values: Iterable[exp.Expr]) -> exp.Expr:
    """Several values as one struct; two are equal where all values are, nulls included."""
    parts: list[exp.Expr] = []
    for place, value in enumerate(values):
        parts += [exp.Literal.string(f"c{place}"), value.copy()]
    return exp.Anonymous(this="named_struct", expressions=parts)
