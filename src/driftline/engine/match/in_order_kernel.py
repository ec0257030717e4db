"""The attempts of a partition whose rows are only added, in order of time.

Each attempt is settled at some time: rows that start later cannot change it. That is the start of
the last row that it, or one before it, has looked at, or, if it has looked at the end, never, but
with WITHIN no later than its own time is over. Attempts that are settled later than the last row
starts, from the first on, are open. Of each entry it is kept where the open ones began when it was
the last. A late row makes it necessary to start there again, and when the open attempts begin where
they did before, all that follows stays. While no open attempt has a match, and conditions look only
at a row and those before it, the open attempts are simulated together instead (`thread_kernel`);
where only the first has a match, that it may grow is simulated as well (`growth_kernel`).
"""

from __future__ import annotations

from driftline.engine.match.growth_kernel import (
    HAS_TIME,
    begin_growth,
    grow,
    put_grown,
    resume_growth,
    resume_threads,
    save_growth,
)
from driftline.engine.match.redo_kernel import redo, show_unmatched
from driftline.engine.match.sweep_state import (
    COVERED,
    FINE,
    FINISHED,
    FULL,
    MORE_AHEAD,
    MORE_BACK,
    NUMBERED,
    OPEN,
    THREAD,
    THREADED,
    Rules,
    Search,
    Sequence,
    SweepOutcome,
    SweepRoom,
    first_from,
    set_time,
)
from driftline.engine.match.thread_kernel import (
    NOWHERE,
    MatchThreads,
    advance,
    begin_threads,
    first_start,
)
from driftline.engine.match.version_kernel import SETTLED, UNTIL, WrittenVersions
from driftline.kernels import in_place
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import BEGINNING, INFINITY

LONG_OPEN = 64
"""So many entries of an open attempt are rather read again than threads kept."""


@in_place
def _set_times(
    first: int, stop: int, column: int, time: int, room: SweepRoom, output: WrittenVersions
) -> None:
    """Set a time of what some attempts have found: of a match, or of a row that is in none; if it
    is SETTLED, to when each is."""
    for each in range(first, stop):
        to = room.now.reach[each] if column == SETTLED else time
        set_time(output, room.now.version[each], column, to)
        set_time(output, room.unmatched[room.now.entry[each]], column, to)


@in_place
def _simulated(
    since: int, size: int, count: int, opened: int, search: Search, room: SweepRoom
) -> bool:
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
def _begins_to_grow(
    first: int, size: int, count: int, opened: int, rules: Rules, search: Search, room: SweepRoom,
) -> bool:  # fmt: skip
    """Whether of the open attempts only the first has a match, and this can grow: then that attempt
    is simulated from here on, and those behind its match together."""
    now = room.now
    if rules.growing == 0 or opened == count or now.version[opened] < 0:
        return False
    start, end = now.entry[opened] - first, now.after[opened] + 1 - first
    if size - start < rules.long:
        return False
    for each in range(opened + 1, count):
        if now.version[each] >= 0:
            return False
    if not begin_growth(
        search.program, search.conditions, room.threads, room.growth, first, start, size, end,
        room.labels,
    ):  # fmt: skip
        return False
    begin_threads(search.program, room.threads, end)
    for position in range(end, size):
        advance(search.program, search.conditions, room.threads, room.alive[position], position)
    return True


@in_place
def _grows(
    first: int, appended: int, size: int, search: Search, room: SweepRoom
) -> tuple[bool, bool]:
    """Take the match that grows on with some rows: whether it has grown, and whether nothing else
    has happened."""
    grown, alone = False, True
    for position in range(appended, size):
        longer, alone = grow(
            search.program, search.conditions, room.threads, room.growth, first, position
        )
        if not alone:
            break
        if longer:
            grown = True
            begin_threads(search.program, room.threads, position + 1)
        elif advance(
            search.program, search.conditions, room.threads, room.alive[position], position
        ):
            alone = False
            break
    return grown, alone


@in_place
def _resume(number: int, sequence: Sequence, size: int, threads: MatchThreads) -> bool:
    """Set the threads to where they were, if that is known; whether it is."""
    if sequence.threads.shape[1] == 0 or sequence.threads[number, 0] == 0:
        return False
    for thread in range(len(threads.start)):
        distance = sequence.threads[number, 1 + thread]
        threads.start[thread] = NOWHERE if distance < 0 else size - distance
    return True


@in_place
def _note(
    known: Int64Table, entry: int, size: int, since: int, matches: int, covered: int, quiet: bool,
    threads: MatchThreads,
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
def _is_as_before(known: Int64Table, before: Int64Table, entry: int) -> bool:
    return bool(
        known[entry, OPEN] == before[entry, OPEN]
        and known[entry, NUMBERED] == before[entry, NUMBERED]
        and known[entry, COVERED] == before[entry, COVERED]
    )


@in_place
def sweep_in_order(
    number: int, sequence: Sequence, earliest: int, open_end: int, rules: Rules, search: Search,
    stack: Int64s, room: SweepRoom, output: WrittenVersions, learned: SweepOutcome,
) -> int:  # fmt: skip
    """Go through one slot whose rows are only added, from time to time; which problem there is."""
    begin, alive, now = sequence.begin, room.alive, room.now
    first, stop = sequence.bounds[number], sequence.bounds[number + 1]
    size, count, head, matches = 0, 0, 0, sequence.number[number]
    while first + size < stop and begin[first + size] < earliest:
        alive[size] = first + size
        size += 1
    since = sequence.start[number]
    quiet = _resume(number, sequence, size, room.threads)  # whether attempts are simulated
    if quiet:
        since = first_start(room.threads, size)
    resumed = bool(len(sequence.cursors) > 0 and sequence.cursors[number, HAS_TIME] > BEGINNING)
    growing = resumed  # whether the first open attempt has a match, and is simulated
    if resumed:
        resume_growth(
            room.growth, sequence.cursors[number], sequence.path[number], sequence.carried[number],
            size, output.before,
        )  # fmt: skip
        resume_threads(sequence.cursors[number], room.threads, size)
        since = size - sequence.carried[number]
        count, now.number[0], now.version[0] = 1, matches, -1
        now.entry[0], now.reach[0] = first, INFINITY
    time = earliest
    while first + size < stop:
        appended, low = size, first + size
        time = begin[low]
        while first + size < stop and begin[first + size] == time:
            alive[size] = first + size
            size += 1
        inside, ends = 0, False
        grown, alone = _grows(first, appended, size, search, room) if growing else (False, False)
        if resumed and not alone:
            learned.unfinished[number] = MORE_BACK
            return FINE
        if alone:
            version = now.version[head]
            if grown or version < 0:
                made = put_grown(
                    output, version, number, time, open_end, now.number[head] + 1,
                    room.growth, first,
                )  # fmt: skip
                if made < 0:
                    return FULL
                set_time(output, version, UNTIL, time)
                now.version[head], count = made, head + 1
        growing = alone
        if quiet:
            for position in range(appended, size):
                if advance(
                    search.program, search.conditions, room.threads, alive[position], position
                ):
                    ends = True
        if quiet and not ends:
            since = first_start(room.threads, size)
        elif not growing:
            if quiet and since < rules.back and sequence.threads[number, 0]:
                learned.unfinished[number] = MORE_BACK
                return FINE
            redone = first_from(now.reach, head, count, time)
            at, covered = since, first + sequence.start[number] + sequence.covered[number] - 1
            if redone > 0:
                covered = now.last[redone - 1]
                if not quiet:
                    at = first_from(alive, 0, size, now.after[redone - 1] + 1)
            problem, count, matches = redo(
                number, time, open_end, redone, count, at, low, first + size - 1, size, matches,
                covered, begin, rules, search, stack, room, output,
            )  # fmt: skip
            if problem == FINE and rules.shows_unmatched:
                problem = show_unmatched(
                    number, time, open_end, redone, count, at, covered, size, room, output
                )
            if problem != FINE:
                return problem
            _set_times(redone, count, SETTLED, time, room, output)
            head = first_from(now.reach, head, count, time + 1)
            since = now.entry[head] - first if head < count else max(size, sequence.start[number])
            if rules.shows_unmatched:
                inside = sequence.start[number] + sequence.covered[number]
                if head > 0:
                    inside = now.last[head - 1] + 1 - first
            quiet = rules.threads > 0 and _simulated(since, size, count, head, search, room)
            if quiet:
                count = head
            else:
                growing = _begins_to_grow(first, size, count, head, rules, search, room)
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
            same_from = begin[first + size]
            learned.same_from[number] = same_from
            opened = first_from(now.reach, head, count, same_from)
            _set_times(opened, count, UNTIL, same_from, room, output)
            return FINE
    if growing:
        save_growth(room.growth, room.threads, learned.cursors[number], first, size, time)
    learned.unfinished[number] = FINISHED if sequence.whole[number] else MORE_AHEAD
    return FINE
