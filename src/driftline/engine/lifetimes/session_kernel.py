"""The kernels of sessions.

A slot is a key. Its run holds the rows of the key in order of their start: the start, the number of
the row (its member), the end of the session that it is in, the one that it will be in after the
batch that is worked on, and in which pieces it was emitted. A session is the stretch of entries
that have one end: sessions follow each other, and so do their ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import BEGINNING, INFINITY

START, MEMBER, END, NEW_END, LAST, BEFORE = range(6)
COLUMNS, ORDER = 6, 1
"""LAST: where the last piece that was emitted of a row begins; BEFORE: where the one before that
does, if it may still be cut."""
UNKNOWN = BEGINNING
"""The end of a session that a row is not in yet."""


class Members(NamedTuple):
    """By the number of a row: how many copies of it there are, how many were emitted, and when it
    ends."""

    copies: Int64s
    emitted: Int64s
    ve: Int64s


class SessionPieces(NamedTuple):
    """Signed lifetimes of members, and the session that each is about."""

    member: Int64s
    vs: Int64s
    ve: Int64s
    weight: Int64s
    first: Int64s
    end: Int64s


@inlined
def later(time: int, duration: int) -> int:
    """`time + duration`, of a duration that is not negative; infinity absorbs, and nothing goes
    past it. (`INFINITY - time` would wrap around for times before 0.)"""
    if duration == INFINITY or time >= INFINITY - duration:
        return INFINITY
    return time + duration


@compiled
def find_sessions(
    slots: Int64s,
    earliest: Int64s,
    latest: Int64s,
    gap: int,
    at_most: int,
    members: Members,
    runs: RunArrays,
) -> tuple[Int64s, Int64s]:
    """Find the new sessions of slots whose rows change between two starts. Returns of each slot
    from which entry on, and up to which one, they may be others."""
    begins, stops = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        run = runs.ints[runs.first[slot] : runs.first[slot] + runs.size[slot]]
        begin = np.searchsorted(run[:, START], earliest[number])
        if begin > 0 and run[begin - 1, END] >= earliest[number]:
            end = run[begin - 1, END]
            while begin > 0 and run[begin - 1, END] == end:
                begin -= 1
        begins[number] = begin
        old_end = run[begin - 1, END] if begin > 0 else UNKNOWN
        end, longest, head = UNKNOWN, INFINITY, begin
        place = begin
        while place < len(run):
            start = run[place, START]
            here = members.copies[run[place, MEMBER]] > 0
            if here and (end == UNKNOWN or start > end or start >= longest):
                old = run[place, END]
                if start > latest[number] and old != UNKNOWN and old != old_end:
                    break  # here a session began before, too
                _close(run, head, place, end)
                head = place
                longest = later(start, at_most)
            if here:
                end = min(later(start, gap), longest)
            if run[place, END] != UNKNOWN:
                old_end = run[place, END]
            place += 1
        _close(run, head, place, end)
        stops[number] = place
    return begins, stops


@compiled
def _close(run: Int64Table, begin: int, stop: int, end: int) -> None:
    for place in range(begin, stop):
        run[place, NEW_END] = end


@compiled
def lifetimes(
    slots: Int64s, begins: Int64s, stops: Int64s, cti: int, members: Members, runs: RunArrays
) -> SessionPieces:
    """By what the rows change that live until their session ends. A piece that began before the cti
    is left as it is, and what comes after it is a piece of its own."""
    room = 0
    for number in range(len(slots)):
        room += 3 * (stops[number] - begins[number])
    made, out = 0, np.empty((room, 4), np.int64)
    for number in range(len(slots)):
        base = runs.first[slots[number]]
        for entry in range(base + begins[number], base + stops[number]):
            row = runs.ints[entry]
            member, start, old, new = row[MEMBER], row[START], row[END], row[NEW_END]
            was, now = members.emitted[member], members.copies[member]
            last = row[LAST]
            if was != now:
                if was > 0:
                    made = _put(out, made, member, last, old, -was)
                if now > 0:
                    made = _put(out, made, member, start, new, now)
                row[LAST] = row[BEFORE] = start
            elif was == 0 or old == new:
                continue
            elif new > old and last < cti:
                made = _put(out, made, member, old, new, now)
                row[BEFORE], row[LAST] = last, old
            else:
                made = _put(out, made, member, last, old, -now)
                if last < new:
                    made = _put(out, made, member, last, new, now)
                else:
                    if new < last:
                        made = _put(out, made, member, row[BEFORE], last, -now)
                        made = _put(out, made, member, row[BEFORE], new, now)
                    row[LAST] = row[BEFORE]
    nothing = np.empty(0, np.int64)
    return SessionPieces(
        out[:made, 0].copy(), out[:made, 1].copy(), out[:made, 2].copy(), out[:made, 3].copy(),
        nothing, nothing,
    )  # fmt: skip


@inlined
def _put(out: Int64Table, made: int, member: int, vs: int, ve: int, weight: int) -> int:
    out[made, 0], out[made, 1], out[made, 2], out[made, 3] = member, vs, ve, weight
    return made + 1


@compiled
def columns(
    slots: Int64s,
    begins: Int64s,
    stops: Int64s,
    earliest: Int64s,
    gap: int,
    at_most: int,
    members: Members,
    runs: RunArrays,
    most: int,
) -> SessionPieces:
    """The rows of changed sessions with these as columns: as they were emitted, taken back, and as
    they are now; without what ended before the first change. It stops when there are more than
    `most` pieces."""
    out, made = np.empty((64, 6), np.int64), 0
    for number in range(len(slots)):
        base = runs.first[slots[number]]
        run = runs.ints[base + begins[number] : base + stops[number]]
        for which, copies, sign in ((END, members.emitted, -1), (NEW_END, members.copies, 1)):
            starts = np.empty(len(run), np.int64)
            head = 0
            while head < len(run):
                stop = head + 1
                end = UNKNOWN
                if copies[run[head, MEMBER]] > 0:
                    end = run[head, which]
                else:
                    head += 1
                    continue
                while stop < len(run) and (
                    copies[run[stop, MEMBER]] == 0 or run[stop, which] == end
                ):
                    stop += 1
                distinct = 0
                for place in range(head, stop):
                    if copies[run[place, MEMBER]] > 0 and (
                        distinct == 0 or starts[distinct - 1] != run[place, START]
                    ):
                        starts[distinct] = run[place, START]
                        distinct += 1
                for place in range(head, stop):
                    member = run[place, MEMBER]
                    if copies[member] == 0 or made > most:
                        continue
                    nth = np.searchsorted(starts[:distinct], run[place, START])
                    late = np.searchsorted(starts[:distinct], earliest[number]) - 1
                    for each in range(max(nth, late), distinct):
                        until = starts[each + 1] if each + 1 < distinct else INFINITY
                        until = min(until, members.ve[member])
                        since = starts[each]
                        if since >= until or until < earliest[number]:
                            continue
                        if made == len(out):
                            bigger = np.empty((2 * made, 6), np.int64)
                            bigger[:made] = out
                            out = bigger
                        _put(out, made, member, since, until, sign * copies[member])
                        out[made, 4] = starts[0]
                        out[made, 5] = min(later(since, gap), later(starts[0], at_most))
                        made += 1
                head = stop
    return SessionPieces(
        out[:made, 0].copy(), out[:made, 1].copy(), out[:made, 2].copy(), out[:made, 3].copy(),
        out[:made, 4].copy(), out[:made, 5].copy(),
    )  # fmt: skip


@compiled
def settle(
    slots: Int64s, begins: Int64s, stops: Int64s, members: Members, runs: RunArrays, apart: bool
) -> Int64s:
    """What is new is what was emitted, now. Returns the members that are gone. `apart`: the runs
    are those of `session_members_kernel`."""
    gone, found = np.empty(0, np.int64), 0
    for number in range(len(slots)):
        slot = slots[number]
        base = runs.first[slot]
        write = base + begins[number]
        for entry in range(write, base + runs.size[slot]):
            member = runs.ints[entry, MEMBER]
            if entry < base + stops[number]:
                members.emitted[member] = members.copies[member]
                if members.copies[member] == 0:
                    if found == len(gone):
                        bigger = np.empty(2 * found + 16, np.int64)
                        bigger[:found] = gone
                        gone = bigger
                    gone[found] = member
                    found += 1
                    continue
                runs.ints[entry, END] = runs.ints[entry, NEW_END]
                if apart:
                    runs.ints[entry, LAST] = runs.ints[entry, BEFORE]
            elif write == entry:
                break
            for column in range(COLUMNS):
                runs.ints[write, column] = runs.ints[entry, column]
            write += 1
        else:
            runs.size[slot] = write - base
    return gone[:found].copy()


@compiled
def next_ends(slots: Int64s, runs: RunArrays) -> Int64s:
    """When the first session of each slot ends; ∞ if it has none."""
    ends = np.full(len(slots), INFINITY, np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        if runs.size[slot] > 0:
            ends[number] = runs.ints[runs.first[slot], END]
    return ends


@compiled
def evict(slots: Int64s, cti: int, members: Members, keeps: bool, runs: RunArrays) -> Int64s:
    """Drop the sessions that have ended; with `keeps` only those all of whose rows have, too.
    Returns the members that are gone."""
    gone, found = np.empty(16, np.int64), 0
    for number in range(len(slots)):
        slot = slots[number]
        dropped, place, last = 0, 0, UNKNOWN
        ended = True
        while place < runs.size[slot] and ended:
            entry = runs.first[slot] + place
            end = runs.ints[entry, END]
            ended = end < cti and (not keeps or members.ve[runs.ints[entry, MEMBER]] < cti)
            if end != last:
                dropped, last = place, end
            place += 1
        if ended:
            dropped = place
        if found + dropped > len(gone):
            bigger = np.empty(2 * (found + dropped), np.int64)
            bigger[:found] = gone[:found]
            gone = bigger
        for place in range(dropped):
            gone[found] = runs.ints[runs.first[slot] + place, MEMBER]
            found += 1
        runs.first[slot] += dropped
        runs.size[slot] -= dropped
        runs.room[slot] -= dropped
    return gone[:found].copy()
