"""Intersect and minus, as bags and as sets.

    with n copies of a row alive in L and m in R, at every time:
        intersect all   min(n, m)          intersect   1 if n > 0 and m > 0
        minus all       max(0, n - m)      minus       1 if n > 0 and m = 0

A slot is a distinct row, its state the two counts. State: see `additive`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from driftline.engine.additive import layout
from driftline.engine.additive.cells import Contribution
from driftline.engine.additive.layout import ValueRules
from driftline.engine.additive.sums_operator import AdditiveOperator, Layout
from driftline.engine.state import trace
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.level import Level

KINDS = {"intersect": layout.FEWER, "minus": layout.MORE}
_COUNTS = 1  # the column of the state with n; m is in the next


class SetOperator(AdditiveOperator):
    """Columns of the two inputs correspond by position; the output has the left one's names."""

    ports = 2

    def __init__(
        self, schema: pa.Schema, kind: Literal["intersect", "minus"], distinct: bool, level: Level
    ) -> None:
        values = ValueRules(
            np.array([[KINDS[kind], _COUNTS, _COUNTS + 1, 0, distinct, 0]], np.int64),
            np.empty(0, np.int64),
            np.empty(0, np.bool_),
        )
        super().__init__(schema, schema, values, Layout(3, 0, 0), level)

    def key_columns(self, port: int, rows: pa.RecordBatch) -> list[pa.Array]:
        return list(rows.columns)

    def contribution(self, port: int, rows: pa.RecordBatch, weight: Int64s) -> Contribution:
        ints = np.zeros((3, len(weight)), np.int64)
        ints[0] = ints[_COUNTS + port] = weight
        none = np.zeros((0, len(weight)), np.int64)
        return Contribution(ints, none.astype(np.float64), none, none.astype(np.bool_), False)

    def output(self, keys: list[pa.Array], changes: Int64Table) -> tuple[pa.RecordBatch, Int64s]:
        rows = pa.RecordBatch.from_arrays(keys, schema=self.schema)
        return rows, changes[trace.WEIGHT] * changes[trace.VALUES + layout.FIRST]
