"""The kernels of `best` for what is emitted: a turn, and what it changes.

A slot is a group. A run holds what was emitted of it, level by level: vs, ve, level, and the row
before and after that level. A row is a state, with the bit PRESENT and one bit for every aggregate
that is null, and the keys of its aggregates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.loop.best_derivations import (
    KEY,
    NEVER,
    NULL,
    SEGMENT,
    best_values,
    fill,
)
from driftline.engine.state import trace
from driftline.engine.state.longest import correct_longest
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.slots import AHEAD
from driftline.engine.state.words import same
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import Int64Cube, Int64s, Int64Table, Mask
from driftline.model.time import INFINITY

START, END, AT, BEFORE, AFTER, KEYS = range(6)
"""The columns of what was emitted; from KEYS on, the keys before and then those after."""
ABSENT, PRESENT = 0, 1
_STATE = trace.VALUES + BEFORE - trace.VALUE
"""Where a change has the state before a level, and then that after it."""


class Touched(NamedTuple):
    """What is known of slots since all of their turns were done: by run, the best key among the
    derivations that have changed; by slot, whether a turn has emitted anything."""

    best: Int64s
    changed: Mask


class Turn(NamedTuple):
    """What is to be emitted at a level: of the n-th of `slots` the pieces bounds[n] …
    bounds[n + 1] - 1; `needed`: how long the run of each can become. `due`: the level of the next
    turn of each slot that was given."""

    slots: Int64s
    pieces: Int64Table
    bounds: Int64s
    needed: Int64s
    due: Int64s


@compiled
def turn(
    given: Int64s,
    level: int,
    cti: int,
    derived: RunArrays,
    emitted: RunArrays,
    starts: Int64s,
    lasts: Int64s,
    touched: Touched,
    values: int,
    stays: bool,
) -> Turn:
    """Compare, from the cti on, the best rows of this level with those of the level before: what
    differs is to be emitted at this level. `stays`: see `best`."""
    lists = max(values, 1)
    pieces, made = np.empty((2 * len(given) + 16, KEYS + 2 * values), np.int64), 0
    slots, bounds, compared = given.copy(), np.zeros(len(given) + 1, np.int64), 0
    needed, due = np.empty(len(given), np.int64), np.full(len(given), NEVER)
    best, founds = np.empty((lists, 64, SEGMENT), np.int64), np.zeros(lists, np.int64)
    base, events = np.empty((64, SEGMENT), np.int64), np.empty((64, 2), np.int64)
    ahead = np.empty(AHEAD, np.int64)
    for number in range(len(given)):
        if number % AHEAD == 0:
            some = given[number : number + AHEAD]
            for each in range(len(some)):
                ahead[each] = emitted.first[some[each]]
            for each in range(len(some)):
                ahead[each] = emitted.ints[ahead[each], AT]
            for each in range(len(some)):
                ahead[each] = derived.first[lists * some[each]]
            for each in range(len(some)):
                ahead[each] = derived.ints[ahead[each], KEY]
        slot = given[number]
        since = max(cti, starts[slot])
        if not touched.changed[slot]:
            affected = _first_affected(
                emitted, slot, level, since, lasts[slot], touched.best, values
            )
            if affected > level:
                due[number] = affected
                continue
        most, following = 0, NEVER
        for each in range(lists):
            most = max(most, derived.size[lists * slot + each])
        if 2 * most + 2 > best.shape[1]:
            best = np.empty((lists, 4 * most + 2, SEGMENT), np.int64)
            events = np.empty((4 * most + 2, 2), np.int64)
        for each in range(lists):
            founds[each], after = best_values(
                derived, lists * slot + each, level, since, lasts[slot], best[each], events
            )
            following = min(following, after)
        first, size = emitted.first[slot], emitted.size[slot]
        low = _first_at(emitted.ints, first, first + size, level)
        high = _first_at(emitted.ints, low, first + size, level + 1)
        if 2 * (low - first) + 2 > len(base):
            base = np.empty((4 * (low - first) + 2, SEGMENT), np.int64)
        found = 0
        for place in range(low - 1, first - 1, -1):
            start = max(emitted.ints[place, START], cti)
            found = fill(base, found, start, emitted.ints[place, END], place)
        most = 2 * (found + founds.sum()) + 2
        if made + most > len(pieces):
            pieces = larger(pieces, made + most)
        made = _differing(
            best, founds, base[:found], derived.ints, emitted.ints, cti, level, pieces, made,
            values, stays,
        )  # fmt: skip
        slots[compared], needed[compared] = slot, size + made - bounds[compared]
        for place in range(low, high):
            needed[compared] -= emitted.ints[place, START] >= cti
        compared += 1
        bounds[compared] = made
        if high < first + size:
            following = min(following, emitted.ints[high, AT])
        due[number] = following
    return Turn(slots[:compared], pieces[:made], bounds[: compared + 1], needed[:compared], due)


@compiled
def _first_affected(
    emitted: RunArrays, slot: int, level: int, since: int, last: int, touched: Int64s, values: int
) -> int:
    """The first level, from this one on, at which derivations that have changed may matter: what
    was emitted up to it does not last all the time, or is not better than all of them."""
    ints, first = emitted.ints, emitted.first[slot]
    stop = first + emitted.size[slot]
    place = _first_at(ints, first, stop, level + 1) - 1
    if place < first or values == 0:
        return level
    while place < stop:
        better = ints[place, START] <= since and ints[place, END] >= last
        better &= ints[place, AFTER] == PRESENT
        for value in range(values):
            better &= ints[place, KEYS + values + value] < touched[values * slot + value]
        if not better:
            affected: int = max(level, ints[place, AT])
            return affected
        place += 1
    return NEVER


@inlined
def _first_at(ints: Int64Table, low: int, high: int, level: int) -> int:
    """The first place at which something was emitted at a level or a higher one."""
    while low < high:
        middle = (low + high) >> 1
        if ints[middle, AT] < level:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _differing(
    best: Int64Cube,
    founds: Int64s,
    base: Int64Table,
    derived: Int64Table,
    emitted: Int64Table,
    cti: int,
    level: int,
    pieces: Int64Table,
    begin: int,
    values: int,
    stays: bool,
) -> int:
    """Write, from `begin` on, where the best row is not the one of the level before; returns where
    that ends. A row that stays is nothing that there was before."""
    made, time, at = begin, cti, 0
    on = np.zeros(len(founds), np.int64)
    while time < INFINITY:
        until = INFINITY
        for column in range(BEFORE, pieces.shape[1]):
            pieces[made, column] = 0
        while at < len(base) and base[at, 1] <= time:
            at += 1
        if at < len(base) and base[at, 0] > time:
            until = base[at, 0]
        elif at < len(base):
            until = base[at, 1]
            pieces[made, BEFORE] = emitted[base[at, 2], AFTER]
            for value in range(values):
                pieces[made, KEYS + value] = emitted[base[at, 2], KEYS + values + value]
        for each in range(len(founds)):
            while on[each] < founds[each] and best[each, on[each], 1] <= time:
                on[each] += 1
            if on[each] == founds[each]:
                continue
            if best[each, on[each], 0] > time:
                until = min(until, best[each, on[each], 0])
                continue
            until, place = min(until, best[each, on[each], 1]), best[each, on[each], 2]
            pieces[made, AFTER] |= PRESENT
            if each < values and derived[place, NULL]:
                pieces[made, AFTER] |= 2 << each
            elif each < values:
                pieces[made, KEYS + values + each] = derived[place, KEY]
        if not _same_rows(pieces[made], values):
            pieces[made, AT], pieces[made, START], pieces[made, END] = level, time, until
            if stays:
                pieces[made, BEFORE] = ABSENT
                for value in range(KEYS, KEYS + values):
                    pieces[made, value] = 0
            meets = made > begin and pieces[made - 1, END] == time
            if meets and same(pieces, made - 1, pieces, made, AT):
                pieces[made - 1, END] = until
            else:
                made += 1
        time = until
    return made


@inlined
def _same_rows(entry: Int64s, values: int) -> bool:
    """Whether the row before a level is the row after it."""
    same: bool = entry[BEFORE] == entry[AFTER]
    for value in range(KEYS, KEYS + values):
        same &= entry[value] == entry[value + values]
    return same


@in_place
def correct(
    slots: Int64s,
    level: int,
    cti: int,
    pieces: Int64Table,
    bounds: Int64s,
    emitted: RunArrays,
    old: Int64Table,
    changes: Int64Table,
) -> int:
    """Correct what was emitted at a level: that of the n-th slot by the pieces bounds[n] …
    bounds[n + 1] - 1. Returns how many changes there are."""
    made = 0
    for number in range(len(slots)):
        slot = slots[number]
        first, stop = emitted.first[slot], emitted.first[slot] + emitted.size[slot]
        low = _first_at(emitted.ints, first, stop, level)
        high = _first_at(emitted.ints, low, stop, level + 1)
        made = correct_longest(
            emitted, slot, low, high, cti, pieces, bounds[number], bounds[number + 1], old,
            changes, made,
        )  # fmt: skip
    return made


@in_place
def rows_of(changes: Int64Table, count: int, values: int, rows: Int64Table) -> int:
    """Write the rows that the first changes retract and insert, as slot, vs, ve, weight, state and
    keys: where a segment is inserted, the row before the level goes and the row after it comes.
    Returns how many there are."""
    change, made = 0, 0
    while change < count:
        is_pair = (
            change + 1 < count
            and changes[trace.KEY, change] == changes[trace.KEY, change + 1]
            and changes[trace.VS, change] == changes[trace.VS, change + 1]
            and changes[trace.VE, change] == changes[trace.VE, change + 1]
        )
        for after in range(2):
            if is_pair and _same_row(changes, change, after, values):
                continue
            made = _put(changes, change, after, values, rows, made)
            if is_pair:
                made = _put(changes, change + 1, after, values, rows, made)
        change += 1 + is_pair
    return made


@inlined
def _same_row(changes: Int64Table, change: int, after: int, values: int) -> bool:
    """Whether a change and the next one have the same row before the level, or after it."""
    state, keys = _STATE + after, _STATE + 2 + after * values
    equal: bool = changes[state, change] == changes[state, change + 1]
    for word in range(keys, keys + values):
        equal &= changes[word, change] == changes[word, change + 1]
    return equal


@inlined
def _put(
    changes: Int64Table, change: int, after: int, values: int, rows: Int64Table, made: int
) -> int:
    if changes[_STATE + after, change] == ABSENT:
        return made
    for word in range(trace.WEIGHT):
        rows[word, made] = changes[word, change]
    rows[trace.WEIGHT, made] = changes[trace.WEIGHT, change] * (2 * after - 1)
    rows[trace.VALUES, made] = changes[_STATE + after, change]
    for value in range(values):
        keys = _STATE + 2 + after * values
        rows[trace.VALUES + 1 + value, made] = changes[keys + value, change]
    return made + 1


@in_place
def last_round(
    slots: Int64s,
    cti: int,
    emitted: RunArrays,
    values: int,
    segments: Int64Table,
    pieces: Int64Table,
    bounds: Int64s,
) -> None:
    """The rows of the last round from the cti on: at every time the row after the highest level at
    which something was emitted. The pieces of the n-th slot are bounds[n] … bounds[n + 1] - 1;
    their value is a row. There is room for twice what was emitted: in `segments` of one slot, in
    `pieces` of all."""
    made = 0
    for number in range(len(slots)):
        first, begin, found = emitted.first[slots[number]], made, 0
        for place in range(first + emitted.size[slots[number]] - 1, first - 1, -1):
            start = max(emitted.ints[place, START], cti)
            found = fill(segments, found, start, emitted.ints[place, END], place)
        for each in range(found):
            entry = segments[each, 2]
            if emitted.ints[entry, AFTER] == ABSENT:
                continue
            pieces[made, trace.START] = segments[each, 0]
            pieces[made, trace.END] = segments[each, 1]
            pieces[made, trace.VALUE] = emitted.ints[entry, AFTER]
            for value in range(values):
                pieces[made, trace.VALUE + 1 + value] = emitted.ints[entry, KEYS + values + value]
            meets = made > begin and pieces[made - 1, trace.END] == pieces[made, trace.START]
            if meets and same(pieces, made - 1, pieces, made, trace.VALUE):
                pieces[made - 1, trace.END] = pieces[made, trace.END]
            else:
                made += 1
        bounds[number + 1] = made


@compiled
def larger(array: Int64Table, room: int) -> Int64Table:
    """The array, copied to one with twice the room."""
    copy = np.empty((2 * room, array.shape[1]), np.int64)
    copy[: len(array)] = array
    return copy
