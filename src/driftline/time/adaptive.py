"""One adaptive estimate of a skew (the paper's figure 4), and how fast it adapts.

δ is the estimate; each arrival brings an observation. A greater one raises δ at once and starts a
new window. After more than W observations without one, δ falls to α δ + (1 - α) · (the greatest
observation of the window), and a new window starts.

With a rate, W itself adapts. Over every W observations: if a greater share of them than the rate
raised δ, W doubles. When δ has fallen over `MANY_FALLS` windows on end, W is halved. W is never
less than 1 / rate: fewer observations cannot tell so small a share.
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
    tried: Int64s
    raised: Int64s
    falls: Int64s

    @staticmethod
    def new(count: int, window: int) -> Estimates:
        whole = [np.zeros(count, np.int64) for _ in range(5)]
        whole[1][:] = window
        return Estimates(np.zeros(count), np.zeros(count), *whole)

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
def shortfall(reference: int, time: int) -> float:
    """The observation at an arrival: the least lag that allows this time after that one."""
    if time > reference:
        return 0.0
    if time < 0 and reference > LONGEST + time:  # the difference may not fit into 64 bits
        return float(LONGEST)
    return float(reference - time + 1)


@njit(cache=True, nogil=True)
def observe(
    k: int,
    observation: float,
    count: int,
    alpha: float,
    rate: float,
    delta: Float64s,
    highest: Float64s,
    seen: Int64s,
    window: Int64s,
    tried: Int64s,
    raised: Int64s,
    falls: Int64s,
) -> None:
    """An observation for estimate k, so many times.

    Kernels do what is done most often themselves, because a call costs more: an observation that
    neither raises the estimate nor ends a window only counts.
    """
    seen[k] += count
    if tried[k] >= window[k]:
        if rate >= 0 and raised[k] > rate * tried[k]:
            window[k] = min(2 * window[k], FOREVER)
        tried[k] = raised[k] = 0
    tried[k] += count
    if observation > delta[k]:
        delta[k] = observation
        highest[k] = 0
        seen[k] = 0
        raised[k] += count
        falls[k] = 0
        return
    highest[k] = max(highest[k], observation)
    if seen[k] > window[k]:
        lower = alpha * delta[k] + (1 - alpha) * highest[k]
        if rate >= 0:
            falls[k] = falls[k] + 1 if lower < delta[k] else 0
            if falls[k] >= MANY_FALLS:
                window[k] = max(window[k] // 2, math.ceil(1 / rate))
                falls[k] = 0
        delta[k] = lower
        highest[k] = 0
        seen[k] = 0
