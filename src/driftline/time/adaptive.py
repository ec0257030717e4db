"""One adaptive estimate of a skew (the paper's figure 4), and how fast it adapts.

δ is the estimate; each arrival brings an observation. A greater one raises δ at once and starts a
new window. After more than W observations without one, δ falls to α δ + (1 - α) · (the greatest
observation of the window), and a new window starts.

With a rate, W itself adapts. An observation is late if it raises δ; or if an estimate that was too
low has made it late, which goes on long after δ has risen again. In a period of W observations, but
no fewer than 4 / rate: if more of them are late than the rate allows, W doubles, by the first raise
after that or in the end; if in the end fewer than a quarter of that are, W is halved; then a new
period starts. And when δ has fallen over `MANY_FALLS` windows on end, W is halved. But W is never
halved in debt, while more have been late in all periods than the rate allows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline.kernels import in_place, inlined
from driftline.model.arrays import Floats, Int64s
from driftline.time.bounds import LONGEST

Float64s = NDArray[np.float64]

FOREVER = 2**62
"""The W with which an estimate never falls: it is the greatest skew ever seen."""

MANY_FALLS = 8
ENOUGH = 4
"""The least number of raises that a period allows: fewer would be no evidence."""
LEAST_WINDOW = 8
LEAST_TARGET = 2.0**-50
"""A share below this allows no late event: estimates never fall."""
NO_RATE = -1.0


class Estimates(NamedTuple):
    """Some estimates side by side; every field is an array of the snapshot."""

    delta: Floats
    highest: Floats
    """The greatest observation of the present window: the paper's δ-win."""
    debt: Floats
    """By how many the late observations of earlier periods exceed what the rate allows."""
    seen: Int64s
    """How many observations the present window has: the paper's num."""
    window: Int64s
    """W, of each."""
    period: Int64s
    tried: Int64s
    """How many observations the present period has, and below, how many were late."""
    missed: Int64s
    falls: Int64s

    @staticmethod
    def new(count: int, window: int, rate: float = NO_RATE) -> Estimates:
        seen, windows, periods, *others = (np.zeros(count, np.int64) for _ in range(6))
        delta, highest, debt = (np.zeros(count) for _ in range(3))
        windows[:] = window
        periods[:] = FOREVER if rate < 0 else max(window, math.ceil(ENOUGH / rate))
        return Estimates(delta, highest, debt, seen, windows, periods, *others)

    def lags(self) -> Int64s:
        """The estimates as whole ticks, on the safe side."""
        return np.ceil(np.minimum(self.delta, LONGEST)).astype(np.int64)

    def snapshot(self) -> dict[str, Int64s]:
        """All fields as integers; floats by their bits."""
        return {name: array.view(np.int64).copy() for name, array in self._asdict().items()}

    @staticmethod
    def restored(arrays: Mapping[str, Int64s]) -> Estimates:
        columns = [np.array(arrays[name], np.int64) for name in Estimates._fields]
        delta, highest, debt = (column.view(np.float64) for column in columns[:3])
        return Estimates(delta, highest, debt, *columns[3:])


class Adaptivity(NamedTuple):
    """α, and the rate of late observations that W is steered by."""

    alpha: float
    rate: float = NO_RATE


def adaptivity(window: int | None, alpha: float, target: float | None) -> tuple[int, Adaptivity]:
    """The first W, and how it adapts.

    A target is a share of events that may be late. Half of it is the rate: what makes an event late
    is a raise of one of two estimates.
    """
    if target is not None and 0 <= target < LEAST_TARGET:
        target = None
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is {alpha}: give 0 to 1")
    if target is not None and not 0 < target < 1:
        raise ValueError(f"the target is {target}: give a share of events such as 0.001")
    if window is not None and window < 1:
        raise ValueError(f"the window is {window}: give 1 or more, or None for no end")
    rate = NO_RATE if target is None else target / 2
    if window is None:
        window = FOREVER if target is None else math.ceil(1 / rate)
    return window, Adaptivity(alpha, rate)


@inlined
def shortfall(reference: int, time: int) -> int:
    """The observation at an arrival: the least lag that allows this time after that one."""
    if time > reference:
        return 0
    if time < 0 and reference > LONGEST + time:  # the difference may not fit into 64 bits
        return LONGEST
    return reference - time + 1


@in_place
def observe(
    k: int, observation: float, count: int, late: int, how: Adaptivity, of: Estimates
) -> None:
    """So many observations for estimate k: the greatest of them, and how many are late.

    Kernels do what is done most often themselves, because a call costs more: an observation that
    neither raises the estimate nor ends a window or a period only counts.
    """
    rate = how.rate
    of.seen[k] += count
    of.tried[k] += count
    of.missed[k] += late
    raises = observation > of.delta[k]
    if raises:
        of.delta[k] = observation
        of.highest[k] = 0
        of.seen[k] = 0
        of.falls[k] = 0
    else:
        of.highest[k] = max(of.highest[k], observation)
        if of.seen[k] > of.window[k]:
            lower = how.alpha * of.delta[k] + (1 - how.alpha) * of.highest[k]
            of.falls[k] = of.falls[k] + 1 if lower < of.delta[k] else 0
            of.delta[k] = lower
            of.highest[k] = 0
            of.seen[k] = 0
            if rate >= 0 and of.falls[k] >= MANY_FALLS:
                _halve(k, of)
                of.falls[k] = 0
    allowed = rate * of.period[k]
    if rate >= 0 and (of.tried[k] >= of.period[k] or (raises and of.missed[k] > allowed)):
        of.debt[k] = max(of.debt[k] + of.missed[k] - rate * of.tried[k], 0.0)
        if of.missed[k] > allowed:
            of.window[k] = min(2 * of.window[k], FOREVER)
        elif ENOUGH * of.missed[k] < allowed:
            _halve(k, of)
        of.period[k] = max(of.window[k], math.ceil(ENOUGH / rate))
        of.tried[k] = of.missed[k] = 0


@in_place
def _halve(k: int, of: Estimates) -> None:
    if of.debt[k] == 0:
        of.window[k] = max(of.window[k] // 2, LEAST_WINDOW)
