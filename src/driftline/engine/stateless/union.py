"""Union all.

    L ∪ R as bags of lifetimes, and so for any number of inputs

State: the latest cti of each port. The output is final as far as all inputs are: its cti is the
least of theirs, and is emitted only when it advances.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import Arrays, Operator
from driftline.model.time import BEGINNING


class Union(Operator):
    """Puts the changes of all its ports into one stream.

    `latest`: the greatest cti that came at each port.
    """

    uses_state = False
    maps_rows = True

    def __init__(self, schema: pa.Schema, ports: int = 2) -> None:
        super().__init__(schema)
        self.ports = ports
        self.latest = np.full(ports, BEGINNING, np.int64)

    def process(self, port: int, batch: Batch) -> Batch:
        if batch.cti == BEGINNING:
            return batch
        before = min(self.latest.tolist())
        self.latest[port] = max(int(self.latest[port]), batch.cti)
        final = min(self.latest.tolist())
        return batch.promising(final if final > before else BEGINNING, batch.high)

    def state_size(self) -> tuple[int, int]:
        return 0, self.latest.nbytes

    def snapshot(self) -> Arrays:
        return {"latest": self.latest.copy()}

    def restore(self, arrays: Arrays) -> None:
        self.latest = arrays["latest"].astype(np.int64)
