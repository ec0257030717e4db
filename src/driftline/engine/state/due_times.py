"""When each slot needs to be looked at next: a time a slot, and the slots that are due up to a
limit.

The times lie in blocks that know a lower bound of their least time, so that finding the due slots
costs the number of blocks and what is found, not the number of slots.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY

BLOCK = 1024


@compiled
def _set(slots: Int64s, new: Int64s, times: Int64s, least: Int64s) -> None:
    for number in range(len(slots)):
        slot = slots[number]
        times[slot] = new[number]
        least[slot // BLOCK] = min(least[slot // BLOCK], new[number])


@compiled
def _raise(slots: Int64s, new: Int64s, times: Int64s, least: Int64s) -> None:
    for slot in slots:
        if times[slot] == INFINITY:
            times[slot] = BEGINNING
    for number in range(len(slots)):
        times[slots[number]] = max(times[slots[number]], new[number])
    for slot in slots:
        least[slot // BLOCK] = min(least[slot // BLOCK], times[slot])


@in_place
def _lower(slots: Int64s, new: Int64s, times: Int64s, least: Int64s) -> None:
    for number in range(len(slots)):
        slot = slots[number]
        times[slot] = min(times[slot], new[number])
        least[slot // BLOCK] = min(least[slot // BLOCK], new[number])


@compiled
def _up_to(limit: int, times: Int64s, least: Int64s) -> Int64s:
    found, made = np.empty(64, np.int64), 0
    for block in range(len(least)):
        if least[block] > limit:
            continue
        earliest = INFINITY
        for slot in range(block * BLOCK, (block + 1) * BLOCK):
            earliest = min(earliest, times[slot])
        least[block] = earliest
        if earliest > limit:
            continue
        for slot in range(block * BLOCK, (block + 1) * BLOCK):
            if times[slot] <= limit:
                if made == len(found):
                    bigger = np.empty(2 * made, np.int64)
                    bigger[:made] = found
                    found = bigger
                found[made] = slot
                made += 1
    return found[:made].copy()


class Due:
    """`times`: when each slot is due (INFINITY: never); `least`: a lower bound for each block."""

    def __init__(self) -> None:
        self.times = np.full(BLOCK, INFINITY, np.int64)
        self.least = np.full(1, INFINITY, np.int64)

    def set(self, slots: Int64s, times: Int64s) -> None:
        """Set when slots are due, in place of when they were before."""
        if len(slots) == 0:
            return
        self.make_slots(int(slots.max()) + 1)
        _set(slots, times, self.times, self.least)

    def raise_to(self, slots: Int64s, times: Int64s) -> None:
        """Let slots, which may be there several times, be due at the greatest of some times and of
        that at which they were before, if they were."""
        if len(slots) == 0:
            return
        self.make_slots(int(slots.max()) + 1)
        _raise(slots, times, self.times, self.least)

    def lower_to(self, slots: Int64s, times: Int64s) -> None:
        """Let slots, which may be there several times, be due at some times, unless they are
        before."""
        if len(slots) == 0:
            return
        self.make_slots(int(slots.max()) + 1)
        _lower(slots, times, self.times, self.least)

    def of(self, slots: Int64s) -> Int64s:
        """When each of some slots is due."""
        times = np.full(len(slots), INFINITY, np.int64)
        known = slots < len(self.times)
        times[known] = self.times[slots[known]]
        return times

    def times_of(self, slots: Int64s) -> Int64s:
        return self.of(slots)

    def up_to(self, limit: int) -> Int64s:
        """The slots that are due at or before the limit; they stay due."""
        if limit < BEGINNING:  # which is no 64-bit number
            return np.empty(0, np.int64)
        return _up_to(limit, self.times, self.least)

    def make_slots(self, needed: int) -> None:
        """See to it that so many slots have times."""
        if needed <= len(self.times):
            return
        blocks = max(-(-needed // BLOCK), 2 * len(self.least))
        more = blocks - len(self.least)
        self.times = np.concatenate([self.times, np.full(more * BLOCK, INFINITY, np.int64)])
        self.least = np.concatenate([self.least, np.full(more, INFINITY, np.int64)])

    def clear(self, slots: Int64s) -> None:
        """Let slots that are gone never be due."""
        self.set(slots, np.full(len(slots), INFINITY, np.int64))

    @property
    def nbytes(self) -> int:
        return self.times.nbytes + self.least.nbytes

    def snapshot(self, slots: Int64s, name: str) -> dict[str, NDArray[np.generic]]:
        return {name: self.of(slots)}

    def restore(self, slots: Int64s, arrays: dict[str, NDArray[np.generic]], name: str) -> None:
        self.set(slots, arrays[name].astype(np.int64))
