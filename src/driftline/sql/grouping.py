"""GROUP BY: what expressions mean over groups rather than over rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import reduce

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.by_session import distinct
from driftline.plan.expressions import AggregateCall, Column, Expression, Literal
from driftline.plan.functions import aggregate
from driftline.plan.functions.collections import in_key_order
from driftline.plan.types import BIGINT, TINYINT, Field, Schema
from driftline.plan.used import uses
from driftline.sql.errors import refuse
from driftline.sql.overs import PREFIX
from driftline.sql.scalar import with_row_of_nothing
from driftline.sql.scope import Relations, Scope, columns_in, walked
from driftline.sql.tables import truth
from driftline.sql.values import one_row

_ROWS = nodes.Named("$rows", aggregate("count", ()))
"""The column of groups of which no column is used."""
GROUPING, GROUPING_ID = "grouping", "grouping_id"
_GROUPING_COLUMN = "grouping__id"


class Groups:
    """The keys and the aggregates of a SELECT, collected while its expressions are read. `sets`:
    of GROUPING SETS the keys of each; None: there is one set, of all."""

    def __init__(self, scope: Scope, names: Relations) -> None:
        self.scope = scope
        self.names = names
        self.sets: list[frozenset[Expression]] | None = None
        self.asked = False  # whether grouping(…) is
        self.keys: dict[Expression, str] = {}
        self.taken: set[str] = set()  # the names of keys, in lower case
        self.named: set[str] = set()  # the names of keys and calls
        self.calls: dict[AggregateCall, str] = {}
        self.filters: list[Callable[[nodes.Node], nodes.Node]] = []

    def add_key(self, value: Expression, name: str | None = None) -> None:
        """A key; `name` is what the select list calls it."""
        if value in self.keys:
            return
        if name is None:
            plain = value.name.split(".")[-1] if isinstance(value, Column) else f"${value.sql()}"
            name = plain.strip("`")
        if name.lower() in self.taken:
            name = f"$key{len(self.keys)}"
        self.taken.add(name.lower())
        self.named.add(name)
        self.keys[value] = name

    def having(self, value: Expression, node: exp.Expr) -> None:
        condition = self.over(truth(value, node, "HAVING"), node)
        self.filters.append(lambda plan: nodes.Select(plan, condition))

    def over(self, value: Expression, node: exp.Expr) -> Expression:
        """An expression over rows, as one over groups."""
        changed = self._changed(value)
        for stray in sorted(changed.columns() - self.named):
            if not self._is_window(stray):
                place = next((each for each in columns_in(node) if self._means(each, stray)), node)
                raise refuse(
                    f"{stray} is neither in GROUP BY nor in an aggregate: add it to GROUP BY, or "
                    f"take first({stray})",
                    place,
                )
        return changed

    def _changed(self, value: Expression) -> Expression:
        if value in self.keys:
            return Column(self.keys[value], value.type)
        if isinstance(value, AggregateCall):
            if any(child.aggregates() for child in value.children):
                raise nested_aggregate(value)
            name = self.calls.setdefault(value, f"${len(self.calls)}")
            self.named.add(name)
            return Column(name, value.type)
        if not value.children:
            return value
        return value.with_children(tuple(self._changed(child) for child in value.children))

    def _means(self, column: exp.Column, name: str) -> bool:
        return self.scope.has(column) and name in self.scope.resolve(column).columns()

    def _is_window(self, name: str) -> bool:
        return name.startswith(PREFIX) or name not in self.scope.schema.places

    def plan(self) -> nodes.Node:
        """The groups, and of these the ones that HAVING keeps."""
        keys = tuple(nodes.Named(name, in_key_order(key)) for key, name in self.keys.items())
        calls = tuple(nodes.Named(name, call) for call, name in self.calls.items())
        grouped: nodes.Node
        if self.sets is not None:
            grouped = self._several(self.sets, calls)
        elif keys and not calls:
            grouped = distinct(nodes.Project(self.scope.plan, keys))
        else:
            grouped = nodes.Aggregate(self.scope.plan, keys, calls or (_ROWS,))
            if not keys and self.names.empty_aggregates:
                grouped = with_row_of_nothing(grouped, one_row(self.names))
        for keep in self.filters:
            grouped = keep(grouped)
        return grouped

    def _several(
        self, sets: Sequence[Collection[Expression]], calls: tuple[nodes.Named, ...]
    ) -> nodes.Node:
        """The groups of each set, with null for the keys that are not in it."""
        calls = calls or (_ROWS,)
        parts: list[nodes.Node] = []
        for chosen in sets:
            keys = tuple(
                nodes.Named(n, in_key_order(key)) for key, n in self.keys.items() if key in chosen
            )
            columns = [
                nodes.Named(n, Column(n, key.type) if key in chosen else Literal(None, key.type))
                for key, n in self.keys.items()
            ]
            columns += [
                nodes.Named(each.name, Column(each.name, each.value.type)) for each in calls
            ]
            left_out = [int(key not in chosen) for key in self.keys]
            values = [*left_out, int("".join(map(str, left_out)) or "0", 2)]
            columns += [
                nodes.Named(field.name, Literal(value, field.type))
                for field, value in zip(self.marks, values, strict=True)
                if self.asked
            ]
            parts.append(
                nodes.Project(nodes.Aggregate(self.scope.plan, keys, calls), tuple(columns))
            )
        return reduce(nodes.Union, parts)

    @property
    def marks(self) -> Schema:
        """Columns for the keys that a set leaves out: one for each key, and all as one number."""
        if self.sets is None:
            return Schema(())
        each = (Field(f"${GROUPING} {number}", TINYINT) for number in range(len(self.keys)))
        return Schema((*each, Field(f"${GROUPING_ID}", BIGINT)))

    def marked(self, node: exp.Expr, resolve: Callable[[exp.Expr], Expression]) -> exp.Expr:
        """An expression with such columns in the place of grouping(key) and grouping_id()."""
        if not has_grouping(node):
            return node
        if self.sets is None:
            place = next(filter(is_grouping, walked(node)))
            if isinstance(place, exp.Column):
                return node
            raise refuse(f"{place.name} needs GROUPING SETS, ROLLUP or CUBE", place)

        self.asked = True

        def mark(part: exp.Expr) -> exp.Expr:
            if not is_grouping(part):
                return part
            column = exp.column(exp.to_identifier(self._mark(part, resolve), quoted=True))
            column.this.meta.update(part.meta)
            return column

        return node.transform(mark)

    def _mark(self, call: exp.Expr, resolve: Callable[[exp.Expr], Expression]) -> str:
        uses(call, "this", "expressions")
        if isinstance(call, exp.Column):
            return self.marks.names[-1]
        keys, wanted = list(self.keys), [resolve(each) for each in call.expressions]
        if call.name.lower() == GROUPING_ID:
            if wanted and wanted != keys:
                raise refuse("grouping_id takes all keys in their order, or nothing", call)
            return self.marks.names[-1]
        if len(wanted) != 1 or wanted[0] not in self.keys:
            raise refuse("grouping takes one of the keys of GROUP BY", call)
        return self.marks.names[keys.index(wanted[0])]


def is_grouping(node: exp.Expr) -> bool:
    """Whether it is grouping(key), grouping_id(…) or grouping__id, which is the same."""
    if isinstance(node, exp.Column):
        return len(node.parts) == 1 and node.name.lower() == _GROUPING_COLUMN
    return isinstance(node, exp.Anonymous) and node.name.lower() in (GROUPING, GROUPING_ID)


def has_grouping(node: exp.Expr) -> bool:
    """Whether there is one in it."""
    return any(map(is_grouping, walked(node)))


def nested_aggregate(value: AggregateCall) -> Exception:
    """The error for an aggregate of an aggregate."""
    from driftline.plan.errors import ExpressionError

    return ExpressionError(f"{value.function} of an aggregate: compute the inner one in a subquery")
