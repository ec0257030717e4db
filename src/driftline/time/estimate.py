"""Heartbeats by guess, for a stream with any number of sources and no declared bounds.

Two skews are estimated, for all sources alike and as they are seen here, latency included:

    D   how far an arrival is below the greatest time of its own source, before it
    S   how far an arrival is below the greatest time of the stream, before it

each as in `driftline.time.adaptive`; "before" means at an earlier clock (or unit of the clock), and
what comes at one clock is one observation, its greatest, as many times as there are arrivals: so
the order of what comes at one clock does not matter. With M[j] and M as in
`driftline.time.uniform`, the heartbeat of the stream is the greater of

    min M[j] - D    over the sources that are live
    M - S           which moves on when a source pauses, and stands when all do: the timeout

W is steered so that at most a `target` share of events is late. Everything is a function of the
arrivals: the same on every machine, and after a restart.

State: a few numbers per source, and the two estimates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from driftline.model.compiled import in_place
from driftline.model.time import BEGINNING
from driftline.time import live_sources as live
from driftline.time.adaptive import Adaptivity, Estimates, adaptivity, observe, shortfall
from driftline.time.bounds import LONGEST, Int64s
from driftline.time.generator_kernel import NEVER, is_over, less
from driftline.time.live import LiveHeartbeats
from driftline.time.live_sources import Arrivals, Sources

DISORDER, SKEW = 0, 1
"""Places of the two estimates."""

COUNT, MOST, LATE, ALL = range(4)
"""What is gathered for each estimate in the present unit of the clock: how many observations, the
greatest, how many that are above the estimate or came too late for the heartbeat; and how many
observations there were in all units before."""

TARGET = 0.001
WARM_UP = 100
"""So many arrivals with something to compare them with, before anything is guessed."""

_SOURCES = "sources."
_ESTIMATES = "estimates."


class Estimated(LiveHeartbeats):
    """Guessed heartbeats of a stream.

    >>> guesses = Estimated(warm_up=2)
    >>> _ = guesses.arrive([1, 2, 3], [0, 0, 0], [10, 7, 20])
    >>> guesses.heartbeat(3), str(guesses)
    (16, 'disorder about 4, skew about 4, learned from 3 arrivals, 0.1 % may be late')
    """

    guessed = True

    def __init__(
        self,
        *,
        target: float | None = TARGET,
        window: int | None = None,
        alpha: float = 0.5,
        timeout: int | None = None,
        warm_up: int = WARM_UP,
        unit: int = 1,
    ) -> None:
        super().__init__(unit)
        self.target = target
        self.timeout = timeout
        self.warm_up = warm_up
        start, self._adaptivity = adaptivity(window, alpha, target)
        self._estimates = Estimates.new(2, start, self._adaptivity.rate)
        self._gathered = np.zeros((2, 4), np.int64)

    def at(self, clock: int) -> Int64s:
        """The guessed heartbeat of each source, by number."""
        told = self.heartbeat(clock)
        effective = self._state.effective
        disorder = int(self._estimates.lags()[DISORDER])
        own = np.where(effective > BEGINNING + disorder, effective - disorder, BEGINNING)
        if self._gathered[SKEW, ALL] < self.warm_up:
            own[:] = BEGINNING
        count = int(self._state.arrived().max(initial=-1)) + 1
        return np.maximum(own, told)[:count]

    @property
    def disorder(self) -> int:
        """The present estimate of D."""
        return int(self._estimates.lags()[DISORDER])

    @property
    def skew(self) -> int:
        """The present estimate of S."""
        return int(self._estimates.lags()[SKEW])

    def __str__(self) -> str:
        parts = [f"disorder about {self.disorder}", f"skew about {self.skew}"]
        parts += [f"learned from {int(self._state.arrivals.sum())} arrivals"]
        parts += [] if self.target is None else [f"{100 * self.target:g} % may be late"]
        return ", ".join(parts)

    def _absorb(self, arrivals: Arrivals) -> None:
        _absorb(arrivals, self._parameters(), self._guesses(), self._state)

    def _evaluate(self, unit: int) -> int:
        return int(_evaluate(unit, self._parameters(), self._guesses(), self._state))

    def snapshot(self) -> dict[str, Int64s]:
        sources = {_SOURCES + name: array for name, array in self._state.snapshot().items()}
        learned = {_ESTIMATES + name: array for name, array in self._estimates.snapshot().items()}
        return sources | learned | {"gathered": self._gathered.copy()}

    def restore(self, arrays: Mapping[str, Int64s]) -> None:
        """Become what `snapshot` was taken of."""
        self._state = Sources.restored(_part(arrays, _SOURCES))
        self._estimates = Estimates.restored(_part(arrays, _ESTIMATES))
        self._gathered = np.array(arrays["gathered"])

    def _parameters(self) -> _Parameters:
        timeout = -1 if self.timeout is None else self.timeout
        return _Parameters(self.unit, timeout, self.warm_up)

    def _guesses(self) -> _Guesses:
        return _Guesses(self._adaptivity, self._estimates, self._gathered)


class _Parameters(NamedTuple):
    """Those of the constructor, as numbers."""

    unit: int
    timeout: int
    warm_up: int


class _Guesses(NamedTuple):
    """The two estimates, how they adapt, and what is gathered for them."""

    how: Adaptivity
    estimates: Estimates
    gathered: Int64s


def _part(arrays: Mapping[str, Int64s], prefix: str) -> dict[str, Int64s]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def summary(sources: Int64s, times: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Arrivals of one clock in a few rows per source, on the safe side: sources, times, counts.

    The greatest time of each source, and for the others, by powers of two of their distance to it,
    the least and how many. A generator takes these in place of the arrivals.

    >>> [column.tolist() for column in summary(np.array([0, 0, 0, 0]), np.array([9, 10, 3, 4]))]
    [[0, 0, 0], [10, 9, 3], [1, 1, 2]]
    """
    if not len(times):
        return sources.astype(np.int64), times.astype(np.int64), np.zeros(0, np.int64)
    order = np.lexsort((-times, sources))
    sources, times = sources[order].astype(np.int64), times[order].astype(np.int64)
    starts = np.flatnonzero(np.diff(sources, prepend=sources[0] - 1))
    sizes = np.diff(starts, append=len(times))
    below = (np.repeat(times[starts], sizes) - times).astype(np.uint64)
    powers = np.frexp(below.astype(np.float64))[1]
    rows = np.flatnonzero(
        (np.diff(sources, prepend=sources[0] - 1) != 0) | (np.diff(powers, prepend=-1) != 0)
    )
    ends = np.append(rows[1:], len(times)) - 1
    return sources[rows], times[ends], ends - rows + 1


@in_place
def _absorb(arrivals: Arrivals, given: _Parameters, guesses: _Guesses, of: Sources) -> None:
    clocks, sources, times, counts, _, told = arrivals
    scalars, delta, gathered = of.scalars, guesses.estimates.delta, guesses.gathered
    before = NEVER
    effect = NEVER
    for at in range(len(times)):
        clock, source, time, count = clocks[at], sources[at], times[at], counts[at]
        if clock != before:
            before = clock
            if (clock - 1) // given.unit > scalars[live.UNIT]:
                _evaluate((clock - 1) // given.unit, given, guesses, of)
            scalars[live.NOW] = clock
            effect = -((-clock) // given.unit)
        told[at] = scalars[live.TOLD]
        if time <= told[at]:
            of.late[source] += count
        for k in range(2):
            reference = of.effective[source] if k == DISORDER else scalars[live.TOP]
            if reference > BEGINNING:
                below = shortfall(reference, time)
                gathered[k, COUNT] += count
                gathered[k, MOST] = max(gathered[k, MOST], below)
                if below > delta[k] or time <= told[at]:
                    gathered[k, LATE] += count
        live.hear(source, clock, time, count, effect, of)


@in_place
def _evaluate(b: int, given: _Parameters, guesses: _Guesses, of: Sources) -> int:
    """Go on to unit b, and tell the heartbeat of the stream."""
    scalars, unit, timeout = of.scalars, given.unit, given.timeout
    delta, gathered = guesses.estimates.delta, guesses.gathered
    if b < scalars[live.UNIT]:
        return int(scalars[live.TOLD])
    waits = scalars[live.QUEUED] > 0 and of.due[scalars[live.HEAD] & (len(of.due) - 1)] <= b
    if b > scalars[live.UNIT] or waits:
        for k in range(2):
            count, most, late = gathered[k, COUNT], gathered[k, MOST], gathered[k, LATE]
            if count > 0:
                observe(k, float(most), count, late, guesses.how, guesses.estimates)
                gathered[k, ALL] += count
                gathered[k, :ALL] = 0
    scalars[live.UNIT] = b
    live.take_effect(b, of)
    least = live.least_live(b, unit, timeout, of)
    told = scalars[live.TOLD]
    if gathered[SKEW, ALL] >= given.warm_up:
        disorder = int(np.ceil(min(delta[DISORDER], float(LONGEST))))
        skew = int(np.ceil(min(delta[SKEW], float(LONGEST))))
        told = max(told, less(least, disorder), less(scalars[live.TOP], skew))
    if is_over(scalars[live.LAST], timeout, unit, b):
        told = max(told, scalars[live.HIGHEST])
    scalars[live.TOLD] = told
    return int(scalars[live.TOLD])
