"""The kernels of `least_level`.

A slot is a row. One run holds its derivations: level, vs, ve and how many there are, in this order.
Another holds what was emitted of it: vs, ve and level, in order of time, without overlap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.state.runs import RunArrays
from driftline.model.arrays import Int64s
from driftline.model.compiled import njit
from driftline.model.time import INFINITY

LEVEL, VS, VE, WEIGHT = range(4)
DERIVED = 4
START, END, AT = range(3)
EMITTED = 3
NEVER = INFINITY


class Turn(NamedTuple):
    """What a turn changes: `changes` with the number of the slot in the call, level, vs, ve and
    weight; `kept`: the segments that are now emitted, of each slot `counts` of them; `due`: at
    which level each slot has to be looked at next."""

    changes: Int64s
    kept: Int64s
    counts: Int64s
    due: Int64s


@njit(cache=True, nogil=True)
def take_in(
    slots: Int64s,
    bounds: Int64s,
    order: Int64s,
    levels: Int64s,
    vs: Int64s,
    ve: Int64s,
    weight: Int64s,
    derived: RunArrays,
    lowest: Int64s,
    ends: Int64s,
) -> None:
    """Merge derivations into the runs; those of the n-th slot are bounds[n] … bounds[n + 1] - 1 of
    `order`. Writes the lowest level that changes, and the least end of each slot."""
    ints = derived.ints
    merged = np.empty((64, DERIVED), np.int64)
    for number in range(len(slots)):
        slot, start, count = slots[number], bounds[number], bounds[number + 1] - bounds[number]
        _sort(order[start : start + count], levels, vs, ve)
        first, size = derived.first[slot], derived.size[slot]
        if size + count > len(merged):
            merged = np.empty((2 * (size + count), DERIVED), np.int64)
        low, made, old, new = NEVER, 0, 0, 0
        while old < size or new < count:
            item = order[start + new] if new < count else -1
            if old >= size:
                side = 1
            elif new >= count:
                side = -1
            else:
                place = first + old
                side = _compared(
                    ints[place, LEVEL], ints[place, VS], ints[place, VE],
                    levels[item], vs[item], ve[item],
                )  # fmt: skip
            if side <= 0:
                place = first + old
                merged[made, LEVEL], merged[made, VS] = ints[place, LEVEL], ints[place, VS]
                merged[made, VE], merged[made, WEIGHT] = ints[place, VE], ints[place, WEIGHT]
                old += 1
            else:
                merged[made, LEVEL], merged[made, VS] = levels[item], vs[item]
                merged[made, VE], merged[made, WEIGHT] = ve[item], 0
            if side >= 0:
                low = min(low, levels[item])
                while new < count:
                    same = order[start + new]
                    if levels[same] != levels[item] or vs[same] != vs[item] or ve[same] != ve[item]:
                        break
                    merged[made, WEIGHT] += weight[same]
                    new += 1
            made += merged[made, WEIGHT] != 0
        least = INFINITY
        for place in range(made):
            for column in range(DERIVED):
                ints[first + place, column] = merged[place, column]
            least = min(least, merged[place, VE])
        derived.size[slot] = made
        lowest[number], ends[number] = low, min(ends[number], least)


@njit(cache=True, nogil=True)
def _sort(order: Int64s, levels: Int64s, vs: Int64s, ve: Int64s) -> None:
    """Sort some changes by level, vs and ve."""
    few = 24
    if len(order) > few:
        order[:] = order[np.argsort(ve[order], kind="mergesort")]
        order[:] = order[np.argsort(vs[order], kind="mergesort")]
        order[:] = order[np.argsort(levels[order], kind="mergesort")]
        return
    for place in range(1, len(order)):
        item, to = order[place], place
        while to > 0:
            before = order[to - 1]
            side = _compared(
                levels[before], vs[before], ve[before], levels[item], vs[item], ve[item]
            )
            if side <= 0:
                break
            order[to] = before
            to -= 1
        order[to] = item


@njit(inline="always")
def _compared(level: int, vs: int, ve: int, level_2: int, vs_2: int, ve_2: int) -> int:
    if level != level_2:
        return -1 if level < level_2 else 1
    if vs != vs_2:
        return -1 if vs < vs_2 else 1
    if ve != ve_2:
        return -1 if ve < ve_2 else 1
    return 0


@njit(cache=True, nogil=True)
def turn(slots: Int64s, level: int, cti: int, derived: RunArrays, emitted: RunArrays) -> Turn:
    """Compare, from the cti on, the least level of each row over time with what was emitted, and
    bring it into line where either of the two is not above the level of this turn."""
    room = 2 * len(slots) + 16
    changes, made = np.empty((room, 5), np.int64), 0
    kept, held = np.empty((room, EMITTED), np.int64), 0
    counts, due = np.zeros(len(slots), np.int64), np.full(len(slots), NEVER)
    least, spare = np.empty((64, EMITTED), np.int64), np.empty((64, EMITTED), np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        first, size = emitted.first[slot], emitted.size[slot]
        if 2 * derived.size[slot] + 2 > len(least):
            least = np.empty((4 * derived.size[slot], EMITTED), np.int64)
            spare = np.empty((4 * derived.size[slot], EMITTED), np.int64)
        found, least, spare = _least(derived, slot, cti, least, spare)
        most = 2 * (found + size) + 2
        if held + most > len(kept):
            kept = _grown(kept, held + most)
        if made + most + size > len(changes):
            changes = _grown(changes, made + most + size)
        count, cut, next_level = _adjusted(
            emitted.ints[first : first + size], least[:found], level, cti, kept[held:]
        )
        due[number] = next_level
        if cut >= 0:  # what is over of a segment that reaches up to the cti stays
            place = first + cut
            changes[made, 0], changes[made, 1] = number, emitted.ints[place, AT]
            changes[made, 2], changes[made, 3] = emitted.ints[place, START], cti
            changes[made, 4] = 1
            made += 1
        old, new = 0, 0
        while old < size or new < count:
            place = first + old
            side = -1
            if old >= size:
                side = 1
            elif new < count:
                side = _compared(
                    emitted.ints[place, START], emitted.ints[place, END], emitted.ints[place, AT],
                    kept[held + new, START], kept[held + new, END], kept[held + new, AT],
                )  # fmt: skip
            if side < 0 and emitted.ints[place, END] > cti:
                changes[made, 0], changes[made, 1] = number, emitted.ints[place, AT]
                changes[made, 2], changes[made, 3] = (
                    emitted.ints[place, START],
                    emitted.ints[place, END],
                )
                changes[made, 4] = -1
                made += 1
            elif side > 0:
                changes[made, 0], changes[made, 1] = number, kept[held + new, AT]
                changes[made, 2], changes[made, 3] = kept[held + new, START], kept[held + new, END]
                changes[made, 4] = 1
                made += 1
            old += side <= 0
            new += side >= 0
        counts[number] = count
        held += count
    return Turn(changes[:made], kept[:held], counts, due)


@njit(cache=True, nogil=True)
def _least(
    derived: RunArrays, slot: int, cti: int, least: Int64s, spare: Int64s
) -> tuple[int, Int64s, Int64s]:
    """The least level of a row from the cti on: segments in order of time. Level by level, lowest
    first, a derivation fills the time that is still free."""
    ints, place = derived.ints, derived.first[slot]
    stop, found = place + derived.size[slot], 0
    while place < stop:
        level = ints[place, LEVEL]
        made, before, taken = 0, 0, cti  # everything before `taken` is in `spare`
        while place < stop and ints[place, LEVEL] == level:
            start, end = max(ints[place, VS], taken), ints[place, VE]
            if ints[place, WEIGHT] <= 0 or end <= start:
                place += 1
                continue
            place += 1
            while before < found and least[before, END] <= start:
                _copy(spare, made, least, before)
                made, before = made + 1, before + 1
            while before < found and least[before, START] < end:
                if least[before, START] > start:
                    made = _filled(spare, made, start, least[before, START], level)
                _copy(spare, made, least, before)
                start = max(start, least[before, END])
                made, before = made + 1, before + 1
            if start < end:
                made = _filled(spare, made, start, end, level)
            taken = max(start, end)
        while before < found:
            _copy(spare, made, least, before)
            made, before = made + 1, before + 1
        least, spare, found = spare, least, made
    return found, least, spare


@njit(inline="always")
def _copy(to: Int64s, place: int, of: Int64s, other: int) -> None:
    to[place, START], to[place, END], to[place, AT] = (
        of[other, START],
        of[other, END],
        of[other, AT],
    )


@njit(cache=True, nogil=True)
def _filled(segments: Int64s, made: int, start: int, end: int, level: int) -> int:
    """Add a segment, as part of the one before it if that is possible."""
    if made and segments[made - 1, END] == start and segments[made - 1, AT] == level:
        segments[made - 1, END] = end
        return made
    segments[made, START], segments[made, END], segments[made, AT] = start, end, level
    return made + 1


@njit(cache=True, nogil=True)
def _adjusted(
    was: Int64s, least: Int64s, level: int, cti: int, kept: Int64s
) -> tuple[int, int, int]:
    """Writes the segments that are to be emitted after a turn. Returns how many these are, which of
    the old ones is cut off at the cti (-1: none), and the level of the next turn.

    A segment that started before the cti can become shorter, but not longer: that would be a
    change before the cti. What goes on after it is a segment of its own."""
    made, cut, next_level = 0, -1, NEVER
    one, other, time, bound = 0, 0, cti, INFINITY
    while one < len(was) and was[one, END] <= cti:
        one += 1
    while one < len(was) or other < len(least):
        begin_1 = was[one, START] if one < len(was) else INFINITY
        begin_2 = least[other, START] if other < len(least) else INFINITY
        time = max(time, min(begin_1, begin_2))
        had, has = NEVER, NEVER
        until = INFINITY
        if one < len(was):
            if begin_1 <= time:
                had, until = was[one, AT], was[one, END]
            else:
                until = begin_1
        if other < len(least):
            if begin_2 <= time:
                has, until = least[other, AT], min(until, least[other, END])
            else:
                until = min(until, begin_2)
        now = had
        if had != has:
            lower = min(had, has)
            if lower > level:
                next_level = min(next_level, lower)
            elif has <= level:
                now = has
            else:
                now = NEVER
                next_level = min(next_level, has)
        started_before = had != NEVER and begin_1 < cti and time == cti
        if now != NEVER:
            start = begin_1 if started_before and now == had else time
            joins = made and kept[made - 1, END] == start and kept[made - 1, AT] == now
            if joins and start < bound:
                kept[made - 1, END] = until
            else:
                kept[made, START], kept[made, END], kept[made, AT] = start, until, now
                made += 1
                bound = was[one, END] if start < cti else INFINITY
        if started_before and now != had:
            cut = one
        time = until
        if one < len(was) and was[one, END] <= time:
            one += 1
        if other < len(least) and least[other, END] <= time:
            other += 1
    return made, cut, next_level


@njit(cache=True, nogil=True)
def put(slots: Int64s, kept: Int64s, counts: Int64s, emitted: RunArrays) -> None:
    """Write the segments that are now emitted; the runs have the room."""
    place = 0
    for number in range(len(slots)):
        first = emitted.first[slots[number]]
        for segment in range(counts[number]):
            _copy(emitted.ints, first + segment, kept, place)
            place += 1
        emitted.size[slots[number]] = counts[number]


@njit(cache=True, nogil=True)
def evict(slots: Int64s, cti: int, derived: RunArrays, emitted: RunArrays) -> Int64s:
    """Drop what ends at or before the cti. Returns the least end that is left of each slot."""
    ends = np.full(len(slots), INFINITY)
    for number in range(len(slots)):
        slot = slots[number]
        first, left = derived.first[slot], 0
        for place in range(first, first + derived.size[slot]):
            if derived.ints[place, VE] > cti:
                for column in range(DERIVED):
                    derived.ints[first + left, column] = derived.ints[place, column]
                ends[number] = min(ends[number], derived.ints[place, VE])
                left += 1
        derived.size[slot] = left
        first, left = emitted.first[slot], 0
        for place in range(first, first + emitted.size[slot]):
            if emitted.ints[place, END] > cti:
                _copy(emitted.ints, first + left, emitted.ints, place)
                left += 1
        emitted.size[slot] = left
    return ends


@njit(cache=True, nogil=True)
def _grown(array: Int64s, room: int) -> Int64s:
    larger = np.empty((2 * room, array.shape[1]), np.int64)
    larger[: len(array)] = array
    return larger
