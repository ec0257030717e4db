"""The kernels of window functions.

Entries are the rows of some slots, one for every copy, sorted by slot and order; those of the n-th
slot are bounds[n] … bounds[n + 1] - 1, and an entry is alive during [begin, end). Time is gone
through once for each slot, with the entries that are alive in a sorted array:

    evaluations   which rows' frames change when: an entry that comes or goes changes only those
                  whose frame it comes into, leaves, or moves
    frames        what is in each of these frames, as changes from one to the next
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.by_rows.change_kernels import Steps
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Int64Table, Mask, MaskTable
from driftline.model.time import INFINITY

ROWS, RANGE = 0, 1


class Evaluations(NamedTuple):
    """During [start, end) the frames of an entry stay as they are; sorted by slot, start, entry."""

    bounds: Int64s
    entry: Int64s
    start: Int64s
    end: Int64s


@compiled
def in_time(times: Int64s, least_first: bool) -> Int64s:
    """The places of times in their order, equal ones as they are. Most begin at the same time, the
    least, or end at the same, the greatest: only the others are sorted."""
    if len(times) == 0:
        return np.empty(0, np.int64)
    common = times.min() if least_first else times.max()
    order, others, found = np.empty(len(times), np.int64), np.empty(len(times), np.int64), 0
    count = 0
    for place in range(len(times)):
        if times[place] == common:
            order[count] = place
            count += 1
        else:
            others[found] = place
            found += 1
    rest = others[:found][np.argsort(times[others[:found]], kind="mergesort")]
    if least_first:
        order[count:] = rest
        return order
    return np.concatenate((rest, order[:count]))


@compiled
def peers(bounds: Int64s, group: Int64s) -> tuple[Int64s, Int64s]:
    """The first entry of each one's group of equal order keys in its slot, and that after the
    last."""
    low, high = np.empty(len(group), np.int64), np.empty(len(group), np.int64)
    for number in range(len(bounds) - 1):
        begin = bounds[number]
        while begin < bounds[number + 1]:
            stop = begin + 1
            while stop < bounds[number + 1] and group[stop] == group[begin]:
                stop += 1
            low[begin:stop], high[begin:stop] = begin, stop
            begin = stop
    return low, high


@compiled
def at_distance(
    bounds: Int64s, there: Mask, key: Int64s, wanted: Int64s, is_end: bool, peer: Int64s
) -> Int64s:
    """The first entry of its slot whose key is at least (is_end: greater than) what is wanted;
    where there is no value, that of the peers."""
    found = np.empty(len(key), np.int64)
    for number in range(len(bounds) - 1):
        begin, stop = bounds[number], bounds[number + 1]
        while begin < stop and not there[begin]:
            begin += 1
        while stop > begin and not there[stop - 1]:
            stop -= 1
        for entry in range(bounds[number], bounds[number + 1]):
            if not there[entry]:
                found[entry] = peer[entry]
                continue
            low, high = begin, stop
            while low < high:
                middle = (low + high) // 2
                if key[middle] < wanted[entry] or (is_end and key[middle] == wanted[entry]):
                    low = middle + 1
                else:
                    high = middle
            found[entry] = low
    return found


@inlined
def first_from(alive: Int64s, size: int, entry: int) -> int:
    """Where the first that is alive and does not come before an entry is."""
    return int(np.searchsorted(alive[:size], entry))


@inlined
def come_in(alive: Int64s, size: int, entry: int) -> None:
    place = size
    while place > 0 and alive[place - 1] > entry:
        alive[place] = alive[place - 1]
        place -= 1
    alive[place] = entry


@inlined
def go_out(alive: Int64s, size: int, entry: int) -> None:
    for place in range(np.searchsorted(alive[:size], entry), size - 1):
        alive[place] = alive[place + 1]


@compiled
def _twice(array: Int64s) -> Int64s:
    return np.concatenate((array, np.empty_like(array)))


@compiled
def evaluations(
    bounds: Int64s,
    begin: Int64s,
    end: Int64s,
    wanted: Mask,
    unit: Int64s,
    start: Int64s,
    stop: Int64s,
    low: Int64Table,
    high: Int64Table,
    open_end: int,
) -> Evaluations:
    """When the frames of wanted entries change. Of frame f, `unit`, `start` and `stop` say how far
    it goes in rows; or low[f] and high[f] between which entries it lies."""
    entry_of = np.empty(len(begin) + 16, np.int64)
    start_of, end_of = np.empty_like(entry_of), np.empty_like(entry_of)
    evaluated = np.zeros(len(bounds), np.int64)
    made = 0
    latest = np.full(len(begin), -1, np.int64)  # the number of an entry's last evaluation
    stamp = np.full(len(begin), -1, np.int64)  # the last time for which it is to be evaluated
    for number in range(len(bounds) - 1):
        first, size = bounds[number], bounds[number + 1] - bounds[number]
        by_begin = first + in_time(begin[first : first + size], True)
        by_end = first + in_time(end[first : first + size], False)
        alive, count = np.empty(size, np.int64), 0
        changed, dirty = np.empty(2 * size, np.int64), np.empty(size, np.int64)
        coming, going, round_ = 0, 0, 0
        while coming < size or (going < size and end[by_end[going]] < INFINITY):
            time = end[by_end[going]] if going < size else INFINITY
            if coming < size:
                time = min(time, begin[by_begin[coming]])
            changes, round_ = 0, round_ + 1
            while going < size and end[by_end[going]] == time and time < INFINITY:
                gone = by_end[going]
                go_out(alive, count, gone)
                count -= 1
                if latest[gone] >= 0:
                    end_of[latest[gone]] = time
                latest[gone] = -1
                changed[changes] = gone
                changes += 1
                going += 1
            while coming < size and begin[by_begin[coming]] == time:
                come_in(alive, count, by_begin[coming])
                count += 1
                changed[changes] = by_begin[coming]
                changes += 1
                coming += 1
            found = 0
            if round_ == 1:  # all that are there have come
                for entry in alive[:count]:
                    if wanted[entry]:
                        dirty[found] = entry
                        found += 1
            several = np.sort(changed[:changes])
            for frame in range(len(unit) if round_ > 1 else 0):
                done = 0
                for entry in several:
                    here = first_from(alive, count, entry)
                    is_there = here < count and alive[here] == entry
                    if unit[frame] == ROWS:
                        lower = here - min(max(stop[frame], 0), here)
                        upper = min(here - max(min(start[frame], 0), here - count), count)
                        if is_there:
                            upper = min(upper + 1, count)
                    else:
                        to = first + np.searchsorted(
                            low[frame, first : first + size], entry, "right"
                        )
                        of = first + np.searchsorted(
                            high[frame, first : first + size], entry, "right"
                        )
                        lower = first_from(alive, count, of)
                        upper = first_from(alive, count, to)
                        if is_there and wanted[entry] and stamp[entry] != round_:
                            stamp[entry] = round_
                            dirty[found] = entry
                            found += 1
                    for place in range(max(lower, done), upper):
                        if wanted[alive[place]] and stamp[alive[place]] != round_:
                            stamp[alive[place]] = round_
                            dirty[found] = alive[place]
                            found += 1
                    done = max(done, upper)
            for entry in np.sort(dirty[:found]):
                if made == len(entry_of):
                    entry_of, start_of, end_of = _twice(entry_of), _twice(start_of), _twice(end_of)
                if latest[entry] >= 0:
                    end_of[latest[entry]] = time
                entry_of[made], start_of[made], end_of[made] = entry, time, open_end
                latest[entry] = made
                made += 1
        evaluated[number + 1] = made
    return Evaluations(
        evaluated, entry_of[:made].copy(), start_of[:made].copy(), end_of[:made].copy()
    )


@compiled
def _nth_there(frame: Int64s, nth: int, null: Mask) -> int:
    """The entry at a place of a frame, from 1 or from the end, among those that are not null."""
    left = abs(nth)
    for step in range(len(frame)):
        entry = frame[step if nth > 0 else len(frame) - 1 - step]
        if not null[entry]:
            left -= 1
            if left == 0:
                return entry  # type: ignore[no-any-return]
    return -1


@compiled
def frames(
    bounds: Int64s,
    begin: Int64s,
    end: Int64s,
    evaluated: Evaluations,
    unit: int,
    start: int,
    stop: int,
    low: Int64s,
    high: Int64s,
    nths: Int64s,
    masks: Int64s,
    null: MaskTable,
    with_steps: bool,
) -> tuple[Steps, Int64Table]:
    """What is in the frame of every evaluation, as changes; and the entries at some places of it
    [nth, evaluation], from 1, or from the end: -1, -2, …; -1 where there is none. `masks`: for each
    nth the row of `null` that says which entries do not count, or -1."""
    total = len(evaluated.entry)
    chosen = np.full((len(nths), total), -1, np.int64)
    fresh = np.zeros(total, np.bool_)
    come, go = np.empty(len(begin) + 16, np.int64), np.empty(len(begin) + 16, np.int64)
    come_bounds, go_bounds = np.zeros(total + 1, np.int64), np.zeros(total + 1, np.int64)
    came, left = 0, 0
    inside, counted = np.zeros(len(begin), np.bool_), np.zeros(len(begin), np.bool_)
    is_touched, touched = np.zeros(len(begin), np.bool_), np.empty(len(begin), np.int64)
    touches = 0
    for number in range(len(bounds) - 1):
        first, size = bounds[number], bounds[number + 1] - bounds[number]
        by_begin = first + in_time(begin[first : first + size], True)
        by_end = first + in_time(end[first : first + size], False)
        alive, count, coming, going = np.empty(size, np.int64), 0, 0, 0
        since, until = first, first  # what is alive here is inside
        for piece in range(evaluated.bounds[number], evaluated.bounds[number + 1]):
            fresh[piece] = piece == evaluated.bounds[number]
            time, entry = evaluated.start[piece], evaluated.entry[piece]
            while going < size and end[by_end[going]] <= time and end[by_end[going]] < INFINITY:
                # Whoever goes now came before: begin < end, and both are gone through in order.
                while coming < size and begin[by_begin[coming]] < end[by_end[going]]:
                    other = by_begin[coming]
                    come_in(alive, count, other)
                    count += 1
                    coming += 1
                    if since <= other < until:
                        inside[other] = True
                        if not is_touched[other]:
                            is_touched[other] = True
                            touched[touches] = other
                            touches += 1
                other = by_end[going]
                go_out(alive, count, other)
                count -= 1
                going += 1
                if inside[other]:
                    inside[other] = False
                    if not is_touched[other]:
                        is_touched[other] = True
                        touched[touches] = other
                        touches += 1
            while coming < size and begin[by_begin[coming]] <= time:
                other = by_begin[coming]
                come_in(alive, count, other)
                count += 1
                coming += 1
                if since <= other < until:
                    inside[other] = True
                    if not is_touched[other]:
                        is_touched[other] = True
                        touched[touches] = other
                        touches += 1
            if unit == ROWS:
                here = first_from(alive, count, entry)
                lower = min(max(here + start, 0), count)
                upper = min(max(here + stop + 1, lower), count)
            else:
                lower = first_from(alive, count, low[entry])
                upper = max(lower, first_from(alive, count, high[entry]))
            for row in range(len(nths)):
                if masks[row] >= 0:
                    chosen[row, piece] = _nth_there(alive[lower:upper], nths[row], null[masks[row]])
                    continue
                place = lower + nths[row] - 1 if nths[row] > 0 else upper + nths[row]
                if lower <= place < upper:
                    chosen[row, piece] = alive[place]
            if not with_steps:
                continue
            now_since = alive[lower] if lower < upper else entry
            now_until = alive[upper - 1] + 1 if lower < upper else entry
            # Of what is alive, that before and after the new frame leaves, if it was inside; that
            # of the new frame comes, if it was not.
            for a, b, is_in in (
                (since, min(until, now_since), False),
                (max(since, now_until), until, False),
                (now_since, min(now_until, since), True),
                (max(now_since, until), now_until, True),
            ):
                if a >= b:
                    continue
                place = first_from(alive, count, a)
                while place < count and alive[place] < b:
                    other = alive[place]
                    place += 1
                    if inside[other] != is_in:
                        inside[other] = is_in
                        if not is_touched[other]:
                            is_touched[other] = True
                            touched[touches] = other
                            touches += 1
            since, until = now_since, now_until
            for place in range(touches):
                other = touched[place]
                is_touched[other] = False
                if inside[other] and not counted[other]:
                    if came == len(come):
                        come = _twice(come)
                    come[came] = other
                    came += 1
                elif counted[other] and not inside[other]:
                    if left == len(go):
                        go = _twice(go)
                    go[left] = other
                    left += 1
                counted[other] = inside[other]
            touches = 0
            come_bounds[piece + 1], go_bounds[piece + 1] = came, left
        # The next slot begins with an empty frame.
        for entry in range(first, first + size):
            if inside[entry]:
                inside[entry] = False
                is_touched[entry] = True
                touched[touches] = entry
                touches += 1
    copies = np.ones(len(begin), np.int64)
    return Steps(fresh, come_bounds, come[:came], go_bounds, go[:left], copies), chosen


@compiled
def listed(changes: Steps, begin: int, stop: int, inside: Mask) -> tuple[Int64s, Int64s]:
    """The members of some frames that follow those before: where each one's begin, and which.
    `inside`: the members of the last frame before, and then of the last one."""
    offsets = np.zeros(stop - begin + 1, np.int64)
    members, found = np.empty(1024, np.int64), 0
    for piece in range(begin, stop):
        for place in range(changes.go_bounds[piece], changes.go_bounds[piece + 1]):
            inside[changes.go[place]] = False
        for place in range(changes.come_bounds[piece], changes.come_bounds[piece + 1]):
            inside[changes.come[place]] = True
        now = np.flatnonzero(inside)
        while found + len(now) > len(members):
            members = _twice(members)
        members[found : found + len(now)] = now
        found += len(now)
        offsets[piece - begin + 1] = found
    return offsets, members[:found].copy()
