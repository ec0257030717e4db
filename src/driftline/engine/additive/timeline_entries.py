"""Entries of a timeline: how the changes of a batch become part of it, and of the state of a slot.

See `timeline`: an entry holds by how much the state of a slot changes at its time. Timelines are an
arrangement: an entry is its TIME, its MARKS, and the words of the state from STATE on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.additive.layout import MARKS, STATE, TIME, Cursors, SumChanges
from driftline.engine.state.arrangement import AHEAD, Shape, add_row, added_up, merge, read_ahead
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.words import sort
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import FloatTable, Int64s, Int64Table
from driftline.model.time import INFINITY


class _Room(NamedTuple):
    """Room for the entries that the changes of one slot make, for their numbers, to sort these, and
    for the places of what is new."""

    entries: Int64Table
    reals: FloatTable
    numbers: Int64s
    spare: Int64s
    at: Int64s
    freed: Int64s  # none: timelines hold no rows
    seen: Int64s


@compiled
def take_in(
    slots: Int64s,
    changes: SumChanges,
    timelines: RunArrays,
    cursors: Cursors,
    floats: int,
    earliest: Int64s,
) -> None:
    """Merge changes into the timelines of their slots. The cursors move back to the earliest times
    that are affected, which `earliest` gets. `floats`: the first word of an entry that is one."""
    most = 0
    for number in range(len(slots)):
        most = max(most, 2 * (changes.bounds[number + 1] - changes.bounds[number]))
    entries = np.empty((most, timelines.ints.shape[1]), np.int64)
    room = _Room(
        entries,
        entries.view(np.float64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(0, np.int64),
        np.empty(1, np.int64),
    )
    reals = timelines.ints.view(np.float64)
    shape = Shape(MARKS, floats, timelines.ints.shape[1])
    _take_in(slots, changes, timelines, reals, cursors, shape, earliest, room)


@in_place
def _take_in(
    slots: Int64s,
    changes: SumChanges,
    timelines: RunArrays,
    reals: FloatTable,
    cursors: Cursors,
    shape: Shape,
    earliest: Int64s,
    room: _Room,
) -> None:
    for number in range(len(slots)):
        if number % AHEAD == 0:
            read_ahead(timelines, slots, number, room.seen)
        slot = slots[number]
        count = _entries(
            changes, changes.bounds[number], changes.bounds[number + 1], shape.floats, room
        )
        sort(room.entries, room.numbers, count, MARKS, room.spare)
        count = added_up(room.entries, room.reals, room.numbers, count, shape)
        if count:
            earliest[number] = room.entries[room.numbers[0], TIME]
            cursors.place[slot] = moved_back(
                timelines.ints, reals, timelines.first[slot], cursors.place[slot], cursors.states,
                cursors.reals, slot, shape.floats, earliest[number],
            )  # fmt: skip
            merge(
                timelines, reals, slot, room.entries, room.reals, room.numbers, count, shape,
                room.at, room.freed,
            )  # fmt: skip


@in_place
def moved_back(
    entries: Int64Table,
    reals: FloatTable,
    base: int,
    cursor: int,
    states: Int64Table,
    state_reals: FloatTable,
    slot: int,
    floats: int,
    time: int,
) -> int:
    """Where the cursor stands before all entries at or after a time; the state is that there."""
    while cursor > 0 and entries[base + cursor - 1, TIME] >= time:
        cursor -= 1
        apply(entries, reals, base + cursor, states, state_reals, slot, floats, -1)
    return cursor


@inlined
def apply(
    entries: Int64Table,
    reals: FloatTable,
    entry: int,
    states: Int64Table,
    state_reals: FloatTable,
    slot: int,
    floats: int,
    sign: int,
) -> None:
    """Add an entry of the timeline to the state of a slot, or take it away."""
    add_row(
        states, state_reals, slot, 0, entries, reals, entry, STATE, floats,
        entries.shape[1], sign,
    )  # fmt: skip


@in_place
def _entries(changes: SumChanges, begin: int, stop: int, floats: int, room: _Room) -> int:
    """Make the starts and ends of changes entries of a timeline; returns how many there are."""
    entries, reals, made = room.entries, room.reals, 0
    for place in range(begin, stop):
        change = changes.order[place]
        for sign in (1, -1):
            time = changes.vs[change] if sign == 1 else changes.ve[change]
            if time == INFINITY:
                continue
            entries[made, TIME], entries[made, MARKS] = time, changes.words[change, 0]
            for word in range(STATE, floats):
                entries[made, word] = sign * changes.words[change, word - MARKS]
            for word in range(floats, entries.shape[1]):
                reals[made, word] = sign * changes.reals[change, word - MARKS]
            room.numbers[made] = made
            made += 1
    return made
