"""Entries of a timeline: how the changes of a batch become part of it, and of the state of a slot.

See `timeline`: an entry holds by how much the state of a slot changes at its time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.additive.layout import MARKS, STATE, TIME, Changes, Cursors
from driftline.engine.state import exact_floats as exact
from driftline.engine.state.runs import RunArrays, copy_entry
from driftline.engine.state.sorting import sort_by
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import Floats, FloatTable, Int64s, Int64Table
from driftline.model.time import INFINITY


class _Scratch(NamedTuple):
    """Room for the entries that the changes of one slot make, for the order of these changes by
    start and by end (and to sort them), and for the entries that are there."""

    ints: Int64Table
    floats: FloatTable
    starts: Int64s
    ends: Int64s
    spare: Int64s
    old_ints: Int64Table
    old_floats: FloatTable


@compiled
def take_in(
    slots: Int64s, changes: Changes, timelines: RunArrays, cursors: Cursors, earliest: Int64s
) -> None:
    """Merge changes into the timelines of their slots. The cursors move back to the earliest times
    that are affected, which `earliest` gets."""
    most, most_changes = 0, 0
    for number in range(len(slots)):
        most = max(most, timelines.size[slots[number]])
        most_changes = max(most_changes, changes.bounds[number + 1] - changes.bounds[number])
    ints, floats = timelines.ints.shape[1], timelines.floats.shape[1]
    scratch = _Scratch(
        np.empty((2 * most_changes, ints), np.int64),
        np.empty((2 * most_changes, floats), np.float64),
        np.empty(most_changes, np.int64),
        np.empty(most_changes, np.int64),
        np.empty(most_changes, np.int64),
        np.empty((most, ints), np.int64),
        np.empty((most, floats), np.float64),
    )
    _take_in(slots, changes, timelines, cursors, earliest, scratch)


@in_place
def _take_in(
    slots: Int64s,
    changes: Changes,
    timelines: RunArrays,
    cursors: Cursors,
    earliest: Int64s,
    scratch: _Scratch,
) -> None:
    for number in range(len(slots)):
        slot = slots[number]
        steps = _steps(changes, changes.bounds[number], changes.bounds[number + 1], scratch)
        if steps:
            earliest[number] = scratch.ints[0, TIME]
            cursors.place[slot] = moved_back(
                timelines.ints, timelines.floats, timelines.first[slot], cursors.place[slot],
                cursors.ints, cursors.floats, slot, earliest[number],
            )  # fmt: skip
            _merge(timelines, slot, cursors.place[slot], scratch, steps)


@in_place
def moved_back(
    entries: Int64Table,
    entry_floats: FloatTable,
    base: int,
    cursor: int,
    states: Int64Table,
    state_floats: FloatTable,
    slot: int,
    time: int,
) -> int:
    """Where the cursor stands before all entries at or after a time; the state is that there."""
    while cursor > 0 and entries[base + cursor - 1, TIME] >= time:
        cursor -= 1
        apply(entries, entry_floats, base + cursor, states, state_floats, slot, -1)
    return cursor


@inlined
def apply(
    entries: Int64Table,
    entry_floats: Floats,
    entry: int,
    states: Int64Table,
    state_floats: Floats,
    slot: int,
    sign: int,
) -> None:
    """Add an entry of the timeline to the state of a slot, or take it away."""
    for column in range(states.shape[1]):
        states[slot, column] += sign * entries[entry, STATE + column]
    exact.add_sums(state_floats, slot, entry_floats, entry, float(sign))


@in_place
def _steps(changes: Changes, begin: int, stop: int, scratch: _Scratch) -> int:
    """Make the changes entries of a timeline, sorted by time; where they cancel there is none.
    Returns how many there are."""
    vs, ve, marks = changes.vs, changes.ve, changes.marks
    change_ints, change_floats = changes.ints, changes.floats
    ints, floats = scratch.ints, scratch.floats
    starts, ends = scratch.starts[: stop - begin], scratch.ends[: stop - begin]
    for place in range(stop - begin):
        starts[place] = ends[place] = changes.order[begin + place]
    sort_by(vs, starts, scratch.spare)
    sort_by(ve, ends, scratch.spare)
    count = stop - begin
    while count > 0 and ve[ends[count - 1]] == INFINITY:
        count -= 1
    start, end, written = 0, 0, 0
    while start < len(starts) or end < count:
        time = vs[starts[start]] if start < len(starts) else INFINITY
        if end < count:
            time = min(time, ve[ends[end]])
        ints[written, TIME] = time
        for column in range(MARKS, ints.shape[1]):
            ints[written, column] = 0
        for column in range(floats.shape[1]):
            floats[written, column] = 0.0
        while start < len(starts) and vs[starts[start]] == time:
            _add_change(ints, floats, written, marks, change_ints, change_floats, starts[start], 1)
            start += 1
        while end < count and ve[ends[end]] == time:
            _add_change(ints, floats, written, marks, change_ints, change_floats, ends[end], -1)
            end += 1
        if _matters(ints, floats, written):
            written += 1
    return written


@inlined
def _matters(ints: Int64Table, floats: FloatTable, entry: int) -> bool:
    matters = False
    for column in range(MARKS, ints.shape[1]):
        matters |= ints[entry, column] != 0
    for column in range(0, floats.shape[1], 3):
        matters |= exact.total(floats, entry, column) != 0.0
    return matters


@in_place
def _merge(timelines: RunArrays, slot: int, cursor: int, scratch: _Scratch, steps: int) -> None:
    """Merge the entries made of changes into the timeline from the cursor on."""
    steps_ints, steps_floats = scratch.ints, scratch.floats
    old_ints, old_floats = scratch.old_ints, scratch.old_floats
    base, size = timelines.first[slot], timelines.size[slot]
    tail = size - cursor
    for entry in range(tail):
        copy_entry(
            old_ints, old_floats, entry, timelines.ints, timelines.floats, base + cursor + entry
        )
    read, step, written = 0, 0, base + cursor
    ints, floats = timelines.ints, timelines.floats
    while read < tail or step < steps:
        if step >= steps or (read < tail and old_ints[read, TIME] < steps_ints[step, TIME]):
            copy_entry(ints, floats, written, old_ints, old_floats, read)
            read += 1
            written += 1
            continue
        copy_entry(ints, floats, written, steps_ints, steps_floats, step)
        if read < tail and old_ints[read, TIME] == steps_ints[step, TIME]:
            for column in range(MARKS, ints.shape[1]):
                ints[written, column] += old_ints[read, column]
            exact.add_sums(floats, written, old_floats, read, 1.0)
            read += 1
        step += 1
        if ints[written, MARKS] != 0:
            written += 1
    timelines.size[slot] = written - base


@inlined
def _add_change(
    ints: Int64Table,
    floats: Floats,
    entry: int,
    marks: Int64s,
    change_ints: Int64Table,
    change_floats: Floats,
    change: int,
    sign: int,
) -> None:
    """Add the start (sign 1) or the end (sign -1) of a change to an entry."""
    ints[entry, MARKS] += marks[change]
    for column in range(change_ints.shape[1]):
        ints[entry, STATE + column] += sign * change_ints[change, column]
    exact.add_sums(floats, entry, change_floats, change, float(sign))
