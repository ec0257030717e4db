"""What `least_level` holds of each row, and the pool it lies in.

A slot is a row of the set. It has a record of fixed width with where its derivations lie in the
pool (level, vs, ve and how many there are, in this order), with what of it was sent round, and with
the level that it waits for. Of most rows one segment was sent round, which lies in the record
itself; several lie in the pool, in order of time and without overlap. What the pool gives out has a
power of two as its room, and is given out again when it is given back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline.engine.state.growing import grown
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Int64Table

FIRST, SIZE, EMITTED, ROOM, WAITS = 0, 1, 2, 6, 7
"""Of a record: where its derivations lie and how many there are; the segments that were sent round;
for how many derivations there is room; one more than the level that the slot waits for (0: none).
What is read of every derivation that comes stands first."""
RECORD = 8
LEVEL, VS, VE, WEIGHT = range(4)
"""Of a derivation."""
ENTRY = 4
START, END, AT = range(3)
"""Of a segment."""
SEGMENT = 3
ONE = 1
"""Of segments: first how many there are, then, from here on, the only one, or where they lie in the
pool and the room there."""

TOP, DERIVATIONS, SEGMENTS = range(3)
"""Of the totals: how much of the pool was ever given out, and how much is held at all."""

_SMALLEST = 1024
_ROOMS = 48


class LevelRecords(NamedTuple):
    """`records`: by slot. `free`: by the logarithm of a room, the first place given back with it
    (-1: none), which has the next one in its first column."""

    records: Int64Table
    pool: Int64Table
    free: Int64s
    totals: Int64s


class RowRecords:
    """What is held of every slot, as one of the fields of an operator (see `state.fields`)."""

    def __init__(self) -> None:
        self.arrays = LevelRecords(
            np.zeros((0, RECORD), np.int64),
            np.empty((_SMALLEST, ENTRY), np.int64),
            np.full(_ROOMS, -1, np.int64),
            np.zeros(3, np.int64),
        )

    def use(self, pool: Int64Table) -> None:
        """Kernels have made the pool larger, or left it."""
        self.arrays = self.arrays._replace(pool=pool)

    def derivations(self, slots: Int64s) -> Int64Table:
        return _derivations(slots, self.arrays)

    def make_slots(self, count: int) -> None:
        self.arrays = self.arrays._replace(records=grown(self.arrays.records, count))

    def clear(self, slots: Int64s) -> None:
        _clear(slots, self.arrays)

    def entries(self) -> int:
        return int(self.arrays.totals[DERIVATIONS] + self.arrays.totals[SEGMENTS])

    @property
    def nbytes(self) -> int:
        return self.arrays.records.nbytes + self.arrays.pool.nbytes

    def snapshot(self, slots: Int64s, name: str) -> dict[str, NDArray[np.generic]]:
        emitted, counts = _segments(slots, self.arrays.records, self.arrays.pool)
        return {
            f"{name}.derived.size": self.arrays.records[slots, SIZE],
            f"{name}.derived.ints": self.derivations(slots),
            f"{name}.emitted.size": counts,
            f"{name}.emitted.ints": emitted,
        }

    def restore(self, slots: Int64s, saved: dict[str, NDArray[np.generic]], name: str) -> None:
        sizes, derived, counts, emitted = (
            np.array(saved[f"{name}.{each}"], np.int64, order="C")
            for each in ("derived.size", "derived.ints", "emitted.size", "emitted.ints")
        )
        self.use(_restore(slots, sizes, derived, counts, emitted, self.arrays))


@inlined
def allot(pool: Int64Table, free: Int64s, totals: Int64s, room: int) -> tuple[int, Int64s]:
    """A place in the pool with some room, a power of two; and the pool, which may be a larger one
    now."""
    kind = 0
    while (1 << kind) < room:
        kind += 1
    place = free[kind]
    if place >= 0:
        free[kind] = pool[place, 0]
    else:
        place = totals[TOP]
        totals[TOP] = place + room
        if place + room > len(pool):
            pool = larger(pool, place + room)
    return place, pool


@inlined
def give_back(pool: Int64Table, free: Int64s, place: int, room: int) -> None:
    kind = 0
    while (1 << kind) < room:
        kind += 1
    pool[place, 0] = free[kind]
    free[kind] = place


@compiled
def larger(array: Int64Table, room: int) -> Int64Table:
    """The array, copied to one with twice the room."""
    copy = np.empty((2 * room, array.shape[1]), np.int64)
    copy[: len(array)] = array
    return copy


@inlined
def read_segments(records: Int64Table, pool: Int64Table, slot: int, to: Int64Table) -> int:
    """Copy the segments of a slot to where there is room for them."""
    count: int = records[slot, EMITTED]
    if count == 1:
        for column in range(SEGMENT):
            to[0, column] = records[slot, EMITTED + ONE + column]
    else:
        first = records[slot, EMITTED + ONE]
        for number in range(count):
            for column in range(SEGMENT):
                to[number, column] = pool[first + number, column]
    return count


@inlined
def write_segments(
    records: Int64Table,
    pool: Int64Table,
    free: Int64s,
    totals: Int64s,
    slot: int,
    segments: Int64Table,
    begin: int,
    count: int,
) -> Int64s:
    """Hold segments in place of those before. Returns the pool, which may be a larger one now."""
    before = records[slot, EMITTED]
    totals[SEGMENTS] += count - before
    room = records[slot, EMITTED + ONE + END] if before > 1 else 0
    if before > 1 and (count <= 1 or count > room):
        give_back(pool, free, records[slot, EMITTED + ONE + START], room)
        room = 0
    records[slot, EMITTED] = count
    if count == 1:
        for column in range(SEGMENT):
            records[slot, EMITTED + ONE + column] = segments[begin, column]
    elif count > 1:
        if room == 0:
            room = 2
            while room < count:
                room *= 2
            place, pool = allot(pool, free, totals, room)
            records[slot, EMITTED + ONE + START], records[slot, EMITTED + ONE + END] = place, room
        first = records[slot, EMITTED + ONE + START]
        for number in range(count):
            for column in range(SEGMENT):
                pool[first + number, column] = segments[begin + number, column]
    return pool


@compiled
def _clear(slots: Int64s, held: LevelRecords) -> None:
    """Forget all of some slots."""
    records, pool, free, totals = held.records, held.pool, held.free, held.totals
    for slot in slots:
        if records[slot, ROOM]:
            give_back(pool, free, records[slot, FIRST], records[slot, ROOM])
        count = records[slot, EMITTED]
        if count > 1:
            begin, room = records[slot, EMITTED + ONE + START], records[slot, EMITTED + ONE + END]
            give_back(pool, free, begin, room)
        totals[DERIVATIONS] -= records[slot, SIZE]
        totals[SEGMENTS] -= count
        for column in range(RECORD):
            records[slot, column] = 0


@compiled
def _derivations(slots: Int64s, held: LevelRecords) -> Int64Table:
    records, total = held.records, 0
    for slot in slots:
        total += records[slot, SIZE]
    entries, made = np.empty((total, ENTRY), np.int64), 0
    for slot in slots:
        first = records[slot, FIRST]
        for place in range(first, first + records[slot, SIZE]):
            for column in range(ENTRY):
                entries[made, column] = held.pool[place, column]
            made += 1
    return entries


@compiled
def _segments(slots: Int64s, records: Int64Table, pool: Int64Table) -> tuple[Int64Table, Int64s]:
    total = 0
    for slot in slots:
        total += records[slot, EMITTED]
    segments, made = np.empty((total, SEGMENT), np.int64), 0
    counts = np.empty(len(slots), np.int64)
    for number in range(len(slots)):
        counts[number] = read_segments(records, pool, slots[number], segments[made:])
        made += counts[number]
    return segments, counts


@compiled
def _restore(
    slots: Int64s,
    sizes: Int64s,
    derived: Int64Table,
    counts: Int64s,
    emitted: Int64Table,
    held: LevelRecords,
) -> Int64Table:
    records, pool, free, totals = held
    derivation, segment = 0, 0
    for number in range(len(slots)):
        slot, room = slots[number], 1
        while room < sizes[number]:
            room *= 2
        place, pool = allot(pool, free, totals, room)
        records[slot, FIRST], records[slot, ROOM] = place, room
        records[slot, SIZE] = sizes[number]
        totals[DERIVATIONS] += sizes[number]
        for entry in range(sizes[number]):
            for column in range(ENTRY):
                pool[place + entry, column] = derived[derivation + entry, column]
        derivation += sizes[number]
        pool = write_segments(records, pool, free, totals, slot, emitted, segment, counts[number])
        segment += counts[number]
    return pool
