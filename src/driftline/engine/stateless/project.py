"""Project.

    π_f(H) = { (vs, ve, f(r)) : (vs, ve, r) ∈ H }

State: none. A cti goes on as it came. f sees all rows of a batch at once and returns as many, in
their order. Rows that become equal stay apart in the bag; but where one goes and an equal one
comes with the same lifetime, nothing is emitted.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from driftline.engine.core.batch import Batch, empty
from driftline.engine.core.operator import Operator


class Project(Operator):
    """Makes of every row another one; `schema` is that of the rows made.

    `consolidates`: whether rows that become equal are to cancel. That is not needed where f keeps
    different rows apart, nor before an operator that adds up what it gets. `reads`: the columns
    that f looks at, if that is known."""

    uses_state = False
    maps_rows = True

    def __init__(
        self,
        schema: pa.Schema,
        compute: Callable[[pa.RecordBatch], pa.RecordBatch],
        *,
        consolidates: bool = True,
        reads: frozenset[str] | None = None,
    ) -> None:
        super().__init__(schema)
        self.compute, self.reads = compute, reads
        self.consolidates = consolidates

    def after(self, first: Project) -> Project:
        """This one over what another makes of its rows, as one."""
        compute, before = self.compute, first.compute
        return Project(
            self.schema,
            lambda rows: compute(before(rows)),
            consolidates=self.consolidates or first.consolidates,
            reads=first.reads,
        )

    def process(self, port: int, batch: Batch) -> Batch:
        if len(batch) == 0:
            return empty(self.schema, batch.cti, batch.high)
        output = batch.with_payload(self.compute(batch.payload))
        return output.consolidated() if self.consolidates else output
