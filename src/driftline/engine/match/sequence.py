"""The rows of partitions in their order: all that are alive from some time on, or, where rows go by
time and are only added, those from the first open attempt before a change on.
"""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows.order_words import OrderBy, with_nulls
from driftline.engine.match import growth_kernel
from driftline.engine.match.sweep_state import COVERED, NUMBERED, OPEN, THREADED
from driftline.engine.state.held_rows import COPIES, PLACE, START
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import RunArrays
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table, Mask
from driftline.model.time import INFINITY

LOOK_AHEAD = 32
"""So many rows after the last change are first looked at, whether all is as before from there."""


@dataclass(frozen=True)
class Entries:
    """The entries of slots, those of the n-th between two bounds: `member`, where each is among the
    members, and `copy`, its number among equal ones."""

    bounds: Int64s
    member: Int64s
    copy: Int64s
    begin: Int64s
    end: Int64s


def arranged(
    number: Int64s,
    member: Int64s,
    begin: Int64s,
    end: Int64s,
    slots: int,
    members: RunArrays,
    rows: RowStore,
    order: Items[OrderBy],
    whole: Items[str],
    in_order: bool,
) -> Entries:
    """Rows of slots, sorted by these, in their order; ties go by the whole row, the columns of
    which are given. `in_order`: they are sorted by slot and time, and time is the first item of the
    order."""
    places = members.ints[member, PLACE]
    if in_order:
        placed = np.arange(len(number))
        keys = [number, begin]
    else:
        columns = rows.take_some(places, list(dict.fromkeys(item.column for item in order)))
        keys = [number, *_order_keys(columns, order)]
        placed = np.lexsort(keys[::-1])
    same = np.ones(max(len(number) - 1, 0), np.bool_)
    for key in keys:
        sorted_key = key[placed]
        same &= sorted_key[1:] == sorted_key[:-1]
    if same.any():
        tied = np.append(same, False) | np.append(False, same)
        group = np.cumsum(~np.append(False, same))[tied]
        equal = rows.take(places[placed[tied]])
        ties = _order_keys(equal, order) if in_order else []
        ties += _order_keys(equal, [OrderBy(name) for name in sorted(whole)])
        placed[tied] = placed[tied][np.lexsort([*reversed(ties), group])]
    copies = members.ints[member[placed], COPIES]
    copy = np.zeros(len(placed), np.int64)
    if len(copies) and copies.max() > 1:
        placed, copy = np.repeat(placed, copies), _numbered(copies)
    bounds = np.searchsorted(number[placed], np.arange(slots + 1))
    return Entries(bounds, member[placed], copy, begin[placed], end[placed])


def _order_keys(rows: pa.RecordBatch, order: Items[OrderBy]) -> list[Int64s]:
    found: list[Int64s] = []
    for item in order:
        side, key = with_nulls(rows.column(item.column), item)
        found += [side, ~key if item.descending else key]
    return found


def _numbered(copies: Int64s) -> Int64s:
    """0, 1, … for the copies of each."""
    ends = np.cumsum(copies)
    found: Int64s = np.arange(ends[-1]) - np.repeat(ends - copies, copies)
    return found


@compiled
def from_open(
    slots: Int64s,
    earliest: Int64s,
    changed: Int64s,
    ahead: Int64s,
    from_threads: Mask,
    back: int,
    over_after: int,
    members: RunArrays,
    known: Int64Table,
    cursors: Int64Table,
    has_copies: bool,
) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s, Int64Table, Mask, Mask]:
    """The members from the first open attempt before the earliest change of each slot on, and some
    (`ahead`) after the last: the number of the slot, the member; and of each slot where its search
    goes on, as a number of entries from its first on, how many matches are before that, how many
    entries from there on are in these; the threads of open attempts, if they are known and these
    may be left out (`from_threads`); whether that is all of its members; and whether its match goes
    on growing from its cursor (see `growth_kernel`), and the rows of before are left out.
    `over_after`: so long after a row no attempt up to it is open (0: that is not known)."""
    begins, stops = np.zeros(len(slots), np.int64), np.zeros(len(slots), np.int64)
    start, number_of = np.zeros(len(slots), np.int64), np.zeros(len(slots), np.int64)
    covered, whole = np.zeros(len(slots), np.int64), np.ones(len(slots), np.bool_)
    threads = np.zeros((len(slots), known.shape[1] - THREADED), np.int64)
    resumed = np.zeros(len(slots), np.bool_)
    total = 0
    for number in range(len(slots)):
        base, size = members.first[slots[number]], members.size[slots[number]]
        if earliest[number] == INFINITY or size == 0:
            continue
        since = base + first_from(members, base, size, earliest[number])
        begin = since
        if since > base:
            place = members.ints[since - 1, PLACE]
            number_of[number], covered[number] = known[place, NUMBERED], known[place, COVERED]
            opened = known[place, OPEN]
            if over_after and members.ints[since - 1, START] + over_after <= earliest[number]:
                covered[number] = opened = 0
            if from_threads[number] and threads.shape[1] > 0 and known[place, THREADED]:
                threads[number], opened = known[place, THREADED:], 0
            if (
                from_threads[number]
                and len(cursors) > 0
                and cursors[slots[number], growth_kernel.HAS_TIME] == members.ints[since - 1, START]
            ):
                resumed[number], opened = True, 0
            begin, entries = back_to(members, base, since, opened + back, has_copies)
            start[number] = entries - opened
        stop = base + first_from(members, base, size, changed[number] + 1) + ahead[number]
        stop = min(stop, base + size)
        while stop < base + size and members.ints[stop, START] == members.ints[stop - 1, START]:
            stop += 1
        whole[number] = stop == base + size
        begins[number], stops[number] = begin, stop
        total += stop - begin
    slot, member, found = np.empty(total, np.int64), np.empty(total, np.int64), 0
    for number in range(len(slots)):
        for each in range(begins[number], stops[number]):
            slot[found], member[found] = number, each
            found += 1
    return slot, member, start, number_of, covered, threads, whole, resumed


@compiled
def first_from(members: RunArrays, base: int, size: int, time: int) -> int:
    """The first member of a run that does not start before a time."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if members.ints[base + middle, START] < time:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def back_to(
    members: RunArrays, base: int, before: int, needed: int, has_copies: bool
) -> tuple[int, int]:
    """Where a run has to begin so that at least so many entries are before a member of it, with
    those that start at the same time as the first; and how many entries these are. `has_copies`:
    whether a member may be several entries."""
    begin, entries = before, 0
    if not has_copies:
        begin = max(base, before - needed)
        entries = before - begin
    while begin > base and (
        entries < needed
        or (begin < before and members.ints[begin - 1, START] == members.ints[begin, START])
    ):
        begin -= 1
        entries += members.ints[begin, COPIES]
    return begin, entries


@in_place
def learn(known: Int64Table, places: Int64s, found: Int64Table) -> None:
    """Note what was found out of rows at some places (OPEN is -1: nothing)."""
    for entry in range(len(places)):
        if found[entry, OPEN] >= 0:
            for column in range(known.shape[1]):
                known[places[entry], column] = found[entry, column]
