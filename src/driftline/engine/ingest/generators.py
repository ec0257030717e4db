"""The generator of heartbeats that follows from what is declared of a stream's time.

nothing                    estimates
bounds for all alike       `UniformHeartbeats`; of groups, each of which is one source whose
                           members are a skew apart, and so out of order by that, too
bounds by source, between  `HeartbeatGenerator`, with the closure of the bounds
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from driftline.model.time import INFINITY
from driftline.plan.timing import Timing
from driftline.time import closure as closing
from driftline.time.bounds import Bounds
from driftline.time.estimate import Estimated
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.uniform import UniformHeartbeats

Generator = UniformHeartbeats | Estimated | HeartbeatGenerator

FINEST = 256
"""Heartbeats to come are kept for so many units of the clock: those of bounds that wait for long
are late by one in so many of the longest wait."""


def generator(timing: Timing) -> Generator:
    """The generator for a stream, before anything has come."""
    rate = None if timing.rate is None else Fraction(*timing.rate)
    if timing.bounds is not None:
        bounds = closed_bounds(timing)
        longest = max(bounds.longest, int(bounds.latency.max()))
        unit = max(1, -(-longest // FINEST))
        return HeartbeatGenerator(bounds, unit=unit, timeout=timing.timeout, rate=rate, close=False)
    if timing.disorder is None:
        return Estimated(target=timing.late, timeout=timing.timeout)
    is_grouped = timing.groups is not None
    return UniformHeartbeats(
        disorder=min(timing.disorder + (timing.skew or 0 if is_grouped else 0), INFINITY),
        skew=None if is_grouped else timing.skew,
        latency=timing.latency,
        timeout=timing.timeout,
        sources=timing.sources,
        rate=rate,
    )


def closed_bounds(timing: Timing) -> Bounds:
    """B* of the bounds that a stream declares by source."""
    assert timing.bounds is not None
    columns = np.array(timing.bounds.pairs, np.int64).reshape(-1, 5).T
    latency = [timing.latency if each is None else each for each in timing.bounds.latencies]
    return closing.closure(Bounds.from_pairs(*columns, latency=latency), inclusive=True)


def needs_timeout(timing: Timing) -> bool:
    """Whether the last records wait for ever when all sources pause. A timeout is not needed only
    if every source is bound to catch up with every other (Srivastava and Widom, theorem 3.3), which
    a disorder or a skew for all rules out, and so does a time that may come twice; or if clocks
    advance by themselves."""
    if not timing.is_promised or timing.timeout is not None or timing.rate is not None:
        return False
    return timing.bounds is None or closing.needs_timeout(closed_bounds(timing))
