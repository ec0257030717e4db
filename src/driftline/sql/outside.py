"""Which columns a subquery uses of the rows outside it, however deep inside it they are written.

A name means a column of the innermost query that has it: of the query it stands in, else of the one
around that, and so on. A subquery in FROM does not see the tables beside it, one after LATERAL sees
those before it.
"""

from __future__ import annotations

from typing import TypeVar

from sqlglot import exp

from driftline.plan.dialect import parse_sql
from driftline.plan.expressions import Literal
from driftline.sql.explode import lateral
from driftline.sql.scope import Relations, Scope, walked
from driftline.sql.syntax import WindowTable
from driftline.sql.tables import BindQuery, bind_from, is_table

Found = list[tuple[exp.Column, int]]
"""Columns, each with the place of its scope among those outside, the nearest of which is 0."""
Node = TypeVar("Node", bound=exp.Expr)
_OTHER_PARTS = ("group", "having", "qualify", "order")


class Outside:
    """What a query uses of the rows around it; `inner` are those of its own FROM."""

    def __init__(self, query: exp.Expr, outer: Scope, names: Relations, bind: BindQuery) -> None:
        self.names, self.bind = names, bind
        self.inner: Scope | None = None
        self.columns = [column for column, _ in self._in_query(query, (outer,))]
        self._ids = {id(each) for each in self.columns}

    def has(self, column: exp.Expr) -> bool:
        """Whether it is one of the columns."""
        return id(column) in self._ids

    def are_in(self, node: exp.Expr) -> bool:
        """Whether there is one of the columns in it, or in its subqueries."""
        return any(map(self.has, node.walk()))

    def _in_query(self, query: exp.Expr, scopes: tuple[Scope, ...]) -> Found:
        if isinstance(query, exp.Select):
            return self._in_select(query, scopes)
        if isinstance(query, exp.SetOperation):
            return [
                *self._in_query(query.this, scopes),
                *self._in_query(query.expression, scopes),
            ]
        return self._in_query(query.this, scopes) if isinstance(query, exp.Subquery) else []

    def _in_select(self, query: exp.Select, scopes: tuple[Scope, ...]) -> Found:
        found, inner = self._in_from(query, scopes)
        where = query.args.get("where")
        if where is not None:
            found += self._in_expression(where, inner, scopes)
        given = frozenset(each.alias.lower() for each in query.expressions if each.alias)
        others = [query.args[each] for each in _OTHER_PARTS if query.args.get(each) is not None]
        for each in (*query.expressions, *(query.args.get("windows") or ()), *others):
            found += self._in_expression(each, inner, scopes, given)
        self.inner = inner
        return found

    def _in_expression(
        self,
        node: exp.Expr,
        own: Scope | None,
        scopes: tuple[Scope, ...],
        given: frozenset[str] = frozenset(),
    ) -> Found:
        found: Found = []
        for part in [node] if isinstance(node, exp.Query) else walked(node):
            if isinstance(part, exp.Query):
                found += self._around(own, self._in_query(part, _with(own, scopes)))
            elif isinstance(part, exp.Column) and not isinstance(part.this, exp.Star):
                if own is not None and own.has(part):
                    continue
                if not part.table and part.name.lower() in given:
                    continue
                place = next((at for at, each in enumerate(scopes) if each.has(part)), None)
                if place is not None:
                    found.append((part, place))
        return found

    @staticmethod
    def _around(own: Scope | None, found: Found) -> Found:
        """Of what a query uses of those around it, what does not belong to the nearest."""
        if own is None:
            return found
        return [(column, place - 1) for column, place in found if place > 0]

    # FROM

    def _in_from(self, query: exp.Select, scopes: tuple[Scope, ...]) -> tuple[Found, Scope | None]:
        source, joins = query.args.get("from_"), query.args.get("joins") or []
        if source is None:
            return [], None
        found = self._in_table(source.this, scopes)
        for place, join in enumerate(joins):
            if isinstance(join.this, (exp.Lateral, exp.Unnest)):
                left = self._rows(source.this, joins[:place], found, scopes)
                found += self._in_lateral(join.this, left, scopes)
            else:
                found += self._in_table(join.this, scopes)
        inner = self._rows(source.this, joins, found, scopes)
        for each in query.args.get("laterals") or ():
            found += self._in_expression(each.this, inner, scopes)
            inner = lateral(inner, _without(each, found, scopes))
        for join in joins:
            if join.args.get("on") is not None:
                found += self._in_expression(join.args["on"], inner, scopes)
        return found, inner

    def _in_lateral(self, node: exp.Expr, left: Scope, scopes: tuple[Scope, ...]) -> Found:
        if isinstance(node, exp.Unnest):
            return [
                each
                for part in node.expressions
                for each in self._in_expression(part, left, scopes)
            ]
        if isinstance(node.this, exp.Query):
            return self._around(left, self._in_query(node.this, (left, *scopes)))
        return self._in_expression(node.this, left, scopes)

    def _in_table(self, node: exp.Expr, scopes: tuple[Scope, ...]) -> Found:
        """What the subqueries of a table, or of a join in brackets, use."""
        found: Found = []
        if isinstance(node, exp.Subquery):
            find = self._in_table if is_table(node.this) else self._in_query
            found += find(node.this, scopes)
        elif isinstance(node, exp.Table) and isinstance(node.this, WindowTable):
            found += self._in_table(node.this.this, scopes)
        elif isinstance(node, exp.Unnest) or isinstance(node.this, exp.Anonymous):
            for part in node.expressions or [node.this]:
                found += self._in_expression(part, None, scopes)
        for join in node.args.get("joins") or ():
            found += self._in_table(join.this, scopes)
        return found

    def _rows(
        self, table: exp.Expr, joins: list[exp.Join], found: Found, scopes: tuple[Scope, ...]
    ) -> Scope:
        """The rows of FROM, of which the columns are wanted: with nulls for what is outside."""
        made: list[exp.Join] = []
        for join in joins:
            made.append(_without(join, found, scopes))
            made[-1].set("on", None)
        return bind_from(_without(table, found, scopes), made, self.names, self.bind)


def _with(own: Scope | None, scopes: tuple[Scope, ...]) -> tuple[Scope, ...]:
    return scopes if own is None else (own, *scopes)


def _without(node: Node, found: Found, scopes: tuple[Scope, ...]) -> Node:
    """A copy with a null in the place of every column from outside."""
    places = {id(column): place for column, place in found}
    copy = node.copy()
    pairs = list(zip(node.walk(), copy.walk(), strict=True))
    for old, new in pairs:
        if id(old) in places:
            kind = scopes[places[id(old)]].resolve(new).type
            null = parse_sql(Literal(None, kind).sql())
            is_item = isinstance(new.parent, exp.Select) and new.arg_key == "expressions"
            new.replace(exp.alias_(null, new.name, quoted=True) if is_item else null)
    return copy
