"""Runs in blocks of 2, 4, 8, … entries: for runs that grow and shrink for ever.

A run that outgrows its block moves to one twice as large, and its old one is used again by another
run. So a run is moved only when it has doubled, and the others never are (`Runs` packs all of them
when its pool is full); at most half of a block is empty.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.state.runs import RunArrays, Runs
from driftline.engine.state.words import copy
from driftline.kernels import compiled
from driftline.model.arrays import Int64s

_CLASSES = 48
_GROWTH = 1.25


class Blocks(Runs):
    """`smallest`: the entries of the smallest blocks; `free`: by the logarithm of their size, the
    blocks to use again."""

    def __init__(self, words: int, smallest: int = 2) -> None:
        super().__init__(words)
        self.smallest = smallest
        self.free: list[list[Int64s]] = [[] for _ in range(_CLASSES)]

    def reserve(self, slots: Int64s, needed: Int64s) -> None:
        if len(slots) == 0:
            return
        self.make_slots(int(slots.max()) + 1)
        outgrown = np.flatnonzero(needed > self.arrays.room[slots])
        if len(outgrown) == 0:
            return
        slots = slots[outgrown]
        wanted = np.maximum(needed[outgrown], self.smallest)
        classes = np.ceil(np.log2(wanted)).astype(np.int64)
        places = self._allotted(classes)
        held = slots[self.arrays.room[slots] > 0]
        before, rooms = self.arrays.first[held], self.arrays.room[held]
        _relocate(self.arrays, slots, places, np.int64(1) << classes)
        self._give_back(before, rooms)

    def _allotted(self, classes: Int64s) -> Int64s:
        """A block of each of some classes."""
        places = np.empty(len(classes), np.int64)
        for size in np.unique(classes).tolist():
            where, free = np.flatnonzero(classes == size), self.free[size]
            while free and len(where):
                again = free.pop()
                if len(again) > len(where):
                    free.append(again[len(where) :])
                    again = again[: len(where)]
                places[where[: len(again)]] = again
                where = where[len(again) :]
            places[where] = self.top + (np.arange(len(where)) << size)
            self.top += len(where) << size
        self._make_room()
        return places

    def _make_room(self) -> None:
        if self.top <= len(self.arrays.ints):
            return
        size = max(self.top, int(_GROWTH * len(self.arrays.ints)))
        words = self.arrays.ints
        words.resize((size, words.shape[1]), refcheck=False)  # large arrays grow where they are

    def _give_back(self, places: Int64s, rooms: Int64s) -> None:
        for room in np.unique(rooms).tolist():
            size = room.bit_length() - 1
            self.free[size].append(places[rooms == room])

    def clear(self, slots: Int64s) -> None:
        held = slots[slots < len(self.arrays.size)]
        held = held[self.arrays.room[held] > 0]
        self._give_back(self.arrays.first[held], self.arrays.room[held])
        super().clear(slots)


@compiled
def _relocate(arrays: RunArrays, slots: Int64s, places: Int64s, rooms: Int64s) -> None:
    words = arrays.ints
    for number in range(len(slots)):
        slot, to = slots[number], places[number]
        old = arrays.first[slot]
        for place in range(arrays.size[slot]):
            copy(words, to + place, words, old + place)
        arrays.first[slot] = arrays.origin[slot] = to
        arrays.room[slot] = rooms[number]
