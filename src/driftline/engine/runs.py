"""Runs: for every slot a sorted run of entries, in pooled arrays.

An entry is a time, some whole numbers and some floats. A run has room to grow; one that outgrows
its room moves to the end of the pool, and the pool is packed again when more than half of it is
garbage. Kernels change runs in place, within their room.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline.model.compiled import njit

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]

_SMALLEST = 1024
_SMALLEST_ROOM = 4


class RunArrays(NamedTuple):
    """The run of slot s: entries first[s] … first[s] + size[s] - 1; it may grow to room[s]."""

    first: Int64s
    size: Int64s
    room: Int64s
    ints: Int64s  # [entry, column]; column 0 is the time
    floats: Floats  # [entry, column]


class Runs:
    def __init__(self, ints: int, floats: int) -> None:
        self.arrays = RunArrays(
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
            np.zeros(0, np.int64),
            np.zeros((_SMALLEST, ints), np.int64),
            np.zeros((_SMALLEST, floats), np.float64),
        )
        self.top = 0  # the pool is used up to here

    def reserve(self, slots: Int64s, needed: Int64s) -> None:
        """See to it that the runs of these (distinct) slots have the room they need."""
        if len(slots) == 0:
            return
        self._make_slots(int(slots.max()) + 1)
        if self._outgrown(slots, needed)[1] > len(self.arrays.ints) - self.top:
            self._make_room(int(np.maximum(2 * needed, _SMALLEST_ROOM).sum()))
        moving, _ = self._outgrown(slots, needed)
        if moving.any():
            room = np.maximum(2 * needed[moving], _SMALLEST_ROOM)
            self.top = _moved(self.arrays, slots[moving], room, self.top)

    def _outgrown(self, slots: Int64s, needed: Int64s) -> tuple[NDArray[np.bool_], int]:
        """Which runs have to move, and the room that takes."""
        moving = needed > self.arrays.room[slots]
        return moving, int(np.maximum(2 * needed[moving], _SMALLEST_ROOM).sum())

    def _make_slots(self, count: int) -> None:
        arrays = self.arrays
        if count <= len(arrays.first):
            return
        count = max(count, 2 * len(arrays.first), _SMALLEST)

        def grown(array: Int64s) -> Int64s:
            bigger = np.zeros(count, np.int64)
            bigger[: len(array)] = array
            return bigger

        self.arrays = arrays._replace(
            first=grown(arrays.first), size=grown(arrays.size), room=grown(arrays.room)
        )

    def _make_room(self, more: int) -> None:
        """Pack the runs, without their spare room, into a new pool with room for more."""
        arrays = self.arrays
        live = int(arrays.size.sum())
        wanted = max(_SMALLEST, 2 * (live + more))
        ints = np.zeros((wanted, arrays.ints.shape[1]), np.int64)
        floats = np.zeros((wanted, arrays.floats.shape[1]), np.float64)
        self.top = _packed(arrays, ints, floats)
        self.arrays = arrays._replace(ints=ints, floats=floats)

    def sizes(self, slots: Int64s) -> Int64s:
        """How long the runs of some slots are."""
        sizes = np.zeros(len(slots), np.int64)
        known = slots < len(self.arrays.size)
        sizes[known] = self.arrays.size[slots[known]]
        return sizes

    def clear(self, slots: Int64s) -> None:
        """Forget the runs of slots that are gone."""
        known = slots[slots < len(self.arrays.size)]
        self.arrays.size[known] = 0
        self.arrays.room[known] = 0

    def entries(self) -> int:
        return int(self.arrays.size.sum())

    @property
    def nbytes(self) -> int:
        return sum(int(array.nbytes) for array in self.arrays)

    def snapshot(self, slots: Int64s, prefix: str) -> dict[str, NDArray[np.generic]]:
        self._make_slots(int(slots.max()) + 1 if len(slots) else 0)
        arrays = self.arrays
        sizes = arrays.size[slots]
        places = _places(arrays.first[slots], sizes)
        return {
            f"{prefix}.size": sizes,
            f"{prefix}.ints": arrays.ints[places],
            f"{prefix}.floats": arrays.floats[places],
        }

    def restore(self, slots: Int64s, saved: dict[str, NDArray[np.generic]], prefix: str) -> None:
        sizes = saved[f"{prefix}.size"].astype(np.int64)
        if len(slots) == 0:
            return
        self.reserve(slots, sizes)
        self.arrays.size[slots] = sizes
        places = _places(self.arrays.first[slots], sizes)
        self.arrays.ints[places] = saved[f"{prefix}.ints"]
        self.arrays.floats[places] = saved[f"{prefix}.floats"]


@njit(inline="always")
def copy_entry(
    to_ints: Int64s, to_floats: Floats, to: int, ints: Int64s, floats: Floats, of: int
) -> None:
    """Copy an entry, column by column, which is much quicker than row by row."""
    for column in range(ints.shape[1]):
        to_ints[to, column] = ints[of, column]
    for column in range(floats.shape[1]):
        to_floats[to, column] = floats[of, column]


@njit(cache=True, nogil=True)
def _moved(arrays: RunArrays, slots: Int64s, room: Int64s, top: int) -> int:
    for number in range(len(slots)):
        slot = slots[number]
        old = arrays.first[slot]
        for place in range(arrays.size[slot]):
            copy_entry(
                arrays.ints, arrays.floats, top + place, arrays.ints, arrays.floats, old + place
            )
        arrays.first[slot], arrays.room[slot] = top, room[number]
        top += room[number]
    return top


@njit(cache=True, nogil=True)
def _packed(arrays: RunArrays, ints: Int64s, floats: Floats) -> int:
    top = 0
    for slot in range(len(arrays.first)):
        old, size = arrays.first[slot], arrays.size[slot]
        for place in range(size):
            copy_entry(ints, floats, top + place, arrays.ints, arrays.floats, old + place)
        arrays.first[slot], arrays.room[slot] = top, size
        top += size
    return top


@njit(cache=True, nogil=True)
def _places(first: Int64s, size: Int64s) -> Int64s:
    places = np.empty(size.sum(), np.int64)
    filled = 0
    for number in range(len(first)):
        for place in range(size[number]):
            places[filled] = first[number] + place
            filled += 1
    return places
