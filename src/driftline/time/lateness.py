"""How late arrivals are: the least lag that a given share of them exceeds, as a stream goes on.

A histogram holds how far arrivals were behind, in bins that are 1/32 of a power of two wide (so
lags are at most 3 % too great), of about the last `memory` arrivals: when there are twice as many,
all weights are halved. The lag for a share of the arrivals is

    the least end of a bin that no more than that share is above    once that share is some arrivals
    u (k / (share · n)) ^ γ, at most twice the greatest             before

the second of which reaches beyond what was seen, because in a short run the worst is still to
come: u is the k-th greatest of n, k about 16, and γ is Hill's estimate of how heavy the tail is,
one standard deviation up.

The share is steered by what has come: with a target of so many late arrivals, of which `credit`
are left, it is the target while a fifth of all is left, more if there is more, and ever less when
there is less. Chance is allowed for: the share is small, but not 0, until more are late by two
standard deviations than the target allows. From then on the lag is the greatest in memory.

State: the histograms, and a few numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from driftline.kernels import in_place, inlined
from driftline.model.arrays import Int64s, Int64Table
from driftline.time.bounds import LONGEST

PARTS = 32
"""Bins for each power of two; what is less has a bin for each number."""
BINS = PARTS * 59
ARRIVAL = 1 << 20
"""The weight of an arrival when it comes: a power of two, of which halves are exact for long."""

TOTAL, TOP, AT, ABOVE, GREATEST, LAG = range(6)
"""Of each histogram: the sum of its weights, its greatest bin, a bin and the weight above that,
the greatest ever, and the present lag."""

ROWS, LATE = range(2)
"""How many arrivals there were, and how many of them came too late."""

TAIL = 16.0
"""How many of the greatest lags the weight of the tail is estimated from."""
SOME = 8.0
"""How many arrivals above a lag are needed to know the share above it."""
RESERVE = 0.25
"""The part of the credit that is kept in reserve, for rare bursts."""
LEAST = 0.125
"""The least part of the target that is aimed at."""
DEEP = 4.0
"""By how many half standard deviations an excess over the target is more than chance."""
REMEMBERED = 1 << 20
"""The credit and the reserve are at most those of so many arrivals."""


class Lateness(NamedTuple):
    """Some histograms side by side; every field is an array of the snapshot."""

    weights: Int64Table
    marks: Int64Table
    counts: Int64s

    @staticmethod
    def none(count: int) -> Lateness:
        return Lateness(
            np.zeros((count, BINS), np.int64), np.zeros((count, 6), np.int64), np.zeros(2, np.int64)
        )

    def snapshot(self) -> dict[str, Int64s]:
        """The weights that are not 0: histogram, bin and weight of each."""
        there = np.nonzero(self.weights)
        weights = np.stack([*there, self.weights[there]]).astype(np.int64)
        return {"weights": weights, "marks": self.marks.copy(), "counts": self.counts.copy()}

    @staticmethod
    def restored(arrays: Mapping[str, Int64s]) -> Lateness:
        made = Lateness.none(len(arrays["marks"]))
        histogram, place, weight = arrays["weights"]
        made.weights[histogram, place] = weight
        made.marks[:], made.counts[:] = arrays["marks"], arrays["counts"]
        return made


class Aim(NamedTuple):
    """The share of arrivals that may be late (0: none), and how many arrivals count."""

    target: float
    memory: int


def aim(target: float | None) -> Aim:
    """The aim for a target; without one no arrival may be late."""
    if target is not None and not 0 <= target < 1:
        raise ValueError(f"the target is {target}: give a share of events such as 0.001")
    memory = MOST_MEMORY if not target else min(max(round(100 / target), 20_000), MOST_MEMORY)
    return Aim(target or 0.0, memory)


MOST_MEMORY = 1 << 40


@inlined
def bin_of(lag: int) -> int:
    """The bin of a lag.

    >>> bin_of(0), bin_of(31), bin_of(64), bin_of(65), bin_of(66)
    (0, 31, 64, 64, 65)
    """
    power = 0
    for step in (32, 16, 8, 4, 2, 1):
        if lag >> (power + step) >= PARTS:
            power += step
    return PARTS * power + (lag >> power)


@inlined
def end_of(place: int) -> int:
    """The greatest lag in a bin.

    >>> end_of(31), end_of(64), end_of(bin_of(10**9)) >= 10**9
    (31, 65, True)
    """
    if place < 2 * PARTS:
        return place
    power = place // PARTS - 1
    return ((place - PARTS * power + 1) << power) - 1


@in_place
def add(k: int, lag: int, count: int, to: Lateness) -> None:
    """Add `count` arrivals with a lag."""
    marks, place = to.marks, bin_of(lag)
    to.weights[k, place] += count * ARRIVAL
    marks[k, TOTAL] += count * ARRIVAL
    marks[k, GREATEST] = max(marks[k, GREATEST], lag)
    marks[k, TOP] = max(marks[k, TOP], place)
    if place > marks[k, AT]:
        marks[k, ABOVE] += count * ARRIVAL


@in_place
def estimate(by: Aim, to: Lateness) -> None:
    """Update the lags by the arrivals so far."""
    share = _share(by.target, to.counts)
    for k in range(len(to.marks)):
        marks = to.marks[k]
        while marks[TOTAL] >= 2 * by.memory * ARRIVAL:
            _halve(k, to)
        if by.target == 0:
            marks[LAG] = marks[GREATEST]
        elif share == 0:
            marks[LAG] = end_of(marks[TOP])
        elif share * marks[TOTAL] >= SOME * ARRIVAL:
            marks[LAG] = _exceeded_by(k, share, to)
        else:
            marks[LAG] = _beyond(k, share, to)


@in_place
def _share(target: float, counts: Int64s) -> float:
    """The share of arrivals to aim at; 0: none that is in memory."""
    allowed = target * min(counts[ROWS], REMEMBERED)
    credit = min(target * counts[ROWS] - counts[LATE], allowed)
    reserve, chance = RESERVE * allowed + 1, math.sqrt(allowed) / 2 + 1
    if credit < -DEEP * chance:
        return 0.0
    return float(target * max((credit + chance) / (reserve + chance), LEAST))


@in_place
def _exceeded_by(k: int, share: float, to: Lateness) -> int:
    """The least end of a bin that no more than a share is above."""
    weights, marks = to.weights[k], to.marks[k]
    allowed = share * marks[TOTAL]
    while marks[ABOVE] > allowed:
        marks[AT] += 1
        marks[ABOVE] -= weights[marks[AT]]
    while marks[AT] > 0 and marks[ABOVE] + weights[marks[AT]] <= allowed:
        marks[ABOVE] += weights[marks[AT]]
        marks[AT] -= 1
    return end_of(marks[AT])


@in_place
def _beyond(k: int, share: float, to: Lateness) -> int:
    """The lag that a share will exceed if the tail goes on as it seems to."""
    weights, marks = to.weights[k], to.marks[k]
    place, above = marks[TOP], 0.0
    while place > 0 and above + weights[place] / ARRIVAL < TAIL:
        above += weights[place] / ARRIVAL
        place -= 1
    threshold = max(end_of(place), 1)
    if above < 1:
        return end_of(place)
    excess = 0.0
    for each in range(place + 1, marks[TOP] + 1):
        if weights[each] > 0:
            excess += weights[each] / ARRIVAL * math.log(end_of(each) / threshold)
    heaviness = excess / above * (1 + 1 / math.sqrt(above))
    allowed = share * marks[TOTAL] / ARRIVAL
    counted = above if place == 0 else above + 1
    if counted <= allowed:
        return threshold
    most = min(2.0 * end_of(marks[TOP]), float(LONGEST))
    return int(min(threshold * (counted / allowed) ** heaviness, most)) + 1


@in_place
def _halve(k: int, to: Lateness) -> None:
    weights, marks = to.weights[k], to.marks[k]
    total = above = top = 0
    for place in range(marks[TOP] + 1):
        weights[place] >>= 1
        if weights[place] > 0:
            total += weights[place]
            top = place
            if place > marks[AT]:
                above += weights[place]
    marks[TOTAL], marks[ABOVE], marks[TOP] = total, above, top
