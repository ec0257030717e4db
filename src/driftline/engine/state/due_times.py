"""When each slot needs to be looked at next: a time a slot, and the slots that are due up to a
limit.

The times lie in blocks that know a lower bound of their least time, so that finding the due slots
costs the number of blocks and what is found, not the number of slots.
"""

from __future__ import annotations

import numpy as np

from driftline.model.arrays import Int64s
from driftline.model.time import INFINITY

_BLOCK = 1024


class Due:
    """`times`: when each slot is due (INFINITY: never); `least`: a lower bound for each block."""

    def __init__(self) -> None:
        self.times = np.full(_BLOCK, INFINITY, np.int64)
        self.least = np.full(1, INFINITY, np.int64)

    def set(self, slots: Int64s, times: Int64s) -> None:
        """Set when slots are due, in place of when they were before."""
        if len(slots) == 0:
            return
        self._make_room(int(slots.max()) + 1)
        self.times[slots] = times
        np.minimum.at(self.least, slots // _BLOCK, times)

    def of(self, slots: Int64s) -> Int64s:
        """When each of some slots is due."""
        times = np.full(len(slots), INFINITY, np.int64)
        known = slots < len(self.times)
        times[known] = self.times[slots[known]]
        return times

    def up_to(self, limit: int) -> Int64s:
        """The slots that are due at or before the limit; they stay due."""
        found = []
        for block in np.flatnonzero(self.least <= limit):
            times = self.times[block * _BLOCK : (block + 1) * _BLOCK]
            self.least[block] = times.min()
            found.append(block * _BLOCK + np.flatnonzero(times <= limit))
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def _make_room(self, needed: int) -> None:
        if needed <= len(self.times):
            return
        blocks = max(-(-needed // _BLOCK), 2 * len(self.least))
        more = blocks - len(self.least)
        self.times = np.concatenate([self.times, np.full(more * _BLOCK, INFINITY, np.int64)])
        self.least = np.concatenate([self.least, np.full(more, INFINITY, np.int64)])
