"""Delays on the way to a stream, of a dozen sorts, and what estimated heartbeats make of them.

The cost of heartbeats is how far they are behind the greatest time, on average over all arrivals
once there are any. It is compared with the best constant lag: the least that no more than the
target share of arrivals exceeds, which is known only when all have come.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING
from driftline.time.estimate import Estimated

Delays = Callable[[np.random.Generator, Int64s], NDArray[np.float64]]
"""Delays in milliseconds of the arrivals with these numbers."""

TICKS = 1_000
"""In a millisecond, which is also the time between two arrivals."""
SOURCES = 5


def _exponential(rng: np.random.Generator, n: Int64s, mean: float = 50) -> NDArray[np.float64]:
    return rng.exponential(mean, len(n))


SHORT, LONG = 50, 300
"""Arrivals in a burst, of which there is one in 10,000."""

DELAYS: dict[str, Delays] = {
    "none": lambda rng, n: np.zeros(len(n)),
    "uniform": lambda rng, n: 100 * rng.random(len(n)),
    "exponential": _exponential,
    "lognormal": lambda rng, n: rng.lognormal(3, 1, len(n)),
    "Pareto, α = 1.5": lambda rng, n: 10 * rng.pareto(1.5, len(n)),
    "one in 2,000 very late": lambda rng, n: np.where(
        rng.random(len(n)) < 1 / 2_000, 54_000 + 6_000 * rng.random(len(n)), _exponential(rng, n)
    ),
    "short bursts": lambda rng, n: np.where(
        n % 10_000 < SHORT, 3_000 * rng.random(len(n)), _exponential(rng, n, 30)
    ),
    "long bursts": lambda rng, n: np.where(
        n % 10_000 < LONG, 3_000 * rng.random(len(n)), _exponential(rng, n, 30)
    ),
    "drifting up": lambda rng, n: n / len(n) * 2_000 * rng.random(len(n)),
    "drifting down": lambda rng, n: (1 - n / len(n)) * 2_000 * rng.random(len(n)),
    "four times as long for a while": lambda rng, n: np.where(
        (n > len(n) // 3) & (n < 2 * len(n) // 3), 4, 1
    ) * _exponential(rng, n),
    "several sources": lambda rng, n: (n * 7919 % SOURCES) * 40 + _exponential(rng, n, 20),
    "outages": lambda rng, n: np.clip(200 - n % 20_000, 0, None) + _exponential(rng, n, 30),
}  # fmt: skip


class Cost(NamedTuple):
    """The share of arrivals that were late, and the lag as a multiple of the best constant one."""

    late: float
    ratio: float


def cost(name: str, target: float, count: int, seed: int = 1) -> Cost:
    """The cost of estimates with a target, for one sort of delays."""
    rng, numbers = np.random.default_rng(seed), np.arange(count)
    emitted = np.cumsum(rng.integers(0, 2 * TICKS + 1, count))
    order = np.argsort(
        emitted + (TICKS * DELAYS[name](rng, numbers)).astype(np.int64), kind="stable"
    )
    times = emitted[order]
    sources = numbers[order] * 7919 % SOURCES if name == "several sources" else 0 * numbers
    in_force = Estimated(target=target).arrive(numbers, sources, times)
    greatest = np.maximum.accumulate(times)[:-1]
    behind = np.maximum(greatest - times[1:] + 1, 0)
    best = int(np.sort(behind)[::-1][int(target * count)])
    there = in_force[1:] > BEGINNING
    lag = float((greatest - in_force[1:])[there].mean())
    return Cost(float((times <= in_force).mean()), lag / max(best, 1))
