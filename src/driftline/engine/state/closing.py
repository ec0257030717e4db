"""Groups that a cti closes, by the value of one of their keys, or by a time that their rows have.
See `plan.closing`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Arrays
from driftline.engine.state.order_keys import valid
from driftline.model.arrays import Int64s, stored
from driftline.model.time import BEGINNING, INFINITY

_NONE = np.empty(0, np.int64)


class Closing:
    """`key`: which key, and how long after its value a cti closes the group; `column`: which column
    of the rows that come, and how long after the greatest value in it. None: none does."""

    def __init__(
        self, key: tuple[int, int] | None = None, column: tuple[str, int] | None = None
    ) -> None:
        self.key, self.column = key, column
        self.due = Due()

    def opened(self, slots: Int64s, keys: Sequence[pa.Array]) -> None:
        """Note when groups will be closed, by their keys."""
        if self.column is not None:
            self.due.set(slots, np.full(len(slots), INFINITY, np.int64))
        if self.key is None or len(slots) == 0:
            return
        number, delay = self.key
        times = stored(keys[number].cast(pa.int64()))
        self.due.set(slots, np.minimum(times, INFINITY - delay) + delay)

    def came(self, slots: Int64s, rows: pa.RecordBatch) -> None:
        """Note when groups will be closed, by rows that came for them."""
        if self.column is None:
            return
        name, delay = self.column
        values = rows.column(name)
        known = np.flatnonzero(valid(values))
        times = np.minimum(stored(values)[known], INFINITY - delay) + delay
        self.due.raise_to(slots[known], times)

    def closed(self, cti: int) -> Int64s:
        """The groups that a cti has closed, and that are still there."""
        if not self.is_used or cti == BEGINNING:
            return _NONE
        return self.due.up_to(min(cti, INFINITY - 1))

    @property
    def is_used(self) -> bool:
        return self.key is not None or self.column is not None

    @property
    def nbytes(self) -> int:
        return self.due.nbytes

    def make_slots(self, count: int) -> None:
        if self.is_used:
            self.due.make_slots(count)

    def clear(self, slots: Int64s) -> None:
        """These groups have been evicted."""
        if self.is_used:
            self.due.clear(slots)

    def snapshot(self, slots: Int64s, name: str) -> Arrays:
        return self.due.snapshot(slots, name) if self.is_used else {}

    def restore(self, slots: Int64s, arrays: Arrays, name: str) -> None:
        if self.is_used:
            self.due.restore(slots, arrays, name)
