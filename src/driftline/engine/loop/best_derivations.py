"""The kernels of `best` for derivations: taking them in, and the best values over time.

For each aggregate of a group one run holds its derivations, the best value first: whether it is
null, its key, level, vs, ve and weight, in this order. What comes out are segments of time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.state.due_times import BLOCK
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.slot_lists import NOWHERE
from driftline.engine.state.slots import AHEAD
from driftline.engine.state.words import copy
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import Int64s, Int64Table, Mask
from driftline.model.time import INFINITY

NULL, KEY, LEVEL, VS, VE, WEIGHT = range(6)
DERIVED = 6
SEGMENT = 3
"""A segment of time: its start, its end, and the place of the entry that it comes from."""
NEVER = INFINITY
_FEW = 24
"""So many items are sorted by insertion."""
SMALLEST = 4
"""For so many derivations a run has room at least."""
SHORT = 64
"""Up to so many derivations a run gets others one by one."""


class BestDerivations(NamedTuple):
    """Changes of derivations. `ranks`: the order of the keys, if it is not their own."""

    null: Mask
    key: Int64s
    level: Int64s
    vs: Int64s
    ve: Int64s
    weight: Int64s
    ranks: Int64s


@inlined
def _ordered(
    null: int, key: int, level: int, vs: int, ve: int,
    null_2: int, key_2: int, level_2: int, vs_2: int, ve_2: int, ranks: Int64s,
) -> int:  # fmt: skip
    """-1, 0 or 1, as one derivation comes before another, is it, or comes after it."""
    if null != null_2:
        return -1 if null < null_2 else 1
    if key != key_2:
        if len(ranks) > 0:
            return -1 if ranks[key] < ranks[key_2] else 1
        return -1 if key < key_2 else 1
    if level != level_2:
        return -1 if level < level_2 else 1
    if vs != vs_2:
        return -1 if vs < vs_2 else 1
    if ve != ve_2:
        return -1 if ve < ve_2 else 1
    return 0


@compiled
def _of_two(some: BestDerivations, one: int, other: int) -> int:
    return _ordered(
        some.null[one], some.key[one], some.level[one], some.vs[one], some.ve[one],
        some.null[other], some.key[other], some.level[other], some.vs[other], some.ve[other],
        some.ranks,
    )  # fmt: skip


@compiled
def _of_held(ints: Int64Table, place: int, some: BestDerivations, item: int) -> int:
    return _ordered(
        ints[place, NULL], ints[place, KEY], ints[place, LEVEL], ints[place, VS], ints[place, VE],
        some.null[item], some.key[item], some.level[item], some.vs[item], some.ve[item],
        some.ranks,
    )  # fmt: skip


@compiled
def merge(
    runs: Int64s, bounds: Int64s, order: Int64s, some: BestDerivations, derived: RunArrays
) -> None:
    """Merge changes into runs, which have the room; those of the n-th run are bounds[n] …
    bounds[n + 1] - 1 of `order`."""
    ints = derived.ints
    merged = np.empty((64, DERIVED), np.int64)
    for number in range(len(runs)):
        run, start, stop = runs[number], bounds[number], bounds[number + 1]
        _sort(some, order[start:stop])
        first, last = derived.first[run], derived.first[run] + derived.size[run]
        old, end = first, last  # what comes before the first change stays where it is
        while old < end:
            middle = (old + end) >> 1
            if _of_held(ints, middle, some, order[start]) < 0:
                old = middle + 1
            else:
                end = middle
        if last - old + stop - start > len(merged):
            merged = np.empty((2 * (last - old + stop - start), DERIVED), np.int64)
        kept, made, new = old, 0, start
        while old < last or new < stop:
            item = order[new] if new < stop else -1
            side = -1
            if old >= last:
                side = 1
            elif new < stop:
                side = _of_held(ints, old, some, item)
            if side <= 0:
                for column in range(DERIVED):
                    merged[made, column] = ints[old, column]
                old += 1
            else:
                merged[made, NULL], merged[made, KEY] = some.null[item], some.key[item]
                merged[made, LEVEL], merged[made, WEIGHT] = some.level[item], 0
                merged[made, VS], merged[made, VE] = some.vs[item], some.ve[item]
            if side >= 0:
                while new < stop and _of_two(some, order[new], item) == 0:
                    merged[made, WEIGHT] += some.weight[order[new]]
                    new += 1
            made += merged[made, WEIGHT] != 0
        for place in range(made):
            for column in range(DERIVED):
                ints[kept + place, column] = merged[place, column]
        derived.size[run] = kept + made - first


@compiled
def _sort(some: BestDerivations, order: Int64s) -> None:
    """Sort the changes of one run."""
    if len(order) > _FEW:
        for column in (some.ve, some.vs, some.level):
            order[:] = order[np.argsort(column[order], kind="mergesort")]
        key = some.key[order]
        if len(some.ranks) > 0:
            for place in range(len(order)):
                key[place] = 0 if some.null[order[place]] else some.ranks[key[place]]
        order[:] = order[np.argsort(key, kind="mergesort")]
        order[:] = order[np.argsort(some.null[order], kind="mergesort")]
        return
    for place in range(1, len(order)):
        item, to = order[place], place
        while to > 0 and _of_two(some, order[to - 1], item) > 0:
            order[to] = order[to - 1]
            to -= 1
        order[to] = item


@compiled
def reaching(
    slots: Int64s, some: BestDerivations, starts: Int64s, lasts: Int64s, ends: Int64s,
    blocks: Int64s, number_of: Int64s,
) -> tuple[Int64s, Int64s]:  # fmt: skip
    """Note how far derivations reach: of each slot the least vs and the greatest ve (`starts`,
    `lasts`), and the least ve (`ends`, `blocks`: see `state.due_times`). Returns the distinct
    slots, and the least level of the derivations of each; `number_of`: see `slot_lists`."""
    touched, lowest, count = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64), 0
    for row in range(len(slots)):
        slot, end = slots[row], some.ve[row]
        if number_of[slot] == NOWHERE:
            number_of[slot] = count
            touched[count], lowest[count] = slot, some.level[row]
            count += 1
        else:
            lowest[number_of[slot]] = min(lowest[number_of[slot]], some.level[row])
        starts[slot] = min(starts[slot], some.vs[row])
        lasts[slot] = max(lasts[slot], end)
        if end < ends[slot]:
            ends[slot] = end
            blocks[slot // BLOCK] = min(blocks[slot // BLOCK], end)
    for slot in touched[:count]:
        number_of[slot] = NOWHERE
    return touched[:count], lowest[:count].copy()


@compiled
def insert(
    slots: Int64s, some: BestDerivations, lists: int, number: int, derived: RunArrays, best: Int64s
) -> Int64s:  # fmt: skip
    """Add changes up, in the lists of this number, where the runs are short and have the room; the
    others are returned. `best`: by run, the best key among changes; null is worse than all
    others."""
    first_of, size_of, ints = derived.first, derived.size, derived.ints
    left, lefts = np.empty(len(slots), np.int64), 0
    ahead = np.empty(AHEAD, np.int64)
    for row in range(len(slots)):
        if row % AHEAD == 0:
            few = slots[row : row + AHEAD]
            for each in range(len(few)):
                ahead[each] = first_of[lists * few[each] + number]
            for each in range(len(few)):
                second = min(ahead[each] + 1, len(ints) - 1)
                ahead[each] = ints[ahead[each], KEY] ^ ints[second, WEIGHT]
        run = lists * slots[row] + number
        first, size = first_of[run], size_of[run]
        if not some.null[row]:
            best[run] = min(best[run], some.key[row])
        if size > SHORT:
            left[lefts] = row
            lefts += 1
            continue
        place, stop = first, first + size
        while place < stop:
            middle = (place + stop) >> 1
            if _of_held(ints, middle, some, row) < 0:
                place = middle + 1
            else:
                stop = middle
        stop = first + size
        if place < stop and _of_held(ints, place, some, row) == 0:
            ints[place, WEIGHT] += some.weight[row]
            if ints[place, WEIGHT] == 0:
                for later in range(place + 1, stop):
                    for column in range(DERIVED):
                        ints[later - 1, column] = ints[later, column]
                size_of[run] = size - 1
        elif size == derived.room[run]:
            left[lefts] = row
            lefts += 1
        else:
            for later in range(stop, place, -1):
                for column in range(DERIVED):
                    ints[later, column] = ints[later - 1, column]
            ints[place, NULL], ints[place, KEY] = some.null[row], some.key[row]
            ints[place, LEVEL], ints[place, WEIGHT] = some.level[row], some.weight[row]
            ints[place, VS], ints[place, VE] = some.vs[row], some.ve[row]
            size_of[run] = size + 1
    return left[:lefts]


@compiled
def best_values(
    derived: RunArrays,
    run: int,
    level: int,
    since: int,
    last: int,
    best: Int64Table,
    events: Int64Table,
) -> tuple[int, int]:
    """The best value over time at a level: segments in order of time. From the best value on, each
    fills the time that is still free, until none is. Returns how many segments there are, and the
    next level at which one of the values that were looked at changes."""
    ints, place = derived.ints, derived.first[run]
    stop, found, following = place + derived.size[run], 0, NEVER
    while place < stop and not _covers(best[:found], since, last):
        null, key, first = ints[place, NULL], ints[place, KEY], place
        same, weight, count = True, 0, 0
        start, end = 0, 0
        while place < stop and ints[place, KEY] == key and ints[place, NULL] == null:
            if ints[place, LEVEL] > level:
                following = min(following, ints[place, LEVEL])
            elif ints[place, VE] > since:
                if count == 0:
                    start, end = ints[place, VS], ints[place, VE]
                same &= start == ints[place, VS] and end == ints[place, VE]
                weight += ints[place, WEIGHT]
                events[count, 0], events[count, 1] = ints[place, VS], ints[place, WEIGHT]
                events[count + 1, 0], events[count + 1, 1] = ints[place, VE], -ints[place, WEIGHT]
                count += 2
            place += 1
        if count == 0:
            continue
        if same:
            if weight > 0:
                found = fill(best, found, max(start, since), end, first)
        else:
            found = _fill_where_positive(best, found, events[:count], since, first)
    return found, following


@inlined
def _covers(segments: Int64Table, since: int, last: int) -> bool:
    """Whether segments leave no time free."""
    if len(segments) == 0 or segments[0, 0] > since or segments[-1, 1] < last:
        return False
    place = 1
    while place < len(segments) and segments[place - 1, 1] == segments[place, 0]:
        place += 1
    return place == len(segments)


@compiled
def _fill_where_positive(
    segments: Int64Table, found: int, events: Int64Table, since: int, tag: int
) -> int:  # fmt: skip
    """Fill the time in which weights that begin and end add up to more than nothing."""
    if len(events) > _FEW:
        events[:] = events[np.argsort(events[:, 0], kind="mergesort")]
    else:
        for place in range(1, len(events)):
            time, weight, to = events[place, 0], events[place, 1], place
            while to > 0 and events[to - 1, 0] > time:
                events[to, 0], events[to, 1] = events[to - 1, 0], events[to - 1, 1]
                to -= 1
            events[to, 0], events[to, 1] = time, weight
    total, place, start = 0, 0, INFINITY
    while place < len(events):
        time, had = events[place, 0], total
        while place < len(events) and events[place, 0] == time:
            total += events[place, 1]
            place += 1
        if total > 0 and had <= 0:
            start = time
        elif had > 0 and total <= 0:
            found = fill(segments, found, max(start, since), time, tag)
    return found


@in_place
def fill(segments: Int64Table, found: int, start: int, end: int, tag: int) -> int:
    """Add what is still free of a stretch of time to segments in order of time."""
    low, high = 0, found
    while low < high:
        middle = (low + high) >> 1
        if segments[middle, 1] <= start:
            low = middle + 1
        else:
            high = middle
    while start < end:
        if low < found and segments[low, 0] <= start:
            start = segments[low, 1]
            low += 1
            continue
        until = min(end, segments[low, 0]) if low < found else end
        for place in range(found, low, -1):
            for column in range(SEGMENT):
                segments[place, column] = segments[place - 1, column]
        segments[low, 0], segments[low, 1], segments[low, 2] = start, until, tag
        found += 1
        low += 1
        start = until
    return found


@in_place
def evict(
    slots: Int64s,
    cti: int,
    derived: RunArrays,
    starts: Int64s,
    lasts: Int64s,
    lists: int,
    ends: Int64s,
) -> None:
    """Drop the derivations that end at or before the cti. `ends`: of each slot, lowered to the
    least end that is left."""
    for number in range(len(slots)):
        slot = slots[number]
        starts[slot], lasts[slot] = INFINITY, cti
        for run in range(lists * slot, lists * slot + lists):
            first, left = derived.first[run], 0
            for place in range(first, first + derived.size[run]):
                if derived.ints[place, VE] > cti:
                    copy(derived.ints, first + left, derived.ints, place)
                    starts[slot] = min(starts[slot], derived.ints[place, VS])
                    ends[number] = min(ends[number], derived.ints[place, VE])
                    lasts[slot] = max(lasts[slot], derived.ints[place, VE])
                    left += 1
            derived.size[run] = left
