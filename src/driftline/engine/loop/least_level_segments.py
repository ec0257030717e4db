"""Segments of time, each with a level: how `least_level` compares what is derived of a row with
what was emitted of it."""

from __future__ import annotations

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
from driftline.engine.state.words import copy
from driftline.kernels import compiled, in_place, inlined
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
                copy(spare, made, found, before)
                made, before = made + 1, before + 1
            while before < count and found[before, START] < end:
                if found[before, START] > start:
                    made = filled(spare, made, start, found[before, START], level)
                copy(spare, made, found, before)
                start = max(start, found[before, END])
                made, before = made + 1, before + 1
            if start < end:
                made = filled(spare, made, start, end, level)
            taken = max(start, end)
        while before < count:
            copy(spare, made, found, before)
            made, before = made + 1, before + 1
        found, spare, count = spare, found, made
    return count, found, spare


@in_place
def filled(segments: Int64Table, made: int, start: int, end: int, level: int) -> int:
    """Add a segment, as part of the one before it if that is possible."""
    if made and segments[made - 1, END] == start and segments[made - 1, AT] == level:
        segments[made - 1, END] = end
        return made
    segments[made, START], segments[made, END], segments[made, AT] = start, end, level
    return made + 1


@in_place
def after_turn(
    was: Int64Table,
    had_count: int,
    now: Int64Table,
    has_count: int,
    level: int,
    cti: int,
    pieces: Int64Table,
) -> tuple[int, int]:
    """Write the segments that are to be emitted after a turn, from the cti on, given what was
    emitted and the least level as it is now. Returns how many these are, and the level of the next
    turn."""
    made, next_level, time, one, other = 0, NEVER, cti, 0, 0
    while True:
        while one < had_count and was[one, END] <= time:
            one += 1
        while other < has_count and now[other, END] <= time:
            other += 1
        begin_1 = was[one, START] if one < had_count else INFINITY
        begin_2 = now[other, START] if other < has_count else INFINITY
        time = max(time, min(begin_1, begin_2))
        if time == INFINITY:
            return made, next_level
        had, has, until, until_2 = NEVER, NEVER, begin_1, begin_2
        if begin_1 <= time:
            had, until = was[one, AT], was[one, END]
        if begin_2 <= time:
            has, until_2 = now[other, AT], now[other, END]
        until = min(until, until_2)
        to_be = had
        if had != has:
            if min(had, has) > level:
                next_level = min(next_level, had, has)
            elif has <= level:
                to_be = has
            else:
                to_be = NEVER
                next_level = min(next_level, has)
        if to_be != NEVER:
            made = filled(pieces, made, time, until, to_be)
        time = until
