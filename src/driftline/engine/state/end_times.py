"""The times at which something that was put out ends, and how often: of a join, the table of joined
times.

    ends = { (t, how many lifetimes end at t) : t < ∞, of what was put out and has not ended }

A lifetime that is taken back is taken away here, too. What ends up to a time is found without a
look at what ends later (see `due_times`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.engine.state.due_times import Due
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.growing import grown
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY


class EndTimes:
    """`slots`: one for every time; `copies`: how many lifetimes end then; `told`: the latest time
    that was asked for when something had ended: ends before it are of no interest."""

    def __init__(self) -> None:
        self.slots, self.due = Slots(), Due()
        self.copies = np.zeros(0, np.int64)
        self.told = BEGINNING

    def add(self, ends: Int64s, weight: Int64s) -> None:
        """Lifetimes were put out, or taken back."""
        ending = np.flatnonzero((ends < INFINITY) & (ends > self.told))
        if len(ending) == 0:
            return
        times = ends[ending]
        slots, new = self.slots.find_or_add(fingerprints([], len(times)).with_numbers(times))
        self.copies = grown(self.copies, self.slots.used)
        self.copies[slots[new]] = 0
        self.due.set(slots[new], times[new])
        np.add.at(self.copies, slots, weight[ending])
        self._remove(np.unique(slots[self.copies[slots] == 0]))

    def reached(self, time: int) -> bool:
        """Whether something ends at or before a time, and not before the time told last."""
        ended = self.due.up_to(time)
        if len(ended) == 0:
            return False
        self._remove(ended)
        self.told = time
        return True

    def _remove(self, slots: Int64s) -> None:
        self.slots.remove(slots)
        self.due.set(slots, np.full(len(slots), INFINITY))

    @property
    def nbytes(self) -> int:
        return int(self.copies.nbytes + self.due.times.nbytes + self.slots.table.nbytes)

    def __len__(self) -> int:
        return self.slots.live

    def snapshot(self) -> dict[str, NDArray[np.generic]]:
        live = self.slots.live_slots()
        return {
            "times": self.due.of(live),
            "copies": self.copies[live],
            "told": np.array([self.told]),
        }

    def restore(self, arrays: dict[str, NDArray[np.generic]]) -> None:
        self.add(arrays["times"].astype(np.int64), arrays["copies"].astype(np.int64))
        self.told = int(arrays["told"][0])
