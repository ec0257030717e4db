"""The trace of an answer: what was emitted of each key and not retracted, and its correction.

    trace of a key  =  segments [start, end) with a value; those of one line do not overlap

    correct(key, since, pieces):  from `since` on, the pieces are the answer

Every segment is kept as far as the pieces agree with it. The rest of it is retracted, and what is
missing is inserted.

A segment is a row of words:

    line …   what tells apart rows that hold at the same time; none where an answer is one row
    START, END
    value …  what has to be the same for a piece to agree
    more …   what else is known of it; the last word of these is the place of its row

A segment that a piece agrees with up to its end takes over what else is known of that; of one that
becomes shorter, all but its place is INFINITY. Segments are in the order of time where there are no
lines, and in no order where there are.

The changes that a correction makes are columns: KEY, VS, VE, WEIGHT, and from VALUES on what comes
behind the END of a segment or, of what is inserted, of a piece.

Corrections make no arrays. The caller sees to it that there is room: in the run for twice its
segments and the pieces, in the changes for three times the segments and the pieces (with lines, two
pieces for each).
"""

from __future__ import annotations

import numpy as np

from driftline.engine.state.runs import RunArrays
from driftline.engine.state.words import compare, copy, sort
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import BEGINNING, INFINITY

START, END, VALUE = range(3)
"""The words of a segment without a line."""
LINE = 2
"""The words of a line: a fingerprint."""
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
    """Correct the trace of a key, of one row at a time; returns how many changes there are then.
    The pieces are in the order of time, and those that meet differ. `old` has room for the segments
    of the key."""
    segments, base, kept = trace.ints, trace.first[key], trace.size[key]
    while kept > 0 and segments[base + kept - 1, END] > since:
        kept -= 1
    affected = trace.size[key] - kept
    for number in range(affected):
        copy(old, number, segments, base + kept + number)
    written, made = _correct_line(
        segments, base + kept, old, 0, affected, pieces, 0, count, since, START,
        segments.shape[1] - VALUE, key, changes, made,
    )  # fmt: skip
    trace.size[key] = written - base
    return made


@in_place
def correct_lines(
    trace: RunArrays,
    key: int,
    since: int,
    pieces: Int64Table,
    count: int,
    old: Int64Table,
    affected: int,
    changes: Int64Table,
    made: int,
) -> int:
    """Correct the trace of a key, of many rows at a time, of which segments have been taken out
    (`old`); returns how many changes there are then. The pieces are as `arrange` leaves them."""
    base, one, piece = trace.first[key], 0, 0
    written = base + trace.size[key]
    while one < affected or piece < count:
        side = -1
        if one == affected:
            side = 1
        elif piece < count:
            side = compare(old, one, pieces, piece, LINE)
        last = _line_end(old, one, affected) if side <= 0 else one
        stop = _line_end(pieces, piece, count) if side >= 0 else piece
        written, made = _correct_line(
            trace.ints, written, old, one, last, pieces, piece, stop, since, LINE, 0, key, changes,
            made,
        )  # fmt: skip
        one, piece = last, stop
    trace.size[key] = written - base
    return made


@in_place
def _line_end(rows: Int64Table, row: int, count: int) -> int:
    """The first row, after one of them, of another line."""
    stop = row + 1
    while stop < count and compare(rows, stop, rows, row, LINE) == 0:
        stop += 1
    return stop


@in_place
def _correct_line(
    segments: Int64Table,
    written: int,
    old: Int64Table,
    one: int,
    last: int,
    pieces: Int64Table,
    piece: int,
    stop: int,
    since: int,
    start_at: int,
    values: int,
    key: int,
    changes: Int64Table,
    made: int,
) -> tuple[int, int]:
    """Correct the segments of a line, the rows of `old` from `one` up to `last`, by its pieces.
    `start_at`: the word of a START; `values`: how many words a value has. Segments are written from
    a place on; returns where they end, and how many changes there are."""
    end_at, value_at = start_at + 1, start_at + 2
    covered = since  # up to here the trace is as the pieces say
    for number in range(one, last):
        start, end = old[number, start_at], old[number, end_at]
        # Pieces before this segment that nothing covers so far.
        while piece < stop and pieces[piece, start_at] < start:
            until = min(pieces[piece, end_at], start)
            if covered < until:
                copy(segments, written, pieces, piece)
                segments[written, start_at] = max(covered, pieces[piece, start_at])
                segments[written, end_at] = until
                put(changes, made, key, 1, segments, written, start_at)
                written, made = written + 1, made + 1
            covered = max(covered, until)
            if pieces[piece, end_at] > start:
                break
            piece += 1
        # How far the pieces agree with this segment.
        agreed = max(start, since)
        while piece < stop and pieces[piece, end_at] <= agreed:
            piece += 1
        agrees = piece < stop and pieces[piece, start_at] <= agreed
        if agrees:
            for word in range(value_at, value_at + values):
                agrees &= pieces[piece, word] == old[number, word]
        if agrees:
            agreed = min(end, pieces[piece, end_at])
        if agreed < end:
            put(changes, made, key, -1, old, number, start_at)
            made += 1
        if start < agreed:
            copy(segments, written, old, number)
            segments[written, end_at] = agreed
            for word in range(value_at + values, segments.shape[1] - 1):
                segments[written, word] = pieces[piece, word] if agreed == end else INFINITY
            if agreed < end:
                put(changes, made, key, 1, segments, written, start_at)
                made += 1
            written += 1
        covered = max(covered, agreed)
    while piece < stop:
        start = max(covered, pieces[piece, start_at])
        if start < pieces[piece, end_at]:
            copy(segments, written, pieces, piece)
            segments[written, start_at] = start
            put(changes, made, key, 1, segments, written, start_at)
            written, made = written + 1, made + 1
            covered = pieces[piece, end_at]
        piece += 1
    return written, made


@inlined
def put(
    changes: Int64Table,
    made: int,
    key: int,
    weight: int,
    segments: Int64Table,
    row: int,
    start_at: int,
) -> None:
    """Insert a segment (weight 1), or retract it (-1)."""
    changes[KEY, made], changes[WEIGHT, made] = key, weight
    changes[VS, made], changes[VE, made] = segments[row, start_at], segments[row, start_at + 1]
    for word in range(start_at + 2, segments.shape[1]):
        changes[VALUES + word - start_at - 2, made] = segments[row, word]


@in_place
def evict(trace: RunArrays, key: int, cti: int) -> None:
    """Drop the segments of a key that end at or before the cti: nothing can correct them. (Without
    lines, and with rows that need no place; else see `arrangement.drop_ended`.)"""
    gone = 0
    while gone < trace.size[key] and trace.ints[trace.first[key] + gone, END] <= cti:
        gone += 1
    trace.first[key] += gone
    trace.room[key] -= gone
    trace.size[key] -= gone


@in_place
def take_out(
    trace: RunArrays, key: int, order: Int64s, count: int, old: Int64Table, spare: Int64s
) -> None:
    """Take segments of a key, those at the first of `order`, places in the pool, out of its run and
    into `old`, sorted by line and start."""
    segments, base, kept = trace.ints, trace.first[key], trace.first[key]
    sort(segments, order, count, LINE + 1, spare)
    for number in range(count):
        copy(old, number, segments, order[number])
    for number in range(count):
        segments[order[number], LINE + END] = BEGINNING  # where no segment ends
    for place in range(base, base + trace.size[key]):
        if segments[place, LINE + END] > BEGINNING:
            if kept < place:
                copy(segments, kept, segments, place)
            kept += 1
    trace.size[key] = kept - base


@in_place
def arrange(
    pieces: Int64Table, begin: int, stop: int, order: Int64s, spare: Int64s, arranged: Int64Table
) -> int:
    """Put pieces in the order of lines and time, and join those of a line that meet. Returns how
    many there are then."""
    count = stop - begin
    for number in range(count):
        order[number] = begin + number
    sort(pieces, order, count, LINE + 1, spare)
    made = 0
    for number in range(count):
        row = order[number]
        if (
            made > 0
            and arranged[made - 1, LINE + END] == pieces[row, LINE]
            and compare(arranged, made - 1, pieces, row, LINE) == 0
        ):
            for word in range(LINE + END, pieces.shape[1] - 1):
                arranged[made - 1, word] = pieces[row, word]
            continue
        copy(arranged, made, pieces, row)
        made += 1
    return made


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
