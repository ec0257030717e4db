"""The kernel of additive snapshot operators: what a slot's answer changes by.

Every slot (a group, or a distinct row) has a timeline: a run of entries, one for each time at which
lifetimes start or end, with how many do (`marks`) and by how much the state changes there. The
state during a snapshot is the sum of all entries up to its start. The cursor of a slot stands
behind the last entry at or before the output watermark, together with the state there, so that
work begins where time has come to; for a late change it is moved back by taking entries away.

What was said of a slot is a run of segments, [start, end) with the values said. A batch is taken
in like this: merge its changes into the timeline; go through it from the earliest time that is
affected to the limit of the latency level, which gives the new pieces of the answer; keep every
segment as far as the new pieces agree with it, take back the rest, and say what is missing.

A cti lets go all entries before it and all segments that end at or before it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.engine import exact
from driftline.engine.extremes import ExtremeArrays
from driftline.engine.extremes_kernel import enter
from driftline.engine.layout import (
    EAGER,
    END,
    FEWER,
    KIND,
    MARKS,
    ORDERED,
    PERFECT,
    START,
    STATE,
    TIME,
    VALUES,
    Changes,
    Cursors,
    Said,
    Values,
)
from driftline.engine.pieces import joined_pieces, say
from driftline.engine.runs import RunArrays, copy_entry
from driftline.engine.segments import correct, room, wider
from driftline.engine.sorting import sorted_by
from driftline.model.compiled import njit
from driftline.model.time import BEGINNING, INFINITY

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def take_in(
    slots: Int64s, changes: Changes, timelines: RunArrays, cursors: Cursors, earliest: Int64s
) -> None:
    """Merge changes into the timelines of their slots. The cursors move back to the earliest times
    that are affected, which `earliest` gets."""
    most, most_steps = 0, 0
    for number in range(len(slots)):
        most = max(most, timelines.size[slots[number]])
        most_steps = max(most_steps, 2 * (changes.bounds[number + 1] - changes.bounds[number]))
    steps_ints = np.empty((most_steps, timelines.ints.shape[1]), np.int64)
    steps_floats = np.empty((most_steps, timelines.floats.shape[1]), np.float64)
    old_ints = np.empty((most, timelines.ints.shape[1]), np.int64)
    old_floats = np.empty((most, timelines.floats.shape[1]), np.float64)
    for number in range(len(slots)):
        slot = slots[number]
        steps = _steps(
            changes,
            changes.bounds[number],
            changes.bounds[number + 1],
            steps_ints,
            steps_floats,
        )
        if steps:
            earliest[number] = steps_ints[0, TIME]
            cursors.place[slot] = _moved_back(
                timelines.ints, timelines.floats, timelines.first[slot], cursors.place[slot],
                cursors.ints, cursors.floats, slot, earliest[number],
            )  # fmt: skip
            _merge(
                timelines, slot, cursors.place[slot], steps_ints, steps_floats, steps, old_ints,
                old_floats,
            )  # fmt: skip


@njit(cache=True, nogil=True)
def go_through(
    slots: Int64s,
    earliest: Int64s,
    timelines: RunArrays,
    cursors: Cursors,
    segments: RunArrays,
    extremes: ExtremeArrays,
    values: Values,
    level: int,
    old_watermark: int,
    watermark: int,
    cti: int,
    next_due: Int64s,
    last_end: Int64s,
) -> tuple[Said, int]:
    """Bring slots up to the watermark, each from the earliest time that was affected.

    Returns what is said, and how many sums did not fit. `next_due` and `last_end` get, for each
    slot, its next entry after the cursor and the time when it will be empty.
    """
    int_values, float_values = segments.ints.shape[1] - VALUES, segments.floats.shape[1]
    how = values.how
    copies = len(how) > 0 and how[0, KIND] >= FEWER  # the value is a number of copies
    limit = INFINITY if level == EAGER else watermark
    out = room(4 * len(slots) + 64, int_values, float_values)
    said, overflows = 0, 0
    count = extremes.top.shape[1]
    most_pieces, most_segments, most_cells = 2, 0, 0
    for slot in slots:
        most_pieces = max(most_pieces, timelines.size[slot] + 2)
        most_segments = max(most_segments, segments.size[slot])
        if count:
            most_cells = max(most_cells, extremes.cells.size[slot])
    heaps, heap_sizes = np.empty((count, most_cells), np.int64), np.zeros(count, np.int64)
    best = np.zeros(count, np.int64)
    entries, entry_floats = timelines.ints, timelines.floats
    states, state_floats = cursors.ints, cursors.floats
    cells, top, there = extremes.cells.ints, extremes.top, extremes.there
    piece_ints = np.empty((most_pieces, VALUES + int_values), np.int64)
    piece_floats = np.empty((most_pieces, float_values), np.float64)
    piece_states = np.empty((most_pieces, states.shape[1]), np.int64)
    piece_sums = np.empty((most_pieces, state_floats.shape[1]), np.float64)
    piece_best = np.empty((most_pieces, count), np.int64)
    piece_there = np.empty((most_pieces, count), np.bool_)
    old_ints = np.empty((most_segments, VALUES + int_values), np.int64)
    old_floats = np.empty((most_segments, float_values), np.float64)

    for number in range(len(slots)):
        slot = slots[number]
        base, size, cursor = timelines.first[slot], timelines.size[slot], cursors.place[slot]

        # 1. Where to begin.
        begin = earliest[number]
        if level == ORDERED and cursor < size:
            begin = min(begin, entries[base + cursor, TIME])
        if level == PERFECT:
            begin = min(begin, old_watermark)

        if begin <= limit:
            # 2. The new pieces, from there on.
            cursor = _moved_back(
                entries, entry_floats, base, cursor, states, state_floats, slot, begin
            )
            made, start, entered, last_cell = 0, begin, 0, 0
            if count:
                entered = extremes.cells.first[slot]
                last_cell = entered + extremes.cells.size[slot]
                heap_sizes[:] = 0
            while True:
                while cursor < size and entries[base + cursor, TIME] <= start:
                    _apply(entries, entry_floats, base + cursor, states, state_floats, slot, 1)
                    cursor += 1
                end = entries[base + cursor, TIME] if cursor < size else INFINITY
                last = end > limit or end == INFINITY
                if end > limit:
                    end = INFINITY if level == ORDERED else limit
                if start < end:
                    if count:
                        entered = enter(
                            cells, entered, last_cell, start, top, there, heaps, heap_sizes, best
                        )
                    if states[slot, 0] > 0:
                        piece_ints[made, START], piece_ints[made, END] = start, end
                        for column in range(states.shape[1]):
                            piece_states[made, column] = states[slot, column]
                        for column in range(state_floats.shape[1]):
                            piece_sums[made, column] = state_floats[slot, column]
                        for extreme in range(count):
                            piece_best[made, extreme] = best[extreme]
                            piece_there[made, extreme] = heap_sizes[extreme] > 0
                        made += 1
                if last:
                    break
                start = end
            # The cursor stands at the watermark, also where only the last piece has gone past it.
            if limit < INFINITY:
                cursor = _moved_back(
                    entries, entry_floats, base, cursor, states, state_floats, slot, limit + 1
                )
            cursors.place[slot] = cursor

            # 3. Their values, and what was said, against them.
            overflows += say(
                piece_ints, piece_floats, made, piece_states, piece_sums, piece_best, piece_there,
                how,
            )  # fmt: skip
            made = joined_pieces(piece_ints, piece_floats, made, copies)
            needed = said + 3 * segments.size[slot] + made + 1
            if needed > len(out.slot):
                out = wider(out, said, 2 * needed)
            said = correct(
                segments, slot, begin, piece_ints, piece_floats, made, old_ints, old_floats, out,
                said,
            )  # fmt: skip
        if states[slot, 0] == 0:
            for column in range(state_floats.shape[1]):
                state_floats[slot, column] = 0.0

        # 4. What the cti lets go.
        cursor, gone = cursors.place[slot], 0
        while gone < cursor and timelines.ints[base + gone, TIME] < cti:
            gone += 1
        timelines.first[slot] += gone
        timelines.room[slot] -= gone
        timelines.size[slot] -= gone
        cursors.place[slot] -= gone
        gone = 0
        base = segments.first[slot]
        while gone < segments.size[slot] and segments.ints[base + gone, END] <= cti:
            gone += 1
        segments.first[slot] += gone
        segments.room[slot] -= gone
        segments.size[slot] -= gone

        base, size, cursor = timelines.first[slot], timelines.size[slot], cursors.place[slot]
        next_due[number] = timelines.ints[base + cursor, TIME] if cursor < size else INFINITY
        last_end[number] = _last_end(timelines, cursors, segments, slot)
    result = Said(
        out.slot[:said],
        out.vs[:said],
        out.ve[:said],
        out.weight[:said],
        out.ints[:said],
        out.floats[:said],
        out.nulls[:said],
    )
    return result, overflows


@njit(cache=True, nogil=True)
def _last_end(timelines: RunArrays, cursors: Cursors, segments: RunArrays, slot: int) -> int:
    """When a slot will be empty, and nothing is left of what was said of it."""
    base, size = timelines.first[slot], timelines.size[slot]
    rows = cursors.ints[slot, 0]
    for place in range(cursors.place[slot], size):
        rows += timelines.ints[base + place, STATE]
    if rows > 0:
        return INFINITY
    if size:
        return timelines.ints[base + size - 1, TIME]  # type: ignore[no-any-return]
    if segments.size[slot]:
        last = segments.first[slot] + segments.size[slot] - 1
        return segments.ints[last, END]  # type: ignore[no-any-return]
    return BEGINNING


@njit(cache=True, nogil=True)
def _moved_back(
    entries: Int64s,
    entry_floats: Floats,
    base: int,
    cursor: int,
    states: Int64s,
    state_floats: Floats,
    slot: int,
    time: int,
) -> int:
    """Where the cursor stands before all entries at or after a time; the state is that there."""
    while cursor > 0 and entries[base + cursor - 1, TIME] >= time:
        cursor -= 1
        _apply(entries, entry_floats, base + cursor, states, state_floats, slot, -1)
    return cursor


@njit(cache=True, nogil=True)
def _apply(
    entries: Int64s,
    entry_floats: Floats,
    entry: int,
    states: Int64s,
    state_floats: Floats,
    slot: int,
    sign: int,
) -> None:
    """Add an entry of the timeline to the state of a slot, or take it away."""
    for column in range(states.shape[1]):
        states[slot, column] += sign * entries[entry, STATE + column]
    exact.add_sums(state_floats, slot, entry_floats, entry, float(sign))


@njit(cache=True, nogil=True)
def _steps(changes: Changes, begin: int, stop: int, ints: Int64s, floats: Floats) -> int:
    """Make the changes entries of a timeline, sorted by time; where they cancel there is none.
    Returns how many there are."""
    vs, ve, marks = changes.vs, changes.ve, changes.marks
    change_ints, change_floats = changes.ints, changes.floats
    starts = sorted_by(vs, changes.order[begin:stop])
    ends = sorted_by(ve, changes.order[begin:stop])
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


@njit(cache=True, nogil=True)
def _matters(ints: Int64s, floats: Floats, entry: int) -> bool:
    matters = False
    for column in range(MARKS, ints.shape[1]):
        matters |= ints[entry, column] != 0
    for column in range(0, floats.shape[1], 3):
        matters |= exact.total(floats, entry, column) != 0.0
    return matters


@njit(cache=True, nogil=True)
def _merge(
    timelines: RunArrays,
    slot: int,
    cursor: int,
    steps_ints: Int64s,
    steps_floats: Floats,
    steps: int,
    old_ints: Int64s,
    old_floats: Floats,
) -> None:
    """Merge entries into the timeline from the cursor on. There is room for what is there now in
    `old_ints` and `old_floats`."""
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


@njit(cache=True, nogil=True)
def _add_change(
    ints: Int64s,
    floats: Floats,
    entry: int,
    marks: Int64s,
    change_ints: Int64s,
    change_floats: Floats,
    change: int,
    sign: int,
) -> None:
    """Add the start (sign 1) or the end (sign -1) of a change to an entry."""
    ints[entry, MARKS] += marks[change]
    for column in range(change_ints.shape[1]):
        ints[entry, STATE + column] += sign * change_ints[change, column]
    exact.add_sums(floats, entry, change_floats, change, float(sign))
