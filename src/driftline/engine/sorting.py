"""Sorting a few rows by their times, which are mostly in order already."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.model.compiled import njit

Int64s = NDArray[np.int64]

_SHORT = 32
"""Up to so many rows are sorted by insertion."""


@njit(cache=True, nogil=True)
def sorted_by(times: Int64s, rows: Int64s) -> Int64s:
    """The rows in order of their times; those with the same time stay in their order."""
    result = rows.copy()
    if len(rows) > _SHORT and not _is_sorted(times, rows):
        return result[np.argsort(times[result], kind="mergesort")]
    for place in range(1, len(result)):
        row, to = result[place], place
        while to > 0 and times[result[to - 1]] > times[row]:
            result[to] = result[to - 1]
            to -= 1
        result[to] = row
    return result


@njit(cache=True, nogil=True)
def _is_sorted(times: Int64s, rows: Int64s) -> bool:
    place = 1
    while place < len(rows) and times[rows[place - 1]] <= times[rows[place]]:
        place += 1
    return place >= len(rows)
