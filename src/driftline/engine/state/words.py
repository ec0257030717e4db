"""Rows of 64-bit words, which states and answers are made of. Floats are their bits.

They are in the order of their first words; how many, the caller says.
"""

from __future__ import annotations

from driftline.kernels import in_place
from driftline.model.arrays import Int64s, Int64Table

_SHORT = 8
"""Stretches of so many rows are sorted by insertion, and then merged."""


@in_place
def copy(to: Int64Table, at: int, of: Int64Table, row: int) -> None:
    """Copy a row, word by word, which is much quicker than as a whole."""
    for word in range(of.shape[1]):
        to[at, word] = of[row, word]


@in_place
def same(one: Int64Table, row: int, other: Int64Table, other_row: int, first: int) -> bool:
    """Whether two rows are the same from a word on. (Without an early way out: with one, Numba
    counts references to the arrays at every call.)"""
    equal = True
    for word in range(first, one.shape[1]):
        equal &= one[row, word] == other[other_row, word]
    return equal


@in_place
def compare(one: Int64Table, row: int, other: Int64Table, other_row: int, words: int) -> int:
    """-1, 0 or 1: a row comes before, with or after another."""
    for word in range(words):
        a, b = one[row, word], other[other_row, word]
        if a != b:
            return -1 if a < b else 1
    return 0


@in_place
def sort(rows: Int64Table, order: Int64s, count: int, words: int, spare: Int64s) -> None:
    """Put the first of `order`, numbers of rows, in the order of these; equal ones stay in theirs.
    `spare` has room for as many."""
    for begin in range(0, count, _SHORT):
        for place in range(begin + 1, min(begin + _SHORT, count)):
            row, to = order[place], place
            while to > begin and compare(rows, order[to - 1], rows, row, words) > 0:
                order[to] = order[to - 1]
                to -= 1
            order[to] = row
    width = _SHORT
    while width < count:
        for begin in range(0, count - width, 2 * width):
            middle, stop = begin + width, min(begin + 2 * width, count)
            if compare(rows, order[middle - 1], rows, order[middle], words) > 0:
                _merge(rows, order, begin, middle, stop, words, spare)
        width *= 2


@in_place
def _merge(
    rows: Int64Table,
    order: Int64s,
    begin: int,
    middle: int,
    stop: int,
    words: int,
    spare: Int64s,
) -> None:
    """Merge two neighbouring stretches that are in order."""
    front = middle - begin
    for place in range(front):
        spare[place] = order[begin + place]
    left, right, write = 0, middle, begin
    while left < front:
        if right < stop and compare(rows, spare[left], rows, order[right], words) > 0:
            order[write] = order[right]
            right += 1
        else:
            order[write] = spare[left]
            left += 1
        write += 1


@in_place
def seek(
    pool: Int64Table, base: int, low: int, high: int, rows: Int64Table, row: int, words: int
) -> int:
    """The first place of a run, from `low` up to `high`, that does not come before a row. It is
    looked for near `low` first, in steps that double: many cost as much as a merge does, and a few
    the logarithm of what is between them."""
    step = 1
    while low + step < high and compare(pool, base + low + step, rows, row, words) < 0:
        low += step
        step *= 2
    return _between(pool, base, low, min(high, low + step), rows, row, words)


@in_place
def seek_back(
    pool: Int64Table, base: int, size: int, rows: Int64Table, row: int, words: int
) -> int:
    """The same in a whole run, near its end first: what comes late is mostly not very late."""
    high, step = size, 1
    while high - step >= 0 and compare(pool, base + high - step, rows, row, words) >= 0:
        high -= step
        step *= 2
    return _between(pool, base, max(0, high - step), high, rows, row, words)


@in_place
def _between(
    pool: Int64Table, base: int, low: int, high: int, rows: Int64Table, row: int, words: int
) -> int:
    while low < high:
        middle = (low + high) >> 1
        if compare(pool, base + middle, rows, row, words) < 0:
            low = middle + 1
        else:
            high = middle
    return low
