"""Runs in blocks of 1, 2, 4, … entries that kernels allot: for runs that grow and shrink for ever.

A run that outgrows its block moves to one that is large enough, and its old block is used again by
another run. So a run is moved only when it has doubled, and the others never are (`Runs` packs all
of them when its pool is full); at most half of a block is empty.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.state.growing import grown
from driftline.engine.state.runs import RunArrays, Runs
from driftline.engine.state.words import copy
from driftline.kernels import in_place
from driftline.model.arrays import Int64s

_SIZES = 48
_NONE = -1
_GROWTH = 1.25


class Allotted(Runs):
    """`free`: by the logarithm of its size the first block to use again, whose first word is the
    place of the next one; `used`: the pool is used up to here."""

    def __init__(self, words: int) -> None:
        super().__init__(words)
        self.free = np.full(_SIZES, _NONE)
        self.used = np.zeros(1, np.int64)

    def reserve(self, slots: Int64s, needed: Int64s) -> None:
        """See to it that the runs of these (distinct) slots have the room they need."""
        if len(slots) == 0:
            return
        self.make_slots(int(slots.max()) + 1)
        done = 0
        while (done := _allot(self.arrays, slots, needed, done, self.free, self.used)) < len(slots):
            ints = self.arrays.ints
            most = int(self.used[0]) + 2 * int(needed[done])
            size = max(most, int(_GROWTH * len(ints)))
            ints.resize((size, ints.shape[1]), refcheck=False)  # large arrays grow where they are

    def make_slots(self, count: int) -> None:
        arrays = self.arrays
        if count > len(arrays.first):
            first, size, room = (grown(each, count) for each in arrays[:3])
            self.arrays = arrays._replace(first=first, size=size, room=room)

    def clear(self, slots: Int64s) -> None:
        _clear(self.arrays, slots[slots < len(self.arrays.size)], self.free)


@in_place
def _allot(
    runs: RunArrays, slots: Int64s, needed: Int64s, number: int, free: Int64s, used: Int64s
) -> int:
    """Give runs the room they need, from one of them on; returns the first for which the pool has
    none."""
    while number < len(slots):
        slot = slots[number]
        if needed[number] > runs.room[slot]:
            kind = 0
            while (1 << kind) < needed[number]:
                kind += 1
            place = free[kind]
            if place != _NONE:
                free[kind] = runs.ints[place, 0]
            elif used[0] + (1 << kind) > len(runs.ints):
                return number
            else:
                place = used[0]
                used[0] += 1 << kind
            for entry in range(runs.size[slot]):
                copy(runs.ints, place + entry, runs.ints, runs.first[slot] + entry)
            _give_back(runs, slot, free)
            runs.first[slot], runs.room[slot] = place, 1 << kind
        number += 1
    return number


@in_place
def _give_back(runs: RunArrays, slot: int, free: Int64s) -> None:
    """Let the block of a run be used again, if it has one."""
    if runs.room[slot] == 0:
        return
    kind = 0
    while (1 << kind) < runs.room[slot]:
        kind += 1
    runs.ints[runs.first[slot], 0] = free[kind]
    free[kind] = runs.first[slot]


@in_place
def _clear(runs: RunArrays, slots: Int64s, free: Int64s) -> None:
    for slot in slots:
        _give_back(runs, slot, free)
        runs.first[slot] = runs.size[slot] = runs.room[slot] = 0
