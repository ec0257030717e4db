"""Segments of time, each with a level: how `least_level` compares what is derived of a row with
what was emitted of it."""

from __future__ import annotations

import numpy as np

from driftline.engine.loop.least_level_state import (
    AT,
    END,
    FIRST,
    LEVEL,
    SIZE,
    START,
    VE,
    VS,
    WEIGHT,
)
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64Table
from driftline.model.time import INFINITY

NEVER = INFINITY
"""The level of what is not derived."""


@inlined
def compared(level: int, vs: int, ve: int, level_2: int, vs_2: int, ve_2: int) -> int:
    if level != level_2:
        return -1 if level < level_2 else 1
    if vs != vs_2:
        return -1 if vs < vs_2 else 1
    if ve != ve_2:
        return -1 if ve < ve_2 else 1
    return 0


@compiled
def least(
    records: Int64Table, pool: Int64Table, slot: int, cti: int, found: Int64Table, spare: Int64Table
) -> tuple[int, Int64Table, Int64Table]:
    """The least level of a row from the cti on: segments in order of time. Level by level, lowest
    first, a derivation fills the time that is still free."""
    place = records[slot, FIRST]
    stop, count = place + records[slot, SIZE], 0
    while place < stop:
        level = pool[place, LEVEL]
        made, before, taken = 0, 0, cti  # everything before `taken` is in `spare`
        while place < stop and pool[place, LEVEL] == level:
            start, end = max(pool[place, VS], taken), pool[place, VE]
            if pool[place, WEIGHT] <= 0 or end <= start:
                place += 1
                continue
            place += 1
            while before < count and found[before, END] <= start:
                _copy(spare, made, found, before)
                made, before = made + 1, before + 1
            while before < count and found[before, START] < end:
                if found[before, START] > start:
                    made = filled(spare, made, start, found[before, START], level)
                _copy(spare, made, found, before)
                start = max(start, found[before, END])
                made, before = made + 1, before + 1
            if start < end:
                made = filled(spare, made, start, end, level)
            taken = max(start, end)
        while before < count:
            _copy(spare, made, found, before)
            made, before = made + 1, before + 1
        found, spare, count = spare, found, made
    return count, found, spare


@inlined
def _copy(to: Int64Table, place: int, of: Int64Table, other: int) -> None:
    to[place, START], to[place, END], to[place, AT] = (
        of[other, START],
        of[other, END],
        of[other, AT],
    )


@compiled
def filled(segments: Int64Table, made: int, start: int, end: int, level: int) -> int:
    """Add a segment, as part of the one before it if that is possible."""
    if made and segments[made - 1, END] == start and segments[made - 1, AT] == level:
        segments[made - 1, END] = end
        return made
    segments[made, START], segments[made, END], segments[made, AT] = start, end, level
    return made + 1


@compiled
def adjusted(
    was: Int64Table,
    had_count: int,
    now: Int64Table,
    has_count: int,
    level: int,
    cti: int,
    kept: Int64Table,
) -> tuple[int, int, int]:
    """Writes the segments that are to be emitted after a turn, given what was emitted and the least
    level as it is now. Returns how many these are, which of the old ones is cut off at the cti (-1:
    none), and the level of the next turn.

    A segment that started before the cti can become shorter, but not longer: that would be a
    change before the cti. What goes on after it is a segment of its own."""
    made, cut, next_level = 0, -1, NEVER
    one, other, time, bound = 0, 0, cti, INFINITY
    while one < had_count and was[one, END] <= cti:
        one += 1
    while one < had_count or other < has_count:
        begin_1 = was[one, START] if one < had_count else INFINITY
        begin_2 = now[other, START] if other < has_count else INFINITY
        time = max(time, min(begin_1, begin_2))
        had, has = NEVER, NEVER
        until = INFINITY
        if one < had_count:
            if begin_1 <= time:
                had, until = was[one, AT], was[one, END]
            else:
                until = begin_1
        if other < has_count:
            if begin_2 <= time:
                has, until = now[other, AT], min(until, now[other, END])
            else:
                until = min(until, begin_2)
        to_be = had
        if had != has:
            lower = min(had, has)
            if lower > level:
                next_level = min(next_level, lower)
            elif has <= level:
                to_be = has
            else:
                to_be = NEVER
                next_level = min(next_level, has)
        started_before = had != NEVER and begin_1 < cti and time == cti
        if to_be != NEVER:
            start = begin_1 if started_before and to_be == had else time
            joins = made and kept[made - 1, END] == start and kept[made - 1, AT] == to_be
            if joins and start < bound:
                kept[made - 1, END] = until
            else:
                kept[made, START], kept[made, END], kept[made, AT] = start, until, to_be
                made += 1
                bound = was[one, END] if start < cti else INFINITY
        if started_before and to_be != had:
            cut = one
        time = until
        if one < had_count and was[one, END] <= time:
            one += 1
        if other < has_count and now[other, END] <= time:
            other += 1
    return made, cut, next_level


@compiled
def differences(
    slot: int,
    was: Int64Table,
    was_count: int,
    kept: Int64Table,
    kept_count: int,
    cut: int,
    cti: int,
    changes: Int64Table,
    made: int,
) -> int:
    """Writes what the segments after a turn have changed; returns how many changes there are."""
    if cut >= 0:  # what is over of a segment that reaches up to the cti stays
        changes[0, made], changes[1, made], changes[4, made] = slot, was[cut, AT], 1
        changes[2, made], changes[3, made] = was[cut, START], cti
        made += 1
    old, new = 0, 0
    while old < was_count or new < kept_count:
        side = -1
        if old >= was_count:
            side = 1
        elif new < kept_count:
            side = compared(
                was[old, START], was[old, END], was[old, AT],
                kept[new, START], kept[new, END], kept[new, AT],
            )  # fmt: skip
        if side < 0 and was[old, END] > cti:
            changes[0, made], changes[1, made], changes[4, made] = slot, was[old, AT], -1
            changes[2, made], changes[3, made] = was[old, START], was[old, END]
            made += 1
        elif side > 0:
            changes[0, made], changes[1, made], changes[4, made] = slot, kept[new, AT], 1
            changes[2, made], changes[3, made] = kept[new, START], kept[new, END]
            made += 1
        old += side <= 0
        new += side >= 0
    return made


@compiled
def wider(changes: Int64Table, room: int) -> Int64Table:
    wider = np.empty((5, 2 * room), np.int64)
    wider[:, : changes.shape[1]] = changes
    return wider
