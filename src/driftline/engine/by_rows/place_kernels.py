"""Kernels that find places among the members of a slot, which are sorted by words: so many steady
members before or after another, the members with the same words, those with some value.

A member is steady if it is there from the first of some times on, and does not end up to the last.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.state.held_rows import COPIES, END, PLACE, START
from driftline.engine.state.words import compare
from driftline.kernels import compiled, inlined
from driftline.model.arrays import Int64s, Int64Table, Mask
from driftline.model.time import INFINITY

FAR = 2**62
"""The distance of a bound that is none."""
_GREATEST = 2**63 - 1
_GREATEST_FLOAT = float(np.finfo(np.float64).max)
_LEAST_FLOAT = float(np.finfo(np.float64).tiny)
_SLACK = 8 * float(np.finfo(np.float64).eps)


@inlined
def is_steady(run: Int64Table, place: int, first: int, last: int) -> bool:
    ve = run[place, END]
    return bool(run[place, START] <= first and (ve > last or ve == INFINITY))


@compiled
def back(run: Int64Table, place: int, count: int, first: int, last: int) -> int:
    """The place that has so many steady members from itself to another place."""
    if count >= FAR:
        return 0
    while place > 0 and count > 0:
        place -= 1
        if is_steady(run, place, first, last):
            count -= run[place, COPIES]
    return place


@compiled
def on(run: Int64Table, place: int, count: int, first: int, last: int) -> int:
    """The place that has so many steady members from another place up to it."""
    if count >= FAR:
        return len(run)
    while place < len(run) and count > 0:
        if is_steady(run, place, first, last):
            count -= run[place, COPIES]
        place += 1
    return place


@compiled
def count_back(run: Int64Table, place: int, count: int, first: int, last: int, counts: Mask) -> int:
    """As `_back`, but only of members that count."""
    while place > 0 and count > 0:
        place -= 1
        if is_steady(run, place, first, last) and (len(counts) == 0 or counts[run[place, PLACE]]):
            count -= run[place, COPIES]
    return place


@compiled
def count_on(run: Int64Table, place: int, count: int, first: int, last: int, counts: Mask) -> int:
    """As `_on`, but only of members that count."""
    while place < len(run) and count > 0:
        if is_steady(run, place, first, last) and (len(counts) == 0 or counts[run[place, PLACE]]):
            count -= run[place, COPIES]
        place += 1
    return place


@compiled
def group_start(run: Int64Table, place: int, words: int) -> int:
    while 0 < place < len(run) and compare(run, place - 1, run, place, words) == 0:
        place -= 1
    return place


@compiled
def group_end(run: Int64Table, place: int, words: int) -> int:
    while 0 < place < len(run) and compare(run, place - 1, run, place, words) == 0:
        place += 1
    return place


@compiled
def bound(run: Int64Table, key: Int64s, words: int, is_end: bool) -> int:
    """The first member whose words do not come before those of a key (is_end: come after)."""
    low, high = 0, len(run)
    while low < high:
        middle = (low + high) // 2
        side = 0
        for word in range(words):
            a, b = run[middle, word], key[word]
            if a != b:
                side = -1 if a < b else 1
                break
        if side < 0 or (is_end and side == 0):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def at_value(run: Int64Table, side: int, value: int, is_end: bool) -> int:
    key = np.array([side, value], np.int64)
    return bound(run, key, 2, is_end)


@compiled
def reached(word: int, distance: int, of_floats: float, sign: int) -> int:
    """The word of the value at a distance, or of floats somewhat beyond that: frames go by rounded
    sums."""
    if sign == 0:
        return _moved(word, distance)
    key = word if sign > 0 else ~word
    bits = np.array([key if key >= 0 else key ^ _GREATEST], np.int64)
    value = bits.view(np.float64)[0]
    if np.isnan(value):
        return word  # it is near itself alone
    value = min(max(value, -_GREATEST_FLOAT), _GREATEST_FLOAT)  # a sum may be infinite
    slack = _SLACK * (abs(value) + abs(of_floats)) + _LEAST_FLOAT
    moved = value + sign * (of_floats + (slack if of_floats > 0 else -slack))
    found = np.array([moved + 0.0], np.float64).view(np.int64)[0]
    key = found if found >= 0 else found ^ _GREATEST
    return int(key if sign > 0 else ~key)


@inlined
def _moved(value: int, distance: int) -> int:
    """The sum, or the greatest or the least number."""
    total = np.int64(value) + np.int64(distance)
    if distance >= 0:
        return int(total) if total >= value else _GREATEST
    return int(total) if total <= value else ~_GREATEST
