"""What has come out of the lifetimes of a preserved side, and its corrections.

A side is preserved if its lifetimes come out cut to their runs (see `coverage`): the left of a
left, full, semi and anti join, the right of a right and full join. Of each lifetime, which has a
place, what has come out is a trace that is corrected in the longest segments. F is the lesser of
the two sides' ctis, and the output's: what ends before F is not needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.state.allotted import Allotted
from driftline.engine.state.longest import correct_longest, single_run
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.slots import NO_SLOT
from driftline.engine.state.trace import END, KEY, START, VALUE, VE, VS, WEIGHT, room_for
from driftline.engine.state.words import copy
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table

Changes = tuple[Int64s, Int64s, Int64s, Int64s]
"""Places, starts, ends, and 1 or -1."""


class _Windows(NamedTuple):
    """The segments of the n-th place from number begin[n] up to stop[n] are to be corrected, by
    the pieces bounds[n] … bounds[n + 1] - 1; it can have `needed` segments then."""

    pieces: Int64Table
    bounds: Int64s
    begin: Int64s
    stop: Int64s
    needed: Int64s


class Emitted:
    """`trace`: by place, what has come out."""

    def __init__(self) -> None:
        self.trace = Allotted(VALUE)

    def inherited(
        self, parents: Int64s, runs: Int64Table, bounds: Int64s, final: int
    ) -> tuple[Int64Table, Int64s]:
        """What comes out of lifetimes that are cut from those at some places (NO_SLOT: none), which
        came out in the segments that are there. `runs`: those of each lifetime, from the final time
        on if it is cut from another."""
        return _inherited(self.trace.arrays, parents, runs, bounds, final)

    def put(self, places: Int64s, rows: Int64s, segments: Int64Table, bounds: Int64s) -> None:
        """Note what has come out of the lifetimes at some places: the segments of these rows."""
        self.trace.reserve(places, bounds[rows + 1] - bounds[rows])
        _put(self.trace.arrays, places, rows, segments, bounds)

    def corrected(
        self,
        places: Int64s,
        start: Int64s,
        end: Int64s,
        runs: Int64Table,
        bounds: Int64s,
        final: int,
    ) -> Changes:
        """Correct lifetimes between some times, which are not before the final time: these are
        their runs there. Returns the changes."""
        windows = _windows(self.trace.arrays, places, start, end, runs, bounds, final)
        sizes = self.trace.arrays.size[places]
        self.trace.reserve(places, windows.needed)
        changes = room_for(int(2 * sizes.sum()) + len(windows.pieces), 0)
        old = np.empty((int(sizes.max(initial=0)), VALUE), np.int64)
        made = _correct(self.trace.arrays, places, final, windows, old, changes)
        found = changes[:, :made]
        return found[KEY], found[VS], found[VE], found[WEIGHT]


@compiled
def _inherited(
    trace: RunArrays, parents: Int64s, runs: Int64Table, bounds: Int64s, final: int
) -> tuple[Int64Table, Int64s]:
    most, total = 0, len(runs)
    for number in range(len(parents)):
        if parents[number] != NO_SLOT:
            size = trace.size[parents[number]]
            most = max(most, size + bounds[number + 1] - bounds[number])
            total += size
    found, made = np.empty((total, VALUE), np.int64), 0
    one, old = single_run(most, VALUE), np.empty((most, VALUE), np.int64)
    changes, found_bounds = room_for(2 * most, 0), np.zeros(len(bounds), np.int64)
    for number in range(len(parents)):
        parent, begin, stop = parents[number], bounds[number], bounds[number + 1]
        if parent == NO_SLOT:
            for place in range(begin, stop):
                copy(found, made, runs, place)
                made += 1
        else:
            size = 0
            for place in range(trace.first[parent], trace.first[parent] + trace.size[parent]):
                if trace.ints[place, END] >= final:
                    copy(one.ints, size, trace.ints, place)
                    size += 1
            one.size[0] = size
            correct_longest(one, 0, 0, size, final, runs, begin, stop, old, changes, 0)
            for place in range(one.size[0]):
                copy(found, made, one.ints, place)
                made += 1
        found_bounds[number + 1] = made
    return found[:made], found_bounds


@in_place
def _put(
    trace: RunArrays, places: Int64s, rows: Int64s, segments: Int64Table, bounds: Int64s
) -> None:
    for number in range(len(places)):
        first, begin = trace.first[places[number]], bounds[rows[number]]
        size = bounds[rows[number] + 1] - begin
        for each in range(size):
            copy(trace.ints, first + each, segments, begin + each)
        trace.size[places[number]] = size


@compiled
def _windows(
    trace: RunArrays,
    places: Int64s,
    start: Int64s,
    end: Int64s,
    runs: Int64Table,
    bounds: Int64s,
    final: int,
) -> _Windows:
    """The pieces that are to stand in place of the segments that reach into each window, or meet
    it: what these have before the window, its runs, and what they have after it. Drops what is
    not needed of the places on the way."""
    pieces, made = np.empty((len(runs) + 2 * len(places), VALUE), np.int64), 0
    piece_bounds = np.zeros(len(places) + 1, np.int64)
    begin, stop = np.zeros(len(places), np.int64), np.zeros(len(places), np.int64)
    needed = np.empty(len(places), np.int64)
    for number in range(len(places)):
        place, since, until = places[number], start[number], end[number]
        _drop_ended(trace, place, final)
        base, needed[number] = trace.first[place], trace.size[place]
        if since < until:
            low, high = _touched(trace.ints, base, trace.size[place], since, until)
            first = made
            for each in range(base + low, base + high):
                begins, ends = max(trace.ints[each, START], final), trace.ints[each, END]
                made = _add(pieces, first, made, begins, min(ends, since))
                needed[number] -= trace.ints[each, START] >= final
            for each in range(bounds[number], bounds[number + 1]):
                made = _add(pieces, first, made, runs[each, START], runs[each, END])
            for each in range(base + low, base + high):
                begins, ends = trace.ints[each, START], trace.ints[each, END]
                made = _add(pieces, first, made, max(begins, until), ends)
            needed[number] += made - first
            begin[number], stop[number] = low, high
        piece_bounds[number + 1] = made
    return _Windows(pieces[:made], piece_bounds, begin, stop, needed)


@in_place
def _touched(segments: Int64Table, base: int, size: int, since: int, until: int) -> tuple[int, int]:
    """The segments that reach into a window or meet it, and those that go on from there without a
    gap: their first number, and where they stop."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if segments[base + middle, END] < since:
            low = middle + 1
        else:
            high = middle
    stop = low
    while stop < size and (
        segments[base + stop, START] <= until
        or (stop > low and segments[base + stop, START] == segments[base + stop - 1, END])
    ):
        stop += 1
    return low, stop


@in_place
def _add(pieces: Int64Table, first: int, made: int, start: int, end: int) -> int:
    """Add a piece, if it is not empty, as part of the one before it where they meet."""
    if start >= end:
        return made
    if made > first and pieces[made - 1, END] == start:
        pieces[made - 1, END] = end
        return made
    pieces[made, START], pieces[made, END] = start, end
    return made + 1


@in_place
def _drop_ended(trace: RunArrays, place: int, final: int) -> None:
    """Drop the segments that end before the final time, if they are at least half of all."""
    base, size, ended = trace.first[place], trace.size[place], 0
    while ended < size and trace.ints[base + ended, END] < final:
        ended += 1
    if 2 * ended < size or ended == 0:
        return
    for each in range(base + ended, base + size):
        copy(trace.ints, each - ended, trace.ints, each)
    trace.size[place] = size - ended


@in_place
def _correct(
    trace: RunArrays,
    places: Int64s,
    final: int,
    windows: _Windows,
    old: Int64Table,
    changes: Int64Table,
) -> int:
    made = 0
    for number in range(len(places)):
        place = places[number]
        base = trace.first[place]
        made = correct_longest(
            trace, place, base + windows.begin[number], base + windows.stop[number], final,
            windows.pieces, windows.bounds[number], windows.bounds[number + 1], old, changes, made,
        )  # fmt: skip
    return made
