"""Lists of slots: the rows of a batch by their slots, and slots without others."""

from __future__ import annotations

import numpy as np

from driftline.kernels import compiled
from driftline.model.arrays import Int64s

NOWHERE = -1
"""The number of a slot that has none."""


@compiled
def by_slot(slots: Int64s, used: int) -> tuple[Int64s, Int64s, Int64s]:
    """The distinct slots in order of appearance, how often each is there, and the places of each
    one after the other, in their order."""
    return by_slot_in(slots, np.full(used, NOWHERE, np.int64))


@compiled
def by_slot_in(slots: Int64s, number_of: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """The same, with an array that has NOWHERE for every slot, and has it again afterwards: it need
    not be made for a few slots of many."""
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
    for number in range(distinct):
        number_of[touched[number]] = NOWHERE
    return touched[:distinct], counts[:distinct], order


@compiled
def each_once_in(slots: Int64s, number_of: Int64s) -> Int64s:
    """The distinct slots in order of appearance; `number_of`: see `by_slot_in`."""
    found, distinct = np.empty(len(slots), np.int64), 0
    for slot in slots:
        if number_of[slot] == NOWHERE:
            number_of[slot] = distinct
            found[distinct] = slot
            distinct += 1
    for number in range(distinct):
        number_of[found[number]] = NOWHERE
    return found[:distinct]


def in_order(slots: Int64s, others: Int64s) -> Int64s:
    """The slots of two lists in order, each once. (NumPy's way by hashing takes much longer.)

    >>> in_order(np.array([7, 3]), np.array([3, 1, 1])).tolist()
    [1, 3, 7]
    """
    both = np.sort(np.concatenate([slots, others]))
    return both[np.concatenate([[True], both[1:] != both[:-1]])] if len(both) else both


@compiled
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
