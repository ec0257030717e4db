"""What goes out of `best`, and what a cti evicts there.

What has gone out of a slot is a run of entries as those of what was emitted, all of them at one
level, and with no row before.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.loop.best_derivations import DERIVED, NEVER, SEGMENT, VE, VS, fill
from driftline.engine.loop.best_kernel import (
    ABSENT,
    AFTER,
    AT,
    BEFORE,
    END,
    KEYS,
    START,
    Turn,
    changes_of,
    from_cti,
    larger,
    same_entry,
)
from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import INFINITY

OUTSIDE = 0
"""The level of what has gone out."""


@compiled
def show(slots: Int64s, cti: int, emitted: RunArrays, shown: RunArrays, values: int) -> Turn:
    """The rows of the last round, from the cti on, compared with what has gone out."""
    width, room = KEYS + 2 * values, 2 * len(slots) + 16
    changes, made = np.empty((room, 5 + values), np.int64), 0
    kept, held = np.empty((room, width), np.int64), 0
    counts = np.full(len(slots), -1)
    last, fresh = np.empty((64, SEGMENT), np.int64), np.empty((64, width), np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        first, size = emitted.first[slot], emitted.size[slot]
        if 2 * size + 2 > len(last):
            last = np.empty((4 * size + 2, SEGMENT), np.int64)
            fresh = np.empty((4 * size + 2, width), np.int64)
        found = 0
        for place in range(first + size - 1, first - 1, -1):
            start = max(emitted.ints[place, START], cti)
            found = fill(last, found, start, emitted.ints[place, END], place)
        count = _rows(last[:found], emitted.ints, fresh, values)
        old = shown.ints[shown.first[slot] : shown.first[slot] + shown.size[slot]]
        if held + count + len(old) + 2 > len(kept):
            kept = larger(kept, held + count + len(old) + 2)
        count = from_cti(old, fresh[:count], cti, kept[held:])
        if made + 2 * (count + len(old)) > len(changes):
            changes = larger(changes, made + 2 * (count + len(old)))
        before = made
        made = changes_of(old, kept[held : held + count], number, changes, made, values)
        if made > before:
            counts[number] = count
            held += count
    return Turn(changes[:made], kept[:held], counts, np.full(0, NEVER))


@compiled
def _rows(segments: Int64Table, emitted: Int64Table, fresh: Int64Table, values: int) -> int:
    """Writes the rows that segments of time come from, as entries. Returns how many these are."""
    made = 0
    for number in range(len(segments)):
        entry = emitted[segments[number, 2]]
        if entry[AFTER] == ABSENT:
            continue
        row = fresh[made]
        row[AT], row[START], row[END] = OUTSIDE, segments[number, 0], segments[number, 1]
        row[BEFORE], row[AFTER] = ABSENT, entry[AFTER]
        for value in range(KEYS, KEYS + values):
            row[value], row[value + values] = 0, entry[value + values]
        if made and fresh[made - 1, END] == row[START] and same_entry(fresh[made - 1], row):
            fresh[made - 1, END] = row[END]
        else:
            made += 1
    return made


@compiled
def evict(
    slots: Int64s,
    cti: int,
    derived: RunArrays,
    emitted: RunArrays,
    shown: RunArrays,
    starts: Int64s,
    lasts: Int64s,
    lists: int,
) -> Int64s:
    """Drop what ends at or before the cti. Returns the least end that is left of each slot."""
    ends = np.full(len(slots), INFINITY)
    for number in range(len(slots)):
        slot = slots[number]
        starts[slot], lasts[slot] = INFINITY, cti
        for run in range(lists * slot, lists * slot + lists):
            first, left = derived.first[run], 0
            for place in range(first, first + derived.size[run]):
                if derived.ints[place, VE] > cti:
                    for column in range(DERIVED):
                        derived.ints[first + left, column] = derived.ints[place, column]
                    starts[slot] = min(starts[slot], derived.ints[place, VS])
                    ends[number] = min(ends[number], derived.ints[place, VE])
                    lasts[slot] = max(lasts[slot], derived.ints[place, VE])
                    left += 1
            derived.size[run] = left
        for entries in (emitted, shown):
            ends[number] = min(ends[number], _without_ended(slot, cti, entries))
    return ends


@compiled
def _without_ended(slot: int, cti: int, emitted: RunArrays) -> int:
    """Drop the entries of a slot that end at or before the cti; returns the least end of others."""
    ints, first, left, least = emitted.ints, emitted.first[slot], 0, INFINITY
    for place in range(first, first + emitted.size[slot]):
        if ints[place, END] > cti:
            for column in range(ints.shape[1]):
                ints[first + left, column] = ints[place, column]
            least = min(least, ints[place, END])
            left += 1
    emitted.size[slot] = left
    return least
