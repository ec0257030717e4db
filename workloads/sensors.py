"""STREAM's workload: arrivals from sensors whose clocks deviate, over a slow network."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from driftline.model.arrays import Int64s

DEVIATION, LATENCY = 100, 200
"""At most, in milliseconds."""
SPEED = 1_000
"""Events in a millisecond."""


class Generator(Protocol):
    def arrive(self, clock: Int64s, sources: Int64s, times: Int64s) -> object: ...

    def heartbeat(self, clock: int) -> int: ...

    def snapshot(self) -> dict[str, Int64s]: ...


def arrivals(events: int, sources: int, speed: float = SPEED) -> tuple[Int64s, Int64s, Int64s]:
    """Clocks in milliseconds, sources, times in milliseconds; in order of arrival."""
    rng = np.random.default_rng(11)
    emitted = (np.arange(events) // speed).astype(np.int64)
    numbers = rng.integers(0, sources, events)
    deviation = rng.integers(-DEVIATION, DEVIATION + 1, sources)
    clocks = emitted + rng.integers(0, LATENCY + 1, events)
    order = np.argsort(clocks, kind="stable")
    return clocks[order], numbers[order], (emitted + deviation[numbers])[order]
