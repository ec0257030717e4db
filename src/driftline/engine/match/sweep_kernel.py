"""All attempts of a partition, from one snapshot to the next.

The rows of a partition, its entries, are numbered in their order. The rows that are alive are a
sorted list of these numbers; what changes from one snapshot to the next lies between two of them.
Every attempt knows the last entry that it, or one before it, has looked at. So:

    attempts that have looked at no entry that changes stay as they are;
    from the first of the others on they are made again,
    until one begins where one of the old ones did, after all that changed: from there on the old
    ones stay (of rows in order of time, that are only added, nothing comes after what changed).

If rows are only added, in order of time, attempts that have not looked at the end are settled: what
comes later cannot change them. The others, from the first on, are open. Of each entry it is kept
where the open ones began when it was the last. A late row makes it necessary to start there again,
and when the open attempts begin where they did before, all that follows stays. While no open
attempt has a match, and conditions look only at a row and those before it, the open attempts are
simulated together instead (`thread_kernel`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.match.condition_kernel import Conditions, Lookups, Machine
from driftline.engine.match.program import Program
from driftline.engine.match.search_kernel import (
    BY_ATTEMPT,
    BY_SNAPSHOT,
    FORGET,
    FULL_STACK,
    NO_MATCH,
    NO_TARGET,
    Failed,
    attempt,
    next_start,
)
from driftline.engine.match.thread_kernel import (
    NOWHERE,
    Threads,
    advance,
    begin_threads,
    first_start,
    threads_of,
)
from driftline.engine.match.version_kernel import (
    SETTLED,
    UNTIL,
    Written,
    last_entry,
    put_match,
    put_unmatched,
    with_more_room,
    written,
)
from driftline.model.arrays import Int64s, Mask
from driftline.model.compiled import in_place, njit
from driftline.model.time import INFINITY

FINE, STEPS, SKIPS_NOWHERE, SKIPS_BACK, FULL = range(5)
FINISHED, MORE_AHEAD, MORE_BACK = range(3)
"""Whether a slot has been gone through, or needs more entries: after these, or before them."""
OPEN, NUMBERED, COVERED, THREADED, THREAD = range(5)
"""What is known of an entry, as of when it was the last: how many entries there were from the first
open attempt on; how many matches before it; how many entries from it on are in one of these; and,
if attempts are simulated and have been open for long, of every thread how many entries there were
from its start on (-1: it was nowhere)."""
LONG_OPEN = 64
"""So many entries of an open attempt are rather read again than threads kept."""
_LARGEST_MEMORY = 1 << 26
"""So many instructions at positions are remembered to have failed; if there may be more, none."""


class Rules(NamedTuple):
    """`skip`, `skips_to`: see `next_start`; `knows`: see `Failed`; `within`: 0: none; `bound`: the
    same if an attempt looks at no row that is farther away, and otherwise 0; `numbered`: whether
    the numbers of matches matter; `shows_unmatched`; `before`, `after`: how many rows around a
    match its measures see; `back`: how many rows before an attempt it looks at; `in_order`: rows
    are only added, and go by time; `threads`: how many there are, if attempts are simulated."""

    skip: int
    skips_to: Int64s
    knows: int
    within: int
    bound: int
    numbered: bool
    shows_unmatched: bool
    before: int
    after: int
    back: int
    in_order: bool
    threads: int


class Sequence(NamedTuple):
    """The entries of slots: those of the n-th are bounds[n] … bounds[n + 1] - 1, each alive during
    [begin, end). In order of time: `start`: where the search goes on, as a number of entries from
    the slot's first on; `number`: how many matches are before that; `covered`: how many entries
    from there on are in one of these; `threads`: of each slot as in `known`, where the attempts
    that are open before `start` are not there; `changed`: the time of the last change; `whole`:
    whether all entries are there; `known`: [entry, (OPEN, …)] as of before."""

    bounds: Int64s
    begin: Int64s
    end: Int64s
    start: Int64s
    number: Int64s
    covered: Int64s
    threads: Int64s
    changed: Int64s
    whole: Mask
    known: Int64s


class Attempts(NamedTuple):
    """`entry`: where each begins; `after`: the entry after which the next one does; `reach`: the
    last entry that it, or one before it, has looked at (the number of all: the end); `last`: the
    last entry of its match, or of one before it; `version`: of its match, or -1; `number`: how many
    matches are before it."""

    entry: Int64s
    after: Int64s
    reach: Int64s
    last: Int64s
    version: Int64s
    number: Int64s


class Search(NamedTuple):
    """What an attempt needs. `limit`: of its steps."""

    program: Program
    conditions: Conditions
    lookups: Lookups
    machine: Machine
    failed: Failed
    knows: int
    limit: int


class Room(NamedTuple):
    """`alive`: the entries that are; `labels`: the symbols of a match, by position; `now`, `old`:
    the attempts, and those that are made again; `held`: by entry, the version of an old one that
    begins there; `unmatched`: by entry, its version as a row without a match."""

    alive: Int64s
    labels: Int64s
    now: Attempts
    old: Attempts
    held: Int64s
    unmatched: Int64s
    threads: Threads


class Learned(NamedTuple):
    """Of rows in order of time: what is known of each entry now (OPEN is -1: as before); the time
    from which on each slot is as it was before; and whether it is FINISHED."""

    known: Int64s
    same_from: Int64s
    unfinished: Int64s


@njit(cache=True, nogil=True)
def _attempts(count: int) -> Attempts:
    return Attempts(
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64),
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64),
    )  # fmt: skip


@in_place
def _copy(to: Attempts, at: int, of: Attempts, place: int) -> None:
    to.entry[at], to.after[at], to.reach[at] = of.entry[place], of.after[place], of.reach[place]
    to.last[at], to.version[at], to.number[at] = of.last[place], of.version[place], of.number[place]


@in_place
def _first_from(sorted_ones: Int64s, begin: int, stop: int, value: int) -> int:
    """The first of some sorted numbers that is not less than a value."""
    while begin < stop:
        middle = (begin + stop) // 2
        if sorted_ones[middle] < value:
            begin = middle + 1
        else:
            stop = middle
    return begin


@in_place
def _come(alive: Int64s, size: int, entry: int) -> None:
    place = size
    while place > 0 and alive[place - 1] > entry:
        alive[place] = alive[place - 1]
        place -= 1
    alive[place] = entry


@in_place
def _go(alive: Int64s, size: int, entry: int) -> None:
    for place in range(_first_from(alive, 0, size, entry), size - 1):
        alive[place] = alive[place + 1]


@in_place
def _set(output: Written, version: int, column: int, time: int) -> None:
    if version >= 0:
        output.versions[version, column] = time


@in_place
def _redo(
    slot: int, time: int, until: int, redone: int, count: int, at: int, low: int, high: int,
    size: int, matches: int, covered: int, total: int, rules: Rules, search: Search, stack: Int64s,
    room: Room, output: Written,
) -> tuple[int, int, int]:  # fmt: skip
    """Make the attempts from one (`redone`) on again, which begins at a position; `low`, `high`:
    the entries that changed. Returns which problem there is, how many attempts there are then, and
    how many matches (-1: as many as before)."""
    alive, now, old, failed = room.alive, room.now, room.old, search.failed
    found = now.number[redone] if redone < count else matches
    reached = now.reach[redone - 1] if redone > 0 else -1
    olds = count - redone
    for each in range(olds):
        _copy(old, each, now, redone + each)
        if old.version[each] >= 0:
            room.held[old.entry[each]] = old.version[each]
    count, same = redone, 0
    failed.now[0] = at
    failed.now[1] += 1
    while at < size:
        entry = alive[at]
        if not rules.in_order and at >= rules.back and alive[at - rules.back] > high:
            while same < olds and old.entry[same] < entry:
                same += 1
            if (
                same < olds
                and old.entry[same] == entry
                and (not rules.numbered or old.number[same] == found)
            ):
                break
        if search.knows == BY_ATTEMPT:
            failed.now[1] += 1
        outcome, reach = attempt(
            search.program, search.conditions, search.lookups, search.machine, alive, size, at,
            found + 1, room.labels, stack, failed, search.knows, rules.within, search.limit,
        )  # fmt: skip
        if outcome < NO_MATCH:
            return (FULL if outcome == FULL_STACK else STEPS), count, found
        going_on, version = at + 1, -1
        if outcome != NO_MATCH:
            if search.knows == BY_SNAPSHOT:
                failed.now[1] += 1  # what led to a match has not failed
            going_on = next_start(at, outcome, room.labels, rules.skip, rules.skips_to)
            if going_on < 0:
                return (SKIPS_NOWHERE if going_on == NO_TARGET else SKIPS_BACK), count, found
            reach = max(reach, outcome - 1 + rules.after)
            version = put_match(
                output, room.held[entry], slot, time, until, found + 1, alive, size, at, outcome,
                room.labels,
            )  # fmt: skip
            if version < 0:
                return FULL, count, found
            if version == room.held[entry]:
                room.held[entry] = -1
            covered = max(covered, alive[max(outcome, at + 1) - 1])
        reached = max(reached, alive[reach] if reach < size else total)
        now.entry[count], now.after[count] = entry, alive[going_on - 1]
        now.reach[count], now.last[count] = reached, covered
        now.version[count], now.number[count] = version, found
        found += rules.numbered and version >= 0
        count += 1
        at = going_on
    if at < size:  # the rest is as it was
        found = -1
        for each in range(same, olds):
            _copy(now, count, old, each)
            version = old.version[each]
            if version >= 0:
                room.held[old.entry[each]] = -1
                covered = max(covered, last_entry(output, version))
            reached = max(reached, old.reach[each])
            now.reach[count], now.last[count] = reached, covered
            count += 1
    for each in range(olds):
        _set(output, room.held[old.entry[each]], UNTIL, time)
        room.held[old.entry[each]] = -1
    return FINE, count, found


@in_place
def _show_unmatched(
    slot: int, time: int, until: int, redone: int, count: int, begun_at: int, covered: int,
    size: int, room: Room, output: Written,
) -> int:  # fmt: skip
    """Write the rows from a position on that are in no match, and end those that now are."""
    each = redone
    for position in range(begun_at, size):
        entry = room.alive[position]
        while each < count and room.now.entry[each] <= entry:
            covered = room.now.last[each]
            each += 1
        version = room.unmatched[entry]
        if covered >= entry:
            _set(output, version, UNTIL, time)
            room.unmatched[entry] = -1
        elif version < 0:
            version = put_unmatched(output, slot, entry, time, until)
            if version < 0:
                return FULL
            room.unmatched[entry] = version
    return FINE


@in_place
def _settle(
    time: int, to_come: int, first: int, head: int, count: int, settled_to: int, since: int,
    total: int, begin: Int64s, rules: Rules, room: Room, output: Written,
) -> tuple[int, int]:  # fmt: skip
    """Note since when attempts are settled, from the first on that was not (`head`), and rows from
    a position on (`settled_to`). `since`: where the next attempt would begin. Returns the first
    open attempt, and the position where it begins."""
    now = room.now
    looked = _first_from(now.reach, head, count, total)
    opened = looked
    if rules.bound > 0 and time < to_come:
        # Attempts that what is to come is too far away from are settled as well.
        while opened < count and begin[now.entry[opened]] + rules.bound <= to_come:
            opened += 1
    for each in range(head, opened):
        since_when = time if each < looked else begin[now.entry[each]] + rules.bound - 1
        _set(output, now.version[each], SETTLED, since_when)
    if opened < count:
        since = now.entry[opened] - first
    if rules.shows_unmatched:
        each = head
        for position in range(settled_to, since):
            entry = first + position
            if room.unmatched[entry] < 0:
                continue
            while each < opened and now.entry[each] < entry:
                each += 1
            late = looked <= each < opened
            since_when = begin[entry] + rules.bound - 1 if late else time
            _set(output, room.unmatched[entry], SETTLED, since_when)
    return opened, since


@in_place
def _simulated(since: int, size: int, count: int, opened: int, search: Search, room: Room) -> bool:
    """Whether open attempts can be simulated from here on, as none has a match; then they are, from
    where the first begins."""
    for each in range(opened, count):
        if room.now.version[each] >= 0:
            return False
    begin_threads(search.program, room.threads, since)
    for position in range(since, size):
        advance(search.program, search.conditions, room.threads, room.alive[position], position)
    return True


@in_place
def _resume(number: int, sequence: Sequence, size: int, threads: Threads) -> bool:
    """Set the threads to where they were, if that is known; whether it is."""
    if sequence.threads.shape[1] == 0 or sequence.threads[number, 0] == 0:
        return False
    for thread in range(len(threads.start)):
        distance = sequence.threads[number, 1 + thread]
        threads.start[thread] = NOWHERE if distance < 0 else size - distance
    return True


@in_place
def _note(
    known: Int64s, entry: int, size: int, since: int, matches: int, covered: int, quiet: bool,
    threads: Threads,
) -> None:  # fmt: skip
    """Write what is known of an entry."""
    known[entry, OPEN], known[entry, NUMBERED], known[entry, COVERED] = (
        size - since, matches, covered,
    )  # fmt: skip
    if known.shape[1] > THREADED:
        known[entry, THREADED] = quiet and size - since > LONG_OPEN
        for thread in range(len(threads.start) if known[entry, THREADED] else 0):
            start = threads.start[thread]
            known[entry, THREAD + thread] = -1 if start == NOWHERE else size - start


@in_place
def _is_as_before(known: Int64s, before: Int64s, entry: int) -> bool:
    return bool(
        known[entry, OPEN] == before[entry, OPEN]
        and known[entry, NUMBERED] == before[entry, NUMBERED]
        and known[entry, COVERED] == before[entry, COVERED]
    )


@in_place
def _slot_in_order(
    number: int, sequence: Sequence, earliest: int, open_end: int, rules: Rules, final: int,
    search: Search, stack: Int64s, room: Room, output: Written, learned: Learned,
) -> int:  # fmt: skip
    """Go through one slot whose rows are only added, from time to time; which problem there is."""
    begin, alive, now = sequence.begin, room.alive, room.now
    total, first, stop = len(begin), sequence.bounds[number], sequence.bounds[number + 1]
    size, count, head, matches = 0, 0, 0, sequence.number[number]
    while first + size < stop and begin[first + size] < earliest:
        alive[size] = first + size
        size += 1
    since = sequence.start[number]
    settled_to = since
    quiet = _resume(number, sequence, size, room.threads)  # whether attempts are simulated
    if quiet:
        since = first_start(room.threads, size)
    while first + size < stop:
        appended, low = size, first + size
        time = begin[low]
        while first + size < stop and begin[first + size] == time:
            alive[size] = first + size
            size += 1
        inside, ends = 0, False
        if quiet:
            for position in range(appended, size):
                if advance(
                    search.program, search.conditions, room.threads, alive[position], position
                ):
                    ends = True
        if quiet and not ends:
            since = first_start(room.threads, size)
        else:
            if quiet and since < rules.back and sequence.threads[number, 0]:
                learned.unfinished[number] = MORE_BACK
                return FINE
            redone = _first_from(now.reach, head, count, low)
            at, covered = since, first + sequence.start[number] + sequence.covered[number] - 1
            if redone > 0:
                covered = now.last[redone - 1]
                if not quiet:
                    at = _first_from(alive, 0, size, now.after[redone - 1] + 1)
            problem, count, matches = _redo(
                number, time, open_end, redone, count, at, low, first + size - 1, size, matches,
                covered, total, rules, search, stack, room, output,
            )  # fmt: skip
            if problem == FINE and rules.shows_unmatched:
                problem = _show_unmatched(
                    number, time, open_end, redone, count, at, covered, size, room, output
                )
            if problem != FINE:
                return problem
            # What is settled by now, and where the open attempts begin.
            to_come = final if first + size >= stop else min(final, begin[first + size])
            head, since = _settle(
                time, to_come, first, head, count, settled_to,
                max(size, sequence.start[number]), total, begin, rules, room, output,
            )  # fmt: skip
            settled_to = max(settled_to, since)
            if rules.shows_unmatched:
                inside = sequence.start[number] + sequence.covered[number]
                if head > 0:
                    inside = now.last[head - 1] + 1 - first
            quiet = rules.threads > 0 and _simulated(since, size, count, head, search, room)
            if quiet:
                count = head
        of = now.number[head] if head < count else matches
        for entry in range(first + appended, first + size):
            _note(
                learned.known, entry, size, since, of, max(0, inside - since), quiet, room.threads
            )
        if time <= sequence.changed[number] or first + size >= stop:
            continue
        needed = since - rules.back
        if (
            needed >= 0
            and (needed >= size or begin[first + needed] > sequence.changed[number])
            and _is_as_before(learned.known, sequence.known, first + size - 1)
        ):
            learned.same_from[number] = begin[first + size]
            for each in range(head, count):
                _set(output, now.version[each], UNTIL, learned.same_from[number])
            for entry in range(first + since, first + size):
                _set(output, room.unmatched[entry], UNTIL, learned.same_from[number])
            return FINE
    learned.unfinished[number] = FINISHED if sequence.whole[number] else MORE_AHEAD
    return FINE


@in_place
def _slot(
    number: int, sequence: Sequence, open_end: int, rules: Rules, search: Search, stack: Int64s,
    by_begin: Int64s, by_end: Int64s, room: Room, output: Written,
) -> int:  # fmt: skip
    """Go through one slot, from snapshot to snapshot; which problem there is. `by_begin`, `by_end`:
    its entries in order of their times."""
    begin, end, alive, now = sequence.begin, sequence.end, room.alive, room.now
    total, rows = len(begin), len(by_begin)
    size, count, coming, going, matches = 0, 0, 0, 0, 0
    while going < rows:
        # The rows that come and go at the next time; they lie from `low` to `high`.
        low, high, time = total, -1, end[by_end[going]]
        if coming < rows:
            time = min(time, begin[by_begin[coming]])
        if time == INFINITY:
            break
        while going < rows and end[by_end[going]] == time:
            entry = by_end[going]
            going += 1
            _go(alive, size, entry)
            size -= 1
            low, high = min(low, entry), max(high, entry)
            _set(output, room.unmatched[entry], UNTIL, time)
            room.unmatched[entry] = -1
        while coming < rows and begin[by_begin[coming]] == time:
            entry = by_begin[coming]
            coming += 1
            _come(alive, size, entry)
            size += 1
            low, high = min(low, entry), max(high, entry)
        redone = _first_from(now.reach, 0, count, low)
        at, covered = 0, sequence.bounds[number] - 1
        if redone > 0:
            at = _first_from(alive, 0, size, now.after[redone - 1] + 1)
            covered = now.last[redone - 1]
        problem, count, found = _redo(
            number, time, open_end, redone, count, at, low, high, size, matches, covered, total,
            rules, search, stack, room, output,
        )  # fmt: skip
        if found >= 0:
            matches = found
        if problem == FINE and rules.shows_unmatched:
            problem = _show_unmatched(
                number, time, open_end, redone, count, at, covered, size, room, output
            )
        if problem != FINE:
            return problem
    return FINE


@njit(cache=True, nogil=True)
def sweep(
    sequence: Sequence,
    earliest: Int64s,
    open_end: int,
    program: Program,
    conditions: Conditions,
    lookups: Lookups,
    machine: Machine,
    rules: Rules,
    limit: int,
    final: int,
) -> tuple[Int64s, Int64s, Learned, int]:
    """The versions from the earliest times on, their rows, in order of time what is known then,
    and which problem there is. `limit`: of steps of one attempt; `final`: rows to come start then
    or later."""
    bounds, begin, end = sequence.bounds, sequence.begin, sequence.end
    total, slots = len(begin), len(bounds) - 1
    longest = 1
    for number in range(slots):
        longest = max(longest, bounds[number + 1] - bounds[number])
    knows, failed = _memory(program, rules.knows, longest)
    search = Search(program, conditions, lookups, machine, failed, knows, limit)
    room = Room(
        np.empty(longest, np.int64), np.empty(longest, np.int64), _attempts(longest),
        _attempts(longest), np.full(total, -1, np.int64), np.full(total, -1, np.int64),
        threads_of(program, rules.threads),
    )  # fmt: skip
    output, stack = written(rules.before, rules.after), np.empty(256, np.int64)
    width = THREAD + rules.threads if rules.threads > 0 else THREADED
    learned = Learned(
        np.full((total if rules.in_order else 0, width), -1, np.int64),
        np.full(slots, INFINITY, np.int64),
        np.zeros(slots, np.int64),
    )
    for number in range(slots):
        first, stop = bounds[number], bounds[number + 1]
        made, pooled = output.counts[0], output.counts[1]
        problem = FULL
        while problem == FULL:
            if rules.in_order:
                problem = _slot_in_order(
                    number, sequence, earliest[number], open_end, rules, final, search, stack, room,
                    output, learned,
                )  # fmt: skip
            else:
                by_begin = first + np.argsort(begin[first:stop], kind="mergesort")
                by_end = first + np.argsort(end[first:stop], kind="mergesort")
                problem = _slot(
                    number, sequence, open_end, rules, search, stack, by_begin, by_end, room, output
                )
            if problem == FULL:  # once more, with more room
                room.held[first:stop], room.unmatched[first:stop] = -1, -1
                output, stack = with_more_room(output), np.empty(2 * len(stack), np.int64)
                output.counts[0], output.counts[1] = made, pooled
        if problem != FINE:
            return output.versions[:0], output.pool[:0], learned, problem
    counts = output.counts
    return output.versions[: counts[0]], output.pool[: counts[1]], learned, FINE


@njit(cache=True, nogil=True)
def _memory(program: Program, knows: int, longest: int) -> tuple[int, Failed]:
    """Room to remember what has failed, if that is of use and not too much."""
    joins, width = np.full(len(program.code), -1, np.int64), 0
    for step in range(len(joins)):
        if program.joins[step]:
            joins[step] = width
            width += 1
    width <<= program.loops
    if width * (longest + 1) > _LARGEST_MEMORY:
        knows = FORGET
    stamps = np.zeros(0 if knows == FORGET else width * (longest + 1), np.int64)
    return knows, Failed(stamps, np.zeros(2, np.int64), joins, width)
