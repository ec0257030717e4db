"""What a sweep over the attempts of a partition works on: rules, rows, attempts, and its room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.match.condition_kernel import ConditionMachine, Lookups, RowConditions
from driftline.engine.match.growth_kernel import Growth
from driftline.engine.match.program import Program
from driftline.engine.match.search_kernel import Failed
from driftline.engine.match.thread_kernel import MatchThreads
from driftline.engine.match.version_kernel import WrittenVersions
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table, Mask

FINE, STEPS, SKIPS_NOWHERE, SKIPS_BACK, FULL = range(5)
FINISHED, MORE_AHEAD, MORE_BACK = range(3)
"""Whether a slot has been gone through, or needs more entries: after these, or before them."""
OPEN, NUMBERED, COVERED, THREADED, THREAD = range(5)
"""What is known of an entry, as of when it was the last: how many entries there were from the first
open attempt on; how many matches before it; how many entries from it on are in one of these; and,
if attempts are simulated and have been open for long, of every thread how many entries there were
from its start on (-1: it was nowhere)."""


class Rules(NamedTuple):
    """`skip`, `skips_to`: see `next_start`; `knows`: see `Failed`; `within`: 0: none; `bound`: the
    same if an attempt looks at no row that is farther away, and otherwise 0; `numbered`: whether
    the numbers of matches matter; `shows_unmatched`; `before`, `after`: how many rows around a
    match its measures see; `back`: how many rows before an attempt it looks at; `in_order`: rows
    are only added, and go by time; `threads`: how many there are, if attempts are simulated;
    `growing`: the same for a match that grows; `long`: from how many rows of an attempt on that is
    of use."""

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
    growing: int
    long: int


class Sequence(NamedTuple):
    """The entries of slots: those of the n-th are bounds[n] … bounds[n + 1] - 1, each alive during
    [begin, end). In order of time: `start`: where the search goes on, as a number of entries from
    the slot's first on; `number`: how many matches are before that; `covered`: how many entries
    from there on are in one of these; `threads`: of each slot as in `known`, where the attempts
    that are open before `start` are not there; `changed`: the time of the last change; `whole`:
    whether all entries are there; `known`: [entry, (OPEN, …)] as of before; `cursors`: of each slot
    where its match goes on growing (see `growth_kernel`), if its rows of before are not there,
    `path` and `carried`: where these are, and how many."""

    bounds: Int64s
    begin: Int64s
    end: Int64s
    start: Int64s
    number: Int64s
    covered: Int64s
    threads: Int64Table
    changed: Int64s
    whole: Mask
    known: Int64Table
    cursors: Int64Table
    path: Int64s
    carried: Int64s


class Attempts(NamedTuple):
    """`entry`: where each begins; `after`: the entry after which the next one does; `reach`: the
    last entry that it, or one before it, has looked at (the number of all: the end), but in order
    of time when it is settled: rows that start later change nothing of it; `last`: the
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
    conditions: RowConditions
    lookups: Lookups
    machine: ConditionMachine
    failed: Failed
    knows: int
    limit: int


class SweepRoom(NamedTuple):
    """`alive`: the entries that are; `labels`: the symbols of a match, by position; `now`, `old`:
    the attempts, and those that are made again; `held`: by entry, the version of an old one that
    begins there; `unmatched`: by entry, its version as a row without a match; `threads`, `growth`:
    attempts that are simulated."""

    alive: Int64s
    labels: Int64s
    now: Attempts
    old: Attempts
    held: Int64s
    unmatched: Int64s
    threads: MatchThreads
    growth: Growth


class SweepOutcome(NamedTuple):
    """Of rows in order of time: what is known of each entry now (OPEN is -1: as before); the time
    from which on each slot is as it was before; whether it is FINISHED; where each goes on, with
    the symbols and trails of entries (see `growth_kernel`)."""

    known: Int64Table
    same_from: Int64s
    unfinished: Int64s
    cursors: Int64Table
    symbol: Int64s
    trail: Int64s


@compiled
def attempts_of(count: int) -> Attempts:
    return Attempts(
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64),
        np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64),
    )  # fmt: skip


@in_place
def copy_attempt(to: Attempts, at: int, of: Attempts, place: int) -> None:
    to.entry[at], to.after[at], to.reach[at] = of.entry[place], of.after[place], of.reach[place]
    to.last[at], to.version[at], to.number[at] = of.last[place], of.version[place], of.number[place]


@in_place
def first_from(sorted_ones: Int64s, begin: int, stop: int, value: int) -> int:
    """The first of some sorted numbers that is not less than a value."""
    while begin < stop:
        middle = (begin + stop) // 2
        if sorted_ones[middle] < value:
            begin = middle + 1
        else:
            stop = middle
    return begin


@in_place
def set_time(output: WrittenVersions, version: int, column: int, time: int) -> None:
    if version >= 0:
        output.versions[version, column] = time
