"""Simulated sources and a network that keep to given bounds: what heartbeats are tested with.

Clocks go forward one by one. At each, sources emit tuples whose timestamps keep every bound to what
was emitted before, and the network delays each tuple by at most its latency. With the closure of
the bounds (the default) sources keep to what follows from their clocks, without it to the letter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from driftline.time.bounds import Bounds
from driftline.time.closure import closure

START = 100
"""The lowest timestamp of a source that nothing binds."""


@dataclass(frozen=True)
class Emission:
    """A tuple on its way."""

    source: int
    emitted: int
    arrived: int
    time: int


def simulate(
    bounds: Bounds,
    random: Random,
    tuples: int,
    *,
    closed: bool = True,
    adversarial: bool = False,
    step: int = 3,
    leap: int = 12,
) -> list[Emission]:
    """Simulated tuples, in the order of their arrival.

    The next tuple is emitted up to `step` clocks after the last. Its time is the lowest allowed or
    up to `leap` above. An adversary takes the lowest times and the
    longest and shortest ways, and has one source run ahead of the others.
    """
    kept = closure(bounds) if closed else bounds
    emissions: list[Emission] = []
    clock = 0
    for _ in range(tuples):
        clock += random.randint(0, step)
        source = random.randrange(bounds.sources)
        latency = int(bounds.latency[source])
        lowest = _lowest(kept, emissions, source, clock)
        if adversarial:
            ahead = random.randint(0, leap) if source == 0 else 0
            way = random.choice((0, latency))
        else:
            ahead = random.randint(0, leap)
            way = random.randint(0, latency)
        emissions.append(Emission(source, clock, clock + way, lowest + ahead))
    return sorted(emissions, key=lambda emission: emission.arrived)


def _lowest(bounds: Bounds, emissions: Sequence[Emission], source: int, clock: int) -> int:
    """The lowest timestamp that the source may emit now, straight from the definition."""
    lowest = START
    mine = [each.emitted for each in emissions if each.source == source]
    for earlier in emissions:
        for bound in bounds[earlier.source, source]:
            after = earlier.emitted + bound.wait
            enough = sum(emitted > after for emitted in mine) >= bound.tuples
            if clock > after and enough:
                lowest = max(lowest, earlier.time - bound.lag + 1)
    return lowest
