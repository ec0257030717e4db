"""The kernels of as-of joins.

A slot is a key. It has a run of the rows of the right in order of their time, and one of those of
the left. The match of a row of the left is found from its time backwards: the first row of the
right that is alive with it, and where that one is not, the next. If rows are only added, never end,
and start at their time, it is the last row of the right up to that time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Int64Table, Mask
from driftline.model.time import BEGINNING, INFINITY

TIME, TIE, MEMBER = range(3)
COLUMNS, ORDER = 3, 2
"""The words of an entry, and how many of them it is in the order of."""
NO_MATCH = -1


class AsOfMembers(NamedTuple):
    """By the number of a row: its lifetime, how many copies there are, and how many there were
    before the batch that is worked on."""

    vs: Int64s
    ve: Int64s
    copies: Int64s
    before: Int64s


@compiled
def affected(
    slots: Int64s,
    bounds: Int64s,
    order: Int64s,
    entries: Int64Table,
    strict: bool,
    rights: AsOfMembers,
    right_runs: RunArrays,
    left_runs: RunArrays,
    seen: Mask,
) -> tuple[Int64s, Int64s]:
    """The rows of the left, and their slots, for which rows of the right that come or go may be the
    match: those up to the next row of the right that stays and is alive whenever they are. `seen`
    is false, and is so again afterwards."""
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
                    covers = rights.vs[other] <= rights.vs[member]
                    if covers and rights.ve[other] >= rights.ve[member]:
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


@compiled
def _grown(array: Int64s) -> Int64s:
    bigger = np.empty(2 * len(array), np.int64)
    bigger[: len(array)] = array
    return bigger


@compiled
def _before(run: Int64Table, time: int) -> int:
    """How many entries of a run are before a time."""
    low, high = 0, len(run)
    while low < high:
        middle = (low + high) // 2
        if run[middle, TIME] < time:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def matches(
    slots: Int64s,
    times: Int64s,
    vs: Int64s,
    ve: Int64s,
    present: Int64s,
    padded: bool,
    strict: bool,
    rights: AsOfMembers,
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


@compiled
def latest(slots: Int64s, times: Int64s, strict: bool, runs: RunArrays) -> Int64s:
    """The matches of rows of the left by time alone (NO_MATCH: none; a slot of -1 has no rows)."""
    found = np.full(len(slots), NO_MATCH, np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        if slot < 0 or runs.size[slot] == 0:
            continue
        first, until = runs.first[slot], times[number] if strict else times[number] + 1
        last = first + runs.size[slot] - 1
        if runs.ints[last, TIME] >= until:
            last = first + _before(runs.ints[first:last], until) - 1
        if last >= first:
            found[number] = runs.ints[last, MEMBER]
    return found


@compiled
def rematched(
    slots: Int64s,
    bounds: Int64s,
    places: Int64s,
    strict: bool,
    right_runs: RunArrays,
    left_runs: RunArrays,
) -> tuple[Int64s, Int64s, Int64s]:
    """The rows of the left that have another match by time alone, since entries were added to the
    runs of the right (their `places`, in order, are by slots as in `take_in`): the match of each
    before, and now."""
    rows, before, now = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    made = 0
    for number in range(len(slots)):
        slot = slots[number]
        lefts = left_runs.ints[left_runs.first[slot] : left_runs.first[slot] + left_runs.size[slot]]
        if len(lefts) == 0:
            continue
        run = right_runs.ints[
            right_runs.first[slot] : right_runs.first[slot] + right_runs.size[slot]
        ]
        previous = NO_MATCH
        for added in range(bounds[number], bounds[number + 1]):
            place = places[added]
            if added == bounds[number] or places[added - 1] < place - 1:
                previous = run[place - 1, MEMBER] if place > 0 else NO_MATCH
            time = run[place, TIME]
            limit = run[place + 1, TIME] if place + 1 < len(run) else INFINITY
            for entry in range(_before(lefts, time + 1 if strict else time), len(lefts)):
                then = lefts[entry, TIME]
                if then > limit or (then == limit and not strict):
                    break
                if made == len(rows):
                    rows, before, now = _grown(rows), _grown(before), _grown(now)
                rows[made], before[made] = lefts[entry, MEMBER], previous
                now[made] = run[place, MEMBER]
                made += 1
    return rows[:made].copy(), before[:made].copy(), now[:made].copy()


@compiled
def drop(slots: Int64s, cti: int, members: AsOfMembers, runs: RunArrays) -> Int64s:
    """Drop rows that are gone, or have ended. Returns the members."""
    gone, found = np.empty(16, np.int64), 0
    for number in range(len(slots)):
        slot = slots[number]
        base, size = runs.first[slot], runs.size[slot]
        write = 0
        for place in range(size):
            entry = base + place
            member = runs.ints[entry, MEMBER]
            if members.copies[member] == 0 or members.ve[member] <= cti:
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


@compiled
def settle_forward(
    slots: Int64s,
    cti: int,
    strict: bool,
    lefts: AsOfMembers,
    left_runs: RunArrays,
    rights: AsOfMembers,
    right_runs: RunArrays,
) -> None:
    """Where the match is the next row, and rows start when they are: mark the rows of the right
    before a cti as gone, and the rows of the left that have one of them as their match."""
    for number in range(len(slots)):
        slot = slots[number]
        first, last = right_runs.first[slot], BEGINNING
        for entry in range(first, first + right_runs.size[slot]):
            member = right_runs.ints[entry, MEMBER]
            if rights.vs[member] < cti:
                last = max(last, rights.vs[member])
                rights.copies[member] = rights.before[member] = 0
        first = left_runs.first[slot]
        for entry in range(first, first + left_runs.size[slot]):
            member = left_runs.ints[entry, MEMBER]
            if lefts.vs[member] < last or (lefts.vs[member] == last and not strict):
                lefts.copies[member] = lefts.before[member] = 0


@compiled
def due(slots: Int64s, members: AsOfMembers, by_start: bool, runs: RunArrays) -> Int64s:
    """From which cti on something of each slot can be dropped: rows that have ended, or with
    `by_start` that have begun."""
    times = np.full(len(slots), INFINITY, np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        base, size = runs.first[slot], runs.size[slot]
        for place in range(size):
            member = runs.ints[base + place, MEMBER]
            times[number] = min(times[number], members.ve[member])
            if by_start:
                times[number] = min(times[number], members.vs[member] + 1)
    return times


@compiled
def drop_before(slots: Int64s, cti: int, keeps_last: bool, runs: RunArrays) -> Int64s:
    """Drop the rows whose time is before a cti, but with `keeps_last` the last of these. Returns
    the members."""
    gone, found = np.empty(64, np.int64), 0
    for number in range(len(slots)):
        slot = slots[number]
        first = runs.first[slot]
        dropped = _before(runs.ints[first : first + runs.size[slot]], cti)
        if keeps_last:
            dropped = max(dropped - 1, 0)
        while found + dropped > len(gone):
            gone = _grown(gone)
        for entry in range(first, first + dropped):
            gone[found] = runs.ints[entry, MEMBER]
            found += 1
        runs.first[slot] += dropped
        runs.size[slot] -= dropped
        runs.room[slot] -= dropped
    return gone[:found].copy()


@compiled
def due_by_time(slots: Int64s, keeps_last: bool, runs: RunArrays) -> Int64s:
    """From which cti on `drop_before` drops something of each slot."""
    times = np.full(len(slots), INFINITY, np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        if runs.size[slot] > keeps_last:
            times[number] = runs.ints[runs.first[slot] + (1 if keeps_last else 0), TIME] + 1
    return times
