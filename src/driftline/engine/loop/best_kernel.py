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
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.slots import AHEAD
from driftline.engine.state.words import same
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import Int64Cube, Int64s, Int64Table, Mask
from driftline.model.time import INFINITY

START, END, AT, BEFORE, AFTER, KEYS = range(6)
"""The columns of what was emitted; from KEYS on, the keys before and then those after."""
ABSENT, PRESENT = 0, 1


class Touched(NamedTuple):
    """What is known of slots since all of their turns were done: by run, the best key among the
    derivations that have changed; by slot, whether a turn has emitted anything."""

    best: Int64s
    changed: Mask


class Turn(NamedTuple):
    """What a turn changes: `changes` with the number of the slot in the call, vs, ve, weight, state
    and keys; `kept`: what is now emitted at this level, of each slot `counts` (-1: as it was);
    `due`: the level of the next turn of each slot."""

    changes: Int64Table
    kept: Int64Table
    counts: Int64s
    due: Int64s


@compiled
def turn(
    slots: Int64s,
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
    """Compare, from the cti on, the best rows of this level with those of the level before, and
    bring what was emitted at this level into line. `stays`: see `best`."""
    lists = max(values, 1)
    width = KEYS + 2 * values
    room = 2 * len(slots) + 16
    changes, made = np.empty((room, 5 + values), np.int64), 0
    kept, held = np.empty((room, width), np.int64), 0
    counts, due = np.full(len(slots), -1), np.full(len(slots), NEVER)
    best, founds = np.empty((lists, 64, SEGMENT), np.int64), np.zeros(lists, np.int64)
    base, fresh = np.empty((64, SEGMENT), np.int64), np.empty((64, width), np.int64)
    events = np.empty((64, 2), np.int64)
    ahead = np.empty(AHEAD, np.int64)
    for number in range(len(slots)):
        if number % AHEAD == 0:
            some = slots[number : number + AHEAD]
            for each in range(len(some)):
                ahead[each] = emitted.first[some[each]]
            for each in range(len(some)):
                ahead[each] = emitted.ints[ahead[each], AT]
            for each in range(len(some)):
                ahead[each] = derived.first[lists * some[each]]
            for each in range(len(some)):
                ahead[each] = derived.ints[ahead[each], KEY]
        slot = slots[number]
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
        if most > len(fresh):
            fresh = np.empty((2 * most, width), np.int64)
        count = _differing(
            best, founds, base[:found], derived.ints, emitted.ints, cti, level, fresh, values,
            stays,
        )  # fmt: skip
        old = emitted.ints[low:high]
        if held + count + len(old) + 2 > len(kept):
            kept = larger(kept, held + count + len(old) + 2)
        count = from_cti(old, fresh[:count], cti, kept[held:])
        if made + 2 * (count + len(old)) > len(changes):
            changes = larger(changes, made + 2 * (count + len(old)))
        before = made
        made = changes_of(old, kept[held : held + count], number, changes, made, values)
        if made > before:
            touched.changed[slot] = True
            counts[number] = count
            held += count
        if high < first + size:
            following = min(following, emitted.ints[high, AT])
        due[number] = following
    return Turn(changes[:made], kept[:held], counts, due)


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
    fresh: Int64Table,
    values: int,
    stays: bool,
) -> int:
    """Writes where the best row is not the one of the level before: time, row before, row now. A
    row that stays is nothing that there was before."""
    made, time, at = 0, cti, 0
    on = np.zeros(len(founds), np.int64)
    while time < INFINITY:
        until = INFINITY
        for column in range(BEFORE, fresh.shape[1]):
            fresh[made, column] = 0
        while at < len(base) and base[at, 1] <= time:
            at += 1
        if at < len(base) and base[at, 0] > time:
            until = base[at, 0]
        elif at < len(base):
            until = base[at, 1]
            fresh[made, BEFORE] = emitted[base[at, 2], AFTER]
            for value in range(values):
                fresh[made, KEYS + value] = emitted[base[at, 2], KEYS + values + value]
        for each in range(len(founds)):
            while on[each] < founds[each] and best[each, on[each], 1] <= time:
                on[each] += 1
            if on[each] == founds[each]:
                continue
            if best[each, on[each], 0] > time:
                until = min(until, best[each, on[each], 0])
                continue
            until, place = min(until, best[each, on[each], 1]), best[each, on[each], 2]
            fresh[made, AFTER] |= PRESENT
            if each < values and derived[place, NULL]:
                fresh[made, AFTER] |= 2 << each
            elif each < values:
                fresh[made, KEYS + values + each] = derived[place, KEY]
        if not _same_rows(fresh[made], values):
            fresh[made, AT], fresh[made, START], fresh[made, END] = level, time, until
            if stays:
                fresh[made, BEFORE] = ABSENT
                for value in range(KEYS, KEYS + values):
                    fresh[made, value] = 0
            if made and fresh[made - 1, END] == time and same_entry(fresh[made - 1], fresh[made]):
                fresh[made - 1, END] = until
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


@inlined
def same_entry(one: Int64s, other: Int64s) -> bool:
    """Whether two entries have the same rows."""
    same = True
    for column in range(BEFORE, len(one)):
        same &= one[column] == other[column]
    return same


@compiled
def from_cti(old: Int64Table, fresh: Int64Table, cti: int, kept: Int64Table) -> int:
    """Writes what is to be emitted at a level: what is over at the cti as it was, then what is
    fresh. What started before the cti can become shorter, but not longer: that would be a change
    before the cti. What goes on after it is an entry of its own."""
    made, new = 0, 0
    for place in range(len(old)):
        if old[place, START] >= cti:
            break
        kept[made] = old[place]
        if old[place, END] > cti:
            kept[made, END] = cti
            if len(fresh) and fresh[0, START] == cti and same_entry(old[place], fresh[0]):
                kept[made, END] = min(old[place, END], fresh[0, END])
                fresh[0, START] = kept[made, END]
                new = fresh[0, START] == fresh[0, END]
        made += 1
    for place in range(new, len(fresh)):
        kept[made] = fresh[place]
        made += 1
    return made


@compiled
def changes_of(
    old: Int64Table, new: Int64Table, number: int, changes: Int64Table, made: int, values: int
) -> int:  # fmt: skip
    """Writes what differs between what was emitted and what is to be."""
    one, other = 0, 0
    while one < len(old) or other < len(new):
        side = 0
        if one == len(old):
            side = 1
        elif other == len(new):
            side = -1
        elif old[one, START] != new[other, START]:
            side = -1 if old[one, START] < new[other, START] else 1
        elif old[one, END] != new[other, END]:
            side = -1 if old[one, END] < new[other, END] else 1
        elif same_entry(old[one], new[other]):
            one, other = one + 1, other + 1
            continue
        for after in range(2):
            offset, sign = KEYS + after * values, 2 * after - 1
            if side == 0 and old[one, BEFORE + after] == new[other, BEFORE + after]:
                same = True
                for value in range(offset, offset + values):
                    same &= old[one, value] == new[other, value]
                if same:
                    continue
            if side <= 0 and old[one, BEFORE + after] != ABSENT:
                made = _change(changes, made, number, old[one], after, -sign, offset, values)
            if side >= 0 and new[other, BEFORE + after] != ABSENT:
                made = _change(changes, made, number, new[other], after, sign, offset, values)
        one += side <= 0
        other += side >= 0
    return made


@inlined
def _change(
    changes: Int64Table, made: int, number: int, entry: Int64s, after: int, weight: int,
    offset: int, values: int,
) -> int:  # fmt: skip
    changes[made, 0], changes[made, 1], changes[made, 2] = number, entry[START], entry[END]
    changes[made, 3], changes[made, 4] = weight, entry[BEFORE + after]
    for value in range(values):
        changes[made, 5 + value] = entry[offset + value]
    return made + 1


@compiled
def sizes_after(slots: Int64s, level: int, counts: Int64s, emitted: RunArrays) -> Int64s:
    """How long the runs of what was emitted become."""
    sizes = np.empty(len(slots), np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        first, stop = emitted.first[slot], emitted.first[slot] + emitted.size[slot]
        low = _first_at(emitted.ints, first, stop, level)
        high = _first_at(emitted.ints, low, stop, level + 1)
        sizes[number] = emitted.size[slot] + max(counts[number] - (high - low), 0)
    return sizes


@compiled
def put(
    slots: Int64s, level: int, counts: Int64s, kept: Int64Table, emitted: RunArrays, ends: Int64s
) -> None:  # fmt: skip
    """Write what is now emitted at a level; the runs have the room. `ends`: the least ends of what
    is held, which may become lower."""
    ints, taken = emitted.ints, 0
    for number in range(len(slots)):
        slot, count = slots[number], counts[number]
        if count < 0:
            continue
        first, stop = emitted.first[slot], emitted.first[slot] + emitted.size[slot]
        low = _first_at(ints, first, stop, level)
        high = _first_at(ints, low, stop, level + 1)
        more = count - (high - low)
        if more > 0:
            for place in range(stop - 1, high - 1, -1):
                for column in range(ints.shape[1]):
                    ints[place + more, column] = ints[place, column]
        elif more < 0:
            for place in range(high, stop):
                for column in range(ints.shape[1]):
                    ints[place + more, column] = ints[place, column]
        for place in range(count):
            for column in range(ints.shape[1]):
                ints[low + place, column] = kept[taken, column]
            ends[number] = min(ends[number], kept[taken, END])
            taken += 1
        emitted.size[slot] += more


@compiled
def larger(array: Int64Table, room: int) -> Int64Table:
    """The array, copied to one with twice the room."""
    copy = np.empty((2 * room, array.shape[1]), np.int64)
    copy[: len(array)] = array
    return copy


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
