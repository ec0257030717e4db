"""Arrangements: for every key what is alive, as a run of entries in order.

    entry  =  words that it is in the order of | whole numbers | floats | the place of its row

The numbers add up; so do the floats, exactly, each in three words (see `exact_floats`). An entry
whose first whole number is 0 is gone. Where entries stand for rows, the last word is a place in a
row store.

Changes are rows of the same words. What is merged into a run costs a look for the place of each
change, near that of the one before, and one move of the entries behind the first.

Every table of words comes with the same memory as floats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.engine.state import exact_floats as exact
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.words import compare, copy, seek, seek_back, sort
from driftline.kernels import compiled, in_place, inlined
from driftline.model.arrays import FloatTable, Int64s, Int64Table
from driftline.model.time import INFINITY

AHEAD = 256
"""So many runs are read before they are worked on, so that accesses to memory do not wait for each
other."""


class Shape(NamedTuple):
    """The words of an entry: those of its order, from `floats` on the floats, and from `end` on the
    place of its row (the number of all words: it has none)."""

    order: int
    floats: int
    end: int


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
    end: int,
    sign: int,
) -> None:
    """Add the numbers of a row, from a first word up to an end, to those of another from `begin`
    on, or take them away (sign -1). `floats`: the first that is a float."""
    for word in range(first, floats):
        to[row, begin + word - first] += sign * of[other, word]
    for word in range(floats, end):
        if reals[other, word] != 0.0:
            part = begin + word - first - (word - floats) % 3
            exact.add(to_reals, row, part, sign * reals[other, word])


@inlined
def _matters(rows: Int64Table, reals: FloatTable, row: int, shape: Shape) -> bool:
    matters = False
    for word in range(shape.order, shape.floats):
        matters |= rows[row, word] != 0
    for word in range(shape.floats, shape.end, 3):
        matters |= exact.total(reals, row, word) != 0.0
    return matters


@in_place
def added_up(rows: Int64Table, reals: FloatTable, numbers: Int64s, count: int, shape: Shape) -> int:
    """Add up the changes with the same place in the order. The first of `numbers` are those of the
    rows, in order, and then of one for each place at which anything changes; returns how many these
    are."""
    kept, place = 0, 0
    while place < count:
        row = numbers[place]
        place += 1
        while place < count and compare(rows, numbers[place], rows, row, shape.order) == 0:
            add_row(
                rows, reals, row, shape.order, rows, reals, numbers[place], shape.order,
                shape.floats, shape.end, 1,
            )  # fmt: skip
            place += 1
        if _matters(rows, reals, row, shape):
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
    shape: Shape,
    at: Int64s,
    freed: Int64s,
) -> tuple[int, int]:
    """Merge changes into the run of a key, which has room for them: the first of `numbers`, as
    `added_up` leaves them. `at` has room for as many places in the run.

    Where entries have rows, a change brings a place for its row, of which ~place is left where the
    row is to be put there. `freed` gets the places of entries that are gone; returns how many these
    are, and how many entries have come to less than 0: what they lack was never there."""
    pool, base, size, order = (
        arrangement.ints, arrangement.first[key], arrangement.size[key], shape.order,
    )  # fmt: skip
    place, gone, first_gone, new, strays = -1, 0, size, 0, 0
    for number in range(count):
        row = numbers[number]
        if place < 0:
            place = seek_back(pool, base, size, rows, row, order)
        else:
            place = seek(pool, base, place, size, rows, row, order)
        if place < size and compare(pool, base + place, rows, row, order) == 0:
            add_row(
                pool, pool_reals, base + place, order, rows, reals, row, order, shape.floats,
                shape.end, 1,
            )  # fmt: skip
            strays += pool[base + place, order] < 0
            if pool[base + place, order] == 0:
                first_gone = min(first_gone, place)
                if shape.end < pool.shape[1]:
                    freed[gone] = pool[base + place, shape.end]
                    gone += 1
        elif rows[row, order] != 0:
            strays += rows[row, order] < 0
            at[new], numbers[new] = place, row
            new += 1
    if first_gone < size:
        size = _closed_up(pool, base, size, first_gone, order, at, new)
    # From the last one on: what is behind it makes room for it and for those before it.
    stop = size
    for number in range(new - 1, -1, -1):
        for entry in range(base + stop - 1, base + at[number] - 1, -1):
            copy(pool, entry + number + 1, pool, entry)
        stop = at[number]
        copy(pool, base + stop + number, rows, numbers[number])
        if shape.end < pool.shape[1]:
            rows[numbers[number], shape.end] = ~rows[numbers[number], shape.end]
    arrangement.size[key] = size + new
    return gone, strays


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


@compiled
def insert(
    keys: Int64s, bounds: Int64s, order: Int64s, entries: Int64Table, words: int, runs: RunArrays
) -> Int64s:
    """Put new entries into the runs of keys, which have room for them and are in the order of the
    first words; of those that are equal there, what is new comes last. The entries of the n-th key
    are bounds[n] … bounds[n + 1] - 1 of `order`, in order. Returns where in its run each is then.
    (Where entries neither add up nor go; this moves what is behind them once.)"""
    pool, places = runs.ints, np.empty(len(order), np.int64)
    for number in range(len(keys)):
        base, read = runs.first[keys[number]], runs.size[keys[number]] - 1
        write = read + bounds[number + 1] - bounds[number]
        runs.size[keys[number]] = write + 1
        for place in range(bounds[number + 1] - 1, bounds[number] - 1, -1):
            while read >= 0 and compare(pool, base + read, entries, order[place], words) > 0:
                copy(pool, base + write, pool, base + read)
                read, write = read - 1, write - 1
            copy(pool, base + write, entries, order[place])
            places[place] = write
            write -= 1
    return places


@compiled
def sort_each(bounds: Int64s, order: Int64s, entries: Int64Table, words: int) -> None:
    """Put the entries of every key, bounds[n] … bounds[n + 1] - 1 of `order`, in order of their
    first words; equal ones stay in theirs."""
    longest = 0
    for number in range(len(bounds) - 1):
        longest = max(longest, bounds[number + 1] - bounds[number])
    spare = np.empty(longest, np.int64)
    for number in range(len(bounds) - 1):
        mine = order[bounds[number] : bounds[number + 1]]
        sort(entries, mine, len(mine), words, spare)


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


@compiled
def drop_ended(keys: Int64s, runs: RunArrays, end: int, final: int, freed: Int64s) -> int:
    """Drop the entries of some keys that end at or before a time; `end`: the word of their end. The
    places of their rows, their last words, go to `freed`; returns how many they are."""
    gone, pool = 0, runs.ints
    for key in keys:
        base, kept = runs.first[key], runs.first[key]
        for place in range(base, base + runs.size[key]):
            if pool[place, end] <= final:
                freed[gone] = pool[place, pool.shape[1] - 1]
                gone += 1
                continue
            if kept < place:
                copy(pool, kept, pool, place)
            kept += 1
        runs.size[key] = kept - base
    return gone


@compiled
def least(keys: Int64s, runs: RunArrays, word: int, found: Int64s) -> None:
    """Lower `found` to the least value of a word among the entries of each key."""
    for number in range(len(keys)):
        base = runs.first[keys[number]]
        for place in range(base, base + runs.size[keys[number]]):
            found[number] = min(found[number], runs.ints[place, word])


@compiled
def next_times(
    keys: Int64s, runs: RunArrays, start: int, end: int, after: int, up_to: int
) -> tuple[Int64s, int]:
    """The first time after another at which an entry of each key starts or ends (INFINITY: none),
    and the last of all of these up to a third (`after`: none). `start`, `end`: their words."""
    following = np.full(len(keys), INFINITY, np.int64)
    last = after
    for number in range(len(keys)):
        base = runs.first[keys[number]]
        for place in range(base, base + runs.size[keys[number]]):
            for word in (start, end):
                time = runs.ints[place, word]
                if time > after:
                    following[number] = min(following[number], time)
                    if time <= up_to:
                        last = max(last, time)
    return following, last
