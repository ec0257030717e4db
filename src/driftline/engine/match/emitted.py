"""What was emitted of matches whose rows go by time and are only added.

    segment  =  LOW HIGH | START END | SETTLED | PLACE        (see `state.emitted_rows`)

A match is settled at a time if only a change up to then concerns it; until it is, SETTLED is
INFINITY. And from some time on all may be as it was before: attempts that begin there find the same
matches, so that these need not be looked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows.rows_operator import Answers
from driftline.engine.state.emitted_rows import (
    END,
    MORE,
    START,
    AnswerChanges,
    EmittedRows,
    give_places,
    room,
    separate_copies,
)
from driftline.engine.state.row_runs import PLACE
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.trace import LINE, arrange, correct_lines, take_out
from driftline.engine.state.words import compare, copy
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table, Mask
from driftline.model.time import INFINITY

SETTLED = MORE


@dataclass(frozen=True)
class AnswersInOrder(Answers):
    """`same_from`: by slot, from when on all is as before; rows that end then end when they did
    before. `keeps`: by slot, whether segments that began before the earliest change, and do not end
    yet, stay as they are; if empty, none do."""

    same_from: Int64s
    keeps: Mask


class EmittedMatches(EmittedRows):
    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema, more=1)

    def correct_in_order(
        self, keys: Int64s, since: Int64s, answers: AnswersInOrder
    ) -> AnswerChanges:
        """Let answers be those from some times on, as far as they may be other ones than before."""
        bounds, pieces = answers.bounds, answers.pieces
        separate_copies(bounds, pieces)
        places = self.offered(keys, bounds)
        changes = _correct(
            keys, since, bounds, pieces, answers.same_from, answers.keeps, self.arrays, places
        )
        return self.emitted(changes, answers.rows)

    def drop_settled(self, keys: Int64s, final: int) -> None:
        """Drop the segments of some keys that were settled before a time, or have ended by then."""
        freed = np.empty(int(self.sizes(keys).sum()), np.int64)
        self.free(freed[: _drop_settled(keys, final, self.arrays, freed)])

    def first_settled(self, keys: Int64s) -> Int64s:
        """From which cti on the next segment of each key can be dropped (INFINITY: none)."""
        times = np.full(len(keys), INFINITY, np.int64)
        _first_settled(keys, self.arrays, times)
        return times


@compiled
def _correct(
    keys: Int64s,
    since: Int64s,
    bounds: Int64s,
    pieces: Int64Table,
    same_from: Int64s,
    keeps: Mask,
    emitted: RunArrays,
    places: Int64s,
) -> Int64Table:
    own = room(keys, bounds, emitted)
    made, taken = 0, 0
    for number in range(len(keys)):
        key, same = keys[number], same_from[number]
        keeps_open = bool(len(keeps) and keeps[number])
        affected = _affected(emitted, key, since[number], same, keeps_open, own.order)
        take_out(emitted, key, own.order, affected, own.old, own.spare)
        count = arrange(
            pieces, bounds[number], bounds[number + 1], own.order, own.spare, own.arranged
        )
        _go_on(own.arranged, count, own.old, affected, same)
        kept = emitted.size[key]
        made = correct_lines(
            emitted, key, since[number], own.arranged, count, own.old, affected, own.changes, made
        )
        taken = give_places(emitted, key, kept, places, taken)
    return own.changes[:, :made]


@in_place
def _affected(
    emitted: RunArrays, key: int, since: int, same: int, keeps_open: bool, found: Int64s
) -> int:
    """The segments that reach beyond a time, unless they were settled before or begin where all is
    the same again; returns how many. A row that was settled before all is the same again holds for
    ever: all segments of it are affected, also those that begin later."""
    affected = 0
    for place in range(emitted.first[key], emitted.first[key] + emitted.size[key]):
        start, end = emitted.ints[place, START], emitted.ints[place, END]
        settled = emitted.ints[place, SETTLED]
        stays_open = keeps_open and start < since and end == INFINITY
        if (
            end > since
            and settled >= since
            and (start < same or settled < same)
            and not stays_open
        ):  # fmt: skip
            found[affected] = place
            affected += 1
    return affected


@in_place
def _go_on(pieces: Int64Table, count: int, old: Int64Table, affected: int, same: int) -> None:
    """Let pieces that end where all is as before go on as the segments that hold there do."""
    piece = 0
    for number in range(affected):
        if not old[number, START] < same < old[number, END]:
            continue
        while piece < count and compare(pieces, piece, old, number, LINE) < 0:
            piece += 1
        other = piece
        while other < count and compare(pieces, other, old, number, LINE) == 0:
            if pieces[other, END] == same:
                pieces[other, END], pieces[other, SETTLED] = old[number, END], old[number, SETTLED]
            other += 1


@compiled
def _drop_settled(keys: Int64s, final: int, emitted: RunArrays, freed: Int64s) -> int:
    gone = 0
    for key in keys:
        base, kept = emitted.first[key], emitted.first[key]
        for place in range(base, base + emitted.size[key]):
            if emitted.ints[place, END] <= final or emitted.ints[place, SETTLED] < final:
                freed[gone] = emitted.ints[place, PLACE]
                gone += 1
                continue
            if kept < place:
                copy(emitted.ints, kept, emitted.ints, place)
            kept += 1
        emitted.size[key] = kept - base
    return gone


@compiled
def _first_settled(keys: Int64s, emitted: RunArrays, times: Int64s) -> None:
    for number in range(len(keys)):
        base = emitted.first[keys[number]]
        for place in range(base, base + emitted.size[keys[number]]):
            end, settled = emitted.ints[place, END], emitted.ints[place, SETTLED]
            times[number] = min(times[number], end, settled if settled == INFINITY else settled + 1)
