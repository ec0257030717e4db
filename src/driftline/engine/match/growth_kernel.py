"""A match that grows: the first open attempt has one, and its other ways are simulated from row to
row, in the pattern's order of preference.

A thread is an instruction TAKE that waits for the next row; no two wait at the same one, as what
comes after it does not depend on how it was reached. A row takes the threads on, the preferred ones
first. Where one comes to the end of the pattern, its way is the match now, and those after it are
given up. Of every row it is kept from which thread each one came (its trail): the rows that a match
grows by, and their symbols, are found by going back along it, up to the match before. So a row
costs as much as the pattern is long, however long the match is.

Only growth is done here. When no thread is left, when the way of the new match is not that of the
old one with more rows, or when there is a match behind the first one, attempts are made again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.match.condition_kernel import MASKED, RowConditions
from driftline.engine.match.program import FRESH, JUMP, MATCH, MOVED, SPLIT, TAKE, Program
from driftline.engine.match.thread_kernel import NOWHERE, MatchThreads
from driftline.engine.match.version_kernel import (
    CARRIED_ROW,
    FIRST,
    MADE,
    MATCHED,
    NO_ROW,
    POOLED,
    WrittenVersions,
    put_version,
)
from driftline.engine.match.version_kernel import SIZE as SIZE_COLUMN
from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table

MOST_GROWING = 12
"""Patterns with more instructions TAKE are not simulated: a trail has five bits for each."""
_BITS, _NOBODY = 5, 31
NO_THREAD = -1

CARRIED, BEGIN, LENGTH, SIZE, EXTENDS, COUNT = range(6)
"""Of the attempt: how many of its rows are those of earlier batches, which are not among the
entries; the position of the first of the others; how many rows there are; how many are in the
match; which threads go on from the match as it is, as bits; how many threads there are."""
PATH_PLACE, PATH_SYMBOL, PATH_TRAIL, PATH_COLUMNS = range(4)
"""The columns of a row that is carried from batch to batch."""
HAS_TIME, HAS_SIZE, HAS_EXTENDS, HAS_COUNT, HAS_CARRIED, HAS_FROM, HAS_TO, CURSOR = range(8)
"""Where to go on with a slot: the time of its last row (BEGINNING: its match does not grow); what
is known of the attempt; the entries that are new, from one to another; its threads, and those of
the attempts behind the match, of each how many entries there are from its start on (-1: none)."""


class Growth(NamedTuple):
    """`at`: see CARRIED and what follows it; `order`: the threads, the preferred ones first;
    `following`: the same after the next row; `seen`, `stack`: for `_follow`; `symbol`, `trail`: by
    entry; `paths`: the rows that are carried, those of the slot from `first_path[0]` on."""

    at: Int64s
    order: Int64s
    following: Int64s
    seen: Int64s
    stack: Int64s
    symbol: Int64s
    trail: Int64s
    paths: RunArrays
    first_path: Int64s


@compiled
def growth_of(program: Program, threads: int, entries: int, paths: RunArrays) -> Growth:
    """Room to simulate; none, if there are no threads."""
    states = len(program.code) << program.loops if threads > 0 else 0
    entries = entries if threads > 0 else 0
    return Growth(
        np.zeros(COUNT + 1, np.int64), np.empty(threads, np.int64), np.empty(threads, np.int64),
        np.zeros(states + 1, np.int64), np.empty(2 * states + 2, np.int64),
        np.empty(entries, np.int64), np.empty(entries, np.int64), paths, np.zeros(1, np.int64),
    )  # fmt: skip


@in_place
def _follow(
    program: Program, threads: MatchThreads, growth: Growth, step: int, moved: int, parent: int,
    position: int, made: int, trail: int,
) -> tuple[int, int, bool]:  # fmt: skip
    """Add the threads that are reached from an instruction on without taking a row, in order of
    preference, unless they are there; how many there are then, the trail, and whether the end of
    the pattern was reached, which gives up all that is less preferred."""
    stack, seen, following, top = growth.stack, growth.seen, growth.following, 0
    stamp = seen[len(seen) - 1]
    while True:
        goes_on = False
        state = (step << program.loops) | moved
        if seen[state] != stamp:
            seen[state] = stamp
            operation = program.code[step]
            if operation == TAKE:
                thread = threads.of_step[step]
                there = False
                for place in range(made):
                    there = there or following[place] == thread
                if not there:
                    following[made] = thread
                    made += 1
                    trail ^= (_NOBODY ^ parent) << (_BITS * thread)
            elif operation == MATCH:
                return made, trail, True
            elif operation == SPLIT:
                goes_on = True
                stack[top], stack[top + 1] = program.two[step], moved
                top += 2
                step = program.one[step]
            elif operation == JUMP:
                goes_on = True
                step = program.one[step]
            elif operation == FRESH:
                goes_on = True
                moved &= ~(1 << program.one[step])
                step += 1
            elif operation == MOVED:
                goes_on = True
                step = step + 1 if (moved >> program.one[step]) & 1 else program.two[step]
            else:  # AT_START
                goes_on = position == 0
                step += 1
        if not goes_on:
            if top == 0:
                return made, trail, False
            top -= 2
            step, moved = stack[top], stack[top + 1]


@in_place
def _empty_trail(threads: int) -> int:
    return (1 << (_BITS * threads)) - 1


@in_place
def _take(growth: Growth, made: int) -> None:
    growth.at[COUNT] = made
    for place in range(made):
        growth.order[place] = growth.following[place]


@in_place
def _advance(
    program: Program, conditions: RowConditions, threads: MatchThreads, growth: Growth, entry: int,
    position: int,
) -> int:  # fmt: skip
    """Take the threads on with the row of an entry; the thread that comes to a match with it, or
    NO_THREAD. The trail of the entry is noted."""
    growth.seen[len(growth.seen) - 1] += 1
    made, trail, winner = 0, _empty_trail(len(growth.order)), NO_THREAD
    for place in range(growth.at[COUNT]):
        thread = growth.order[place]
        step = threads.step[thread]
        variable = program.one[step] >> 1
        if (
            conditions.kind[variable] == MASKED
            and not conditions.masks[conditions.base[variable], entry]
        ):
            continue
        moved = (1 << program.loops) - 1
        made, trail, ends = _follow(
            program, threads, growth, step + 1, moved, thread, position + 1, made, trail
        )
        if ends:
            winner = thread
            break
    _take(growth, made)
    growth.trail[entry] = trail
    return winner


@in_place
def _came_from(trail: int, thread: int) -> int:
    return (trail >> (_BITS * thread)) & _NOBODY


@in_place
def _trail(growth: Growth, first: int, row: int) -> int:
    """The trail of a row of the attempt; `first`: the slot's first entry."""
    carried = growth.at[CARRIED]
    if row < carried:
        return int(growth.paths.ints[growth.first_path[0] + row, PATH_TRAIL])
    return int(growth.trail[first + growth.at[BEGIN] + row - carried])


@in_place
def _set_symbol(growth: Growth, first: int, row: int, symbol: int) -> None:
    carried = growth.at[CARRIED]
    if row < carried:
        growth.paths.ints[growth.first_path[0] + row, PATH_SYMBOL] = symbol
    else:
        growth.symbol[first + growth.at[BEGIN] + row - carried] = symbol


@in_place
def _note_match(growth: Growth, trail: int, winner: int) -> None:
    """The match ends with the last row: note which threads go on from it."""
    growth.at[SIZE], growth.at[EXTENDS] = growth.at[LENGTH], 0
    for place in range(growth.at[COUNT]):
        thread = growth.order[place]
        if _came_from(trail, thread) == winner:
            growth.at[EXTENDS] |= 1 << thread


@in_place
def begin_growth(
    program: Program, conditions: RowConditions, threads: MatchThreads, growth: Growth, first: int,
    start: int, size: int, end: int, labels: Int64s,
) -> bool:  # fmt: skip
    """Simulate the attempt that begins at a position, whose match ends at another; whether it can
    grow."""
    at = growth.at
    at[CARRIED], at[BEGIN], at[LENGTH], at[SIZE] = 0, start, 0, 0
    growth.seen[len(growth.seen) - 1] += 1
    made, _, _ = _follow(program, threads, growth, 0, 0, 0, start, 0, 0)
    _take(growth, made)
    for position in range(start, size):
        winner = _advance(program, conditions, threads, growth, first + position, position)
        growth.symbol[first + position] = labels[position] if position < end else -1
        at[LENGTH] += 1
        if winner != NO_THREAD:
            _note_match(growth, growth.trail[first + position], winner)
    return bool(at[COUNT] > 0 and at[SIZE] == end - start)


@in_place
def grow(
    program: Program, conditions: RowConditions, threads: MatchThreads, growth: Growth, first: int,
    position: int,
) -> tuple[bool, bool]:  # fmt: skip
    """Take the attempt on with the row at a position: whether its match has grown, and whether it
    can still do nothing but grow."""
    at, entry = growth.at, first + position
    winner = _advance(program, conditions, threads, growth, entry, position)
    growth.symbol[entry] = -1
    at[LENGTH] += 1
    if winner == NO_THREAD:
        return False, bool(at[COUNT] > 0)
    row, thread, size = at[LENGTH] - 1, winner, at[SIZE]
    while True:
        _set_symbol(growth, first, row, program.one[threads.step[thread]])
        if row == size:
            break
        row -= 1
        thread = _came_from(_trail(growth, first, row), thread)
    is_longer = bool((at[EXTENDS] >> thread) & 1)
    _note_match(growth, growth.trail[entry], winner)
    return True, is_longer and bool(at[COUNT] > 0)


@in_place
def resume_growth(
    growth: Growth, cursor: Int64s, path: int, carried: int, begin: int, before: int
) -> None:
    """Go on where a batch before has left off. `cursor`: see CURSOR; `path`: where the slot's rows
    are in `paths`, after so many (`before`) that stand before the attempt; `begin`: the position of
    the first row that is new."""
    at = growth.at
    at[CARRIED], at[LENGTH], at[BEGIN] = carried, carried, begin
    at[SIZE], at[EXTENDS], at[COUNT] = cursor[HAS_SIZE], cursor[HAS_EXTENDS], cursor[HAS_COUNT]
    growth.first_path[0] = path + before
    for place in range(at[COUNT]):
        growth.order[place] = cursor[CURSOR + place]


@in_place
def save_growth(
    growth: Growth, threads: MatchThreads, cursor: Int64s, first: int, size: int, time: int
) -> None:
    """Write where to go on."""
    at, most = growth.at, len(growth.order)
    cursor[HAS_TIME], cursor[HAS_SIZE], cursor[HAS_EXTENDS] = time, at[SIZE], at[EXTENDS]
    cursor[HAS_COUNT], cursor[HAS_CARRIED] = at[COUNT], at[CARRIED]
    cursor[HAS_FROM], cursor[HAS_TO] = first + at[BEGIN], first + size
    for place in range(at[COUNT]):
        cursor[CURSOR + place] = growth.order[place]
    for thread in range(most):
        start = threads.start[thread]
        cursor[CURSOR + most + thread] = -1 if start == NOWHERE else size - start


@in_place
def resume_threads(cursor: Int64s, threads: MatchThreads, size: int) -> None:
    """Set the threads of the attempts behind the match to where they were."""
    most = len(threads.start)
    for thread in range(most):
        distance = cursor[CURSOR + most + thread]
        threads.start[thread] = NOWHERE if distance < 0 else size - distance


@in_place
def put_grown(
    output: WrittenVersions, version: int, slot: int, since: int, until: int, number: int,
    growth: Growth, first: int,
) -> int:  # fmt: skip
    """Write the match as it is now, in the place of a version (-1: of none); returns its version,
    or -1 where there is no room."""
    at, pool = growth.at, output.pool
    made, pooled = int(output.counts[MADE]), int(output.counts[POOLED])
    rows_at, row = pooled, -output.before
    if version >= 0:
        place, length = output.versions[version, FIRST], output.versions[version, SIZE_COLUMN]
        if place + output.before + length == pooled:
            rows_at, row = place, length  # it has the same rows there, and these more
    if made == len(output.versions) or pooled + at[SIZE] - row > len(pool):
        return -1
    put_version(output.versions, made, slot, MATCHED, since, until, number, rows_at, at[SIZE])
    while row < at[SIZE]:
        pool[pooled, 1] = -1
        if row < at[CARRIED] and at[CARRIED] > 0:
            path = growth.first_path[0] + row
            held = growth.paths.ints[path, PATH_PLACE]
            pool[pooled, 0] = NO_ROW if held < 0 else CARRIED_ROW - held
            if row >= 0:
                pool[pooled, 1] = growth.paths.ints[path, PATH_SYMBOL]
        else:
            position = at[BEGIN] + row - at[CARRIED]
            pool[pooled, 0] = first + position if position >= 0 else NO_ROW
            if row >= 0:
                pool[pooled, 1] = growth.symbol[first + position]
        pooled += 1
        row += 1
    output.counts[MADE], output.counts[POOLED] = made + 1, pooled
    return made


@compiled
def keep_paths(
    slots: Int64s, growing: Int64s, cursors: Int64Table, places: Int64s, symbol: Int64s,
    trail: Int64s, before: int, bounds: Int64s, paths: RunArrays,
) -> None:  # fmt: skip
    """Add the rows of attempts whose matches grow to what is carried; `growing`: the numbers of
    their slots, for whose paths there is room."""
    for number in growing:
        slot = slots[number]
        base, begin = paths.first[slot], cursors[number, HAS_FROM]
        if cursors[number, HAS_CARRIED] == 0:
            paths.size[slot] = 0
            begin -= before
        for entry in range(begin, cursors[number, HAS_TO]):
            at = base + paths.size[slot]
            there = entry >= bounds[number]
            paths.ints[at, PATH_PLACE] = places[entry] if there else -1
            paths.ints[at, PATH_SYMBOL] = symbol[entry] if there else -1
            paths.ints[at, PATH_TRAIL] = trail[entry] if there else -1
            paths.size[slot] += 1
