"""The trace of an answer: what was emitted of each key and not retracted, and its correction.

    trace of a key  =  segments [start, end) with a value, in the order of time, without overlaps

    correct(key, since, pieces):  from `since` on, the pieces are the answer

Every segment is kept as far as the pieces agree with it. The rest of it is retracted, and what is
missing is inserted.

A segment is a row of words: START, END, and its value from VALUE on. The changes that a correction
makes are columns: KEY, VS, VE, WEIGHT, and the value from VALUES on.

Corrections make no arrays. The caller sees to it that there is room: in the run for twice its
segments and the pieces, in the changes for three times the segments and the pieces.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.state.runs import RunArrays
from driftline.engine.state.words import copy, same
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64Table

START, END, VALUE = range(3)
KEY, VS, VE, WEIGHT, VALUES = range(5)


@in_place
def correct(
    trace: RunArrays,
    key: int,
    since: int,
    pieces: Int64Table,
    count: int,
    old: Int64Table,
    changes: Int64Table,
    made: int,
) -> int:
    """Correct the trace of a key; returns how many changes there are then. The pieces are in the
    order of time, and those that meet differ. `old` has room for the segments of the key."""
    segments, base = trace.ints, trace.first[key]
    kept = trace.size[key]
    while kept > 0 and segments[base + kept - 1, END] > since:
        kept -= 1
    affected = trace.size[key] - kept
    for number in range(affected):
        copy(old, number, segments, base + kept + number)
    written, piece = base + kept, 0
    covered = since  # up to here the trace is as the pieces say
    for number in range(affected):
        start, end = old[number, START], old[number, END]
        # Pieces before this segment that nothing covers so far.
        while piece < count and pieces[piece, START] < start:
            stop = min(pieces[piece, END], start)
            if covered < stop:
                copy(segments, written, pieces, piece)
                segments[written, START] = max(covered, pieces[piece, START])
                segments[written, END] = stop
                _put(changes, made, key, 1, segments, written)
                written, made = written + 1, made + 1
            covered = max(covered, stop)
            if pieces[piece, END] > start:
                break
            piece += 1
        # How far the pieces agree with this segment.
        agreed = max(start, since)
        while piece < count and pieces[piece, END] <= agreed:
            piece += 1
        if (
            piece < count
            and pieces[piece, START] <= agreed
            and same(pieces, piece, old, number, VALUE)
        ):
            agreed = min(end, pieces[piece, END])
        if agreed < end:
            _put(changes, made, key, -1, old, number)
            made += 1
        if start < agreed:
            copy(segments, written, old, number)
            segments[written, END] = agreed
            if agreed < end:
                _put(changes, made, key, 1, segments, written)
                made += 1
            written += 1
        covered = max(covered, agreed)
    while piece < count:
        start = max(covered, pieces[piece, START])
        if start < pieces[piece, END]:
            copy(segments, written, pieces, piece)
            segments[written, START] = start
            _put(changes, made, key, 1, segments, written)
            written, made = written + 1, made + 1
            covered = pieces[piece, END]
        piece += 1
    trace.size[key] = written - base
    return made


@in_place
def _put(
    changes: Int64Table, made: int, key: int, weight: int, segments: Int64Table, row: int
) -> None:
    """Insert a segment (weight 1), or retract it (-1)."""
    changes[KEY, made], changes[WEIGHT, made] = key, weight
    changes[VS, made], changes[VE, made] = segments[row, START], segments[row, END]
    for word in range(segments.shape[1] - VALUE):
        changes[VALUES + word, made] = segments[row, VALUE + word]


@in_place
def evict(trace: RunArrays, key: int, cti: int) -> None:
    """Drop the segments of a key that end at or before the cti: nothing can correct them."""
    gone = 0
    while gone < trace.size[key] and trace.ints[trace.first[key] + gone, END] <= cti:
        gone += 1
    trace.first[key] += gone
    trace.room[key] -= gone
    trace.size[key] -= gone


@compiled
def room_for(changes: int, value: int) -> Int64Table:
    """Room for so many changes, whose values have so many words."""
    return np.empty((VALUES + value, changes), np.int64)


@compiled
def wider(changes: Int64Table, made: int, size: int) -> Int64Table:
    """Changes, of which some are made, with more room."""
    wider = room_for(size, len(changes) - VALUES)
    for row in range(len(changes)):
        for change in range(made):
            wider[row, change] = changes[row, change]
    return wider
