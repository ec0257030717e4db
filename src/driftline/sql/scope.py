"""What names mean: relations by name, and columns inside one SELECT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Cast, Column, Expression, FieldAccess
from driftline.plan.functions.collections import field
from driftline.plan.names import find_column
from driftline.plan.resolver import resolve
from driftline.plan.types import STRING, Field, Schema, is_struct, type_name
from driftline.plan.used import uses
from driftline.sql.errors import at, refuse

OWN_COLUMN = "$scalar"
"""The first character of columns that a SELECT adds to its rows: `*` leaves them out."""

EXTREME = "extreme"
"""Marks the least or the greatest value of the rows that ANY or ALL compares with."""


class Relations:
    """The streams, views and CTEs that a query can read; inner ones hide outer ones. `to_come`: the
    CTEs of a WITH, also those that are not defined yet."""

    def __init__(self, outer: Relations | None = None) -> None:
        self.outer = outer
        self._plans: dict[str, tuple[str, nodes.Node]] = {}
        self.read: set[str] = set()
        self.to_come: set[str] = set()
        self.empty_aggregates: bool = outer is not None and outer.empty_aggregates
        """Whether an aggregate without GROUP BY has a row even of nothing."""

    def in_a_value(self) -> Relations:
        """The same to a subquery that is a value, which has one of nothing in any case."""
        inner = Relations(self)
        inner.empty_aggregates = False
        return inner

    def define(self, name: str, plan: nodes.Node) -> None:
        self._plans[name.lower()] = (name, plan)

    def known(self, name: str) -> bool:
        return name.lower() in self._plans

    def names(self) -> list[str]:
        outer = self.outer.names() if self.outer is not None else []
        return [name for name, _ in self._plans.values()] + outer

    @property
    def timestamps(self) -> bool:
        """Whether time ticks in microseconds for some of them."""
        own = any(plan.timestamps for _, plan in self._plans.values())
        return own or (self.outer is not None and self.outer.timestamps)

    def find(self, node: exp.Table) -> nodes.Node:
        """The plan behind a name in FROM."""
        if node.args.get("db") is not None:
            raise refuse("a stream has a name of one part: there are no databases here", node)
        found = self._lookup(node.name)
        if found is None and self._comes(node.name):
            raise refuse(
                f"{node.name} is not defined here yet: a name that uses itself, or another that "
                "comes after it, needs WITH RECURSIVE",
                node,
            )
        if found is None:
            near = get_close_matches(
                node.name.lower(), [name.lower() for name in self.names()], n=1, cutoff=0.6
            )
            known = {name.lower(): name for name in self.names()}
            hint = f"did you mean {known[near[0]]}?" if near else f"there are {self._listed()}"
            raise refuse(f"there is no stream or view {node.name}; {hint}", node)
        return found

    def _comes(self, name: str) -> bool:
        return name.lower() in self.to_come or (self.outer is not None and self.outer._comes(name))

    def _lookup(self, name: str) -> nodes.Node | None:
        if self.known(name):
            self.read.add(name.lower())
            return self._plans[name.lower()][1]
        return self.outer._lookup(name) if self.outer is not None else None

    def _listed(self) -> str:
        return ", ".join(self.names()) or "none: CREATE STREAM declares one"


@dataclass(frozen=True)
class MergedColumn:
    """A column that JOIN … USING gives once: its name, what stands for it, and before which column
    of the rows `*` has it."""

    name: str
    value: exp.Expr
    place: int = 0


@dataclass(frozen=True)
class Scope:
    """The rows that FROM gives, and what column names mean among them.

    `merged` holds the columns that JOIN … USING gives once, `hidden` the sides' own columns of
    these names, which `*` leaves out.
    """

    plan: nodes.Node
    merged: tuple[MergedColumn, ...] = ()
    hidden: frozenset[str] = frozenset()

    @property
    def schema(self) -> Schema:
        return self.plan.schema

    @property
    def is_plain(self) -> bool:
        """Whether `*` stands for all columns of the rows as they are."""
        return not self.merged and not any(each.name.startswith(OWN_COLUMN) for each in self.schema)

    def over(self, plan: nodes.Node) -> Scope:
        """The same names over other rows of the same columns."""
        return Scope(plan, self.merged, self.hidden)

    def beside(self, plan: nodes.Node, right: Scope) -> Scope:
        """The names of this side and of another one, over the rows of both."""
        width = len(self.schema)
        moved = tuple(replace(each, place=each.place + width) for each in right.merged)
        return Scope(plan, (*self.merged, *moved), self._hidden_in(plan, right))

    def _hidden_in(self, plan: nodes.Node, right: Scope) -> frozenset[str]:
        """The hidden columns of two sides, by their names among the columns of both."""
        names = plan.schema.names
        sides = (self, 0), (right, len(self.schema))
        return frozenset(
            names[start + place]
            for scope, start in sides
            for place, name in enumerate(scope.schema.names)
            if name in scope.hidden
        )

    def merged_as(self, name: str) -> MergedColumn | None:
        """The merged column that a name without a table means; an error if it may mean others."""
        found = [each for each in self.merged if each.name.lower() == name.lower()]
        if not found:
            return None
        others = [
            each for each in self.schema.find(name) if self.schema.key(each) not in self.hidden
        ]
        if len(found) > 1 or others:
            listed = ", ".join([str(each) for each in others] or ["that of either USING"])
            raise ExpressionError(
                f"the column {name} is ambiguous: it may be the one of USING, or {listed}"
            )
        return found[0]

    def prepared(self, node: exp.Expr) -> exp.Expr:
        """A copy in which the columns of USING are written out."""
        if not self.merged:
            return node

        def written_out(column: exp.Column) -> exp.Expr | None:
            if column.table or isinstance(column.this, exp.Star):
                return None
            with at(column):
                found = self.merged_as(column.name)
            return None if found is None else found.value

        return replaced(node, written_out)

    def resolve(self, node: exp.Expr, more: Schema | None = None) -> Expression:
        """The expression that a part of the query means; `more` are further columns."""
        with at(node):
            schema = self.schema if more is None else self.schema + more
            found = resolve(self.prepared(node), schema)
            if any(EXTREME in each.meta for each in walked(node)):
                _check_extremes(found)
            return found

    def has(self, column: exp.Column) -> bool:
        """Whether a name means a column here; an ambiguous one does."""
        names = [part.name for part in column.parts]
        if len(names) == 1 and any(each.name.lower() == names[0].lower() for each in self.merged):
            return True
        found = self.schema.find(names[1], names[0]) if len(names) > 1 else ()
        return bool(found or self.schema.find(names[0]))

    def star(self, qualifier: exp.Expr | None = None) -> list[nodes.Named]:
        """The columns that `*` or `relation.*` stands for."""
        schema = self.schema
        if qualifier is None:
            found: list[nodes.Named] = []
            for place, (name, each) in enumerate(zip(schema.names, schema, strict=True)):
                found += self._merged_at(place)
                if name not in self.hidden and not each.name.startswith(OWN_COLUMN):
                    found.append(nodes.Named(name, Column(name, each.type, each.qualifier)))
            return found + self._merged_at(len(schema))
        wanted = qualifier.name.lower()
        chosen = [
            each
            for each in schema
            if (each.qualifier or "").lower() == wanted and not each.name.startswith(OWN_COLUMN)
        ]
        if not chosen:
            known = sorted({each.qualifier for each in schema if each.qualifier})
            raise refuse(
                f"there is no relation {qualifier.name} here; there are {', '.join(known)}",
                qualifier,
            )
        return [nodes.Named(each.name, _column(schema, each)) for each in chosen]

    def _merged_at(self, place: int) -> list[nodes.Named]:
        return [
            nodes.Named(each.name, resolve(each.value.copy(), self.schema))
            for each in self.merged
            if each.place == place
        ]


def is_star(node: exp.Expr) -> bool:
    """Whether an item of a select list is `*` or `relation.*`."""
    return isinstance(node.this if isinstance(node, exp.Column) else node, exp.Star)


def names_in_star(node: exp.Expr) -> list[exp.Alias]:
    """The columns that `* REPLACE (…)` and `* RENAME (…)` give a value, or another name."""
    star = node.this if isinstance(node, exp.Column) else node
    return [*(star.args.get("replace") or ()), *(star.args.get("rename") or ())]


def starred(scope: Scope, node: exp.Expr) -> list[nodes.Named]:
    """The columns that `*` or `relation.*` in a select list stands for."""
    star = node.this if isinstance(node, exp.Column) else node
    uses(star, "except_", "replace", "rename")
    found = scope.star() if star is node else _of_path(scope, node)
    for left_out in star.args.get("except_") or ():
        if isinstance(left_out, exp.Column):
            uses(left_out, "this")
        kept = [each for each in found if each.name.lower() != left_out.name.lower()]
        if len(kept) == len(found):
            raise refuse(f"* EXCEPT: there is no column {left_out.name}", left_out)
        found = kept
    for other in star.args.get("replace") or ():
        uses(other, "this", "alias")
        places = [
            place for place, each in enumerate(found) if each.name.lower() == other.alias.lower()
        ]
        if not places:
            raise refuse(f"* REPLACE: there is no column {other.alias}", other)
        for place in places:
            found[place] = nodes.Named(found[place].name, scope.resolve(other.this))
    new_names: dict[int, str] = {}
    for other in star.args.get("rename") or ():
        uses(other, "this", "alias")
        uses(other.this, "this")
        old = other.this.name
        places = [place for place, each in enumerate(found) if each.name.lower() == old.lower()]
        if not places:
            raise refuse(f"* RENAME: there is no column {old}", other)
        new_names |= dict.fromkeys(places, other.alias)
    found = [
        nodes.Named(new_names.get(place, each.name), each.value) for place, each in enumerate(found)
    ]
    if not found:
        why = "* EXCEPT leaves no column" if star.args.get("except_") else "* needs a FROM"
        raise refuse(why, node)
    return found


def _of_path(scope: Scope, node: exp.Expr) -> list[nodes.Named]:
    """The columns of `relation.*`, or the fields of `struct.*`."""
    uses(node, "this", "table", "db", "catalog")
    table = node.args["table"]
    path = [part for part in (node.args.get("catalog"), node.args.get("db")) if part is not None]
    names = {(each.qualifier or "").lower() for each in scope.schema}
    column = exp.column(table.copy(), *(part.copy() for part in reversed(path)))
    if (not path and table.name.lower() in names) or not scope.has(column):
        if path:
            raise refuse(f"there is no column {table.name} here, of which * could be fields", node)
        return scope.star(table)
    value = scope.resolve(column)
    if not is_struct(value.type):
        kind = type_name(value.type)
        raise refuse(
            f"{table.name}.* is about a STRUCT or a table, and {table.name} a {kind}", node
        )
    return [nodes.Named(each.name, field(value, each.name)) for each in value.type]


def with_columns(scope: Scope, node: exp.Expr) -> exp.Expr:
    """An expression in which `*` among the arguments of a function is all columns."""
    calls = [
        part
        for part in walked(node)
        if isinstance(part, exp.Anonymous)
        and str(part.this).lower() != "count"
        and any(isinstance(each, exp.Star) for each in part.expressions)
    ]
    if not calls or scope.merged:
        return node
    columns = [
        exp.column(
            exp.to_identifier(each.name, quoted=True),
            exp.to_identifier(each.qualifier, quoted=True) if each.qualifier else None,
        )
        for name, each in zip(scope.schema.names, scope.schema, strict=True)
        if name not in scope.hidden and not each.name.startswith(OWN_COLUMN)
    ]
    for call in calls:
        given: list[exp.Expr] = []
        for each in call.expressions:
            if isinstance(each, exp.Star):
                uses(each)
                given += [column.copy() for column in columns]
            else:
                given.append(each)
        call.set("expressions", given)
    return node


def _check_extremes(value: Expression) -> None:
    """The least text is not the least number: '10' is before '9'."""
    for part in value.walk():
        if isinstance(part, Cast) and isinstance(part.value, FieldAccess) and part.type != STRING:
            names = [each.name for each in part.value.value.type]
            if part.value.type == STRING and names[0] == "nulls":
                raise ExpressionError(
                    "ANY and ALL would compare strings as they are written, and not as "
                    f"{type_name(part.type)}: CAST the column of the subquery"
                )


def _column(schema: Schema, each: Field) -> Column:
    return Column(schema.key(each), each.type, each.qualifier)


def column_of(schema: Schema, node: exp.Expr) -> Column:
    """The column that a name means, with no fields after it."""
    with at(node):
        if not isinstance(node, exp.Column):
            raise ExpressionError(f"a column is expected, and {node.sql('spark')} is none")
        uses(node, "this", "table", "db", "catalog")
        found, rest = find_column(schema, [part.name for part in node.parts])
        if rest:
            raise ExpressionError(f"a column is expected, and {node.name} is a field")
        return found


def columns_in(node: exp.Expr) -> list[exp.Column]:
    """The columns that are written in an expression, but not those in its subqueries."""
    return [each for each in walked(node) if isinstance(each, exp.Column)]


def walked(node: exp.Expr) -> list[exp.Expr]:
    """The parts of an expression, from the top; a subquery is one part."""
    return list(node.walk(prune=lambda each: isinstance(each, exp.Query) and each is not node))


def replaced(node: exp.Expr, change: Callable[[exp.Column], exp.Expr | None]) -> exp.Expr:
    """A copy of an expression in which `change` has replaced columns."""
    copy = node.copy()
    for column in columns_in(copy):
        new = change(column)
        if new is None:
            continue
        uses(column, "this", "table", "db", "catalog")
        if column is copy:
            copy = new.copy()
        else:
            column.replace(new.copy())
    return copy
