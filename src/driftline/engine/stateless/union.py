"""Union all.

    L ∪ R as bags of lifetimes, and so for any number of inputs

State: the latest cti of each port. The output is final as far as all inputs are: its cti is the
least of theirs, and is emitted only when it advances.
"""

from __future__ import annotations

import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import Operator
from driftline.engine.state.fields import Fields
from driftline.engine.state.progress import Progress
from driftline.model.time import BEGINNING


class Union(Operator):
    """Puts the changes of all its ports into one stream."""

    fields = Fields(parts=("progress",))
    uses_state = False
    maps_rows = True

    def __init__(self, schema: pa.Schema, ports: int = 2) -> None:
        super().__init__(schema)
        self.ports = ports
        self.progress = Progress(ports)

    def process(self, port: int, batch: Batch) -> Batch:
        if batch.cti == BEGINNING:
            return batch
        return batch.promising(self.progress.receive(port, batch.cti), batch.high)
