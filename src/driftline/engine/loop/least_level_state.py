"""What `least_level` holds of each row, and the pool it lies in.

A slot is a row of the set. It has a record of fixed width with where its derivations lie in the
pool (level, vs, ve and how many there are, in this order), with what of it was sent round and what
has gone out, and with the level that it waits for. Most rows have one segment of each, which lies
in the record itself; several lie in the pool, in order of time and without overlap. What the pool
gives out has a power of two as its room, and is given out again when it is given back.
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
SHOWN, TOUCHED = 0, 3
"""Of what has gone out of a slot: the segments; and whether those that were sent round have changed
since."""
OUTSIDE = 4

LEVEL, VS, VE, WEIGHT = range(4)
"""Of a derivation."""
ENTRY = 4
START, END, AT = range(3)
"""Of a segment."""
SEGMENT = 3
ONE = 1
"""Of segments: first how many there are, then, from here on, the only one (without a level, if it
has gone out), or where they lie in the pool and the room there."""

TOP, DERIVATIONS, SEGMENTS = range(3)
"""Of the totals: how much of the pool was ever given out, and how much is held at all."""

_SMALLEST = 1024
_ROOMS = 48


class Held(NamedTuple):
    """`records`, `outside`: by slot. `free`: by the logarithm of a room, the first place given back
    with it (-1: none), which has the next one in its first column."""

    records: Int64Table
    outside: Int64Table
    pool: Int64Table
    free: Int64s
    totals: Int64s


def nothing() -> Held:
    return Held(
        np.zeros((0, RECORD), np.int64),
        np.zeros((0, OUTSIDE), np.int64),
        np.empty((_SMALLEST, ENTRY), np.int64),
        np.full(_ROOMS, -1, np.int64),
        np.zeros(3, np.int64),
    )


def with_slots(held: Held, count: int) -> Held:
    """The state with room for so many slots."""
    return held._replace(records=grown(held.records, count), outside=grown(held.outside, count))


def nbytes(held: Held) -> int:
    return held.records.nbytes + held.outside.nbytes + held.pool.nbytes


def snapshot(held: Held, slots: Int64s) -> dict[str, NDArray[np.generic]]:
    sizes = held.records[slots, SIZE]
    derived = _derivations(slots, held)
    emitted, counts = _segments(slots, held.records, held.pool, EMITTED)
    shown, shown_counts = _segments(slots, held.outside, held.pool, SHOWN)
    return {
        "derived.size": sizes,
        "derived.ints": derived,
        "emitted.size": counts,
        "emitted.ints": emitted,
        "shown.size": shown_counts,
        "shown.ints": shown[:, :AT],
    }


def restored(slots: Int64s, arrays: dict[str, NDArray[np.generic]]) -> Held:
    """What a snapshot was taken of, in the same slots."""
    held = with_slots(nothing(), int(slots.max()) + 1 if len(slots) else 0)
    shown = arrays["shown.ints"].astype(np.int64)
    levels = np.zeros((len(shown), 1), np.int64)
    pool = _restore(
        slots,
        arrays["derived.size"].astype(np.int64),
        np.ascontiguousarray(arrays["derived.ints"].astype(np.int64)),
        arrays["emitted.size"].astype(np.int64),
        np.ascontiguousarray(arrays["emitted.ints"].astype(np.int64)),
        arrays["shown.size"].astype(np.int64),
        np.hstack([shown, levels]),
        held,
    )
    return held._replace(pool=pool)


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
def read_segments(
    records: Int64Table, pool: Int64Table, slot: int, which: int, to: Int64Table
) -> int:
    """Copy the segments of a slot, EMITTED in its record or SHOWN outside, to where there is room
    for them."""
    count: int = records[slot, which]
    if count == 1:
        to[0, START], to[0, END] = (
            records[slot, which + ONE + START],
            records[slot, which + ONE + END],
        )
        to[0, AT] = records[slot, which + ONE + AT] if which == EMITTED else 0
    else:
        first = records[slot, which + ONE + START]
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
    which: int,
    segments: Int64Table,
    begin: int,
    count: int,
) -> Int64s:
    """Hold segments in place of those before. Returns the pool, which may be a larger one now."""
    before = records[slot, which]
    totals[SEGMENTS] += count - before
    room = records[slot, which + ONE + END] if before > 1 else 0
    if before > 1 and (count <= 1 or count > room):
        give_back(pool, free, records[slot, which + ONE + START], room)
        room = 0
    records[slot, which] = count
    if count == 1:
        records[slot, which + ONE + START], records[slot, which + ONE + END] = (
            segments[begin, START],
            segments[begin, END],
        )
        if which == EMITTED:
            records[slot, which + ONE + AT] = segments[begin, AT]
    elif count > 1:
        if room == 0:
            room = 2
            while room < count:
                room *= 2
            place, pool = allot(pool, free, totals, room)
            records[slot, which + ONE + START], records[slot, which + ONE + END] = place, room
        first = records[slot, which + ONE + START]
        for number in range(count):
            for column in range(SEGMENT):
                pool[first + number, column] = segments[begin + number, column]
    return pool


@compiled
def clear(slots: Int64s, held: Held) -> None:
    """Forget all of some slots."""
    records, pool, free, totals = held.records, held.pool, held.free, held.totals
    for slot in slots:
        if records[slot, ROOM]:
            give_back(pool, free, records[slot, FIRST], records[slot, ROOM])
        totals[DERIVATIONS] -= records[slot, SIZE]
        _forget(records, slot, EMITTED, pool, free, totals)
        _forget(held.outside, slot, SHOWN, pool, free, totals)
        for column in range(RECORD):
            records[slot, column] = 0
        for column in range(OUTSIDE):
            held.outside[slot, column] = 0


@inlined
def _forget(
    records: Int64Table, slot: int, which: int, pool: Int64s, free: Int64s, totals: Int64s
) -> None:
    count = records[slot, which]
    totals[SEGMENTS] -= count
    if count > 1:
        give_back(pool, free, records[slot, which + ONE + START], records[slot, which + ONE + END])


@compiled
def _derivations(slots: Int64s, held: Held) -> Int64Table:
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
def _segments(
    slots: Int64s, records: Int64Table, pool: Int64Table, which: int
) -> tuple[Int64Table, Int64s]:
    total = 0
    for slot in slots:
        total += records[slot, which]
    segments, made = np.empty((total, SEGMENT), np.int64), 0
    counts = np.empty(len(slots), np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        counts[number] = read_segments(records, pool, slot, which, segments[made:])
        made += counts[number]
    return segments, counts


@compiled
def _restore(
    slots: Int64s,
    sizes: Int64s,
    derived: Int64Table,
    counts: Int64s,
    emitted: Int64Table,
    shown_counts: Int64s,
    shown: Int64Table,
    held: Held,
) -> Int64Table:
    records, outside, pool, free, totals = held
    derivation, segment, other = 0, 0, 0
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
        pool = write_segments(
            records, pool, free, totals, slot, EMITTED, emitted, segment, counts[number]
        )
        segment += counts[number]
        pool = write_segments(
            outside, pool, free, totals, slot, SHOWN, shown, other, shown_counts[number]
        )
        other += shown_counts[number]
    return pool
