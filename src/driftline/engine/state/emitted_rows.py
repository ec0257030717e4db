"""Rows that were emitted: a trace of many rows at a time of each key, with the rows themselves.

    segment  =  LOW HIGH (the line) | START END | more … | PLACE

A line is the fingerprint of a row, or of one of several copies of it that hold at the same time.
PLACE is where the row store has the row; of a new piece it is
~n, where the n-th row of the answer is its row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from driftline.engine.state import trace
from driftline.engine.state.fingerprints import Fingerprints
from driftline.engine.state.row_runs import PLACE, RowRuns
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.trace import LINE, arrange, correct_lines, room_for, take_out
from driftline.engine.state.words import compare, sort
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table

_COPY_STEP = 0x2545F4914F6CDD1D
"""An odd number with no pattern, so that fingerprints of copies fall on nothing else."""

START, END, MORE = LINE, LINE + 1, LINE + 2


class AnswerChanges(NamedTuple):
    """By how much an answer changes: lifetimes of keys, with their weights and rows."""

    key: Int64s
    vs: Int64s
    ve: Int64s
    weight: Int64s
    rows: pa.RecordBatch


class _Room(NamedTuple):
    """Room for the correction of any of some keys, and for the changes of all of them."""

    order: Int64s
    spare: Int64s
    old: Int64Table
    arranged: Int64Table
    changes: Int64Table


class EmittedRows(RowRuns):
    """`more`: how many words a segment has behind its END, before its PLACE."""

    def __init__(self, schema: pa.Schema, more: int = 0) -> None:
        super().__init__(schema, MORE + more + 1, START, END)

    def correct(
        self, keys: Int64s, since: Int64s, bounds: Int64s, pieces: Int64Table, rows: pa.RecordBatch
    ) -> AnswerChanges:
        """Let pieces be the answer: of the n-th key those from bounds[n] up to bounds[n + 1], from
        since[n] on. Their last words say which of the rows is that of each."""
        separate_copies(bounds, pieces)
        places = self.offered(keys, bounds)
        return self.emitted(_correct(keys, since, bounds, pieces, self.arrays, places), rows)

    def offered(self, keys: Int64s, bounds: Int64s) -> Int64s:
        """Places for the rows of new segments, for which the runs have room then."""
        sizes = self.sizes(keys)
        self.reserve(keys, 2 * sizes + np.diff(bounds))
        return self.places.offered(int(sizes.sum()) + int(bounds[-1]))

    def emitted(self, changes: Int64Table, rows: pa.RecordBatch) -> AnswerChanges:
        """The changes of a correction with their rows. Rows of new segments are stored in the first
        of the places that were offered, those of segments that are gone are dropped."""
        weight, place = changes[trace.WEIGHT], changes[PLACE]
        is_new = place < 0
        new = found = rows.take(pa.array(~place[is_new]))
        if not is_new.all():
            old = self.rows.take(place[~is_new])
            order = np.where(is_new, len(old) + np.cumsum(is_new), np.cumsum(~is_new)) - 1
            found = pa.concat_batches([old, new]).take(pa.array(order))
        self.rows.put(self.places.take(len(new)), new)
        # A segment that becomes shorter is retracted, and inserted again right after that.
        stays = np.append(~is_new[1:] & (weight[1:] > 0), False)
        self.free(place[~is_new & (weight < 0) & ~stays])
        return AnswerChanges(
            changes[trace.KEY], changes[trace.VS], changes[trace.VE], weight, found
        )


def pieces_of(prints: Fingerprints, start: Int64s, end: Int64s, *more: Int64s) -> Int64Table:
    """Pieces of an answer, whose n-th row is the row of the n-th piece."""
    low, high = prints.low.view(np.int64), prints.high.view(np.int64)
    return np.stack([low, high, start, end, *more, ~np.arange(len(start))], axis=1)


@compiled
def separate_copies(bounds: Int64s, pieces: Int64Table) -> None:
    """Where equal answer rows of a slot hold at the same time, give the second, third, … a line of
    its own, so that a line has one at a time: with n copies at a time, the first n lines hold."""
    most = 0
    for number in range(len(bounds) - 1):
        most = max(most, bounds[number + 1] - bounds[number])
    order, spare = np.empty(most, np.int64), np.empty(most, np.int64)
    for number in range(len(bounds) - 1):
        first, size = bounds[number], bounds[number + 1] - bounds[number]
        for row in range(size):
            order[row] = first + row
        sort(pieces, order, size, LINE, spare)
        begin = 0
        while begin < size:
            stop = begin + 1
            while stop < size and (compare(pieces, order[stop], pieces, order[begin], LINE) == 0):
                stop += 1
            if stop - begin > 1:
                _stacked(pieces, order[begin:stop])
            begin = stop


@compiled
def _stacked(pieces: Int64Table, rows: Int64s) -> None:
    starts, stops = np.sort(pieces[rows, START]), np.sort(pieces[rows, END])
    owner = np.empty(len(rows), np.int64)  # by line, the row that holds now
    low, high = pieces[rows[0], 0], pieces[rows[0], 1]
    depth, started, stopped = 0, 0, 0
    while stopped < len(rows):
        if started < len(rows) and starts[started] < stops[stopped]:
            row = rows[started]
            owner[depth] = row
            pieces[row, 0], pieces[row, 1] = low + depth * _COPY_STEP, high - depth * _COPY_STEP
            pieces[row, START] = starts[started]
            depth += 1
            started += 1
        else:
            depth -= 1
            pieces[owner[depth], END] = stops[stopped]
            stopped += 1


@compiled
def room(keys: Int64s, bounds: Int64s, emitted: RunArrays) -> _Room:
    segments, pieces, all_segments = 0, 0, 0
    for number in range(len(keys)):
        segments = max(segments, emitted.size[keys[number]])
        pieces = max(pieces, bounds[number + 1] - bounds[number])
        all_segments += emitted.size[keys[number]]
    words = emitted.ints.shape[1]
    return _Room(
        np.empty(max(segments, pieces), np.int64),
        np.empty(max(segments, pieces), np.int64),
        np.empty((segments, words), np.int64),
        np.empty((pieces, words), np.int64),
        room_for(3 * all_segments + 2 * bounds[-1], words - MORE),
    )


@compiled
def _correct(
    keys: Int64s,
    since: Int64s,
    bounds: Int64s,
    pieces: Int64Table,
    emitted: RunArrays,
    places: Int64s,
) -> Int64Table:
    """The changes of the trace. The rows of new segments belong into the first of the places."""
    own = room(keys, bounds, emitted)
    made, taken = 0, 0
    for number in range(len(keys)):
        key = keys[number]
        affected = 0
        for place in range(emitted.first[key], emitted.first[key] + emitted.size[key]):
            if emitted.ints[place, END] > since[number]:
                own.order[affected] = place
                affected += 1
        take_out(emitted, key, own.order, affected, own.old, own.spare)
        count = arrange(
            pieces, bounds[number], bounds[number + 1], own.order, own.spare, own.arranged
        )
        kept = emitted.size[key]
        made = correct_lines(
            emitted, key, since[number], own.arranged, count, own.old, affected, own.changes, made
        )
        taken = give_places(emitted, key, kept, places, taken)
    return own.changes[:, :made]


@in_place
def give_places(emitted: RunArrays, key: int, kept: int, places: Int64s, taken: int) -> int:
    """Give the new segments of a key, which are behind those that were `kept`, places for their
    rows, of which some are taken; returns how many are then."""
    base = emitted.first[key]
    for segment in range(base + kept, base + emitted.size[key]):
        if emitted.ints[segment, PLACE] < 0:
            emitted.ints[segment, PLACE] = places[taken]
            taken += 1
    return taken
