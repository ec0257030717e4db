"""The body of a rule with a column for the level of a derivation.

    back from a rule     the level its rows are sent round with
    an input             0
    a join               the greater of both sides
    an aggregate         that of the round, as one more aggregate
    all else             that of the row it is computed from

An edge back becomes a leaf of its own for every use, with a level column of its own name, so that
two uses can meet in one row. What a level is computed from stays in the rows until it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from driftline.plan import nodes
from driftline.plan.errors import PlanError
from driftline.plan.expressions import AggregateCall, Call, Column, Expression, Literal
from driftline.plan.types import BIGINT, Field, Schema

LEVEL = "$level"
OUTSIDE = Literal(0, BIGINT)
"""The level of what comes from outside."""


@dataclass
class Levels:
    """`uses`: by the name of a rule, the leaves that stand for it."""

    uses: dict[str, list[nodes.Leaf]] = field(default_factory=dict)
    made: int = 0

    def of(self, body: nodes.Node) -> nodes.Node:
        """The body with its level as last column."""
        node, level = self._with_level(body)
        return self._as_last(node, body.schema, level)

    def of_groups(self, body: nodes.Aggregate) -> nodes.Node:
        """Groups with their level as last column."""
        return self._with_level(body)[0]

    def _with_level(self, node: nodes.Node) -> tuple[nodes.Node, Expression]:
        """A node in which the level of every row can be computed, and how."""
        if isinstance(node, nodes.Back):
            return self._back(node)
        if isinstance(node, nodes.Leaf):
            return node, OUTSIDE
        if isinstance(node, nodes.Project):
            below, level = self._with_level(node.input)
            name = self._name()
            columns = (*node.columns, nodes.Named(name, level))
            return nodes.Project(below, columns), Column(name, BIGINT)
        if isinstance(node, (nodes.Alias, nodes.Select, nodes.Explode)):
            below, level = self._with_level(node.input)
            return replace(node, input=below), level
        if isinstance(node, nodes.Join):
            (left, one), (right, other) = map(self._with_level, node.inputs)
            level = one if other == OUTSIDE else other
            if OUTSIDE not in (one, other):
                level = Call("greatest", (one, other), BIGINT)
            return replace(node, left=left, right=right), level
        if isinstance(node, nodes.Union):
            left, right = map(self.of, node.inputs)
            return nodes.Union(left, right), Column(left.schema.names[-1], BIGINT)
        if isinstance(node, nodes.Distinct):
            below = self.of(node.input)
            return nodes.Distinct(below), Column(below.schema.names[-1], BIGINT)
        if isinstance(node, nodes.Aggregate):
            below, level = self._with_level(node.input)
            name = self._name()
            least = nodes.Named(name, AggregateCall("min", (level,), BIGINT))
            aggregates = (*node.aggregates, least)
            return replace(node, input=below, aggregates=aggregates), Column(name, BIGINT)
        raise PlanError(f"{node.label()} cannot be inside a loop")

    def _back(self, node: nodes.Back) -> tuple[nodes.Node, Expression]:
        level = self._name()
        columns = Schema((*node.schema, Field(level, BIGINT)))
        leaf = nodes.Leaf(f"back {self.made}", columns, node.timestamps)
        self.uses.setdefault(node.name, []).append(leaf)
        return leaf, Column(level, BIGINT)

    def _as_last(self, node: nodes.Node, columns: Schema, level: Expression) -> nodes.Node:
        """The rows with these columns, and then their level."""
        kept = zip(columns.names, columns, strict=True)
        own = tuple(nodes.Named(name, Column(name, each.type)) for name, each in kept)
        if isinstance(node, nodes.Project) and node.schema.names[:-1] == columns.names:
            return node  # which has just got it
        return nodes.Project(node, (*own, nodes.Named(self._name(), level)))

    def _name(self) -> str:
        self.made += 1
        return f"{LEVEL} {self.made}"
