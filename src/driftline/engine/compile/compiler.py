"""What builds the graph of a plan: the steps so far, and the parts that operators need around them.

Every node becomes one operator, with projections before and after it that compute what it needs as
columns and bring names and types into line. A node that is used twice is compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import pyarrow as pa

from driftline.engine.core.graph import Graph, Step
from driftline.engine.core.operator import Operator
from driftline.engine.core.snapshot_operator import SnapshotOperator
from driftline.engine.expressions import evaluate
from driftline.engine.state.closing import Closing
from driftline.engine.stateless.project import Project
from driftline.model.arrays import without_columns
from driftline.model.level import Level
from driftline.plan.choices import Loops, Scheduler
from driftline.plan.expressions import Cast, Column, Expression
from driftline.plan.facts import Delays, Facts
from driftline.plan.lifetimes import Coalescing
from driftline.plan.nodes import Keyed, Node

Builder = Callable[["Compiler", Any], Step]
"""Adds the operator of a node to the graph; what comes out of it has the schema of the node."""


class Compiler:
    """`builders`: by the class of a node, what builds its operator; `loop`: how loops that run free
    find progress; `facts`: what is known of the
    nodes; `done`: by the id of a node, its step."""

    def __init__(
        self,
        builders: Mapping[type[Node], Builder],
        level: Level,
        scheduler: Scheduler,
        inserts_only: Collection[str],
        closing: Mapping[str, Delays],
        loop: Loops = "hybrid",
    ) -> None:
        self.builders, self.level, self.loop = builders, level, loop
        self.facts = Facts(inserts_only, closing)
        self.graph = Graph(scheduler)
        self.lifetimes = Coalescing()
        self.done: dict[int, Step] = {}

    def step(self, node: Node) -> Step:
        """The step that puts out the rows of a node."""
        if id(node) not in self.done:
            self.done[id(node)] = self.builders[type(node)](self, node)
        return self.done[id(node)]

    def after(self, node: Node, name: str, operator: Operator, *inputs: Step) -> Step:
        """The operator of a node, over its inputs."""
        step = self.graph.add(name, operator, wants_order=node.wants_order)
        for port, source in enumerate(inputs):
            self.graph.connect(source, step, port)
        return step

    def closed(self, operator: SnapshotOperator, node: Keyed) -> None:
        """Let the operator know by which of its keys a cti closes groups. At `perfect` an answer
        without end is emitted piece by piece, for which it has to be kept."""
        if self.level is not Level.PERFECT:
            operator.closing = Closing(node.closing_key(self.facts))

    def computed(
        self, source: Step, columns: dict[str, Expression], *, consolidates: bool = True
    ) -> Step:
        """The input with other columns; rows that become equal cancel if it consolidates (see
        `Project`)."""
        kept = {value.name for value in columns.values() if isinstance(value, Column)}
        consolidates = consolidates and not kept.issuperset(source.operator.schema.names)
        schema = pa.schema([(name, value.type) for name, value in columns.items()])
        reads = frozenset(name for value in columns.values() for name in value.columns())

        def compute(rows: pa.RecordBatch) -> pa.RecordBatch:
            if not columns:
                return without_columns(rows.num_rows)
            values = [_values(value, rows) for value in columns.values()]
            return pa.RecordBatch.from_arrays(values, schema=schema)

        step = self.graph.add(
            "project",
            Project(schema, compute, consolidates=consolidates, reads=reads),
            wants_order=False,
        )
        self.graph.connect(source, step, 0)
        return step

    def renamed(self, source: Step, schema: pa.Schema) -> Step:
        """The input with its columns named, and cast, as in a schema."""
        have = source.operator.schema
        if have.names == schema.names and have.types == schema.types:
            return source
        columns: dict[str, Expression] = {}
        for old, new in zip(have, schema, strict=True):
            value: Expression = Column(old.name, old.type)
            columns[new.name] = value if old.type == new.type else Cast(value, new.type)
        return self.computed(source, columns)


def _values(value: Expression, rows: pa.RecordBatch) -> pa.Array:
    """The values of an expression, which may be just a column."""
    if isinstance(value, Column):
        column = rows.column(value.name)
        if column.type == value.type:
            return column
    return evaluate(value, rows)


def columns_of(schema: pa.Schema) -> dict[str, Expression]:
    """The columns of a schema, as they are."""
    return {field.name: Column(field.name, field.type) for field in schema}


class Naming:
    """Columns of a schema, and further ones for what is computed from these."""

    def __init__(self, schema: pa.Schema) -> None:
        self.columns = columns_of(schema)

    def __call__(self, value: Expression) -> str:
        """The name of the column that a value is, or becomes."""
        name = value.name if isinstance(value, Column) else f"$computed {len(self.columns)}"
        self.columns.setdefault(name, value)
        return name
