"""Runs: for every slot a sorted run of entries, in pooled arrays.

An entry is a row of words, of which the first is mostly a time. A run has room to grow; one that
outgrows its room moves to the end of the pool, and when that is full all runs are packed into a new
one. Kernels change runs in place, within their room, and drop entries at the front by moving
`first`; a run gets the room before its first entry back when it needs it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline.engine.state.growing import grown
from driftline.engine.state.words import copy
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Int64Table

_SMALLEST = 1024
_SPARE = 0.5
"""So much of a pool is empty after packing."""


class RunArrays(NamedTuple):
    """The run of slot s: entries first[s] … first[s] + size[s] - 1; it may grow to room[s]. What
    it was given begins at origin[s]."""

    first: Int64s
    size: Int64s
    room: Int64s
    ints: Int64Table  # [entry, word]
    origin: Int64s


class Runs:
    """`words`: how many an entry has."""

    def __init__(self, words: int) -> None:
        self.arrays = RunArrays(
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
            np.zeros((_SMALLEST, words), np.int64),
            np.zeros(0, np.int64),
        )
        self.top = 0  # the pool is used up to here

    def reserve(self, slots: Int64s, needed: Int64s) -> None:
        """See to it that the runs of these (distinct) slots have the room they need."""
        if len(slots) == 0:
            return
        self.make_slots(int(slots.max()) + 1)
        outgrown = np.flatnonzero(needed > self.arrays.room[slots])
        if len(outgrown) == 0:
            return
        room = _slid_back(self.arrays, slots[outgrown], needed[outgrown])
        more = int(room.sum())
        if self.top + more > len(self.arrays.ints):
            rooms = self.arrays.size.copy()
            rooms[slots] = np.maximum(needed, rooms[slots])
            rooms[slots[outgrown]] = np.maximum(room, rooms[slots[outgrown]])
            self._pack(rooms)
        elif more:
            self.top = _moved(self.arrays, slots[outgrown], room, self.top)

    def make_slots(self, count: int) -> None:
        """See to it that so many slots have runs."""
        arrays = self.arrays
        if count <= len(arrays.first):
            return
        self.arrays = arrays._replace(
            first=grown(arrays.first, count),
            size=grown(arrays.size, count),
            room=grown(arrays.room, count),
            origin=grown(arrays.origin, count),
        )

    def make_room(self, more: int) -> None:
        """See to it that the pool has room for so many entries after those it is used up to."""
        if self.top + more > len(self.arrays.ints):
            self._pack(self.arrays.size.copy(), more)

    def _pack(self, rooms: Int64s, more: int = 0) -> None:
        """Move all runs to a new pool, each with some room, and with room for more."""
        arrays = self.arrays
        entries = max(_SMALLEST, int((1 + _SPARE) * (int(rooms.sum()) + more)))
        ints = np.empty((entries, arrays.ints.shape[1]), np.int64)
        self.top = _packed(arrays, rooms, ints)
        self.arrays = arrays._replace(ints=ints)

    def sizes(self, slots: Int64s) -> Int64s:
        """How long the runs of some slots are."""
        sizes = np.zeros(len(slots), np.int64)
        known = slots < len(self.arrays.size)
        sizes[known] = self.arrays.size[slots[known]]
        return sizes

    def clear(self, slots: Int64s) -> None:
        """Forget the runs of slots that are gone."""
        known = slots[slots < len(self.arrays.size)]
        for array in (self.arrays.first, self.arrays.size, self.arrays.room, self.arrays.origin):
            array[known] = 0

    def entries(self) -> int:
        return int(self.arrays.size.sum())

    def ends(self) -> Int64s:
        """The times of the first and the last entries of all runs."""
        arrays = self.arrays
        held = arrays.size > 0
        first, last = arrays.first[held], arrays.first[held] + arrays.size[held] - 1
        times: Int64s = arrays.ints[np.concatenate([first, last]), 0]
        return times

    def times_of(self, slots: Int64s) -> Int64s:
        """The times of the first and the last entries: only those of slots that are live hold
        any."""
        return self.ends()

    @property
    def nbytes(self) -> int:
        return sum(int(array.nbytes) for array in self.arrays)

    def of(self, slots: Int64s) -> Int64Table:
        """The entries of some slots, one slot after the other."""
        self.make_slots(int(slots.max()) + 1 if len(slots) else 0)
        entries: Int64Table = self.arrays.ints[
            _places(self.arrays.first[slots], self.arrays.size[slots])
        ]
        return entries

    def snapshot(self, slots: Int64s, prefix: str) -> dict[str, NDArray[np.generic]]:
        return {f"{prefix}.ints": self.of(slots), f"{prefix}.size": self.arrays.size[slots]}

    def restore(self, slots: Int64s, saved: dict[str, NDArray[np.generic]], prefix: str) -> None:
        sizes, entries = saved[f"{prefix}.size"].astype(np.int64), saved[f"{prefix}.ints"]
        if entries.shape[1] != self.arrays.ints.shape[1]:  # its words have become more
            words = np.zeros((_SMALLEST, entries.shape[1]), np.int64)
            self.arrays = self.arrays._replace(ints=words)
        if len(slots) == 0:
            return
        self.reserve(slots, sizes)
        self.arrays.size[slots] = sizes
        places = _places(self.arrays.first[slots], sizes)
        self.arrays.ints[places] = entries


@compiled
def _slid_back(arrays: RunArrays, slots: Int64s, needed: Int64s) -> Int64s:
    """Move runs to the beginning of what they were given, if they have the room they need there.
    Returns the room that each of the others shall have, and 0 for those moved. What grows for the
    first time gets what it needs, what grows again twice that."""
    words = arrays.ints
    first, size, room, origin = arrays.first, arrays.size, arrays.room, arrays.origin
    wanted = np.zeros(len(slots), np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        before = first[slot] - origin[slot]
        # Not for a few entries: a run is moved as a whole.
        if needed[number] <= room[slot] + before and size[slot] <= 2 * before:
            for place in range(size[slot]):
                copy(words, origin[slot] + place, words, first[slot] + place)
            first[slot] = origin[slot]
            room[slot] += before
        else:
            wanted[number] = needed[number] if room[slot] + before == 0 else 2 * needed[number]
    return wanted


@compiled
def _moved(arrays: RunArrays, slots: Int64s, room: Int64s, top: int) -> int:
    words = arrays.ints
    for number in range(len(slots)):
        slot = slots[number]
        if room[number] == 0:
            continue
        old = arrays.first[slot]
        for place in range(arrays.size[slot]):
            copy(words, top + place, words, old + place)
        arrays.first[slot] = arrays.origin[slot] = top
        arrays.room[slot] = room[number]
        top += room[number]
    return top


@compiled
def _packed(arrays: RunArrays, rooms: Int64s, words: Int64Table) -> int:
    top, old_words = 0, arrays.ints
    for slot in range(len(arrays.first)):
        old = arrays.first[slot]
        for place in range(arrays.size[slot]):
            copy(words, top + place, old_words, old + place)
        arrays.first[slot] = arrays.origin[slot] = top
        arrays.room[slot] = rooms[slot]
        top += rooms[slot]
    return top


@compiled
def _places(first: Int64s, size: Int64s) -> Int64s:
    places = np.empty(size.sum(), np.int64)
    filled = 0
    for number in range(len(first)):
        for place in range(size[number]):
            places[filled] = first[number] + place
            filled += 1
    return places
