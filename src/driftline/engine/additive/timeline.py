"""The kernel of additive snapshot operators: what a slot's answer changes by.

Every slot (a group, or a distinct row) has a timeline: a run of entries, one for each time at which
lifetimes start or end, with how many do (`marks`) and by how much the state changes there. The
state during a snapshot is the sum of all entries up to its start. The cursor of a slot stands
behind the last entry at or before the output watermark, together with the state there, so that
work begins where time has come to; for a late change it is moved back by taking entries away.

What was emitted is a trace (`state.trace`). A batch is taken in like this: merge its changes into
the timeline; go through it from the earliest time that is affected to the limit of the latency
level, which gives the new pieces of the answer; correct the trace by these.

A cti evicts all entries before it and all segments that end at or before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.additive.extremes import ExtremeArrays
from driftline.engine.additive.extremes_kernel import enter
from driftline.engine.additive.layout import FEWER, KIND, STATE, TIME, Cursors, ValueRules
from driftline.engine.additive.pieces import evaluate, joined_pieces
from driftline.engine.additive.timeline_entries import apply, moved_back
from driftline.engine.core.snapshot_operator import EAGER, ORDERED, PERFECT
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.trace import END, START, VALUE, correct, evict, room_for, wider
from driftline.engine.state.words import copy
from driftline.kernels import compiled, in_place
from driftline.model.arrays import FloatTable, Int64s, Int64Table, MaskTable
from driftline.model.time import BEGINNING, INFINITY


class TimelineState(NamedTuple):
    """What is known of all slots. `floats`: the first word of a timeline's entry that is a float,
    `reals`: the words of all entries as floats."""

    timelines: RunArrays
    reals: FloatTable
    floats: int
    cursors: Cursors
    trace: RunArrays
    extremes: ExtremeArrays


class DueSlots(NamedTuple):
    """The slots to bring up to the watermark, each from the earliest time that was affected.
    `next_due` and `last_end` get their next entry after the cursor, and when they will be empty."""

    slots: Int64s
    earliest: Int64s
    next_due: Int64s
    last_end: Int64s


class Watermarks(NamedTuple):
    """How far time has come."""

    old_watermark: int
    watermark: int
    cti: int


class _Pieces(NamedTuple):
    """Room for the new pieces of one slot: their times and values, what these are made of, and the
    heaps of the cells that have begun (see `extremes_kernel.enter`)."""

    words: Int64Table
    reals: FloatTable  # the same memory
    states: Int64Table
    sums: FloatTable  # the same memory
    best: Int64Table
    there: MaskTable
    heaps: Int64Table
    heap_sizes: Int64s
    old: Int64Table  # segments


@compiled
def go_through(
    call: DueSlots, held: TimelineState, values: ValueRules, level: int, moment: Watermarks
) -> tuple[Int64Table, int]:
    """Bring slots up to the watermark. Returns the changes of the trace, and how many sums did not
    fit."""
    slots = call.slots
    timelines, trace, extremes = held.timelines, held.trace, held.extremes
    words, count = trace.ints.shape[1], extremes.top.shape[1]
    most_pieces, most_segments, most_cells = 2, 0, 0
    for slot in slots:
        most_pieces = max(most_pieces, timelines.size[slot] + 2)
        most_segments = max(most_segments, trace.size[slot])
        if count:
            most_cells = max(most_cells, extremes.cells.size[slot])
    piece_words = np.empty((most_pieces, words), np.int64)
    states = np.empty((most_pieces, held.cursors.states.shape[1]), np.int64)
    pieces = _Pieces(
        piece_words,
        piece_words.view(np.float64),
        states,
        states.view(np.float64),
        np.empty((most_pieces, count), np.int64),
        np.empty((most_pieces, count), np.bool_),
        np.empty((count, most_cells), np.int64),
        np.zeros(count, np.int64),
        np.empty((most_segments, words), np.int64),
    )
    changes = room_for(4 * len(slots) + 64, words - VALUE)
    number, made, overflows = 0, 0, 0
    while True:
        number, made, needed, overflows = _go_on(
            number, call, held, values, level, moment, pieces, changes, made, overflows
        )  # fmt: skip
        if number == len(slots):
            break
        changes = wider(changes, made, 2 * (made + needed))
    return changes[:, :made], overflows


@in_place
def _go_on(
    number: int,
    call: DueSlots,
    held: TimelineState,
    values: ValueRules,
    level: int,
    moment: Watermarks,
    pieces: _Pieces,
    changes: Int64Table,
    changed: int,
    overflows: int,
) -> tuple[int, int, int, int]:
    """Go through the slots from a number on, as far as there is room for changes. Returns the first
    slot that there was none for, how many changes there are, how many that slot may make, and the
    number of sums that did not fit."""
    slots, earliest, next_due, last_end = call
    timelines, _, floats, cursors, trace, _ = held
    old_watermark, watermark, cti = moment
    copies = len(values.how) > 0 and values.how[0, KIND] >= FEWER  # the value counts copies
    limit = INFINITY if level == EAGER else watermark
    while number < len(slots):
        slot = slots[number]
        needed = 3 * trace.size[slot] + timelines.size[slot] + 3
        if changed + needed > changes.shape[1]:
            return number, changed, needed, overflows

        # 1. Where to begin.
        base, cursor = timelines.first[slot], cursors.place[slot]
        begin = earliest[number]
        if level == ORDERED and cursor < timelines.size[slot]:
            begin = min(begin, timelines.ints[base + cursor, TIME])
        if level == PERFECT:
            begin = min(begin, old_watermark)

        if begin <= limit:
            # 2. The new pieces, their values, and the trace corrected by them.
            made = _cut(held, slot, begin, limit, level, pieces)
            overflows += evaluate(
                pieces.words, pieces.reals, made, pieces.states, pieces.sums, pieces.best,
                pieces.there, values.how, floats - STATE, 3 * len(values.float_columns),
            )  # fmt: skip
            made = joined_pieces(pieces.words, made, copies)
            changed = correct(
                trace, slot, begin, pieces.words, made, pieces.old, changes, changed
            )  # fmt: skip
        if cursors.states[slot, 0] == 0:
            for word in range(floats - STATE, cursors.states.shape[1]):
                cursors.reals[slot, word] = 0.0

        # 3. What the cti evicts.
        cursor, gone = cursors.place[slot], 0
        while gone < cursor and timelines.ints[base + gone, TIME] < cti:
            gone += 1
        timelines.first[slot] += gone
        timelines.room[slot] -= gone
        timelines.size[slot] -= gone
        cursors.place[slot] -= gone
        evict(trace, slot, cti)

        base, cursor = timelines.first[slot], cursors.place[slot]
        is_due = cursor < timelines.size[slot]
        next_due[number] = timelines.ints[base + cursor, TIME] if is_due else INFINITY
        last_end[number] = _last_end(held, slot)
        number += 1
    return number, changed, 0, overflows


@in_place
def _cut(
    held: TimelineState, slot: int, begin: int, limit: int, level: int, pieces: _Pieces
) -> int:
    """The new pieces of a slot from a time up to the limit, with what their values are made of;
    returns how many there are. The cursor goes up to the limit."""
    timelines, reals, floats, cursors, _, extremes = held
    entries, states = timelines.ints, cursors.states
    cells, top, there = extremes.cells.ints, extremes.top, extremes.there
    heaps, heap_sizes = pieces.heaps, pieces.heap_sizes
    base, size, count = timelines.first[slot], timelines.size[slot], len(heap_sizes)
    cursor = moved_back(
        entries, reals, base, cursors.place[slot], states, cursors.reals, slot, floats, begin
    )
    made, start, entered, last_cell = 0, begin, 0, 0
    if count:
        entered = extremes.cells.first[slot]
        last_cell = entered + extremes.cells.size[slot]
        heap_sizes[:] = 0
    while True:
        while cursor < size and entries[base + cursor, TIME] <= start:
            apply(entries, reals, base + cursor, states, cursors.reals, slot, floats, 1)
            cursor += 1
        end = entries[base + cursor, TIME] if cursor < size else INFINITY
        last = end > limit or end == INFINITY
        if end > limit:
            end = INFINITY if level == ORDERED else limit
        if start < end:
            if count:
                entered = enter(
                    cells, entered, last_cell, start, top, there, heaps, heap_sizes,
                    pieces.best, pieces.there, made,
                )  # fmt: skip
            if states[slot, 0] > 0:
                pieces.words[made, START], pieces.words[made, END] = start, end
                copy(pieces.states, made, states, slot)
                made += 1
        if last:
            break
        start = end
    # The cursor stands at the watermark, also where only the last piece has gone past it.
    if limit < INFINITY:
        cursor = moved_back(
            entries, reals, base, cursor, states, cursors.reals, slot, floats, limit + 1
        )
    cursors.place[slot] = cursor
    return made


@in_place
def _last_end(held: TimelineState, slot: int) -> int:
    """When a slot will be empty, and nothing is left of what was emitted of it."""
    timelines, _, _, cursors, trace, _ = held
    base, size = timelines.first[slot], timelines.size[slot]
    rows = cursors.states[slot, 0]
    for place in range(cursors.place[slot], size):
        rows += timelines.ints[base + place, STATE]
    if rows > 0:
        return INFINITY
    if size:
        return timelines.ints[base + size - 1, TIME]  # type: ignore[no-any-return]
    if trace.size[slot]:
        last = trace.first[slot] + trace.size[slot] - 1
        return trace.ints[last, END]  # type: ignore[no-any-return]
    return BEGINNING
