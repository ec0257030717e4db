"""GROUP BY: what expressions mean over groups rather than over rows."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from driftline.plan import nodes
from driftline.plan.expressions import AggregateCall, Column, Expression
from driftline.plan.types import BOOLEAN
from driftline.sql.errors import refuse
from driftline.sql.overs import PREFIX
from driftline.sql.scope import Scope, columns_in


class Groups:
    """The keys and the aggregates of a SELECT, collected while its expressions are read."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.keys: dict[Expression, str] = {}
        self.calls: dict[AggregateCall, str] = {}
        self.filters: list[Callable[[nodes.Node], nodes.Node]] = []

    def add_key(self, value: Expression, name: str | None = None) -> None:
        """A key; `name` is what the select list calls it."""
        if value in self.keys:
            return
        if name is None:
            plain = value.name.split(".")[-1] if isinstance(value, Column) else f"${value.sql()}"
            name = plain.strip("`")
        taken = {each.lower() for each in self.keys.values()}
        if name.lower() in taken:
            name = f"$key{len(self.keys)}"
        self.keys[value] = name

    def having(self, value: Expression, node: exp.Expr) -> None:
        if value.type != BOOLEAN:
            raise refuse(f"HAVING needs a condition, and {node.sql('spark')} is none", node)
        condition = self.over(value, node)
        self.filters.append(lambda plan: nodes.Select(plan, condition))

    def over(self, value: Expression, node: exp.Expr) -> Expression:
        """An expression over rows, as one over groups."""
        changed = self._changed(value)
        known = set(self.keys.values()) | set(self.calls.values())
        for stray in sorted(changed.columns() - known):
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
            return Column(name, value.type)
        if not value.children:
            return value
        return value.with_children(tuple(self._changed(child) for child in value.children))

    def _means(self, column: exp.Column, name: str) -> bool:
        return self.scope.has(column) and name in self.scope.resolve(column).columns()

    def _is_window(self, name: str) -> bool:
        return name.startswith(PREFIX) or not any(
            name == known for known in self.scope.schema.names
        )

    def plan(self) -> nodes.Node:
        """The groups, and of these the ones that HAVING keeps."""
        keys = tuple(nodes.Named(name, key) for key, name in self.keys.items())
        calls = tuple(nodes.Named(name, call) for call, name in self.calls.items())
        grouped: nodes.Node
        if calls:
            grouped = nodes.Aggregate(self.scope.plan, keys, calls)
        else:
            grouped = nodes.Distinct(nodes.Project(self.scope.plan, keys))
        for keep in self.filters:
            grouped = keep(grouped)
        return grouped


def nested_aggregate(value: AggregateCall) -> Exception:
    """The error for an aggregate of an aggregate."""
    from driftline.plan.errors import ExpressionError

    return ExpressionError(f"{value.function} of an aggregate: compute the inner one in a subquery")
