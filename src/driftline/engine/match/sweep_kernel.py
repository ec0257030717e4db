"""All attempts of a partition, from one snapshot to the next.

The rows of a partition, its entries, are numbered in their order. The rows that are alive are a
sorted list of these numbers; what changes from one snapshot to the next lies between two of them.
Every attempt knows the last entry that it, or one before it, has looked at. So:

    attempts that have looked at no entry that changes stay as they are;
    from the first of the others on they are made again,
    until one begins where one of the old ones did, after all that changed: from there on the old
    ones stay (of rows in order of time, that are only added, nothing comes after what changed).

A version is a match, or a row without one, with the time in which it holds.

If rows are only added, in order of time, attempts that have not looked at the end are settled: what
comes later cannot change them. The others, from the first on, are open. Of each entry it is kept
where the open ones began when it was the last. A late row makes it necessary to start there again,
and when the open attempts begin where they did before, all that follows stays.
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
from driftline.model.arrays import Int64s, Mask
from driftline.model.compiled import in_place, njit
from driftline.model.time import INFINITY

FINE, STEPS, SKIPS_NOWHERE, SKIPS_BACK, FULL = range(5)
MATCHED, UNMATCHED = range(2)
SLOT, KIND, SINCE, UNTIL, SETTLED, NUMBER, FIRST, SIZE = range(8)
"""The columns of a version: the number of its slot; its kind; the time in which it holds; the time
since which it cannot change but by late rows (INFINITY: it still can); the number of its match; and
where its rows are, and how many. Before and after them are the rows around the match; a version
without rows has one place, that of the row it stands at."""
NO_ROW = -1
"""Among the rows around a match: the partition has none there."""
_LARGEST_MEMORY = 1 << 26
"""So many instructions at positions are remembered to have failed; if there may be more, none."""


class Rules(NamedTuple):
    """`skip`, `skips_to`: see `next_start`; `knows`: see `Failed`; `within`: 0: none; `bound`: the
    same if an attempt looks at no row that is farther away, and otherwise 0; `numbered`: whether
    the numbers of matches matter; `shows_unmatched`; `before`, `after`: how many rows around a
    match its measures see; `back`: how many rows before an attempt it looks at; `in_order`: rows
    are only added, and go by time."""

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


class Sequence(NamedTuple):
    """The entries of slots: those of the n-th are bounds[n] … bounds[n + 1] - 1, each alive during
    [begin, end). In order of time: `start`: where the search goes on, as a number of entries from
    the slot's first on; `number`: how many matches are before that; `covered`: how many entries
    from there on are in one of these; `changed`: the time of the last change; `whole`: whether all
    entries are there; `known`: [entry, (open, number, covered)] as of before."""

    bounds: Int64s
    begin: Int64s
    end: Int64s
    start: Int64s
    number: Int64s
    covered: Int64s
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


@njit(cache=True, nogil=True)
def _room(count: int) -> Attempts:
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


@njit(cache=True, nogil=True)
def _grown(array: Int64s, needed: int) -> Int64s:
    bigger = np.empty((max(needed, 2 * len(array)), array.shape[1]), np.int64)
    bigger[: len(array)] = array
    return bigger


@in_place
def _is_version(
    versions: Int64s, version: int, pool: Int64s, alive: Int64s, size: int, at: int, end: int,
    labels: Int64s, number: int, rules: Rules,
) -> bool:  # fmt: skip
    """Whether a match has the rows, the labels, the number and the neighbours of a version."""
    if versions[version, SIZE] != end - at or versions[version, NUMBER] != number:
        return False
    first = versions[version, FIRST]
    if end == at:
        return bool(pool[first, 0] == alive[at])
    for position in range(at - rules.before, end + rules.after):
        row = alive[position] if 0 <= position < size else NO_ROW
        symbol = labels[position] if at <= position < end else -1
        if pool[first, 0] != row or pool[first, 1] != symbol:
            return False
        first += 1
    return True


@in_place
def _put_rows(
    pool: Int64s, place: int, alive: Int64s, size: int, at: int, end: int, labels: Int64s,
    rules: Rules, since: int,
) -> int:  # fmt: skip
    """Write the rows of a match and those around it, from a position on; returns the next free
    place."""
    if end == at:
        pool[place, 0], pool[place, 1] = alive[at], -1
        return place + 1
    for position in range(since, end + rules.after):
        pool[place, 0] = alive[position] if 0 <= position < size else NO_ROW
        pool[place, 1] = labels[position] if at <= position < end else -1
        place += 1
    return place


@in_place
def _extends(
    versions: Int64s, version: int, pool: Int64s, pooled: int, alive: Int64s, at: int, end: int,
    labels: Int64s, rules: Rules,
) -> bool:  # fmt: skip
    """Whether a match is that of a version with more rows behind, which is the last in the pool: it
    then has the same rows there, and these more."""
    place, length = versions[version, FIRST], versions[version, SIZE]
    if (
        length == 0
        or rules.after > 0
        or end - at <= length
        or place + rules.before + length != pooled
    ):
        return False
    for position in range(at - rules.before, at + length):
        row = alive[position] if position >= 0 else NO_ROW
        symbol = labels[position] if position >= at else -1
        if pool[place, 0] != row or pool[place, 1] != symbol:
            return False
        place += 1
    return True


@in_place
def _put_version(
    versions: Int64s, version: int, slot: int, kind: int, since: int, until: int, number: int,
    first: int, size: int,
) -> None:  # fmt: skip
    versions[version, SLOT], versions[version, KIND] = slot, kind
    versions[version, SINCE], versions[version, UNTIL] = since, until
    versions[version, SETTLED], versions[version, NUMBER] = INFINITY, number
    versions[version, FIRST], versions[version, SIZE] = first, size


@in_place
def _slot(
    number: int,
    sequence: Sequence,
    earliest: int,
    open_end: int,
    program: Program,
    conditions: Conditions,
    lookups: Lookups,
    machine: Machine,
    rules: Rules,
    limit: int,
    final: int,
    knows: int,
    failed: Failed,
    stack: Int64s,
    alive: Int64s,
    labels: Int64s,
    now: Attempts,
    old: Attempts,
    held_before: Int64s,
    unmatched: Int64s,
    by_begin: Int64s,
    by_end: Int64s,
    versions: Int64s,
    pool: Int64s,
    counts: Int64s,
    known: Int64s,
    same_from: Int64s,
    unfinished: Mask,
) -> int:
    """Go through one slot, from snapshot to snapshot; which problem there is. `counts`: how many
    versions there are, and how many of their rows."""
    bounds, begin, end = sequence.bounds, sequence.begin, sequence.end
    total = len(begin)
    made, pooled = counts[0], counts[1]
    first, stop = bounds[number], bounds[number + 1]
    size, count, head, settled_to, coming, going = 0, 0, 0, sequence.start[number], 0, 0
    matches = sequence.number[number]
    if rules.in_order:
        while first + size < stop and begin[first + size] < earliest:
            alive[size] = first + size
            size += 1
    while True:
        # The rows that come and go at the next time; they lie from `low` to `high`.
        low, high, appended = total, -1, size
        if rules.in_order:
            if first + size >= stop:
                unfinished[number] = not sequence.whole[number]
                break
            low = first + size
            time = begin[low]
            while first + size < stop and begin[first + size] == time:
                alive[size] = first + size
                size += 1
            high = first + size - 1
        else:
            time = end[by_end[going]] if going < stop - first else INFINITY
            if coming < stop - first:
                time = min(time, begin[by_begin[coming]])
            if time == INFINITY:
                break
            while going < stop - first and end[by_end[going]] == time:
                entry = by_end[going]
                going += 1
                _go(alive, size, entry)
                size -= 1
                low, high = min(low, entry), max(high, entry)
                if unmatched[entry] >= 0:
                    versions[unmatched[entry], UNTIL] = time
                    unmatched[entry] = -1
            while coming < stop - first and begin[by_begin[coming]] == time:
                entry = by_begin[coming]
                coming += 1
                _come(alive, size, entry)
                size += 1
                low, high = min(low, entry), max(high, entry)
        # The first attempt that is concerned, and those that were made from there on.
        redone = _first_from(now.reach, head, count, low)
        at, reached = sequence.start[number], -1
        covered_before = first + at + sequence.covered[number] - 1
        if redone > 0:
            at = _first_from(alive, 0, size, now.after[redone - 1] + 1)
            reached, covered_before = now.reach[redone - 1], now.last[redone - 1]
        covered, begun_at = covered_before, at
        found = now.number[redone] if redone < count else matches
        olds = count - redone
        for each in range(olds):
            _copy(old, each, now, redone + each)
            if old.version[each] >= 0:
                held_before[old.entry[each]] = old.version[each]
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
            if knows == BY_ATTEMPT:
                failed.now[1] += 1
            outcome, reach = attempt(
                program, conditions, lookups, machine, alive, size, at, found + 1, labels, stack,
                failed, knows, rules.within, limit,
            )  # fmt: skip
            if outcome < NO_MATCH:
                return FULL if outcome == FULL_STACK else STEPS
            going_on, version = at + 1, -1
            if outcome != NO_MATCH:
                if knows == BY_SNAPSHOT:
                    failed.now[1] += 1  # what led to a match has not failed
                going_on = next_start(at, outcome, labels, rules.skip, rules.skips_to)
                if going_on < 0:
                    return SKIPS_NOWHERE if going_on == NO_TARGET else SKIPS_BACK
                reach = max(reach, outcome - 1 + rules.after)
                version = held_before[entry]
                if version >= 0 and _is_version(
                    versions, version, pool, alive, size, at, outcome, labels, found + 1, rules
                ):
                    held_before[entry] = -1
                else:
                    rows_at, since = pooled, at - rules.before
                    if version >= 0 and _extends(
                        versions, version, pool, pooled, alive, at, outcome, labels, rules
                    ):
                        rows_at, since = versions[version, FIRST], at + versions[version, SIZE]
                    room = max(1, outcome + rules.after - since)
                    if made == len(versions) or pooled + room > len(pool):
                        return FULL
                    version = made
                    _put_version(
                        versions, made, number, MATCHED, time, open_end, found + 1, rows_at,
                        outcome - at,
                    )  # fmt: skip
                    pooled = _put_rows(pool, pooled, alive, size, at, outcome, labels, rules, since)
                    made += 1
                covered = max(covered, alive[max(outcome, at + 1) - 1])
            reached = max(reached, alive[reach] if reach < size else total)
            now.entry[count], now.after[count] = entry, alive[going_on - 1]
            now.reach[count], now.last[count] = reached, covered
            now.version[count], now.number[count] = version, found
            found += rules.numbered and version >= 0
            count += 1
            at = going_on
        if at < size:  # the rest is as it was
            for each in range(same, olds):
                _copy(now, count, old, each)
                version = old.version[each]
                if version >= 0:
                    held_before[old.entry[each]] = -1
                    last, length = versions[version, FIRST], versions[version, SIZE]
                    if length > 0:
                        last += rules.before + length - 1
                    covered = max(covered, pool[last, 0])
                reached = max(reached, old.reach[each])
                now.reach[count], now.last[count] = reached, covered
                count += 1
        else:
            matches = found
        for each in range(olds):
            version = held_before[old.entry[each]]
            if version >= 0:
                versions[version, UNTIL] = time
                held_before[old.entry[each]] = -1
        if rules.shows_unmatched:
            each, covered = redone, covered_before
            for position in range(begun_at, size):
                entry = alive[position]
                while each < count and now.entry[each] <= entry:
                    covered = now.last[each]
                    each += 1
                if covered >= entry:
                    if unmatched[entry] >= 0:
                        versions[unmatched[entry], UNTIL] = time
                        unmatched[entry] = -1
                elif unmatched[entry] < 0:
                    if made == len(versions) or pooled == len(pool):
                        return FULL
                    _put_version(versions, made, number, UNMATCHED, time, open_end, 0, pooled, 0)
                    pool[pooled, 0], pool[pooled, 1] = entry, -1
                    unmatched[entry] = made
                    made += 1
                    pooled += 1
        if not rules.in_order:
            continue
        # What is settled by now, and where the open attempts begin.
        opened = _first_from(now.reach, head, count, total)
        looked = opened
        if rules.bound > 0 and time < final:
            # Attempts that what is to come is too far away from are settled as well.
            to_come = final if first + size >= stop else min(final, begin[first + size])
            while opened < count and begin[now.entry[opened]] + rules.bound <= to_come:
                opened += 1
        for each in range(head, opened):
            if now.version[each] >= 0:
                settled = time if each < looked else begin[now.entry[each]] + rules.bound - 1
                versions[now.version[each], SETTLED] = settled
        settled_from, head = head, opened
        since, of = max(size, sequence.start[number]), matches
        if opened < count:
            since, of = now.entry[opened] - first, now.number[opened]
        inside = sequence.start[number] + sequence.covered[number]
        if opened > 0:
            inside = now.last[opened - 1] + 1 - first
        if rules.shows_unmatched:
            each = settled_from
            for position in range(settled_to, since):
                entry = first + position
                if unmatched[entry] < 0:
                    continue
                while each < opened and now.entry[each] < entry:
                    each += 1
                versions[unmatched[entry], SETTLED] = (
                    begin[entry] + rules.bound - 1 if looked <= each < opened else time
                )
            settled_to = max(settled_to, since)
        else:
            inside = 0
        for entry in range(first + appended, first + size):
            known[entry, 0], known[entry, 1] = size - since, of
            known[entry, 2] = max(0, inside - since)
        if time <= sequence.changed[number] or first + size >= stop:
            continue
        entry, needed = first + size - 1, since - rules.back
        if (
            needed >= 0
            and (needed >= size or begin[first + needed] > sequence.changed[number])
            and known[entry, 0] == sequence.known[entry, 0]
            and known[entry, 1] == sequence.known[entry, 1]
            and known[entry, 2] == sequence.known[entry, 2]
        ):
            same_from[number] = begin[first + size]
            for each in range(head, count):
                if now.version[each] >= 0:
                    versions[now.version[each], UNTIL] = same_from[number]
            for entry in range(first + since, first + size):
                if unmatched[entry] >= 0:
                    versions[unmatched[entry], UNTIL] = same_from[number]
            break
    counts[0], counts[1] = made, pooled
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
) -> tuple[Int64s, Int64s, Int64s, Int64s, Mask, int]:
    """The versions from the earliest times on, and their rows [place, (entry, symbol)]. In order of
    time also what is known of each entry now (see `Sequence.known`; -1: as before), the time from
    which on each slot is as it was before, and which slots have to be gone through with more
    entries; and which problem there is. `limit`: of
    steps of one attempt; `final`: rows to come start then or later."""
    bounds, begin, end = sequence.bounds, sequence.begin, sequence.end
    total, slots = len(begin), len(bounds) - 1
    longest = 1
    for number in range(slots):
        longest = max(longest, bounds[number + 1] - bounds[number])
    versions, pool = np.empty((1024, 8), np.int64), np.empty((4096, 2), np.int64)
    counts = np.zeros(2, np.int64)
    now, old = _room(longest), _room(longest)
    alive, labels = np.empty(longest, np.int64), np.empty(longest, np.int64)
    held_before = np.full(total, -1, np.int64)  # by entry, the version that began there
    unmatched = np.full(total, -1, np.int64)  # by entry, its version as a row without a match
    known = np.empty((total if rules.in_order else 0, 3), np.int64)
    known[:, 0] = -1
    same_from = np.full(slots, INFINITY, np.int64)
    unfinished = np.zeros(slots, np.bool_)
    knows, failed = _memory(program, rules.knows, longest)
    stack = np.empty(256, np.int64)
    by_begin, by_end = np.empty(0, np.int64), np.empty(0, np.int64)
    for number in range(slots):
        first, stop = bounds[number], bounds[number + 1]
        if not rules.in_order:
            by_begin = first + np.argsort(begin[first:stop], kind="mergesort")
            by_end = first + np.argsort(end[first:stop], kind="mergesort")
        problem = FULL
        while problem == FULL:
            made, pooled = counts[0], counts[1]
            problem = _slot(
                number, sequence, earliest[number], open_end, program, conditions, lookups, machine,
                rules, limit, final, knows, failed, stack, alive, labels, now, old, held_before,
                unmatched, by_begin, by_end, versions, pool, counts, known, same_from, unfinished,
            )  # fmt: skip
            if problem == FULL:  # once more, with more room
                held_before[first:stop], unmatched[first:stop] = -1, -1
                versions, pool = _grown(versions, 0), _grown(pool, 0)
                stack = np.empty(2 * len(stack), np.int64)
                counts[0], counts[1] = made, pooled
        if problem != FINE:
            return versions[:0], pool[:0], known, same_from, unfinished, problem
    return versions[: counts[0]], pool[: counts[1]], known, same_from, unfinished, FINE


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
