"""A pattern as a program: instructions whose order is the pattern's order of preference.

    TAKE symbol        one row of a variable, and on to the next instruction
    SPLIT first other  both are possible, and the first is preferred
    JUMP to
    AT_START, AT_END   only before the first row of the partition; only after its last
    FRESH loop         an iteration begins, and has taken no row yet
    MOVED loop exit    an iteration that has taken no row is the last: on to the exit
    MATCH

A symbol is a variable, and whether its row is excluded from the output: 2 * variable + excluded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.model.arrays import Int64s, Mask
from driftline.model.patterns import (
    Alternate,
    Anchor,
    Concat,
    Empty,
    Exclude,
    Pattern,
    Permute,
    Repeat,
    Variable,
)
from driftline.plan.errors import PlanError

TAKE, SPLIT, JUMP, AT_START, AT_END, FRESH, MOVED, MATCH = range(8)

LONGEST_PROGRAM = 20_000
"""Instructions of a pattern whose repetitions are written out."""
DEEPEST_LOOPS = 12
"""Repetitions inside each other whose iterations may take no row."""


class Program(NamedTuple):
    """`code`, `one`, `two`: the instructions and their operands; `joins`: whether an instruction
    can be reached from several others; `loops`: how many bits FRESH and MOVED use."""

    code: Int64s
    one: Int64s
    two: Int64s
    joins: Mask
    loops: int


def program_of(pattern: Pattern) -> Program:
    """The program of a pattern.

    >>> up = Concat((Variable("A"), Repeat(Variable("B"), 0, None)))
    >>> program = program_of(up)
    >>> program.code.tolist() == [TAKE, SPLIT, TAKE, JUMP, MATCH], program.two.tolist()
    (True, [0, 4, 0, 0, 0])
    """
    writer = _Writer({name: place for place, name in enumerate(pattern.variables())})
    writer.write(pattern, False, 0)
    writer.put(MATCH)
    code, one, two = (np.array(column, np.int64) for column in zip(*writer.lines, strict=True))
    reached = np.zeros(len(code), np.int64)
    for place, (operation, first, other) in enumerate(writer.lines):
        if operation == SPLIT:
            reached[first] += 1
            reached[other] += 1
        elif operation == JUMP:
            reached[first] += 1
        elif operation != MATCH:
            reached[place + 1] += 1
            if operation == MOVED:
                reached[other] += 1
    return Program(code, one, two, reached > 1, writer.deepest)


class _Writer:
    """`lines`: the instructions so far; `deepest`: how deep loops of empty iterations nest."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self.numbers = numbers
        self.lines: list[list[int]] = []
        self.deepest = 0

    def put(self, code: int, one: int = 0, two: int = 0) -> int:
        if len(self.lines) >= LONGEST_PROGRAM:
            raise PlanError(
                f"the pattern has more than {LONGEST_PROGRAM:,} steps when its repetitions and "
                "permutations are written out; use smaller numbers in {n,m}, or fewer of them"
            )
        self.lines.append([code, one, two])
        return len(self.lines) - 1

    def write(self, pattern: Pattern, excluded: bool, depth: int) -> None:
        """Write a pattern at the end; `depth`: how many loops of empty iterations are around it."""
        if isinstance(pattern, Variable):
            self.put(TAKE, 2 * self.numbers[pattern.name] + excluded)
        elif isinstance(pattern, Concat):
            for part in pattern.items:
                self.write(part, excluded, depth)
        elif isinstance(pattern, Alternate):
            self._alternatives(pattern, excluded, depth)
        elif isinstance(pattern, Permute):
            self._alternatives(pattern.written_out(), excluded, depth)
        elif isinstance(pattern, Exclude):
            self.write(pattern.inner, True, depth)
        elif isinstance(pattern, Anchor):
            self.put(AT_START if pattern.where == "start" else AT_END)
        elif isinstance(pattern, Repeat):
            self._repeat(pattern, excluded, depth)
        else:
            assert isinstance(pattern, Empty)

    def _alternatives(self, pattern: Alternate, excluded: bool, depth: int) -> None:
        jumps: list[int] = []
        for number, choice in enumerate(pattern.choices):
            last = number + 1 == len(pattern.choices)
            split = None if last else self.put(SPLIT, len(self.lines) + 1)
            self.write(choice, excluded, depth)
            if split is not None:
                jumps.append(self.put(JUMP))
                self.lines[split][2] = len(self.lines)
        for jump in jumps:
            self.lines[jump][1] = len(self.lines)

    def _repeat(self, repeat: Repeat, excluded: bool, depth: int) -> None:
        may_be_empty = repeat.inner.shortest() == 0
        again = repeat.most is None and repeat.least > 0 and not may_be_empty
        for _ in range(repeat.least - again):
            self.write(repeat.inner, excluded, depth)
        if again:  # the last of those that have to be is the first that may be repeated
            begin = len(self.lines)
            self.write(repeat.inner, excluded, depth)
            after = len(self.lines) + 1
            self.put(SPLIT, *((begin, after) if repeat.greedy else (after, begin)))
            return
        exits: list[tuple[int, int]] = []  # an instruction, and which operand is the exit
        if repeat.most is None:
            begin = len(self.lines)
            self._optional(repeat, excluded, depth, may_be_empty, exits)
            self.put(JUMP, begin)
        else:
            for _ in range(repeat.most - repeat.least):
                self._optional(repeat, excluded, depth, may_be_empty, exits)
        for place, operand in exits:
            self.lines[place][operand] = len(self.lines)

    def _optional(
        self,
        repeat: Repeat,
        excluded: bool,
        depth: int,
        may_be_empty: bool,
        exits: list[tuple[int, int]],
    ) -> None:
        """One more iteration, or the exit."""
        split = self.put(SPLIT)
        self.lines[split][1 if repeat.greedy else 2] = split + 1
        exits.append((split, 2 if repeat.greedy else 1))
        if not may_be_empty:
            self.write(repeat.inner, excluded, depth)
            return
        if depth == DEEPEST_LOOPS:
            raise PlanError(
                f"more than {DEEPEST_LOOPS} repetitions inside each other may take no row; "
                "leave out a * or a ? around what may be empty already"
            )
        self.deepest = max(self.deepest, depth + 1)
        self.put(FRESH, depth)
        self.write(repeat.inner, excluded, depth + 1)
        exits.append((self.put(MOVED, depth), 2))
