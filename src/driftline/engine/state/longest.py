"""The second rule by which a trace is corrected: only the longest segments stay.

    correct_longest(key, final, pieces):  from `final` on, the pieces are the answer

A segment that began before `final` may become shorter, but not longer: that would be a change
before `final`. What goes on after it is a segment of its own. From there on the segments are the
pieces. So a stretch that grows step by step while nothing is final is always one segment, which is
what a loop needs: many short ones would circulate in it and multiply. (The first rule, `trace`,
keeps what agrees: it emits a stretch that grows once for each step, and never retracts it.)

A run may hold the segments of several lines one after another; one line is corrected at a time.

Corrections make no arrays. The caller sees to it that there is room: in the run for its segments
and the pieces, in the changes for twice the segments and the pieces.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.state.arrangement import AHEAD, drop_ended, least, read_ahead
from driftline.engine.state.runs import RunArrays, Runs
from driftline.engine.state.trace import END, START, VALUE, put, room_for
from driftline.engine.state.words import copy, same
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table


@in_place
def correct_longest(
    trace: RunArrays,
    key: int,
    begin: int,
    stop: int,
    final: int,
    pieces: Int64Table,
    piece: int,
    end: int,
    old: Int64Table,
    changes: Int64Table,
    made: int,
) -> int:
    """Correct one line of a key: the segments at the places from `begin` up to `stop`, by the
    pieces from `piece` up to `end`. These are in the order of time, and those that meet differ.
    Returns how many changes there are then. `old` has room for the segments of the line."""
    segments, affected = trace.ints, 0
    while begin < stop and segments[begin, END] <= final:
        begin += 1
    for place in range(begin, stop):
        copy(old, affected, segments, place)
        affected += 1
    began, covered = 0, final
    if affected > 0 and old[0, START] < final:
        began = 1
        if piece < end and pieces[piece, START] <= final and same(pieces, piece, old, 0, VALUE):
            covered = min(old[0, END], pieces[piece, END])
            if covered == pieces[piece, END]:
                piece += 1
    count = began + end - piece
    _move(segments, stop, trace.first[key] + trace.size[key], begin + count - stop)
    trace.size[key] += begin + count - stop
    if began:
        copy(segments, begin, old, 0)
        segments[begin, END] = covered
    for number in range(began, count):
        copy(segments, begin + number, pieces, piece + number - began)
        segments[begin + number, START] = max(covered, segments[begin + number, START])
    return difference(key, old, 0, affected, segments, begin, begin + count, changes, made)


@in_place
def _move(segments: Int64Table, begin: int, stop: int, places: int) -> None:
    """Move segments forward by some places, or back."""
    if places > 0:
        for place in range(stop - 1, begin - 1, -1):
            copy(segments, place + places, segments, place)
    elif places < 0:
        for place in range(begin, stop):
            copy(segments, place + places, segments, place)


@in_place
def difference(
    key: int,
    old: Int64Table,
    one: int,
    one_end: int,
    new: Int64Table,
    other: int,
    other_end: int,
    changes: Int64Table,
    made: int,
) -> int:
    """Retract the segments that are only among the old ones, and insert those that are only among
    the new ones, in the order of START and END; a segment whose value differs is first retracted.
    Returns how many changes there are then."""
    while one < one_end or other < other_end:
        side = 0
        if one == one_end:
            side = 1
        elif other == other_end:
            side = -1
        elif old[one, START] != new[other, START]:
            side = -1 if old[one, START] < new[other, START] else 1
        elif old[one, END] != new[other, END]:
            side = -1 if old[one, END] < new[other, END] else 1
        if side == 0 and same(old, one, new, other, VALUE):
            one, other = one + 1, other + 1
            continue
        if side <= 0:
            put(changes, made, key, -1, old, one, START)
            one, made = one + 1, made + 1
        if side >= 0:
            put(changes, made, key, 1, new, other, START)
            other, made = other + 1, made + 1
    return made


@compiled
def single_run(room: int, words: int) -> RunArrays:
    """The run of one key, 0, which has room for so many segments, for corrections of what lies
    elsewhere."""
    first = np.zeros(1, np.int64)
    return RunArrays(
        first, np.zeros(1, np.int64), np.full(1, room), np.empty((room, words), np.int64), first
    )


@in_place
def _correct_all(
    trace: RunArrays,
    keys: Int64s,
    final: int,
    pieces: Int64Table,
    bounds: Int64s,
    old: Int64Table,
    changes: Int64Table,
    seen: Int64s,
) -> int:
    made = 0
    for number in range(len(keys)):
        if number % AHEAD == 0:
            read_ahead(trace, keys, number, seen)
        key = keys[number]
        begin, stop = trace.first[key], trace.first[key] + trace.size[key]
        piece, end = bounds[number], bounds[number + 1]
        made = correct_longest(
            trace, key, begin, stop, final, pieces, piece, end, old, changes, made
        )
    return made


def corrected(
    trace: Runs, keys: Int64s, final: int, pieces: Int64Table, bounds: Int64s
) -> Int64Table:
    """Correct the traces of some distinct keys, those of the n-th by the pieces bounds[n] …
    bounds[n + 1] - 1. Returns the changes."""
    trace.make_slots(int(keys.max(initial=-1)) + 1)
    sizes = trace.arrays.size[keys]
    trace.reserve(keys, sizes + bounds[1:] - bounds[:-1])
    changes = room_for(int(2 * sizes.sum() + bounds[-1]), pieces.shape[1] - VALUE)
    old = np.empty((int(sizes.max(initial=0)), pieces.shape[1]), np.int64)
    made = _correct_all(
        trace.arrays, keys, final, pieces, bounds, old, changes, np.empty(1, np.int64)
    )
    return changes[:, :made]


def evict(trace: Runs, keys: Int64s, cti: int, ends: Int64s | None = None) -> None:
    """Drop the segments of some keys, of whatever line, that end at or before the cti. `ends`: by
    key, lowered to the least end that is left."""
    trace.make_slots(int(keys.max(initial=-1)) + 1)
    freed = np.empty(int(trace.arrays.size[keys].sum()), np.int64)  # of rows that need no place
    drop_ended(keys, trace.arrays, END, cti, freed)
    if ends is not None:
        least(keys, trace.arrays, END, ends)
