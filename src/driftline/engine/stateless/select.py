"""Select.

    σ_p(H) = { (vs, ve, r) ∈ H : p(r) is true }

State: none. A cti goes on as it came: what is left out cannot come back.

The predicate sees all rows of a batch at once and says of each whether it is true; null counts as
not true, so it must not be left in the answer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.core.batch import Batch, empty, latest_start
from driftline.engine.core.operator import Operator
from driftline.model.time import BEGINNING

Predicate = Callable[[pa.RecordBatch], NDArray[np.bool_]]


class Select(Operator):
    """Lets the changes through whose row fulfils the predicate."""

    uses_state = False

    def __init__(self, schema: pa.Schema, predicate: Predicate) -> None:
        super().__init__(schema)
        self.predicate = predicate

    def process(self, port: int, batch: Batch) -> Batch:
        if len(batch) == 0:
            return batch.promising(batch.cti, BEGINNING)
        chosen = self.predicate(batch.payload)
        count = np.count_nonzero(chosen)
        if count == 0:
            return empty(self.schema, batch.cti, now=batch.now)
        return with_own_high(batch if count == len(batch) else batch.take(chosen))


def with_own_high(batch: Batch) -> Batch:
    """The batch with the greatest vs of its additions as `high`: for operators that leave out
    inserts. (An addition that shortens a lifetime has the vs of an insert that came before. Whether
    an insert that was consolidated away would have been left out is not known, so it does not
    count: the watermark may stay behind for a while, and is never ahead.)"""
    return batch.promising(batch.cti, latest_start(batch.vs, batch.weight))
