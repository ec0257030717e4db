"""The kernels of sessions whose end is told apart from their rows.

A slot is a key. Its run holds the rows of the key in order of their start: the start, the number of
the row (its member), the first start of its session, that after the batch that is worked on, and
the latest end of the rows of its session up to this one, before and after the batch. A session is
the stretch of entries that have one first start; its parts are those with the same fingerprint.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.lifetimes.session_kernel import MEMBER, START, UNKNOWN, Members, Pieces
from driftline.engine.state.runs import RunArrays
from driftline.model.arrays import Int64s
from driftline.model.compiled import njit
from driftline.model.time import BEGINNING, INFINITY

FIRST, NEW_FIRST, LATEST, NEW_LATEST = range(2, 6)


class Parts(NamedTuple):
    """By the number of a row: the fingerprint of the part of a session that it is in. Without
    `are_several` a session is one part, and nothing is noted."""

    low: Int64s
    high: Int64s
    are_several: bool


@njit(cache=True, nogil=True)
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
        first, end, until = UNKNOWN, UNKNOWN, BEGINNING
        if begin > 0:
            first, until = run[begin - 1, FIRST], run[begin - 1, LATEST]
            end = session_end(run[begin - 1, START], first, gap, at_most)
        place = begin
        others, count = np.empty(8, np.int64), 0  # of whose parts another row is the last
        while place < len(run):
            start, member = run[place, START], run[place, MEMBER]
            if members.copies[member] > 0:
                longest = first + at_most if at_most < INFINITY - first else INFINITY
                if first == UNKNOWN or start > end or start >= longest:
                    first, until, count = start, BEGINNING, 0
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
                if (members.emitted[member] > 0) != (members.copies[member] > 0):
                    others, count = _noted(others, count, member, parts)
                elif members.copies[member] > 0:
                    count = _without(others, count, member, parts)
            place += 1
        begins[number], stops[number] = begin, place
    return begins, stops


@njit(inline="always")
def session_end(last: int, first: int, gap: int, at_most: int) -> int:
    """The end of a session from its first start to its last."""
    end = last + gap if gap < INFINITY - last else INFINITY
    longest = first + at_most if at_most < INFINITY - first else INFINITY
    return min(end, longest)


@njit(cache=True, nogil=True)
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
) -> Pieces:
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
    return Pieces(
        out[:made, 0].copy(), out[:made, 1].copy(), out[:made, 2].copy(), out[:made, 3].copy(),
        out[:made, 4].copy(), out[:made, 5].copy(),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _with_room(out: Int64s, made: int, count: int) -> Int64s:
    """Room for so many more."""
    if made + count <= len(out):
        return out
    bigger = np.empty((2 * (made + count), out.shape[1]), np.int64)
    bigger[:made] = out[:made]
    return bigger


@njit(cache=True, nogil=True)
def _ends(
    out: Int64s,
    made: int,
    run: Int64s,
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
) -> tuple[Int64s, int]:
    """The ends of sessions from every start to the next of the session, or until no row of it is
    left: one for each part. What stands behind `stop` is as it was."""
    found, count, session = np.empty(8, np.int64), 0, UNKNOWN
    if parts.are_several and begin > 0:
        session = run[begin - 1, first]
        for place in range(np.searchsorted(run[:begin, first], session), begin):
            if copies[run[place, MEMBER]] > 0:
                found, count = _noted(found, count, run[place, MEMBER], parts)
    place = begin
    while place < stop and made <= most:
        if copies[run[place, MEMBER]] == 0:
            place += 1
            continue
        if run[place, first] != session:
            session, count = run[place, first], 0
        start, last, following = run[place, START], place, place + 1
        found, count = _noted(found, count, run[place, MEMBER], parts)
        while following < len(run):
            if copies[run[following, MEMBER]] > 0:
                if run[following, START] > start:
                    break
                last = following
                found, count = _noted(found, count, run[last, MEMBER], parts)
            following += 1
        until = run[last, latest]
        if following < len(run) and run[following, first] == session:
            until = min(until, run[following, START])
        if start < until:
            end = session_end(start, session, gap, at_most)
            if parts.are_several:
                out = _with_room(out, made, count)
            for part in range(count):
                made = _put(out, made, found[part], start, until, weight, session, end)
        place = following
    return out, made


@njit(cache=True, nogil=True)
def _noted(found: Int64s, count: int, member: int, parts: Parts) -> tuple[Int64s, int]:
    """Note a member as the last one of its part; they are in order of the fingerprints of these.
    Returns all, and how many there are."""
    here = _place_of(found, count, member, parts)
    if here < count and _compared(found[here], member, parts) == 0:
        found[here] = member
        return found, count
    if count == len(found):
        bigger = np.empty(2 * count, np.int64)
        bigger[:count] = found
        found = bigger
    for place in range(count, here, -1):
        found[place] = found[place - 1]
    found[here] = member
    return found, count + 1


@njit(cache=True, nogil=True)
def _without(found: Int64s, count: int, member: int, parts: Parts) -> int:
    """Take the member of some part out, if there is one. Returns how many are left."""
    here = _place_of(found, count, member, parts)
    if here == count or _compared(found[here], member, parts) != 0:
        return count
    for place in range(here, count - 1):
        found[place] = found[place + 1]
    return count - 1


@njit(cache=True, nogil=True)
def _place_of(found: Int64s, count: int, member: int, parts: Parts) -> int:
    """The first place of a member that is not of an earlier part."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if _compared(found[middle], member, parts) < 0:
            low = middle + 1
        else:
            high = middle
    return low


@njit(inline="always")
def _compared(one: int, other: int, parts: Parts) -> int:
    """Which of two members is of the part that comes first: the one (-1), the other (1), or both
    (0)."""
    if not parts.are_several:
        return 0
    if parts.low[one] != parts.low[other]:
        return -1 if parts.low[one] < parts.low[other] else 1
    if parts.high[one] != parts.high[other]:
        return -1 if parts.high[one] < parts.high[other] else 1
    return 0


@njit(cache=True, nogil=True)
def _consolidated(out: Int64s, before: int, now: int, made: int, parts: Parts) -> int:
    """Leave out what is the same in two lists, which follow each other and are in order of starts
    and parts: what was, and what is now. Returns how much is made then."""
    old, new = before, now
    while old < now and new < made:
        order = _compared(out[old, 0], out[new, 0], parts)
        if out[old, 1] < out[new, 1] or (out[old, 1] == out[new, 1] and order < 0):
            old += 1
        elif out[old, 1] > out[new, 1] or order > 0:
            new += 1
        else:
            same = out[old, 0] == out[new, 0] and out[old, 2] == out[new, 2]
            if same and out[old, 4] == out[new, 4] and out[old, 5] == out[new, 5]:
                out[old, 3] = out[new, 3] = 0
            old += 1
            new += 1
    kept = before
    for piece in range(before, made):
        if out[piece, 3] != 0:
            if kept < piece:
                for column in range(6):
                    out[kept, column] = out[piece, column]
            kept += 1
    return kept


@njit(inline="always")
def _put(
    out: Int64s, made: int, member: int, vs: int, ve: int, weight: int, first: int, end: int
) -> int:
    out[made, 0], out[made, 1], out[made, 2], out[made, 3] = member, vs, ve, weight
    out[made, 4], out[made, 5] = first, end
    return made + 1


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _first_repeated(run: Int64s, parts: Parts) -> int:
    """The first entry of another session than the first one, or of a part that there is before."""
    if not parts.are_several:
        return 1
    found, count = np.empty(8, np.int64), 0
    for place in range(len(run)):
        before = count
        found, count = _noted(found, count, run[place, MEMBER], parts)
        if count == before or run[place, FIRST] != run[0, FIRST]:
            return place
    return len(run)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _to_the_front(run: Int64s, stop: int, parts: Parts) -> int:
    """Of the entries before `stop`, put those first that are not the last of a part of the session
    that the last of them is in. Returns how many these are."""
    if not parts.are_several or stop == 0:
        return max(stop - 1, 0)
    last, count = np.empty(8, np.int64), 0
    kept, rest = run[:stop].copy(), stop
    write = 0
    for place in range(stop - 1, -1, -1):
        before = count
        if kept[place, FIRST] == kept[stop - 1, FIRST]:
            last, count = _noted(last, count, kept[place, MEMBER], parts)
        if count > before:
            rest -= 1
            run[rest] = kept[place]
        else:
            kept[place, NEW_FIRST] = UNKNOWN
    for place in range(stop):
        if kept[place, NEW_FIRST] == UNKNOWN:
            run[write] = kept[place]
            write += 1
    return rest
