"""The kernels of coalesce.

A slot is a row. Its run holds, for every time at which the number of its copies changes, the change
and the number after it (the depth). A stretch of layer k starts where the depth rises to k and ends
where it falls below: the last stretch that started ends first. Between two times with depth zero
everything can be looked at by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import INFINITY

TIME, CHANGE, DEPTH = range(3)
COLUMNS = 3


class Stretches(NamedTuple):
    """Signed stretches: the number of the slot in the call, start, end, how many more or fewer."""

    number: Int64s
    start: Int64s
    end: Int64s
    weight: Int64s


@compiled
def take_in(
    slots: Int64s,
    bounds: Int64s,
    order: Int64s,
    vs: Int64s,
    ve: Int64s,
    weight: Int64s,
    runs: RunArrays,
) -> Stretches:
    """Merge lifetimes into the runs; those of the n-th slot are bounds[n] … bounds[n + 1] - 1 of
    `order`. Returns by what the stretches change."""
    room = 16
    number_out, weight_out = np.empty(room, np.int64), np.empty(room, np.int64)
    start_out, end_out = np.empty(room, np.int64), np.empty(room, np.int64)
    made = 0
    for number in range(len(slots)):
        times, changes = _steps(order[bounds[number] : bounds[number + 1]], vs, ve, weight)
        if len(times) == 0:
            continue
        old, new = _merge(runs, slots[number], times, changes)
        was, now = _stretches(old), _stretches(new)
        needed = made + len(was) + len(now)
        if needed > room:
            room = 2 * needed
            number_out, weight_out = _grown(number_out, room), _grown(weight_out, room)
            start_out, end_out = _grown(start_out, room), _grown(end_out, room)
        one, other = 0, 0
        while one < len(was) or other < len(now):
            side = _side(was, one, now, other)
            change = 0
            if side <= 0:
                start, end = was[one, 0], was[one, 1]
                change -= was[one, 2]
                one += 1
            if side >= 0:
                start, end = now[other, 0], now[other, 1]
                change += now[other, 2]
                other += 1
            if change != 0:
                number_out[made], weight_out[made] = number, change
                start_out[made], end_out[made] = start, end
                made += 1
    return Stretches(number_out[:made], start_out[:made], end_out[:made], weight_out[:made])


@compiled
def _steps(items: Int64s, vs: Int64s, ve: Int64s, weight: Int64s) -> tuple[Int64s, Int64s]:
    """The times at which lifetimes change the number of copies, in order, and by how many."""
    times, changes = np.empty(2 * len(items), np.int64), np.empty(2 * len(items), np.int64)
    for place in range(len(items)):
        item = items[place]
        times[2 * place], changes[2 * place] = vs[item], weight[item]
        times[2 * place + 1], changes[2 * place + 1] = ve[item], -weight[item]
    order = np.argsort(times, kind="mergesort")
    found, place = 0, 0
    net_times, net_changes = np.empty_like(times), np.empty_like(times)
    while place < len(order):
        time, total = times[order[place]], 0
        while place < len(order) and times[order[place]] == time:
            total += changes[order[place]]
            place += 1
        if total != 0:
            net_times[found], net_changes[found] = time, total
            found += 1
    return net_times[:found], net_changes[:found]


@compiled
def _merge(
    runs: RunArrays, slot: int, times: Int64s, changes: Int64s
) -> tuple[Int64Table, Int64Table]:
    """Add changes to a run; returns the part between times with depth zero that is affected, as it
    was and as it is now."""
    base, size = runs.first[slot], runs.size[slot]
    run = runs.ints[base : base + size]
    begin = np.searchsorted(run[:, TIME], times[0])
    while begin > 0 and run[begin - 1, DEPTH] != 0:
        begin -= 1
    stop = np.searchsorted(run[:, TIME], times[-1], side="right")
    # Changes add up to nothing, so after the last of them the depth is what it was.
    while 0 < stop < size and run[stop - 1, DEPTH] != 0:
        stop += 1
    old = run[begin:stop].copy()
    new = np.empty((len(old) + len(times), COLUMNS), np.int64)
    read, change, write, depth = 0, 0, 0, 0
    while read < len(old) or change < len(times):
        time, total = INFINITY, 0
        if read < len(old):
            time = old[read, TIME]
        if change < len(times):
            time = min(time, times[change])
        if read < len(old) and old[read, TIME] == time:
            total += old[read, CHANGE]
            read += 1
        if change < len(times) and times[change] == time:
            total += changes[change]
            change += 1
        if total != 0:
            depth += total
            new[write, TIME], new[write, CHANGE], new[write, DEPTH] = time, total, depth
            write += 1
    new = new[:write]
    tail = run[stop:].copy()
    runs.ints[base + begin : base + begin + len(new)] = new
    after = base + begin + len(new)
    runs.ints[after : after + len(tail)] = tail
    runs.size[slot] = begin + len(new) + len(tail)
    return old, new


@compiled
def _stretches(steps: Int64Table) -> Int64Table:
    """(start, end, copies) of every stretch, in order of end, and the latest start first."""
    room = 0
    for place in range(len(steps)):
        room += 1 + abs(steps[place, CHANGE])
    made = np.empty((min(room, 2 * len(steps)), 3), np.int64)
    open_since, copies = np.empty(len(steps), np.int64), np.empty(len(steps), np.int64)
    top, count = 0, 0
    for place in range(len(steps)):
        change = steps[place, CHANGE]
        if change > 0:
            open_since[top], copies[top] = steps[place, TIME], change
            top += 1
        while change < 0 and top > 0:
            ended = min(copies[top - 1], -change)
            made[count, 0], made[count, 1] = open_since[top - 1], steps[place, TIME]
            made[count, 2] = ended
            count += 1
            change += ended
            copies[top - 1] -= ended
            if copies[top - 1] == 0:
                top -= 1
    return made[:count]


@inlined
def _side(was: Int64Table, one: int, now: Int64Table, other: int) -> int:
    """-1, 0 or 1, as a stretch comes before, with or after another in the order of `_stretches`."""
    if one == len(was):
        return 1
    if other == len(now):
        return -1
    if was[one, 1] != now[other, 1]:
        return -1 if was[one, 1] < now[other, 1] else 1
    if was[one, 0] != now[other, 0]:
        return -1 if was[one, 0] > now[other, 0] else 1
    return 0


@compiled
def _grown(array: Int64s, room: int) -> Int64s:
    bigger = np.empty(room, np.int64)
    bigger[: len(array)] = array
    return bigger


@compiled
def settle(slots: Int64s, runs: RunArrays, cti: int) -> Int64s:
    """Drop the stretches that end before the cti. Returns the first time from the cti on at which
    something changes in each slot."""
    due = np.empty(len(slots), np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        base, size = runs.first[slot], runs.size[slot]
        top, read = 0, 0
        while read < size and runs.ints[base + read, TIME] < cti:
            change = runs.ints[base + read, CHANGE]
            if change > 0:
                runs.ints[base + top, TIME] = runs.ints[base + read, TIME]
                runs.ints[base + top, CHANGE] = change
                top += 1
            while change < 0:
                ended = min(runs.ints[base + top - 1, CHANGE], -change)
                change += ended
                runs.ints[base + top - 1, CHANGE] -= ended
                if runs.ints[base + top - 1, CHANGE] == 0:
                    top -= 1
            read += 1
        depth = 0
        for place in range(top):
            depth += runs.ints[base + place, CHANGE]
            runs.ints[base + place, DEPTH] = depth
        due[number] = runs.ints[base + read, TIME] if read < size else INFINITY
        if read > top:
            for place in range(read, size):
                for column in range(COLUMNS):
                    runs.ints[base + top + place - read, column] = runs.ints[base + place, column]
            runs.size[slot] = top + size - read
    return due
