"""Project.

    π_f(H) = { (vs, ve, f(r)) : (vs, ve, r) ∈ H }

State: none. A cti goes on as it came. f sees all rows of a batch at once and returns as many, in
their order. Rows that become equal stay apart in the bag; but where one goes and an equal one
comes with the same lifetime, nothing is emitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from driftline.engine.core.batch import Batch, empty
from driftline.engine.core.operator import Operator


class Project(Operator):
    """Makes of every row another one; `schema` is that of the rows made.

    `consolidates`: whether rows that become equal are to cancel. That is not needed where f keeps
    different rows apart, nor before an operator that adds up what it gets."""

    uses_state = False
    maps_rows = True

    def __init__(
        self,
        schema: pa.Schema,
        compute: Callable[[pa.RecordBatch], pa.RecordBatch],
        *,
        consolidates: bool = True,
    ) -> None:
        super().__init__(schema)
        self.compute = compute
        self.consolidates = consolidates

    def process(self, port: int, batch: Batch) -> Batch:
        if len(batch) == 0:
            return empty(self.schema, batch.cti, batch.high)
        output = replace(batch, payload=self.compute(batch.payload))
        return output.consolidated() if self.consolidates else output
