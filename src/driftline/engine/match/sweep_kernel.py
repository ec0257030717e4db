"""All attempts of a partition, from one snapshot to the next.

The rows of a partition, its entries, are numbered in their order. The rows that are alive are a
sorted list of these numbers; what changes from one snapshot to the next lies between two of them.
Every attempt knows the last entry that it, or one before it, has looked at. So:

    attempts that have looked at no entry that changes stay as they are;
    from the first of the others on they are made again,
    until one begins where one of the old ones did, after all that changed: from there on the old
    ones stay (of rows in order of time, that are only added, nothing comes after what changed).
Rows that are only added, in order of time, are gone through by `in_order_kernel`.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.match.condition_kernel import ConditionMachine, Lookups, RowConditions
from driftline.engine.match.growth_kernel import CURSOR, growth_of
from driftline.engine.match.in_order_kernel import sweep_in_order
from driftline.engine.match.program import Program
from driftline.engine.match.redo_kernel import redo, show_unmatched
from driftline.engine.match.search_kernel import FORGET, Failed
from driftline.engine.match.sweep_state import (
    FINE,
    FULL,
    THREAD,
    THREADED,
    Rules,
    Search,
    Sequence,
    SweepOutcome,
    SweepRoom,
    attempts_of,
    first_from,
    set_time,
)
from driftline.engine.match.thread_kernel import threads_of
from driftline.engine.match.version_kernel import UNTIL, WrittenVersions, with_more_room, written
from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import BEGINNING, INFINITY

_LARGEST_MEMORY = 1 << 26
"""So many instructions at positions are remembered to have failed; if there may be more, none."""


@in_place
def _come(alive: Int64s, size: int, entry: int) -> None:
    place = size
    while place > 0 and alive[place - 1] > entry:
        alive[place] = alive[place - 1]
        place -= 1
    alive[place] = entry


@in_place
def _go(alive: Int64s, size: int, entry: int) -> None:
    for place in range(first_from(alive, 0, size, entry), size - 1):
        alive[place] = alive[place + 1]


@in_place
def _slot(
    number: int, sequence: Sequence, open_end: int, rules: Rules, search: Search, stack: Int64s,
    by_begin: Int64s, by_end: Int64s, room: SweepRoom, output: WrittenVersions,
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
            set_time(output, room.unmatched[entry], UNTIL, time)
            room.unmatched[entry] = -1
        while coming < rows and begin[by_begin[coming]] == time:
            entry = by_begin[coming]
            coming += 1
            _come(alive, size, entry)
            size += 1
            low, high = min(low, entry), max(high, entry)
        redone = first_from(now.reach, 0, count, low)
        at, covered = 0, sequence.bounds[number] - 1
        if redone > 0:
            at = first_from(alive, 0, size, now.after[redone - 1] + 1)
            covered = now.last[redone - 1]
        problem, count, found = redo(
            number, time, open_end, redone, count, at, low, high, size, matches, covered, begin,
            rules, search, stack, room, output,
        )  # fmt: skip
        if found >= 0:
            matches = found
        if problem == FINE and rules.shows_unmatched:
            problem = show_unmatched(
                number, time, open_end, redone, count, at, covered, size, room, output
            )
        if problem != FINE:
            return problem
    return FINE


@compiled
def sweep(
    sequence: Sequence,
    earliest: Int64s,
    open_end: int,
    program: Program,
    conditions: RowConditions,
    lookups: Lookups,
    machine: ConditionMachine,
    rules: Rules,
    limit: int,
    paths: RunArrays,
) -> tuple[Int64Table, Int64Table, SweepOutcome, int]:
    """The versions from the earliest times on, their rows, in order of time what is known then,
    and which problem there is. `limit`: of steps of one attempt; `paths`: the rows of matches that
    go on growing."""
    bounds, begin, end = sequence.bounds, sequence.begin, sequence.end
    total, slots = len(begin), len(bounds) - 1
    longest = 1
    for number in range(slots):
        longest = max(longest, bounds[number + 1] - bounds[number])
    knows, failed = _memory(program, rules.knows, longest)
    search = Search(program, conditions, lookups, machine, failed, knows, limit)
    room = SweepRoom(
        np.empty(longest, np.int64), np.empty(longest, np.int64), attempts_of(longest),
        attempts_of(longest), np.full(total, -1, np.int64), np.full(total, -1, np.int64),
        threads_of(program, rules.threads),
        growth_of(program, rules.growing, total, paths),
    )  # fmt: skip
    output, stack = written(rules.before, rules.after), np.empty(256, np.int64)
    width = THREAD + rules.threads if rules.threads > 0 else THREADED
    learned = SweepOutcome(
        np.full((total if rules.in_order else 0, width), -1, np.int64),
        np.full(slots, INFINITY, np.int64),
        np.zeros(slots, np.int64),
        np.full((slots if rules.growing > 0 else 0, CURSOR + 2 * rules.growing), BEGINNING),
        room.growth.symbol,
        room.growth.trail,
    )
    for number in range(slots):
        first, stop = bounds[number], bounds[number + 1]
        made, pooled = output.counts[0], output.counts[1]
        problem = FULL
        while problem == FULL:
            if rules.in_order:
                problem = sweep_in_order(
                    number, sequence, earliest[number], open_end, rules, search, stack, room,
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


@compiled
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
