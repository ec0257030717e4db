"""The kernels of `least_level`: they work on what `least_level_state` describes.

Most rows are derived over one lifetime, and all their derivations differ by their levels alone.
For these a turn compares two segments; for all others it goes by `least_level_segments`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.loop.least_level_segments import (
    NEVER,
    after_turn,
    compared,
    least,
)
from driftline.engine.loop.least_level_state import (
    AT,
    DERIVATIONS,
    EMITTED,
    END,
    ENTRY,
    FIRST,
    LEVEL,
    ONE,
    ROOM,
    SEGMENT,
    SEGMENTS,
    SIZE,
    START,
    VE,
    VS,
    WAITS,
    WEIGHT,
    LevelRecords,
    allot,
    give_back,
    larger,
    read_segments,
    write_segments,
)
from driftline.engine.state import trace
from driftline.engine.state.longest import correct_longest, single_run
from driftline.engine.state.slots import AHEAD
from driftline.engine.state.trace import room_for, wider
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import INFINITY

LONG = 16
"""Into more derivations than this a batch is merged, and not inserted one by one."""


class Derived(NamedTuple):
    """Changes of derivations, each with the slot of its row."""

    slot: Int64s
    level: Int64s
    vs: Int64s
    ve: Int64s
    weight: Int64s


class TakenIn(NamedTuple):
    """The pool; the slots that have to wait now, with the levels they wait for; and the changes of
    long rows, which are not part of the state yet."""

    pool: Int64Table
    slots: Int64s
    levels: Int64s
    left: Int64s


class _Turn(NamedTuple):
    """The pool; the changes of what is emitted, as those of a trace whose value is the level; the
    slots that wait for a later turn, with its level; those whose segments have changed; those that
    have no derivation left."""

    pool: Int64Table
    changes: Int64Table
    slots: Int64s
    levels: Int64s
    changed: Int64s
    emptied: Int64s


@compiled
def take_in(
    given: Derived, cti: int, held: LevelRecords, ends: Int64s, blocks: Int64s, block: int
) -> TakenIn:
    """Add derivations up. `ends`, `blocks`: see `state.due_times`."""
    records, pool, free, totals = held
    slots, levels, vs, ve, weight = given
    waiting, wait_for = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    left, waits, longs = np.empty(len(slots), np.int64), 0, 0
    ahead = np.empty(AHEAD, np.int64)
    for row in range(len(slots)):
        if row % AHEAD == 0:
            some = slots[row : row + AHEAD]
            for number in range(len(some)):
                ahead[number] = records[some[number], FIRST]
            for number in range(len(some)):
                ahead[number] = pool[ahead[number], LEVEL]
        slot, level, start, end, more = slots[row], levels[row], vs[row], ve[row], weight[row]
        # Within the only segment that was emitted, at its level or a lower one, it is no news.
        is_known = (
            records[slot, EMITTED] == 1
            and records[slot, EMITTED + ONE + AT] <= level - (more < 0)
            and records[slot, EMITTED + ONE + START] <= max(start, cti)
            and records[slot, EMITTED + ONE + END] >= end
        )
        if (
            not is_known
            and end > cti
            and (records[slot, WAITS] == 0 or records[slot, WAITS] > level + 1)
        ):
            records[slot, WAITS] = level + 1
            waiting[waits], wait_for[waits] = slot, level
            waits += 1
        if end < INFINITY and end < ends[slot]:
            ends[slot] = end
            blocks[slot // block] = min(blocks[slot // block], end)
        size = records[slot, SIZE]
        if size >= LONG:
            left[longs] = row
            longs += 1
            continue
        first = records[slot, FIRST]
        stop, place, is_there = first + size, first, False
        while place < stop:
            if pool[place, LEVEL] >= level:
                side = compared(
                    pool[place, LEVEL], pool[place, VS], pool[place, VE], level, start, end
                )
                if side >= 0:
                    is_there = side == 0
                    break
            place += 1
        if is_there:
            pool[place, WEIGHT] += more
            if pool[place, WEIGHT] == 0:
                for later in range(place + 1, stop):
                    for column in range(ENTRY):
                        pool[later - 1, column] = pool[later, column]
                records[slot, SIZE] = size - 1
                totals[DERIVATIONS] -= 1
            continue
        if size == records[slot, ROOM]:
            room = max(2, 2 * size)
            moved, pool = allot(pool, free, totals, room)
            for number in range(size):
                for column in range(ENTRY):
                    pool[moved + number, column] = pool[first + number, column]
            if size:
                give_back(pool, free, first, size)
            records[slot, FIRST], records[slot, ROOM] = moved, room
            place += moved - first
            stop = moved + size
        for later in range(stop, place, -1):
            for column in range(ENTRY):
                pool[later, column] = pool[later - 1, column]
        pool[place, LEVEL], pool[place, VS], pool[place, VE] = level, start, end
        pool[place, WEIGHT] = more
        records[slot, SIZE] = size + 1
        totals[DERIVATIONS] += 1
    return TakenIn(pool, waiting[:waits], wait_for[:waits], left[:longs])


@compiled
def merge(order: Int64s, given: Derived, held: LevelRecords) -> Int64Table:
    """Add derivations of long rows up; `order`: by slot, level, vs and ve. Returns the pool."""
    records, pool, free, totals = held
    slots, levels, vs, ve, weight = given
    merged = np.empty((64, ENTRY), np.int64)
    begin = 0
    while begin < len(order):
        slot, stop = slots[order[begin]], begin
        while stop < len(order) and slots[order[stop]] == slot:
            stop += 1
        first, size = records[slot, FIRST], records[slot, SIZE]
        if size + stop - begin > len(merged):
            merged = larger(merged, size + stop - begin)
        made, old, new = 0, 0, begin
        while old < size or new < stop:
            item = order[new] if new < stop else -1
            side = -1
            if old >= size:
                side = 1
            elif new < stop:
                place = first + old
                side = compared(
                    pool[place, LEVEL], pool[place, VS], pool[place, VE],
                    levels[item], vs[item], ve[item],
                )  # fmt: skip
            if side <= 0:
                for column in range(ENTRY):
                    merged[made, column] = pool[first + old, column]
                old += 1
            else:
                merged[made, LEVEL], merged[made, VS] = levels[item], vs[item]
                merged[made, VE], merged[made, WEIGHT] = ve[item], 0
            if side >= 0:
                while new < stop:
                    same = order[new]
                    if levels[same] != levels[item] or vs[same] != vs[item] or ve[same] != ve[item]:
                        break
                    merged[made, WEIGHT] += weight[same]
                    new += 1
            made += merged[made, WEIGHT] != 0
        if made > records[slot, ROOM]:
            room = records[slot, ROOM]
            give_back(pool, free, first, room)
            while room < made:
                room *= 2
            first, pool = allot(pool, free, totals, room)
            records[slot, FIRST], records[slot, ROOM] = first, room
        for number in range(made):
            for column in range(ENTRY):
                pool[first + number, column] = merged[number, column]
        records[slot, SIZE] = made
        totals[DERIVATIONS] += made - size
        begin = stop
    return pool


@compiled
def turn(slots: Int64s, level: int, cti: int, held: LevelRecords) -> _Turn:
    """Compare, from the cti on, the least level of each row over time with what was emitted, and
    bring it into line where either of the two is not above the level of this turn."""
    records, pool, free, totals = held
    changes, made = room_for(2 * len(slots) + 16, 1), 0
    waiting, wait_for = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    changed, emptied = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    waits, others, empties = 0, 0, 0
    room = 64
    found, spare = np.empty((room, SEGMENT), np.int64), np.empty((room, SEGMENT), np.int64)
    was, pieces = np.empty((room, SEGMENT), np.int64), np.empty((2 * room, SEGMENT), np.int64)
    one_run = single_run(3 * room, SEGMENT)
    for slot in slots:
        if records[slot, WAITS] == 0 or records[slot, WAITS] > level + 1:
            continue  # it has had its turn
        records[slot, WAITS] = 0
        size, count = records[slot, SIZE], records[slot, EMITTED]
        had, had_start, had_end = NEVER, 0, 0
        if count == 1:
            had = records[slot, EMITTED + ONE + AT]
            had_start, had_end = (
                records[slot, EMITTED + ONE + START],
                records[slot, EMITTED + ONE + END],
            )
        has, start, end, is_plain = NEVER, 0, 0, count == 0 or (count == 1 and had_start >= cti)
        if size == 0:
            emptied[empties] = slot
            empties += 1
        elif is_plain:
            first = records[slot, FIRST]
            has, start, end = pool[first, LEVEL], pool[first, VS], pool[first, VE]
            is_plain = pool[first, WEIGHT] > 0
            for place in range(first + 1, first + size):
                is_plain &= pool[place, VS] >= start and pool[place, VE] <= end
            start = max(start, cti)
            is_plain &= start < end and (count == 0 or (start == had_start and end == had_end))
        next_level, before = NEVER, made
        if is_plain:
            if made + 2 > changes.shape[1]:
                changes = wider(changes, made, 2 * made + 2)
            lower = min(had, has)
            if had == has:
                continue
            if lower > level:
                next_level = lower
            else:
                if had != NEVER:
                    made = _put(changes, made, slot, had_start, had_end, -1, had)
                    totals[SEGMENTS] -= 1
                    records[slot, EMITTED] = 0
                if has <= level:
                    made = _put(changes, made, slot, start, end, 1, has)
                    totals[SEGMENTS] += 1
                    records[slot, EMITTED], records[slot, EMITTED + ONE + AT] = 1, has
                    records[slot, EMITTED + ONE + START] = start
                    records[slot, EMITTED + ONE + END] = end
                else:
                    next_level = has
        else:
            most = 2 * (size + count) + 4
            if most > room:
                room = 2 * most
                found, spare = (
                    np.empty((room, SEGMENT), np.int64),
                    np.empty((room, SEGMENT), np.int64),
                )
                was = np.empty((room, SEGMENT), np.int64)
                pieces = np.empty((2 * room, SEGMENT), np.int64)
                one_run = single_run(3 * room, SEGMENT)
            if made + 3 * most > changes.shape[1]:
                changes = wider(changes, made, 2 * (made + 3 * most))
            has_count, found, spare = least(records, pool, slot, cti, found, spare)
            one_run.size[0] = read_segments(records, pool, slot, one_run.ints)
            to_be, next_level = after_turn(
                one_run.ints, count, found, has_count, level, cti, pieces
            )
            made = correct_longest(one_run, 0, 0, count, cti, pieces, 0, to_be, was, changes, made)
            for change in range(before, made):
                changes[trace.KEY, change] = slot
            begin, stop = 0, one_run.size[0]
            while begin < stop and one_run.ints[begin, END] <= cti:
                begin += 1
            pool = write_segments(
                records, pool, free, totals, slot, one_run.ints, begin, stop - begin
            )
        if next_level != NEVER:
            records[slot, WAITS] = next_level + 1
            waiting[waits], wait_for[waits] = slot, next_level
            waits += 1
        if made > before:
            changed[others] = slot
            others += 1
    return _Turn(
        pool, changes[:, :made], waiting[:waits], wait_for[:waits], changed[:others],
        emptied[:empties],
    )  # fmt: skip


@inlined
def _put(
    changes: Int64Table, made: int, slot: int, start: int, end: int, weight: int, level: int
) -> int:
    changes[trace.KEY, made], changes[trace.VS, made], changes[trace.VE, made] = slot, start, end
    changes[trace.WEIGHT, made], changes[trace.VALUES, made] = weight, level
    return made + 1


@in_place
def stretches(
    slots: Int64s,
    cti: int,
    held: LevelRecords,
    segments: Int64Table,
    pieces: Int64Table,
    bounds: Int64s,
) -> None:
    """When each row is there, from the cti on, at whichever level: the pieces of the n-th slot are
    bounds[n] … bounds[n + 1] - 1. `segments` has room for those of one slot, `pieces` for all."""
    made = 0
    for number in range(len(slots)):
        begin = made
        for each in range(read_segments(held.records, held.pool, slots[number], segments)):
            start, end = max(segments[each, START], cti), segments[each, END]
            if start >= end:
                continue
            if made > begin and pieces[made - 1, END] == start:
                pieces[made - 1, END] = end
            else:
                pieces[made, START], pieces[made, END] = start, end
                made += 1
        bounds[number + 1] = made


@compiled
def evict(slots: Int64s, cti: int, held: LevelRecords) -> tuple[Int64Table, Int64s]:
    """Drop what ends at or before the cti. Returns the pool, and the least end that is left of each
    slot."""
    records, pool, free, totals = held
    ends = np.full(len(slots), INFINITY)
    segments = np.empty((64, SEGMENT), np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        first, size, left = records[slot, FIRST], records[slot, SIZE], 0
        for place in range(first, first + size):
            if pool[place, VE] > cti:
                for column in range(ENTRY):
                    pool[first + left, column] = pool[place, column]
                ends[number] = min(ends[number], pool[place, VE])
                left += 1
        records[slot, SIZE] = left
        totals[DERIVATIONS] += left - size
        count, kept = records[slot, EMITTED], 0
        if count > len(segments):
            segments = np.empty((2 * count, SEGMENT), np.int64)
        read_segments(records, pool, slot, segments)
        for each in range(count):
            if segments[each, END] > cti:
                for column in range(SEGMENT):
                    segments[kept, column] = segments[each, column]
                kept += 1
        if kept < count:
            pool = write_segments(records, pool, free, totals, slot, segments, 0, kept)
    return pool, ends
