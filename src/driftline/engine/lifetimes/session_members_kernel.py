"""The kernels of sessions whose end is told apart from their rows.

A slot is a key. Its run holds the rows of the key in order of their start: the start, the number of
the row (its member), the first start of its session, that after the batch that is worked on, and
the latest end of the rows of its session up to this one, before and after the batch. A session is
the stretch of entries that have one first start; its parts are those with the same fingerprint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.lifetimes.session_kernel import (
    MEMBER,
    START,
    UNKNOWN,
    Members,
    SessionPieces,
    later,
)
from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import BEGINNING, INFINITY

FIRST, NEW_FIRST, LATEST, NEW_LATEST = range(2, 6)
NO_SESSION = INFINITY
"""The first start of none: no row starts then."""


class Parts(NamedTuple):
    """By the number of a row: the fingerprint of the part of a session that it is in. Without
    `are_several` a session is one part, and nothing is noted."""

    low: Int64s
    high: Int64s
    are_several: bool


@compiled
def find_sessions(
    slots: Int64s,
    earliest: Int64s,
    latest: Int64s,
    gap: int,
    at_most: int,
    members: Members,
    parts: Parts,
    runs: RunArrays,
) -> tuple[Int64s, Int64s]:
    """Find the new sessions of slots whose rows change between two starts. Returns of each slot
    from which entry on, and up to which one, they may be others, or the last rows of their parts
    are."""
    begins, stops = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        run = runs.ints[runs.first[slot] : runs.first[slot] + runs.size[slot]]
        begin = np.searchsorted(run[:, START], earliest[number])
        first, end, until = NO_SESSION, UNKNOWN, BEGINNING
        if begin > 0:
            first, until = run[begin - 1, FIRST], run[begin - 1, LATEST]
            end = session_end(run[begin - 1, START], first, gap, at_most)
        place = begin
        others, is_other, count = _no_parts(), np.zeros(8, np.bool_), 0
        while place < len(run):
            start, member = run[place, START], run[place, MEMBER]
            if members.copies[member] > 0:
                if first == NO_SESSION or start > end or start >= later(first, at_most):
                    first, until = start, BEGINNING
                    if count > 0:
                        others, count = _no_parts(), 0
                        is_other[:] = False
                end = session_end(start, first, gap, at_most)
                until = max(until, members.ve[member])
                if (
                    start > latest[number]
                    and run[place - 1, START] < start
                    and run[place, FIRST] == first
                    and run[place, LATEST] == until
                    and count == 0
                ):
                    break  # from here on all is as before
                run[place, NEW_FIRST], run[place, NEW_LATEST] = first, until
            if parts.are_several:
                # Of which parts another row is the last.
                if (members.emitted[member] > 0) != (members.copies[member] > 0):
                    part, others = _noted(others, member, parts)
                    if part == len(is_other):
                        is_other = np.concatenate((is_other, np.zeros(part, np.bool_)))
                    count += not is_other[part]
                    is_other[part] = True
                elif members.copies[member] > 0 and count > 0:
                    part = _part_of(others, member, parts)
                    if part >= 0 and is_other[part]:
                        is_other[part] = False
                        count -= 1
            place += 1
        begins[number], stops[number] = begin, place
    return begins, stops


@inlined
def session_end(last: int, first: int, gap: int, at_most: int) -> int:
    """The end of a session from its first start to its last."""
    return min(later(last, gap), later(first, at_most))


@compiled
def changes(
    slots: Int64s,
    begins: Int64s,
    stops: Int64s,
    gap: int,
    at_most: int,
    members: Members,
    parts: Parts,
    runs: RunArrays,
    most: int,
) -> SessionPieces:
    """By what the members of changed sessions change, which have no end (`UNKNOWN`), and what their
    sessions end at from each start to the next: a lifetime of the last member of each part. It
    stops when there are more than `most` pieces."""
    room = 0
    for number in range(len(slots)):
        room += 4 * (stops[number] - begins[number]) + 4
    out, made = np.empty((room, 6), np.int64), 0
    for number in range(len(slots)):
        slot = slots[number]
        run = runs.ints[runs.first[slot] : runs.first[slot] + runs.size[slot]]
        begin, stop = begins[number], stops[number]
        if parts.are_several:
            out = _with_room(out, made, 2 * (stop - begin))
        for place in range(begin, stop):
            member = run[place, MEMBER]
            was, now = members.emitted[member], members.copies[member]
            old, new = run[place, FIRST], run[place, NEW_FIRST]
            if was == now and old == new:
                continue
            vs, ve = run[place, START], members.ve[member]
            if was > 0 and now > 0 and old == new:
                made = _put(out, made, member, vs, ve, now - was, new, UNKNOWN)
                continue
            if was > 0:
                made = _put(out, made, member, vs, ve, -was, old, UNKNOWN)
            if now > 0:
                made = _put(out, made, member, vs, ve, now, new, UNKNOWN)
        if begin > 0:
            begin = np.searchsorted(run[:, START], run[begin - 1, START])
        before = made
        out, made = _ends(
            out, made, run, begin, stop, members.emitted, parts, FIRST, LATEST, -1, gap, at_most,
            most,
        )  # fmt: skip
        now_from = made
        out, made = _ends(
            out, made, run, begin, stop, members.copies, parts, NEW_FIRST, NEW_LATEST, 1, gap,
            at_most, most,
        )  # fmt: skip
        if made > most:
            break
        made = _consolidated(out, before, now_from, made, parts)
    return SessionPieces(
        out[:made, 0].copy(), out[:made, 1].copy(), out[:made, 2].copy(), out[:made, 3].copy(),
        out[:made, 4].copy(), out[:made, 5].copy(),
    )  # fmt: skip


@compiled
def _with_room(out: Int64Table, made: int, count: int) -> Int64Table:
    """Room for so many more."""
    if made + count <= len(out):
        return out
    bigger = np.empty((2 * (made + count), out.shape[1]), np.int64)
    bigger[:made] = out[:made]
    return bigger


@compiled
def _ends(
    out: Int64Table,
    made: int,
    run: Int64Table,
    begin: int,
    stop: int,
    copies: Int64s,
    parts: Parts,
    first: int,
    latest: int,
    weight: int,
    gap: int,
    at_most: int,
    most: int,
) -> tuple[Int64Table, int]:
    """The ends of sessions from every start to the next of the session, or until no row of it is
    left: one for each part. What stands behind `stop` is as it was."""
    found, session = _no_parts(), NO_SESSION
    if parts.are_several and begin > 0:
        session = run[begin - 1, first]
        for place in range(np.searchsorted(run[:begin, first], session), begin):
            if copies[run[place, MEMBER]] > 0:
                _, found = _noted(found, run[place, MEMBER], parts)
    place = begin
    while place < stop and made <= most:
        if copies[run[place, MEMBER]] == 0:
            place += 1
            continue
        if run[place, first] != session:
            session, found = run[place, first], _no_parts()
        start, last, following = run[place, START], place, place + 1
        _, found = _noted(found, run[place, MEMBER], parts)
        while following < len(run):
            if copies[run[following, MEMBER]] > 0:
                if run[following, START] > start:
                    break
                last = following
                _, found = _noted(found, run[last, MEMBER], parts)
            following += 1
        until = run[last, latest]
        if following < len(run) and run[following, first] == session:
            until = min(until, run[following, START])
        if start < until:
            end = session_end(start, session, gap, at_most)
            if parts.are_several:
                out = _with_room(out, made, found.size)
            for part in range(found.size):
                made = _put(out, made, found.last[part], start, until, weight, session, end)
        place = following
    return out, made


class Found(NamedTuple):
    """The parts that were found, each with its last member, in the order in which they were; by the
    hash of a part its number in `table`, or -1."""

    last: Int64s
    table: Int64s
    size: int


@compiled
def _no_parts() -> Found:
    return Found(np.empty(8, np.int64), np.full(16, -1, np.int64), 0)


@compiled
def _noted(found: Found, member: int, parts: Parts) -> tuple[int, Found]:
    """Note a member as the last one of its part; returns the number of that."""
    part = _part_of(found, member, parts)
    if part >= 0:
        found.last[part] = member
        return part, found
    last, table, part = found.last, found.table, found.size
    if part == len(last):
        last = np.empty(2 * part, np.int64)
        last[:part] = found.last
        table = np.full(4 * part, -1, np.int64)
        for number in range(part):
            table[_free(table, last[number], parts)] = number
    last[part] = member
    table[_free(table, member, parts)] = part
    return part, Found(last, table, part + 1)


@inlined
def _hash(member: int, parts: Parts) -> int:
    return parts.low[member] if parts.are_several else 0


@compiled
def _free(table: Int64s, member: int, parts: Parts) -> int:
    """The first free place for the part of a member."""
    place = _hash(member, parts) & (len(table) - 1)
    while table[place] >= 0:
        place = (place + 1) & (len(table) - 1)
    return place


@compiled
def _part_of(found: Found, member: int, parts: Parts) -> int:
    """The number of the part of a member, or -1 if it is none of those that were found."""
    place = _hash(member, parts) & (len(found.table) - 1)
    while found.table[place] >= 0:
        if _are_one(found.last[found.table[place]], member, parts):
            return int(found.table[place])
        place = (place + 1) & (len(found.table) - 1)
    return -1


@inlined
def _are_one(one: int, other: int, parts: Parts) -> bool:
    """Whether two members are of one part."""
    return not parts.are_several or (
        parts.low[one] == parts.low[other] and parts.high[one] == parts.high[other]
    )


@compiled
def _consolidated(out: Int64Table, before: int, now: int, made: int, parts: Parts) -> int:
    """Leave out what is the same in two lists, which follow each other and are in order of their
    starts: what was, and what is now. Returns how much is made then."""
    old, new = before, now
    while old < now and new < made:
        if out[old, 1] < out[new, 1]:
            old += 1
            continue
        if out[old, 1] > out[new, 1]:
            new += 1
            continue
        start, first, stop = out[old, 1], old, old
        while stop < now and out[stop, 1] == start:
            stop += 1
        found = _no_parts()
        while new < made and out[new, 1] == start:
            if old < stop and _are_one(out[old, 0], out[new, 0], parts):
                _cancel(out, old, new)
            else:
                if found.size == 0:
                    for piece in range(first, stop):
                        _, found = _noted(found, out[piece, 0], parts)
                part = _part_of(found, out[new, 0], parts)
                if part >= 0:
                    _cancel(out, first + part, new)
            old += 1
            new += 1
        old = stop
    kept = before
    for piece in range(before, made):
        if out[piece, 3] != 0:
            if kept < piece:
                for column in range(6):
                    out[kept, column] = out[piece, column]
            kept += 1
    return kept


@inlined
def _cancel(out: Int64Table, old: int, new: int) -> None:
    """Leave two pieces out if they are the same."""
    same = out[old, 0] == out[new, 0] and out[old, 2] == out[new, 2]
    if same and out[old, 4] == out[new, 4] and out[old, 5] == out[new, 5]:
        out[old, 3] = out[new, 3] = 0


@inlined
def _put(
    out: Int64Table, made: int, member: int, vs: int, ve: int, weight: int, first: int, end: int
) -> int:
    out[made, 0], out[made, 1], out[made, 2], out[made, 3] = member, vs, ve, weight
    out[made, 4], out[made, 5] = first, end
    return made + 1


@compiled
def next_due(
    slots: Int64s, gap: int, at_most: int, keeps: bool, parts: Parts, runs: RunArrays
) -> Int64s:
    """Which time a cti has to pass to evict something of each slot: see `evict`."""
    due = np.full(len(slots), INFINITY, np.int64)
    for number in range(len(slots)):
        slot = slots[number]
        run = runs.ints[runs.first[slot] : runs.first[slot] + runs.size[slot]]
        if len(run) == 0:
            continue
        place = len(run) if keeps else _first_repeated(run, parts)
        if place < len(run):
            due[number] = run[place, START]
            continue
        last = np.searchsorted(run[:, FIRST], run[0, FIRST], "right") - 1
        due[number] = session_end(run[last, START], run[0, FIRST], gap, at_most)
        if keeps:
            due[number] = max(due[number], run[last, LATEST])
    return due


@compiled
def _first_repeated(run: Int64Table, parts: Parts) -> int:
    """The first entry of another session than the first one, or of a part that there is before."""
    if not parts.are_several:
        return 1
    found = _no_parts()
    for place in range(len(run)):
        part, found = _noted(found, run[place, MEMBER], parts)
        if part < place or run[place, FIRST] != run[0, FIRST]:
            return place
    return len(run)


@compiled
def evict(
    slots: Int64s, cti: int, gap: int, at_most: int, keeps: bool, parts: Parts, runs: RunArrays
) -> Int64s:
    """Drop all rows that start before the cti but the last of each part of its session, and these,
    too, if the session has ended; with `keeps` only the sessions that have ended, and all of whose
    rows have. Returns the members that are gone."""
    gone, found = np.empty(16, np.int64), 0
    for number in range(len(slots)):
        slot = slots[number]
        run = runs.ints[runs.first[slot] : runs.first[slot] + runs.size[slot]]
        dropped = 0
        if not keeps:
            dropped = _to_the_front(run, int(np.searchsorted(run[:, START], cti)), parts)
        while dropped < len(run):
            first = int(run[dropped, FIRST])
            last = dropped + int(np.searchsorted(run[dropped:, FIRST], first, "right")) - 1
            end = session_end(run[last, START], first, gap, at_most)
            if end >= cti or (keeps and run[last, LATEST] >= cti):
                break
            dropped = last + 1
        if found + dropped > len(gone):
            bigger = np.empty(2 * (found + dropped), np.int64)
            bigger[:found] = gone[:found]
            gone = bigger
        for place in range(dropped):
            gone[found] = run[place, MEMBER]
            found += 1
        runs.first[slot] += dropped
        runs.size[slot] -= dropped
        runs.room[slot] -= dropped
    return gone[:found].copy()


@compiled
def _to_the_front(run: Int64Table, stop: int, parts: Parts) -> int:
    """Of the entries before `stop`, put those first that are not the last of a part of the session
    that the last of them is in. Returns how many these are."""
    if not parts.are_several or stop == 0:
        return max(stop - 1, 0)
    found, kept, rest = _no_parts(), run[:stop].copy(), stop
    write = 0
    for place in range(stop - 1, -1, -1):
        before = found.size
        if kept[place, FIRST] == kept[stop - 1, FIRST]:
            _, found = _noted(found, kept[place, MEMBER], parts)
        if found.size > before:
            rest -= 1
            run[rest] = kept[place]
        else:
            kept[place, NEW_FIRST] = NO_SESSION
    for place in range(stop):
        if kept[place, NEW_FIRST] == NO_SESSION:
            run[write] = kept[place]
            write += 1
    return rest
