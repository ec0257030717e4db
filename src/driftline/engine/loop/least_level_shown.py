"""What goes out of `least_level`, and what a cti evicts there."""

from __future__ import annotations

import numpy as np

from driftline.engine.loop.least_level_segments import adjusted, differences, filled, wider
from driftline.engine.loop.least_level_state import (
    DERIVATIONS,
    EMITTED,
    END,
    ENTRY,
    FIRST,
    ONE,
    SEGMENT,
    SEGMENTS,
    SHOWN,
    SIZE,
    START,
    TOUCHED,
    VE,
    Held,
    read_segments,
    write_segments,
)
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import INFINITY


@compiled
def show(slots: Int64s, cti: int, held: Held) -> tuple[Int64Table, Int64Table]:
    """When each row is there, from the cti on, compared with what has gone out. Returns the pool,
    and what changes: slot, 0, vs, ve and weight."""
    records, outside, pool, free, totals = held
    changes, made = np.empty((5, 2 * len(slots) + 16), np.int64), 0
    was, there = np.empty((64, SEGMENT), np.int64), np.empty((64, SEGMENT), np.int64)
    kept = np.empty((64, SEGMENT), np.int64)
    for slot in slots:
        outside[slot, TOUCHED] = 0
        count, has_count = outside[slot, SHOWN], records[slot, EMITTED]
        most = 2 * (count + has_count) + 4
        if made + 3 * most > changes.shape[1]:
            changes = wider(changes, made + 3 * most)
        start, end = records[slot, EMITTED + ONE + START], records[slot, EMITTED + ONE + END]
        if count == 0 and has_count == 1 and start >= cti:
            changes[0, made], changes[1, made], changes[4, made] = slot, 0, 1
            changes[2, made], changes[3, made] = start, end
            made += 1
            totals[SEGMENTS] += 1
            outside[slot, SHOWN] = 1
            outside[slot, SHOWN + ONE + START], outside[slot, SHOWN + ONE + END] = start, end
            continue
        if count == has_count == 1 and (
            outside[slot, SHOWN + ONE + START] == start and outside[slot, SHOWN + ONE + END] == end
        ):
            continue
        if most > len(was):
            was, there = (
                np.empty((2 * most, SEGMENT), np.int64),
                np.empty((2 * most, SEGMENT), np.int64),
            )
            kept = np.empty((2 * most, SEGMENT), np.int64)
        read_segments(records, pool, slot, EMITTED, was)
        there_count = 0
        for number in range(has_count):
            if was[number, END] > cti:
                there_count = filled(
                    there, there_count, max(was[number, START], cti), was[number, END], 0
                )
        read_segments(outside, pool, slot, SHOWN, was)
        now_count, cut, _ = adjusted(was, count, there, there_count, 0, cti, kept)
        made = differences(slot, was, count, kept, now_count, cut, cti, changes, made)
        pool = write_segments(outside, pool, free, totals, slot, SHOWN, kept, 0, now_count)
    return pool, changes[:, :made]


@compiled
def evict(slots: Int64s, cti: int, held: Held) -> tuple[Int64Table, Int64s]:
    """Drop what ends at or before the cti. Returns the pool, and the least end that is left of each
    slot."""
    records, outside, pool, free, totals = held
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
        pool, segments = _without_ended(records, slot, EMITTED, cti, segments, pool, free, totals)
        pool, segments = _without_ended(outside, slot, SHOWN, cti, segments, pool, free, totals)
    return pool, ends


@inlined
def _without_ended(
    records: Int64Table,
    slot: int,
    which: int,
    cti: int,
    segments: Int64Table,
    pool: Int64s,
    free: Int64s,
    totals: Int64s,
) -> tuple[Int64s, Int64s]:
    """Drop the segments that end at or before the cti. Returns the pool, and room for segments."""
    count = records[slot, which]
    if count > len(segments):
        segments = np.empty((2 * count, SEGMENT), np.int64)
    read_segments(records, pool, slot, which, segments)
    kept = 0
    for each in range(count):
        if segments[each, END] > cti:
            for column in range(SEGMENT):
                segments[kept, column] = segments[each, column]
            kept += 1
    if kept < count:
        pool = write_segments(records, pool, free, totals, slot, which, segments, 0, kept)
    return pool, segments
