"""The kernel that emits by how much an answer changes: new rows against the emitted segments.

    before   every emitted segment [start, end) of an answer row, slot by slot
    new      the rows of the new pieces, from the earliest affected time on
    after    every segment as far as the new rows agree with it, and the new rows where none holds

A line is a slot and a fingerprint. Answer rows that are the same row at the same time are told
apart by number: the second copy has a fingerprint of its own, so that on each line at most one
segment holds at any time.

A segment may be settled since some time: only a change before that, or at it, concerns it (see
`engine.match`; elsewhere none is). And an answer may be as it was before from some time on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.by_rows.snapshot_kernel import (
    END,
    HIGH,
    LOW,
    PLACE,
    SEGMENT_COLUMNS,
    START,
)
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.words import compare, sort
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Int64Table, Mask
from driftline.model.time import INFINITY

# Columns of the keys by which answer rows and segments are sorted.
LINE_LOW, LINE_HIGH, LINE_START = range(3)
LINE_WORDS = 3
# A column more of segments that can be settled before they end.
SETTLED = SEGMENT_COLUMNS

_COPY_STEP = 0x2545F4914F6CDD1D
"""An odd number with no pattern, so that fingerprints of copies fall on nothing else."""


class Corrections(NamedTuple):
    """The output: `row` is a row of the answer, or ~place for one that was emitted before."""

    slot: Int64s
    vs: Int64s
    ve: Int64s
    weight: Int64s
    row: Int64s


@compiled
def correct(
    slots: Int64s,
    earliest: Int64s,
    limit: int,
    row_bounds: Int64s,
    lines: Int64Table,
    ends: Int64s,
    segments: RunArrays,
    places: Int64s,
    settled: Int64s,
    same_from: Int64s,
    keeps: Mask,
) -> tuple[Corrections, Int64s, Int64s]:
    """What was emitted, against the rows of the new pieces: those of the n-th slot are
    row_bounds[n] … row_bounds[n + 1] - 1, each with its fingerprint and start (`lines`) and its
    end. `settled`: since when each row is, if segments can be; `same_from`: by slot, from when on
    all is as before (rows that end then end when they did before); if empty, never. `keeps`: by
    slot, whether segments that began before the earliest time, and do not end yet, stay as they
    are; if empty, none do.

    Returns the output, the rows to be put in the first of the places, and the places that are
    free again.
    """
    room = 2 * len(ends)
    for number in range(len(slots)):
        room += 3 * segments.size[slots[number]]
    slot_out, weight_out = np.empty(room, np.int64), np.empty(room, np.int64)
    vs_out, ve_out = np.empty(room, np.int64), np.empty(room, np.int64)
    out = Corrections(slot_out, vs_out, ve_out, weight_out, np.empty(room, np.int64))
    new, freed = np.empty(len(places), np.int64), np.empty(room, np.int64)
    emitted, taken, gone = 0, 0, 0
    for number in range(len(slots)):
        slot, first = slots[number], earliest[number]
        if first > limit:
            continue
        same = same_from[number] if len(same_from) else INFINITY
        base = segments.first[slot]
        keeps_open = bool(len(keeps) and keeps[number])
        old, old_lines = _affected(segments, slot, first, same, keeps_open)
        by_line = np.arange(len(old))
        _sort(old_lines, by_line)
        rows = np.arange(row_bounds[number], row_bounds[number + 1])
        _sort(lines, rows)
        _tell_copies_apart(lines, rows)
        row, place = 0, 0
        while row < len(rows) or place < len(old):
            if place == len(old) or (
                row < len(rows)
                and compare(lines, rows[row], old_lines, by_line[place], LINE_WORDS) < 0
            ):
                low, high = lines[rows[row], LINE_LOW], lines[rows[row], LINE_HIGH]
            else:
                low, high = old[by_line[place], LOW], old[by_line[place], HIGH]
            covered = first
            # The new rows of this line, joined where they meet, against its old segments.
            start, end, source, row, final = _next_row(lines, ends, settled, rows, row, low, high)
            while place < len(old) and (
                old[by_line[place], LOW] == low and old[by_line[place], HIGH] == high
            ):
                segment = old[by_line[place]]
                place += 1
                if source >= 0 and end == same and segment[START] < same < segment[END]:
                    end = segment[END]
                    final = segment[SETTLED] if len(settled) else INFINITY
                while source >= 0 and start < segment[START]:
                    stop = min(end, segment[START])
                    if max(covered, start) < stop:
                        _insert(
                            segments, slot, max(covered, start), stop, low, high, places[taken],
                            source, out, emitted, final,
                        )  # fmt: skip
                        new[taken] = source
                        taken += 1
                        emitted += 1
                    covered = max(covered, stop)
                    if end > segment[START]:
                        break
                    start, end, source, row, final = _next_row(
                        lines, ends, settled, rows, row, low, high
                    )
                    if source >= 0 and end == same and segment[START] < same < segment[END]:
                        end = segment[END]
                        final = segment[SETTLED] if len(settled) else INFINITY
                agreed = max(segment[START], first)
                while source >= 0 and end <= agreed:
                    start, end, source, row, final = _next_row(
                        lines, ends, settled, rows, row, low, high
                    )
                if source >= 0 and start <= agreed:
                    agreed = min(segment[END], end)
                if agreed < segment[END]:
                    _put(out, emitted, slot, segment[START], segment[END], -1, ~segment[PLACE])
                    emitted += 1
                    if segment[START] < agreed:
                        _put(out, emitted, slot, segment[START], agreed, 1, ~segment[PLACE])
                        emitted += 1
                if segment[START] < agreed:
                    written = base + segments.size[slot]
                    segments.ints[written] = segment
                    segments.ints[written, END] = agreed
                    if len(settled):
                        segments.ints[written, SETTLED] = (
                            final if agreed == segment[END] and source >= 0 else INFINITY
                        )
                    segments.size[slot] += 1
                else:
                    freed[gone] = segment[PLACE]
                    gone += 1
                covered = max(covered, agreed)
            while source >= 0:
                if max(covered, start) < end:
                    _insert(
                        segments, slot, max(covered, start), end, low, high, places[taken],
                        source, out, emitted, final,
                    )  # fmt: skip
                    new[taken] = source
                    taken += 1
                    emitted += 1
                    covered = end
                start, end, source, row, final = _next_row(
                    lines, ends, settled, rows, row, low, high
                )
    result = Corrections(
        out.slot[:emitted],
        out.vs[:emitted],
        out.ve[:emitted],
        out.weight[:emitted],
        out.row[:emitted],
    )
    return result, new[:taken], freed[:gone]


@compiled
def _sort(lines: Int64Table, order: Int64s) -> None:
    sort(lines, order, len(order), LINE_WORDS, np.empty(len(order), np.int64))


@compiled
def _affected(
    segments: RunArrays, slot: int, earliest: int, same: int, keeps_open: bool
) -> tuple[Int64Table, Int64Table]:
    """Take the segments that reach beyond a time out of the run, unless they were settled before or
    begin where all is the same again; returns them and their lines. A row that was settled before
    all is the same again holds for ever: all segments of it are taken, also those that begin
    later."""
    base, size = segments.first[slot], segments.size[slot]
    old = np.empty((size, segments.ints.shape[1]), np.int64)
    kept = 0
    settles = segments.ints.shape[1] > SETTLED
    for place in range(size):
        settled = segments.ints[base + place, SETTLED] if settles else INFINITY
        if (
            segments.ints[base + place, END] > earliest
            and (segments.ints[base + place, START] < same or settled < same)
            and settled >= earliest
            and not (
                keeps_open
                and segments.ints[base + place, START] < earliest
                and segments.ints[base + place, END] == INFINITY
            )
        ):
            old[place - kept] = segments.ints[base + place]
        else:
            if kept < place:
                for column in range(segments.ints.shape[1]):
                    segments.ints[base + kept, column] = segments.ints[base + place, column]
            kept += 1
    segments.size[slot] = kept
    old = old[: size - kept]
    lines = np.empty((len(old), 3), np.int64)
    lines[:, LINE_LOW], lines[:, LINE_HIGH] = old[:, LOW], old[:, HIGH]
    lines[:, LINE_START] = old[:, START]
    return old, lines


@compiled
def _tell_copies_apart(lines: Int64Table, rows: Int64s) -> None:
    """Give the second, third, … copy of a row in a piece a fingerprint of its own."""
    copy, again = 0, False
    for place in range(1, len(rows)):
        one, two = rows[place - 1], rows[place]
        # The row before may have been told apart already: undo that to compare.
        same = (
            lines[two, LINE_START] == lines[one, LINE_START]
            and lines[two, LINE_LOW] == lines[one, LINE_LOW] - copy * _COPY_STEP
            and lines[two, LINE_HIGH] == lines[one, LINE_HIGH] + copy * _COPY_STEP
        )
        copy = copy + 1 if same else 0
        if copy:
            lines[two, LINE_LOW] += copy * _COPY_STEP
            lines[two, LINE_HIGH] -= copy * _COPY_STEP
            again = True
    if again:
        _sort(lines, rows)


@compiled
def _next_row(
    lines: Int64Table, ends: Int64s, settled: Int64s, rows: Int64s, row: int, low: int, high: int
) -> tuple[int, int, int, int, int]:
    """The next row of a line, joined with those that follow without a gap: its start, end, and
    number (-1: there is none); the next row after these; and since when it is settled."""
    if row == len(rows) or (
        lines[rows[row], LINE_LOW] != low or lines[rows[row], LINE_HIGH] != high
    ):
        return 0, 0, -1, row, INFINITY
    source = rows[row]
    start, end = lines[source, LINE_START], ends[source]
    final = settled[source] if len(settled) else INFINITY
    row += 1
    while row < len(rows) and (
        lines[rows[row], LINE_LOW] == low
        and lines[rows[row], LINE_HIGH] == high
        and lines[rows[row], LINE_START] == end
    ):
        end = ends[rows[row]]
        if len(settled):
            final = settled[rows[row]]
        row += 1
    return start, end, source, row, final


@compiled
def _insert(
    segments: RunArrays,
    slot: int,
    start: int,
    end: int,
    low: int,
    high: int,
    place: int,
    source: int,
    out: Corrections,
    emitted: int,
    settled: int,
) -> None:
    written = segments.first[slot] + segments.size[slot]
    segments.ints[written, START], segments.ints[written, END] = start, end
    segments.ints[written, LOW], segments.ints[written, HIGH] = low, high
    segments.ints[written, PLACE] = place
    if segments.ints.shape[1] > SETTLED:
        segments.ints[written, SETTLED] = settled
    segments.size[slot] += 1
    _put(out, emitted, slot, start, end, 1, source)


@inlined
def _put(
    out: Corrections, emitted: int, slot: int, vs: int, ve: int, weight: int, row: int
) -> None:
    out.slot[emitted], out.vs[emitted], out.ve[emitted] = slot, vs, ve
    out.weight[emitted], out.row[emitted] = weight, row
