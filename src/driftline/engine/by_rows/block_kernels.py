"""The kernels of totals of blocks of rows (see `block_totals`)."""

from __future__ import annotations

import numpy as np

from driftline.engine.by_rows.change_kernels import MOST_PARTIALS, add_exactly, take_up
from driftline.engine.by_rows.counting_kernels import ALL_BITS, SOME_BITS
from driftline.engine.state.exact_floats import two_product
from driftline.engine.state.held_rows import COPIES, END
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.words import seek
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Floats, FloatTable, Int64s, Int64Table, Mask
from driftline.model.time import BEGINNING, INFINITY

# Columns of a block. From FIRST_SUM on there are sums, in which a member counts with its copies.
LATEST_START, FIRST_END, NEW_KEYS, TOO_GREAT, ROWS_IN = range(5)
FIRST_SUM = ROWS_IN
PARTIALS = 6
"""An exact sum of floats is kept as so many floats that do not overlap; one that needs more, which
spans more than ninety orders of magnitude, is not kept."""

_LOST = 2**40


@compiled
def added_up(
    bounds: Int64s, copies: Int64s, ints: Int64Table, floats: FloatTable, sums_at: Int64s
) -> tuple[Int64Table, FloatTable]:
    """The totals of some members or blocks, each with its copies: those of the n-th total are
    bounds[n] … bounds[n + 1] - 1. `sums_at`: where each exact sum of floats begins, and the end."""
    count = len(bounds) - 1
    totals = np.zeros((count, ints.shape[1]), np.int64)
    sums = np.zeros((count, floats.shape[1]), np.float64)
    partials = np.empty(MOST_PARTIALS)
    for number in range(count):
        begin, end = bounds[number], bounds[number + 1]
        totals[number, LATEST_START], totals[number, FIRST_END] = BEGINNING, INFINITY
        for each in range(begin, end):
            totals[number, LATEST_START] = max(
                totals[number, LATEST_START], ints[each, LATEST_START]
            )
            totals[number, FIRST_END] = min(totals[number, FIRST_END], ints[each, FIRST_END])
            totals[number, NEW_KEYS] += ints[each, NEW_KEYS]
            totals[number, TOO_GREAT] |= ints[each, TOO_GREAT]
            for column in range(FIRST_SUM, ints.shape[1]):
                totals[number, column] += copies[each] * ints[each, column]
        for number_of_sum in range(len(sums_at) - 1):
            place, stop = sums_at[number_of_sum], sums_at[number_of_sum + 1]
            size = 0
            for each in range(begin, end):
                for part in range(place, stop):
                    if floats[each, part] != 0.0:
                        for _ in range(copies[each]):
                            size = add_exactly(partials, size, floats[each, part])
            if size > stop - place:
                totals[number, TOO_GREAT] = 1
                continue
            sums[number, place : place + size] = partials[:size]
    return totals, sums


@compiled
def add_to(
    totals: Int64Table,
    sums: FloatTable,
    to: Int64s,
    ints: Int64Table,
    floats: FloatTable,
    sign: int,
    sums_at: Int64s,
) -> None:
    """Add rows to some totals, or take them away (sign -1). What is too great is counted; a sum
    that is lost, because it needs more floats than there are, never comes to 0 there."""
    partials = np.empty(MOST_PARTIALS)
    for row in range(len(to)):
        total = to[row]
        totals[total, TOO_GREAT] += sign * ints[row, TOO_GREAT]
        for column in range(FIRST_SUM, ints.shape[1]):
            totals[total, column] += sign * ints[row, column]
        for number in range(len(sums_at) - 1):
            place, stop = sums_at[number], sums_at[number + 1]
            size = take_up(partials, sums[total, place:stop])
            for part in floats[row, place:stop]:
                if part != 0.0 and ints[row, TOO_GREAT] == 0:
                    size = add_exactly(partials, size, sign * part)
            sums[total, place:stop] = 0.0
            if size > stop - place:
                totals[total, TOO_GREAT] += _LOST
            else:
                sums[total, place : place + size] = partials[:size]


@compiled
def bits(bounds: Int64s, copies: Int64s, values: Int64s, how: int) -> Int64s:
    """The bits that all, some, or an odd number of the members or blocks of each total have."""
    found = np.full(len(bounds) - 1, -1 if how == ALL_BITS else 0, np.int64)
    for number in range(len(found)):
        for each in range(bounds[number], bounds[number + 1]):
            if how == ALL_BITS:
                found[number] &= values[each]
            elif how == SOME_BITS:
                found[number] |= values[each]
            elif copies[each] % 2 == 1:
                found[number] ^= values[each]
    return found


@compiled
def products(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """The product of each two numbers, as two floats."""
    high, low = np.empty(len(first)), np.empty(len(first))
    for number in range(len(first)):
        high[number], low[number] = two_product(first[number], second[number])
    return high, low


@compiled
def extremes(bounds: Int64s, there: Mask, keys: Int64s, greatest: bool) -> Int64s:
    """Of the members or blocks of each total, the one with the least or the greatest key; -1 if
    none is there."""
    found = np.full(len(bounds) - 1, -1, np.int64)
    for number in range(len(found)):
        for each in range(bounds[number], bounds[number + 1]):
            best = found[number]
            if there[each] and (
                best < 0 or (keys[each] > keys[best] if greatest else keys[each] < keys[best])
            ):
                found[number] = each
    return found


@compiled
def put_in(slots: Int64s, bounds: Int64s, keys: Int64s, runs: RunArrays) -> None:
    """Put keys into runs of keys in order, which have room for them: those of the n-th slot are
    bounds[n] … bounds[n + 1] - 1, in order, too."""
    for number in range(len(slots)):
        first, size = runs.first[slots[number]], runs.size[slots[number]]
        begin, new = bounds[number], bounds[number + 1] - 1
        old, place = first + size - 1, first + size + new - begin
        while new >= begin:
            if old >= first and runs.ints[old, 0] > keys[new]:
                runs.ints[place, 0] = runs.ints[old, 0]
                old -= 1
            else:
                runs.ints[place, 0] = keys[new]
                new -= 1
            place -= 1
        runs.size[slots[number]] += bounds[number + 1] - begin


@compiled
def take_out(slots: Int64s, bounds: Int64s, keys: Int64s, runs: RunArrays) -> None:
    """Take keys that are there out of runs of keys in order."""
    for number in range(len(slots)):
        first, size = runs.first[slots[number]], runs.size[slots[number]]
        run, gone = runs.ints[first : first + size, 0], bounds[number]
        kept = np.searchsorted(run, keys[gone])
        for place in range(kept, size):
            if gone < bounds[number + 1] and run[place] == keys[gone]:
                gone += 1
            else:
                run[kept] = run[place]
                kept += 1
        runs.size[slots[number]] = kept


@compiled
def first_changed(
    slots: Int64s,
    begin: Int64s,
    count: Int64s,
    order: Int64s,
    entries: Int64Table,
    members: RunArrays,
) -> Int64s:
    """Of each slot, the place of the first change: see `held_rows.Merged`."""
    found = np.empty(len(slots), np.int64)
    for number in range(len(slots)):
        base, size = members.first[slots[number]], members.size[slots[number]]
        found[number] = size
        if count[number] > 0:
            found[number] = seek(
                members.ints, base, 0, size, entries, order[begin[number]],
                entries.shape[1] + COPIES,
            )  # fmt: skip
    return found


@compiled
def first_ended(slots: Int64s, members: RunArrays, final: int) -> Int64s:
    """Of each slot, the place of the first member that ends at or before a time."""
    found = np.empty(len(slots), np.int64)
    for number in range(len(slots)):
        base, size = members.first[slots[number]], members.size[slots[number]]
        found[number] = size
        for place in range(size):
            if members.ints[base + place, END] <= final:
                found[number] = place
                break
    return found


@inlined
def is_steady(blocks: RunArrays, block: int, first: int, last: int) -> bool:
    """Whether all members of a block are there from the first time on, and do not end up to the
    last; and it has a total."""
    end = blocks.ints[block, FIRST_END]
    return bool(
        blocks.ints[block, LATEST_START] <= first
        and (end > last or end == INFINITY)
        and blocks.ints[block, TOO_GREAT] == 0
    )
