"""Lists of slots: the rows of a batch by their slots, and slots without others."""

from __future__ import annotations

import numpy as np

from driftline.model.arrays import Int64s
from driftline.model.compiled import njit


@njit(cache=True, nogil=True)
def by_slot(slots: Int64s, used: int) -> tuple[Int64s, Int64s, Int64s]:
    """The distinct slots in order of appearance, how often each is there, and the places of each
    one after the other, in their order."""
    number_of = np.full(used, -1, np.int64)
    touched, counts = np.empty(len(slots), np.int64), np.zeros(len(slots), np.int64)
    distinct = 0
    for place in range(len(slots)):
        slot = slots[place]
        if number_of[slot] < 0:
            number_of[slot] = distinct
            touched[distinct] = slot
            distinct += 1
        counts[number_of[slot]] += 1
    following = np.zeros(distinct, np.int64)
    for number in range(1, distinct):
        following[number] = following[number - 1] + counts[number - 1]
    order = np.empty(len(slots), np.int64)
    for place in range(len(slots)):
        number = number_of[slots[place]]
        order[following[number]] = place
        following[number] += 1
    return touched[:distinct], counts[:distinct], order


@njit(cache=True, nogil=True)
def without(slots: Int64s, others: Int64s, used: int) -> Int64s:
    """The slots, each once, without some others."""
    seen = np.zeros(used, np.bool_)
    for slot in others:
        seen[slot] = True
    left, kept = np.empty(len(slots), np.int64), 0
    for slot in slots:
        if not seen[slot]:
            seen[slot] = True
            left[kept] = slot
            kept += 1
    return left[:kept].copy()
