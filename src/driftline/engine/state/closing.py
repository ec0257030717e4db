"""Groups that a cti closes, by the value of one of their keys: see `plan.closing`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from driftline.engine.state.due_times import Due
from driftline.model.arrays import Int64s, stored
from driftline.model.time import BEGINNING, INFINITY

_NONE = np.empty(0, np.int64)


class Closing:
    """`key`: which key, and how long after its value a cti closes the group; None: none does."""

    def __init__(self, key: tuple[int, int] | None = None) -> None:
        self.key = key
        self.due = Due()

    def opened(self, slots: Int64s, keys: Sequence[pa.Array]) -> None:
        """Note when groups will be closed, by their keys."""
        if self.key is None or len(slots) == 0:
            return
        number, delay = self.key
        times = stored(keys[number].cast(pa.int64()))
        self.due.set(slots, np.minimum(times, INFINITY - delay) + delay)

    def closed(self, cti: int) -> Int64s:
        """The groups that a cti has closed, and that are still there."""
        if self.key is None or cti == BEGINNING:
            return _NONE
        return self.due.up_to(min(cti, INFINITY - 1))

    def gone(self, slots: Int64s) -> None:
        """These groups have been evicted."""
        if self.key is not None:
            self.due.set(slots, np.full(len(slots), INFINITY, np.int64))
