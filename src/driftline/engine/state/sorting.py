"""Sorting a few rows by their times, which are mostly in order already."""

from __future__ import annotations

import numpy as np

from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s

_SHORT = 32
"""Stretches of so many rows are sorted by insertion, and then merged."""


@in_place
def sort_by(times: Int64s, rows: Int64s, spare: Int64s) -> None:
    """Put rows in order of their times; those with the same time stay in their order. `spare` has
    room for as many rows."""
    size = len(rows)
    for begin in range(0, size, _SHORT):
        for place in range(begin + 1, min(begin + _SHORT, size)):
            row, to = rows[place], place
            while to > begin and times[rows[to - 1]] > times[row]:
                rows[to] = rows[to - 1]
                to -= 1
            rows[to] = row
    width = _SHORT
    while width < size:
        for begin in range(0, size - width, 2 * width):
            middle, stop = begin + width, min(begin + 2 * width, size)
            if times[rows[middle - 1]] > times[rows[middle]]:
                _merge(times, rows, begin, middle, stop, spare)
        width *= 2


@compiled
def sort_each_by(times: Int64s, rows: Int64s, bounds: Int64s) -> None:
    """Put the rows of every stretch, bounds[n] … bounds[n + 1] - 1, in order of their times."""
    longest = 0
    for number in range(len(bounds) - 1):
        longest = max(longest, bounds[number + 1] - bounds[number])
    spare = np.empty(longest, np.int64)
    for number in range(len(bounds) - 1):
        sort_by(times, rows[bounds[number] : bounds[number + 1]], spare)


@in_place
def _merge(times: Int64s, rows: Int64s, begin: int, middle: int, stop: int, spare: Int64s) -> None:
    """Merge two neighbouring stretches that are in order."""
    front = middle - begin
    for place in range(front):
        spare[place] = rows[begin + place]
    left, right, write = 0, middle, begin
    while left < front:
        if right < stop and times[rows[right]] < times[spare[left]]:
            rows[write] = rows[right]
            right += 1
        else:
            rows[write] = spare[left]
            left += 1
        write += 1
