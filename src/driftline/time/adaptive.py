"""One adaptive estimate of a skew (the paper's figure 4), and how fast it adapts.

δ is the estimate; each arrival brings an observation. A greater one raises δ at once and starts a
new window. After more than W observations without one, δ falls to α δ + (1 - α) · (the greatest
observation of the window), and a new window starts.

With a rate, W itself adapts. In a period of W observations, but no fewer than 4 / rate: as soon as
more of them have raised δ than the rate allows in all of it, W doubles; if in the end fewer than a
quarter of that have, W is halved; then a new period starts. And when δ has fallen over `MANY_FALLS`
windows on end, W is halved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.model.compiled import njit
from driftline.time.bounds import LONGEST, Int64s

Float64s = NDArray[np.float64]

FOREVER = 2**62
"""The W that never lets an estimate fall: the greatest skew ever seen."""

MANY_FALLS = 8
ENOUGH = 4
"""So many raises are allowed in a period at least: fewer would tell nothing."""
LEAST_WINDOW = 8
NO_RATE = -1.0


@dataclass
class Estimates:
    """Some estimates side by side; every field is an array of the snapshot."""

    delta: Float64s
    highest: Float64s
    """The greatest observation of the present window: the paper's δ-win."""
    seen: Int64s
    """How many observations the present window has: the paper's num."""
    window: Int64s
    """W, of each."""
    period: Int64s
    tried: Int64s
    """How many observations the present period has, and below, how many raised the estimate."""
    raised: Int64s
    falls: Int64s

    @staticmethod
    def new(count: int, window: int, rate: float = NO_RATE) -> Estimates:
        seen, windows, periods, *others = (np.zeros(count, np.int64) for _ in range(6))
        windows[:] = window
        periods[:] = FOREVER if rate < 0 else max(window, math.ceil(ENOUGH / rate))
        return Estimates(np.zeros(count), np.zeros(count), seen, windows, periods, *others)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """In the order in which the kernel takes them."""
        return tuple(getattr(self, each.name) for each in fields(self))

    def lags(self) -> Int64s:
        """The estimates as whole ticks, on the safe side."""
        return np.ceil(np.minimum(self.delta, LONGEST)).astype(np.int64)

    def snapshot(self) -> dict[str, Int64s]:
        """Integers all of them: of floats, the bits."""
        return {each.name: getattr(self, each.name).view(np.int64).copy() for each in fields(self)}

    @staticmethod
    def restored(arrays: Mapping[str, Int64s]) -> Estimates:
        delta, highest, *whole = (
            np.array(arrays[each.name], np.int64) for each in fields(Estimates)
        )
        return Estimates(delta.view(np.float64), highest.view(np.float64), *whole)


def adaptivity(window: int | None, alpha: float, target: float | None) -> tuple[int, float, float]:
    """W to begin with, α, and the rate of raises that W is steered by.

    A target is a share of events that may be late. Half of it is the rate: what makes an event late
    is a raise of one of two estimates.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is {alpha}: give 0 to 1")
    if target is not None and not 0 < target < 1:
        raise ValueError(f"the target is {target}: give a share of events such as 0.001")
    if window is not None and window < 1:
        raise ValueError(f"the window is {window}: give 1 or more, or None for no end")
    rate = NO_RATE if target is None else target / 2
    if window is None:
        window = FOREVER if target is None else math.ceil(1 / rate)
    return window, alpha, rate


@njit(cache=True, nogil=True, inline="always")
def shortfall(reference: int, time: int) -> int:
    """The observation at an arrival: the least lag that allows this time after that one."""
    if time > reference:
        return 0
    if time < 0 and reference > LONGEST + time:  # the difference may not fit into 64 bits
        return LONGEST
    return reference - time + 1


@njit(cache=True, nogil=True)
def observe(
    k: int,
    observation: float,
    count: int,
    above: int,
    alpha: float,
    rate: float,
    delta: Float64s,
    highest: Float64s,
    seen: Int64s,
    window: Int64s,
    period: Int64s,
    tried: Int64s,
    raised: Int64s,
    falls: Int64s,
) -> None:
    """So many observations for estimate k: the greatest of them, and how many are above it.

    Kernels do what is done most often themselves, because a call costs more: an observation that
    neither raises the estimate nor ends a window or a period only counts.
    """
    seen[k] += count
    tried[k] += count
    if observation > delta[k]:
        delta[k] = observation
        highest[k] = 0
        seen[k] = 0
        raised[k] += above
        falls[k] = 0
        if rate >= 0 and raised[k] > rate * period[k]:
            window[k] = min(2 * window[k], FOREVER)
            tried[k] = period[k]
    else:
        highest[k] = max(highest[k], observation)
        if seen[k] > window[k]:
            lower = alpha * delta[k] + (1 - alpha) * highest[k]
            falls[k] = falls[k] + 1 if lower < delta[k] else 0
            delta[k] = lower
            highest[k] = 0
            seen[k] = 0
            if rate >= 0 and falls[k] >= MANY_FALLS:
                window[k] = max(window[k] // 2, LEAST_WINDOW)
                falls[k] = 0
    if tried[k] >= period[k]:
        if rate >= 0:
            if ENOUGH * raised[k] < rate * period[k]:
                window[k] = max(window[k] // 2, LEAST_WINDOW)
            period[k] = max(window[k], math.ceil(ENOUGH / rate))
        tried[k] = raised[k] = 0
