"""The kernels of as-of joins.

A slot is a key. It has a run of the rows of the right in order of their time, and one of those of
the left. The match of a row of the left is found from its time backwards: the first row of the
right that is alive with it, and where that one is not, the next.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.state.runs import RunArrays
from driftline.model.arrays import Int64s, Mask
from driftline.model.compiled import njit
from driftline.model.time import INFINITY

TIME, TIE, MEMBER = range(3)
COLUMNS = 3
NO_MATCH = -1


class Members(NamedTuple):
    """By the number of a row: its lifetime, how many copies there are, and how many there were
    before the batch that is worked on."""

    vs: Int64s
    ve: Int64s
    copies: Int64s
    before: Int64s


@njit(cache=True, nogil=True)
def take_in(slots: Int64s, bounds: Int64s, order: Int64s, entries: Int64s, runs: RunArrays) -> None:
    """Merge new rows into the runs; those of the n-th slot are bounds[n] … bounds[n + 1] - 1 of
    `order`, which is in order of time."""
    for number in range(len(slots)):
        slot = slots[number]
        base, read = runs.first[slot], runs.size[slot] - 1
        added = bounds[number + 1] - bounds[number]
        write = read + added
        for place in range(bounds[number + 1] - 1, bounds[number] - 1, -1):
            item = order[place]
            time, tie = entries[item, TIME], entries[item, TIE]
            while read >= 0 and (
                runs.ints[base + read, TIME] > time
                or (runs.ints[base + read, TIME] == time and runs.ints[base + read, TIE] > tie)
            ):
                for column in range(COLUMNS):
                    runs.ints[base + write, column] = runs.ints[base + read, column]
                read -= 1
                write -= 1
            for column in range(COLUMNS):
                runs.ints[base + write, column] = entries[item, column]
            write -= 1
        runs.size[slot] += added


@njit(cache=True, nogil=True)
def affected(
    slots: Int64s,
    bounds: Int64s,
    order: Int64s,
    entries: Int64s,
    strict: bool,
    by_time: bool,
    rights: Members,
    right_runs: RunArrays,
    left_runs: RunArrays,
    seen: Mask,
) -> tuple[Int64s, Int64s]:
    """The rows of the left, and their slots, for which rows of the right that come or go may be the
    match: those up to the next row of the right that stays and is alive whenever they are. With
    `by_time` a row of the left starts at its time. `seen` is false, and is so again afterwards."""
    found, slot_of, made = np.empty(64, np.int64), np.empty(64, np.int64), 0
    for number in range(len(slots)):
        slot = slots[number]
        lefts = left_runs.ints[left_runs.first[slot] : left_runs.first[slot] + left_runs.size[slot]]
        if len(lefts) == 0:
            continue
        run = right_runs.ints[
            right_runs.first[slot] : right_runs.first[slot] + right_runs.size[slot]
        ]
        changed_from, changed_to = 0, 0  # nothing stays from the one up to the other
        seen_from, seen_to = 0, 0  # all rows of the left have been seen
        for place in range(bounds[number], bounds[number + 1]):
            item = order[place]
            member, time, tie = entries[item, MEMBER], entries[item, TIME], entries[item, TIE]
            later = _before(run, time)
            limit, reached = INFINITY, False
            start, skips = later, True
            while later < len(run) and not reached:
                if skips and changed_from <= later < changed_to:
                    later = changed_to
                    continue
                other, then = run[later, MEMBER], run[later, TIME]
                stays = rights.copies[other] > 0 and rights.before[other] > 0
                if stays and skips:
                    changed_from, changed_to, skips = start, later, False
                if stays and (then > time or run[later, TIE] > tie):
                    starts = max(rights.vs[member], then) if by_time else rights.vs[member]
                    if rights.vs[other] <= starts and rights.ve[other] >= rights.ve[member]:
                        limit, reached = then, True
                later += 1
            if skips:
                changed_from, changed_to = start, later
            first = _before(lefts, time + 1 if strict else time)
            entry = first
            while entry < len(lefts):
                if seen_from <= entry < seen_to:
                    entry = seen_to
                    continue
                then = lefts[entry, TIME]
                if reached and (then > limit or (then == limit and not strict)):
                    break
                left = lefts[entry, MEMBER]
                entry += 1
                if seen[left]:
                    continue
                seen[left] = True
                if made == len(found):
                    found, slot_of = _grown(found), _grown(slot_of)
                found[made], slot_of[made] = left, slot
                made += 1
            if first < seen_from or seen_to < first:
                seen_from = first
            seen_to = max(entry, first)
    for number in range(made):
        seen[found[number]] = False
    return found[:made].copy(), slot_of[:made].copy()


@njit(cache=True, nogil=True)
def _grown(array: Int64s) -> Int64s:
    bigger = np.empty(2 * len(array), np.int64)
    bigger[: len(array)] = array
    return bigger


@njit(cache=True, nogil=True)
def _before(run: Int64s, time: int) -> int:
    """How many entries of a run are before a time."""
    low, high = 0, len(run)
    while low < high:
        middle = (low + high) // 2
        if run[middle, TIME] < time:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def matches(
    slots: Int64s,
    times: Int64s,
    vs: Int64s,
    ve: Int64s,
    present: Int64s,
    padded: bool,
    strict: bool,
    rights: Members,
    runs: RunArrays,
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """The matches of rows of the left, over time: the number of each, the row of the right
    (NO_MATCH: none), from when and until when. `present`: how many copies of each row of the right
    there are."""
    room = max(16, 2 * len(slots))
    number_out, member_out = np.empty(room, np.int64), np.empty(room, np.int64)
    start_out, end_out = np.empty(room, np.int64), np.empty(room, np.int64)
    made = 0
    starts, ends = np.empty(16, np.int64), np.empty(16, np.int64)
    absent_slot, absent_from, absent_to = -1, -1, -1  # nothing is present after `to` up to `from`
    for number in range(len(slots)):
        slot = slots[number]
        open_parts = 1
        starts[0], ends[0] = vs[number], ve[number]
        place = -1
        if slot < len(runs.first):
            run = runs.ints[runs.first[slot] : runs.first[slot] + runs.size[slot]]
            latest = _before(run, times[number] if strict else times[number] + 1) - 1
            place = latest
            while place >= 0:
                if slot == absent_slot and absent_to < place <= absent_from:
                    place = absent_to
                elif present[run[place, MEMBER]] > 0:
                    break
                else:
                    place -= 1
            if slot != absent_slot or latest > absent_from:
                absent_slot, absent_from, absent_to = slot, latest, place
        while open_parts > 0:
            member, since, until = NO_MATCH, vs[number], ve[number]
            if place >= 0:
                member = run[place, MEMBER]
                place -= 1
                if present[member] <= 0:
                    continue
                since, until = rights.vs[member], rights.ve[member]
            elif not padded:
                break
            part = 0
            while part < open_parts:
                start, end = max(starts[part], since), min(ends[part], until)
                if start >= end:
                    part += 1
                    continue
                if made == room:
                    room *= 2
                    number_out, member_out = _grown(number_out), _grown(member_out)
                    start_out, end_out = _grown(start_out), _grown(end_out)
                number_out[made], member_out[made] = number, member
                start_out[made], end_out[made] = start, end
                made += 1
                before, after = starts[part] < start, end < ends[part]
                if before and after:
                    if open_parts == len(starts):
                        starts, ends = _grown(starts), _grown(ends)
                    starts[open_parts], ends[open_parts] = end, ends[part]
                    ends[part] = start
                    open_parts += 1
                    part += 1
                elif before:
                    ends[part] = start
                    part += 1
                elif after:
                    starts[part] = end
                    part += 1
                else:
                    open_parts -= 1
                    starts[part], ends[part] = starts[open_parts], ends[open_parts]
            if member == NO_MATCH:
                break
    return number_out[:made], member_out[:made], start_out[:made], end_out[:made]


@njit(cache=True, nogil=True)
def drop(
    slots: Int64s, cti: int, settled: bool, keeps_last: bool, members: Members, runs: RunArrays
) -> Int64s:
    """Drop rows that are gone, or have ended; with `settled` also those whose time is before the
    cti, but with `keeps_last` the last of these. Returns the members."""
    gone, found = np.empty(16, np.int64), 0
    for number in range(len(slots)):
        slot = slots[number]
        base, size = runs.first[slot], runs.size[slot]
        last = -1
        if settled and keeps_last:
            for place in range(size):
                if runs.ints[base + place, TIME] >= cti:
                    break
                if members.copies[runs.ints[base + place, MEMBER]] > 0:
                    last = place
        write = 0
        for place in range(size):
            entry = base + place
            member = runs.ints[entry, MEMBER]
            over = members.copies[member] == 0 or members.ve[member] <= cti
            over |= settled and runs.ints[entry, TIME] < cti and (not keeps_last or place < last)
            if over:
                if found == len(gone):
                    gone = _grown(gone)
                gone[found] = member
                found += 1
                continue
            for column in range(COLUMNS):
                runs.ints[base + write, column] = runs.ints[entry, column]
            write += 1
        runs.size[slot] = write
    return gone[:found].copy()


@njit(cache=True, nogil=True)
def due(
    slots: Int64s, settled: bool, keeps_last: bool, members: Members, runs: RunArrays
) -> Int64s:
    """From which cti on something of each slot can be dropped."""
    times = np.full(len(slots), INFINITY, np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        base, size = runs.first[slot], runs.size[slot]
        for place in range(size):
            times[number] = min(times[number], members.ve[runs.ints[base + place, MEMBER]])
        if settled and size > keeps_last:
            after = runs.ints[base + (1 if keeps_last else 0), TIME] + 1
            times[number] = min(times[number], after)
    return times
