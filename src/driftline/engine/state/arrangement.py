"""Arrangements: for every key what is alive, as a run of entries in order.

    entry  =  words that it is in the order of | whole numbers | floats

The numbers add up; so do the floats, exactly, each in three words (see `exact_floats`). An entry
whose first whole number is 0 is gone.

Changes are rows of the same words. What is merged into a run costs a look for the place of each
change, near that of the one before, and one move of the entries behind the first.

In the kernels, `order` is the number of words of the order, and `floats` the first word of a float.
Every table of words comes with the same memory as floats.
"""

from __future__ import annotations

from driftline.engine.state import exact_floats as exact
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.words import compare, copy, seek, seek_back
from driftline.kernels import in_place, inlined
from driftline.model.arrays import FloatTable, Int64s, Int64Table

AHEAD = 256
"""So many runs are read before they are worked on, so that accesses to memory do not wait for each
other."""


@inlined
def add_row(
    to: Int64Table,
    to_reals: FloatTable,
    row: int,
    begin: int,
    of: Int64Table,
    reals: FloatTable,
    other: int,
    first: int,
    floats: int,
    sign: int,
) -> None:
    """Add the numbers of a row, from a first word on, to those of another from `begin` on, or take
    them away (sign -1)."""
    for word in range(first, floats):
        to[row, begin + word - first] += sign * of[other, word]
    for word in range(floats, of.shape[1]):
        if reals[other, word] != 0.0:
            part = begin + word - first - (word - floats) % 3
            exact.add(to_reals, row, part, sign * reals[other, word])


@inlined
def _matters(rows: Int64Table, reals: FloatTable, row: int, order: int, floats: int) -> bool:
    matters = False
    for word in range(order, floats):
        matters |= rows[row, word] != 0
    for word in range(floats, rows.shape[1], 3):
        matters |= exact.total(reals, row, word) != 0.0
    return matters


@in_place
def added_up(
    rows: Int64Table, reals: FloatTable, numbers: Int64s, count: int, order: int, floats: int
) -> int:
    """Add up the changes with the same place. The first of `numbers` are those of the rows, in
    order, and then of one for each place at which anything changes; returns how many these are."""
    kept, place = 0, 0
    while place < count:
        row = numbers[place]
        place += 1
        while place < count and compare(rows, numbers[place], rows, row, order) == 0:
            add_row(rows, reals, row, order, rows, reals, numbers[place], order, floats, 1)
            place += 1
        if _matters(rows, reals, row, order, floats):
            numbers[kept] = row
            kept += 1
    return kept


@in_place
def merge(
    arrangement: RunArrays,
    pool_reals: FloatTable,
    key: int,
    rows: Int64Table,
    reals: FloatTable,
    numbers: Int64s,
    count: int,
    order: int,
    floats: int,
    at: Int64s,
) -> None:
    """Merge changes into the run of a key, which has room for them: the first of `numbers`, as
    `added_up` leaves them. `at` has room for as many places."""
    pool, base, size = arrangement.ints, arrangement.first[key], arrangement.size[key]
    place, gone, new = -1, size, 0
    for number in range(count):
        row = numbers[number]
        if place < 0:
            place = seek_back(pool, base, size, rows, row, order)
        else:
            place = seek(pool, base, place, size, rows, row, order)
        if place < size and compare(pool, base + place, rows, row, order) == 0:
            add_row(pool, pool_reals, base + place, order, rows, reals, row, order, floats, 1)
            if pool[base + place, order] == 0:
                gone = min(gone, place)
        elif rows[row, order] != 0:
            at[new], numbers[new] = place, row
            new += 1
    if gone < size:
        size = _closed_up(pool, base, size, gone, order, at, new)
    # From the last one on: what is behind it makes room for it and for those before it.
    stop = size
    for number in range(new - 1, -1, -1):
        for entry in range(base + stop - 1, base + at[number] - 1, -1):
            copy(pool, entry + number + 1, pool, entry)
        stop = at[number]
        copy(pool, base + stop + number, rows, numbers[number])
    arrangement.size[key] = size + new


@in_place
def _closed_up(
    pool: Int64Table, base: int, size: int, gone: int, order: int, at: Int64s, new: int
) -> int:
    """Drop the entries that are gone, of which the first is known; the places of what is new move
    along. Returns how many are left."""
    write, number = gone, 0
    while number < new and at[number] <= gone:
        number += 1
    for read in range(gone, size):
        while number < new and at[number] == read:
            at[number] = write
            number += 1
        if pool[base + read, order] != 0:
            copy(pool, base + write, pool, base + read)
            write += 1
    while number < new:
        at[number] = write
        number += 1
    return write


@in_place
def read_ahead(arrangement: RunArrays, keys: Int64s, number: int, seen: Int64s) -> None:
    """Read the last entries of the next keys, from a number on. (`seen` is written, or the compiler
    would leave it out.)"""
    found, stop = 0, min(number + AHEAD, len(keys))
    for each in range(number, stop):
        found ^= arrangement.first[keys[each]] + arrangement.size[keys[each]]
    for each in range(number, stop):
        last = arrangement.first[keys[each]] + max(arrangement.size[keys[each]] - 1, 0)
        found ^= arrangement.ints[last, 0]
    seen[0] = found
