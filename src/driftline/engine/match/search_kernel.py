"""One attempt: whether rows from a position on match the program, in its order of preference.

The ways are gone through one after the other, the preferred ones first; a stack holds where others
branch off. Where conditions look only at a row and its neighbours, what comes after an instruction
at a position does not depend on how it was reached: if it failed once, it fails again, and is not
tried twice. So an attempt takes time in proportion to the rows times the instructions, as if the
automaton were simulated. Where conditions look at the match, the number of steps has a limit.
"""

from __future__ import annotations

from typing import NamedTuple

from driftline.engine.match.condition_kernel import (
    ALWAYS,
    MASKED,
    ConditionMachine,
    Lookups,
    RowConditions,
    is_true,
)
from driftline.engine.match.program import (
    AT_END,
    AT_START,
    FRESH,
    JUMP,
    MATCH,
    SPLIT,
    TAKE,
    Program,
)
from driftline.kernels import in_place, inlined
from driftline.model.arrays import Int64s

NO_MATCH, TOO_MANY_STEPS, FULL_STACK = -1, -2, -3

SKIP_PAST, SKIP_NEXT, SKIP_FIRST, SKIP_LAST = range(4)
NO_TARGET, TARGET_IS_FIRST = -1, -2

FORGET, BY_ATTEMPT, BY_SNAPSHOT = range(3)
"""For how long it is known that an instruction fails at a position."""


class Failed(NamedTuple):
    """Where instructions have failed: stamps[(position - since) * width + …] is the stamp of the
    attempt, or of the attempts that share what they know; `now`: since, and the stamp; `joins`: the
    number of each instruction that is remembered, otherwise -1; `width`: how many there are."""

    stamps: Int64s
    now: Int64s
    joins: Int64s
    width: int


@inlined
def attempt(
    program: Program,
    conditions: RowConditions,
    lookups: Lookups,
    machine: ConditionMachine,
    alive: Int64s,
    size: int,
    start: int,
    number: int,
    labels: Int64s,
    stack: Int64s,
    failed: Failed,
    knows: int,
    within: int,
    limit: int,
) -> tuple[int, int]:
    """The end of the match that begins at a position, or why there is none; and the last position
    that was looked at (`size`, where it mattered that there are no more rows). The symbols of its
    rows are in `labels`, by position."""
    code, one, two = program.code, program.one, program.two
    all_moved = (1 << program.loops) - 1
    step, at, moved = 0, start, 0
    top, reach, steps = 0, start, 0
    room = len(stack) - 1
    while True:
        steps += 1
        if steps > limit:
            return TOO_MANY_STEPS, reach
        fails = False
        if knows != FORGET and failed.joins[step] >= 0:
            place = (at - failed.now[0]) * failed.width
            place += (failed.joins[step] << program.loops) | moved
            fails = failed.stamps[place] == failed.now[1]
            failed.stamps[place] = failed.now[1]
        if not fails:
            operation = code[step]
            if operation == TAKE:
                if at >= size:
                    reach = max(reach, at)
                    fails = True
                else:
                    symbol = one[step]
                    variable = symbol >> 1
                    ahead = conditions.ahead[variable]
                    reach = max(reach, at + ahead)
                    row = alive[at]
                    if within > 0 and at > start:
                        first = alive[start]
                        distance = conditions.by_order[row] - conditions.by_order[first]
                        fails = (
                            conditions.by_order_null[row]
                            or conditions.by_order_null[first]
                            or abs(distance) >= within
                        )
                    if not fails:
                        labels[at] = symbol
                        kind = conditions.kind[variable]
                        if kind == MASKED:
                            mask = conditions.base[variable] + min(ahead, size - 1 - at)
                            fails = not conditions.masks[mask, row]
                        elif kind != ALWAYS:
                            fails = not is_true(
                                conditions, lookups, machine, variable, alive, size, start, at,
                                labels, number,
                            )  # fmt: skip
                    at += 1
                    moved = all_moved
                    step += 1
            elif operation == SPLIT:
                if top + 3 > room:
                    return FULL_STACK, reach
                stack[top], stack[top + 1], stack[top + 2] = two[step], at, moved
                top += 3
                step = one[step]
            elif operation == JUMP:
                step = one[step]
            elif operation == MATCH:
                return at, reach
            elif operation == AT_START:
                fails = at > 0
                step += 1
            elif operation == AT_END:
                reach = max(reach, at)
                fails = at < size
                step += 1
            elif operation == FRESH:
                moved &= ~(1 << one[step])
                step += 1
            else:  # MOVED
                step = step + 1 if (moved >> one[step]) & 1 else two[step]
        if fails:
            if top == 0:
                return NO_MATCH, reach
            top -= 3
            step, at, moved = stack[top], stack[top + 1], stack[top + 2]


@in_place
def next_start(start: int, end: int, labels: Int64s, skip: int, skips_to: Int64s) -> int:
    """Where the search goes on after a match, or why it cannot. `skip`: SKIP_PAST … SKIP_LAST;
    `skips_to`: by variable, whether it is one to skip to."""
    if end == start or skip == SKIP_NEXT:
        return start + 1
    if skip == SKIP_PAST:
        return end
    found = NO_TARGET
    for position in range(start, end):
        if skips_to[labels[position] >> 1]:
            found = position
            if skip == SKIP_FIRST:
                break
    return TARGET_IS_FIRST if found == start else found
