"""Group by with additive aggregates; without keys, the global aggregate.

    γ_{keys; aggregates}(H), at every time:
        one row (keys, aggregates of the group) for every group of the snapshot that is not empty

State: see `additive`; of a group's rows only the arguments of min and max are kept. Distinct is a
group-by of all columns without aggregates. HAVING is a select on the result.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.additive import layout
from driftline.engine.additive.aggregates import Aggregate, AggregateState, column_of
from driftline.engine.additive.cells import Contribution
from driftline.engine.additive.sums_operator import AdditiveOperator, Layout
from driftline.engine.state import trace
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.level import Level


class GroupBy(AdditiveOperator):
    """`keys` are columns of the input; so are the arguments of the aggregates."""

    def __init__(
        self,
        schema: pa.Schema,
        keys: list[str],
        aggregates: list[Aggregate],
        level: Level,
        *,
        only_grows: bool = False,
    ) -> None:
        key_schema = pa.schema([schema.field(name) for name in keys])
        value_fields = [pa.field(item.name, item.type) for item in aggregates]
        self.keys, self.aggregates = keys, aggregates
        self.state = AggregateState(schema)
        values = self.state.values(aggregates)
        super().__init__(
            pa.schema([*key_schema, *value_fields]),
            key_schema,
            values,
            Layout(self.state.ints, 3 * len(self.state.floats), len(self.state.extremes)),
            level,
            only_grows=only_grows,
        )

    def key_columns(self, port: int, rows: pa.RecordBatch) -> list[pa.Array]:
        return [rows.column(name) for name in self.keys]

    def contribution(self, port: int, rows: pa.RecordBatch, weight: Int64s) -> Contribution:
        ints, floats, any_great = self.state.fill(rows, weight)
        keys, there = self.state.extreme_keys(rows)
        return Contribution(ints, floats, keys, there, any_great)

    def output(self, keys: list[pa.Array], changes: Int64Table) -> tuple[pa.RecordBatch, Int64s]:
        nulls = changes[trace.VALUES + layout.NULLS]
        columns, any_nulls = list(keys), bool(nulls.any())
        for number, aggregate in enumerate(self.aggregates):
            is_null = ((nulls >> number) & 1).astype(np.bool_) if any_nulls else None
            values = changes[trace.VALUES + layout.FIRST + number]
            is_float = self.values.how[number, layout.IS_FLOAT]
            values_of_kind = values.view(np.float64) if is_float else values
            columns.append(column_of(aggregate, values_of_kind, is_null))
        return pa.RecordBatch.from_arrays(columns, schema=self.schema), changes[trace.WEIGHT]


def distinct(schema: pa.Schema, level: Level) -> GroupBy:
    """At every time one copy of each row."""
    return GroupBy(schema, schema.names, [], level)
