"""The automaton simulated: where the open attempts of a partition are, while none has a match.

A thread is an instruction TAKE that waits for the next row, with the first attempt that has come
there. A row takes every thread on, and a new attempt begins behind it. So a row costs as much as
the pattern is long, however long attempts have been open; only when one comes to the end of the
pattern are they made, to find the match that is preferred (`search_kernel`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.match.condition_kernel import MASKED, RowConditions
from driftline.engine.match.program import (
    AT_START,
    FRESH,
    JUMP,
    MATCH,
    MOVED,
    SPLIT,
    TAKE,
    Program,
)
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s

NOWHERE = np.iinfo(np.int64).max
MOST_THREADS, MOST_STATES = 32, 4096
"""Patterns with more instructions TAKE, or more instructions in all, are not simulated."""


class MatchThreads(NamedTuple):
    """`start`: by thread, the position at which its first attempt begins, or NOWHERE; `following`:
    the same after the next row. `step`: the instruction of each thread; `of_step`: the thread of
    each instruction. `seen`, `stamp`, `stack`: for `_follow`."""

    start: Int64s
    following: Int64s
    step: Int64s
    of_step: Int64s
    seen: Int64s
    stamp: Int64s
    stack: Int64s


@compiled
def threads_of(program: Program, count: int) -> MatchThreads:
    """The threads of a program with so many instructions TAKE; none, if it is not simulated."""
    step, of_step = np.empty(count, np.int64), np.full(len(program.code), -1, np.int64)
    states = len(program.code) << program.loops if count > 0 else 0
    found = 0
    for place in range(len(program.code)):
        if count > 0 and program.code[place] == TAKE:
            step[found], of_step[place] = place, found
            found += 1
    return MatchThreads(
        np.full(count, NOWHERE, np.int64), np.full(count, NOWHERE, np.int64), step, of_step,
        np.zeros(states, np.int64), np.zeros(1, np.int64), np.empty(2 * states + 2, np.int64),
    )  # fmt: skip


@in_place
def begin_threads(program: Program, threads: MatchThreads, position: int) -> None:
    """The threads of an attempt that begins at a position, and of no other."""
    for thread in range(len(threads.start)):
        threads.start[thread] = NOWHERE
    _follow(program, threads, 0, 0, position, position, threads.start)


@in_place
def advance(
    program: Program, conditions: RowConditions, threads: MatchThreads, row: int, position: int
) -> bool:
    """Take the threads on with the row at a position; whether an attempt comes to a match."""
    following, matched = threads.following, False
    for thread in range(len(following)):
        following[thread] = NOWHERE
    for thread in range(len(threads.start)):
        if threads.start[thread] == NOWHERE:
            continue
        step = threads.step[thread]
        variable = program.one[step] >> 1
        if (
            conditions.kind[variable] == MASKED
            and not conditions.masks[conditions.base[variable], row]
        ):
            continue
        moved = (1 << program.loops) - 1
        if _follow(
            program, threads, step + 1, moved, threads.start[thread], position + 1, following
        ):
            matched = True
    _follow(program, threads, 0, 0, position + 1, position + 1, following)
    for thread in range(len(following)):
        threads.start[thread] = following[thread]
    return matched


@in_place
def first_start(threads: MatchThreads, size: int) -> int:
    """The position at which the first open attempt begins; `size`: none is open."""
    first = size
    for thread in range(len(threads.start)):
        first = min(first, threads.start[thread])
    return first


@in_place
def _follow(
    program: Program, threads: MatchThreads, step: int, moved: int, start: int, position: int,
    found: Int64s,
) -> bool:  # fmt: skip
    """Note the threads that an attempt comes to from an instruction on without taking a row;
    whether it comes to a match."""
    stack, seen, top, matched = threads.stack, threads.seen, 0, False
    threads.stamp[0] += 1
    while True:
        goes_on = False
        state = (step << program.loops) | moved
        if seen[state] != threads.stamp[0]:
            seen[state] = threads.stamp[0]
            operation = program.code[step]
            if operation == TAKE:
                found[threads.of_step[step]] = min(found[threads.of_step[step]], start)
            elif operation == MATCH:
                matched = True
            elif operation == AT_START:
                goes_on = position == 0
                step += 1
            else:
                goes_on = True
                if operation == SPLIT:
                    stack[top], stack[top + 1] = program.two[step], moved
                    top += 2
                    step = program.one[step]
                elif operation == JUMP:
                    step = program.one[step]
                elif operation == FRESH:
                    moved &= ~(1 << program.one[step])
                    step += 1
                elif operation == MOVED:
                    step = step + 1 if (moved >> program.one[step]) & 1 else program.two[step]
        if not goes_on:
            if top == 0:
                return matched
            top -= 2
            step, moved = stack[top], stack[top + 1]
