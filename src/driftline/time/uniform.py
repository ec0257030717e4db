"""Heartbeats when all sources are alike: one disorder, one skew, one latency. O(1) per source.

Timestamps of a source are at most `disorder` below its clock, clocks of two sources at most `skew`
apart, and a tuple travels at most `latency`. Let M[j] be the greatest time of source j that arrived
`latency` ago or earlier, and M the greatest of all. What arrives on j later is greater than

    τ[j] = max(M[j] - disorder - 1, M - skew - disorder - 1)     the second if a skew is declared

and the heartbeat of the stream is the least τ[j] of its sources. Which are they?

    skew, number of sources known      all of them
    skew alone                         any that may still turn up: M - skew - disorder - 1
    no skew, number known              all of them; before each was heard there is no heartbeat
    no skew, number not known          those heard so far; an old tuple of a new one breaks it

A source that is silent for `timeout`, from its last arrival or, if it was never heard, from the
first of the stream, is not waited for until it is heard again: skew or not. When nothing arrives
for `timeout`, everything seen is complete: the heartbeat is M. A heartbeat that was given is never
taken back. (With a coarse unit of the clock, a pause that ends inside the unit in which it gets
long enough is not noticed.) So a further bound never holds a heartbeat back, but for those that
speak of sources that were never heard: a number of them, and a skew without a number, until the
timeout has passed.

With a least rate r at which clocks advance with the arrival clock, M[j] and M are greater by r for
every unit of the clock that has passed since they took effect, but not in what a timeout completes.
They are kept less what the rate has added by then (see `rate`).

State: a few numbers per source, and what arrived within the latency, once per source and unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from driftline.kernels import in_place, inlined
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY
from driftline.time import live_sources as live
from driftline.time.arrivals import NO_SOURCE, Arrivals
from driftline.time.generator_kernel import NEVER, is_over, less
from driftline.time.live import LiveHeartbeats
from driftline.time.live_sources import Sources
from driftline.time.rate import LATEST, Rate, advanced, moved

NONE = -1
"""Stands for no skew, no timeout, no number of sources."""


class UniformHeartbeats(LiveHeartbeats):
    """Heartbeats of a stream whose sources are alike.

    >>> heartbeats = UniformHeartbeats(disorder=5, timeout=60)
    >>> _ = heartbeats.arrive(10, [0, 1], [100, 80])
    >>> heartbeats.heartbeat(10), heartbeats.at(10).tolist()
    (74, [94, 74])
    >>> _ = heartbeats.arrive(50, [0], [200])
    >>> heartbeats.heartbeat(69), heartbeats.heartbeat(70), heartbeats.heartbeat(110)
    (74, 194, 200)
    """

    guessed = False

    def __init__(
        self,
        *,
        disorder: int = 0,
        skew: int | None = None,
        latency: int = 0,
        timeout: int | None = None,
        sources: int | None = None,
        rate: Fraction | int | None = None,
        unit: int = 1,
    ) -> None:
        given = {"disorder": disorder, "skew": skew, "latency": latency, "timeout": timeout}
        for name, value in given.items():
            if value is not None and value < 0:
                raise ValueError(f"the {name} is {value}: give 0 or more")
        super().__init__(unit)
        self.disorder = disorder
        self.skew = skew
        self.latency = latency
        self.timeout = timeout
        self.sources = sources
        self.rate = Rate.of(rate)

    def at(self, clock: int) -> Int64s:
        """The heartbeat of each source, by number; a source never heard has the stream's."""
        in_force = self.heartbeat(clock)
        given, shift = self._parameters(), self._shift()
        own = np.maximum(self._state.effective, BEGINNING + given.below) - given.below
        own = np.where(own == BEGINNING, own, np.minimum(own, LATEST - max(shift, 0)) + shift)
        count = int(self._state.arrived().max(initial=-1)) + 1
        heartbeats: Int64s = np.maximum(own, max(in_force, self._top()))[:count]
        return heartbeats

    def __str__(self) -> str:
        parts = [f"disorder {self.disorder}", f"latency {self.latency}"]
        parts += [] if self.skew is None else [f"skew {self.skew}"]
        parts += [] if self.timeout is None else [f"timeout {self.timeout}"]
        return ", ".join(parts)

    def _absorb(self, arrivals: Arrivals) -> None:
        _absorb(arrivals, self._parameters(), self._state)

    def _evaluate(self, unit: int) -> int:
        return int(_evaluate(unit, self._parameters(), self._state))

    def snapshot(self) -> dict[str, Int64s]:
        return self._state.snapshot()

    def restore(self, arrays: Mapping[str, Int64s]) -> None:
        """Become what `snapshot` was taken of."""
        self._state = Sources.restored(arrays)

    def _top(self) -> int:
        if self.skew is None:
            return BEGINNING
        top = less(int(self._state.scalars[live.TOP]), self._parameters().apart)
        return int(moved(top, self._shift()))

    def _shift(self) -> int:
        return int(_shift(int(self._state.scalars[live.UNIT]), self._parameters()))

    def _parameters(self) -> _Parameters:
        optional = (self.skew, self.timeout, self.sources)
        skew, timeout, number = (NONE if value is None else value for value in optional)
        below = min(self.disorder + 1, INFINITY)
        apart = NONE if skew == NONE else min(skew + self.disorder + 1, INFINITY)
        return _Parameters(below, apart, self.latency, timeout, number, self.unit, *self.rate)


class _Parameters(NamedTuple):
    """The parameters of the constructor, as numbers: a time is less than `below` below the clock of
    its source, and less than `apart` below that of any other."""

    below: int
    apart: int
    latency: int
    timeout: int
    number: int
    unit: int
    ticks: int
    units: int


@inlined
def _shift(b: int, given: _Parameters) -> int:
    """What the rate has added at unit b to what has taken effect."""
    return advanced(b * given.unit, given.ticks, given.units)


@in_place
def _absorb(arrivals: Arrivals, given: _Parameters, of: Sources) -> None:
    clocks, sources, times, counts, reached, in_force = arrivals
    before = NEVER
    floor = BEGINNING
    effect = NEVER
    shift = kept_less = 0
    for at in range(len(times)):
        clock, source, time = clocks[at], sources[at], times[at]
        if clock != before:
            before = clock
            if (clock - 1) // given.unit > of.scalars[live.UNIT]:
                _evaluate((clock - 1) // given.unit, given, of)
            floor = of.scalars[live.IN_FORCE]
            shift = _shift(of.scalars[live.UNIT], given)
            if given.apart != NONE:
                floor = max(floor, moved(less(of.scalars[live.TOP], given.apart), shift))
            of.scalars[live.NOW] = clock
            effect = -((-clock - given.latency) // given.unit)
            kept_less = _shift(-effect, given)
            if of.scalars[live.FIRST] == NEVER:
                of.scalars[live.FIRST] = clock
        in_force[at] = of.scalars[live.IN_FORCE]
        if source == NO_SOURCE:
            of.scalars[live.LAST] = clock
            continue
        if time <= max(floor, moved(less(of.effective[source], given.below), shift)):
            of.late[source] += counts[at]
        live.hear(source, clock, reached[at], kept_less, counts[at], effect, of)


@in_place
def _evaluate(b: int, given: _Parameters, of: Sources) -> int:
    """Advance to unit b, and return the heartbeat of the stream."""
    scalars, unit, timeout = of.scalars, given.unit, given.timeout
    if b >= scalars[live.UNIT]:
        scalars[live.UNIT] = b
        live.take_effect(b, of)
        in_force, shift = scalars[live.IN_FORCE], _shift(b, given)
        if given.number != NONE:
            all_heard = scalars[live.SEEN] >= given.number
        else:  # with a skew, others are bound to turn up with times that can be waited for
            all_heard = given.apart == NONE
        # The others may have been silent for the timeout.
        all_heard |= is_over(scalars[live.FIRST], timeout, unit, b)
        least = live.least_live(b, unit, timeout, of)
        if given.ticks > 0 and scalars[live.HEAP] == 0:  # clocks advance, although all are silent
            least = live.least_heard(of)
        if all_heard:
            in_force = max(in_force, moved(less(least, given.below), shift))
        if given.apart != NONE:
            in_force = max(in_force, moved(less(scalars[live.TOP], given.apart), shift))
        if is_over(scalars[live.LAST], timeout, unit, b):
            in_force = max(in_force, scalars[live.HIGHEST])
        scalars[live.IN_FORCE] = in_force
    return int(scalars[live.IN_FORCE])
