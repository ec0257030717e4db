"""Groups that a cti closes, by the value of one of their keys, or by a time that their rows have.
See `plan.closing`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.state.due_times import Due
from driftline.engine.state.order_keys import valid
from driftline.model.arrays import Int64s, stored
from driftline.model.time import BEGINNING, INFINITY

Arrays = dict[str, NDArray[np.generic]]
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
        if (self.key is None and self.column is None) or cti == BEGINNING:
            return _NONE
        return self.due.up_to(min(cti, INFINITY - 1))

    def gone(self, slots: Int64s) -> None:
        """These groups have been evicted."""
        if self.key is not None or self.column is not None:
            self.due.set(slots, np.full(len(slots), INFINITY, np.int64))

    def snapshot(self, slots: Int64s) -> Arrays:
        """What their keys do not tell of when these groups will be closed."""
        return {} if self.column is None else {"closing": self.due.of(slots)}

    def restore(self, slots: Int64s, keys: Sequence[pa.Array], arrays: Arrays) -> None:
        """Note when groups will be closed, in place of all that was known."""
        self.due = Due()
        self.opened(slots, keys)
        if self.column is not None:
            self.due.set(slots, arrays["closing"].astype(np.int64))
