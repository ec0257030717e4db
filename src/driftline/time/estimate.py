"""Estimated heartbeats, for a stream with any number of sources and no declared bounds.

Two skews are estimated, for all sources alike and as they are seen here, latency included:

    D   how far an arrival is below the greatest time of its own source, before it
    S   how far an arrival is below the greatest time of the stream, before it

Each is the lag of `driftline.time.lateness`; "before" means at an earlier clock (or unit of the
clock), so the order of what comes at one clock does not matter. With M[j] and M as in
`driftline.time.uniform`, the heartbeat of the stream is the greater of

    min M[j] - D    over the sources that are live
    M - S           which advances when a source pauses, but not when all do (see the timeout)

so that about a `target` share of events is late, and no more. Everything is a function of the
arrivals: the same on every machine, and after a restart.

State: a few numbers per source, and how late arrivals were, D and S.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from driftline.kernels import in_place
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING
from driftline.time import lateness
from driftline.time import live_sources as live
from driftline.time.adaptive import shortfall
from driftline.time.arrivals import Arrivals
from driftline.time.generator_kernel import NEVER, is_over, less
from driftline.time.lateness import Aim, Lateness
from driftline.time.live import LiveHeartbeats
from driftline.time.live_sources import Sources

DISORDER, SKEW = 0, 1
"""Places of the two estimates."""

TARGET = 0.001
WARM_UP = 100
"""How many arrivals with an earlier one to compare with are needed before an estimate."""

_SOURCES = "sources."
_LATENESS = "lateness."


class Estimated(LiveHeartbeats):
    """Estimated heartbeats of a stream.

    >>> guesses = Estimated(warm_up=2)
    >>> _ = guesses.arrive([1, 2, 3], [0, 0, 0], [10, 7, 20])
    >>> guesses.heartbeat(3), str(guesses)
    (11, 'disorder about 9, skew about 9, learned from 3 arrivals, 0.1 % may be late')
    """

    guessed = True

    def __init__(
        self,
        *,
        target: float | None = TARGET,
        timeout: int | None = None,
        warm_up: int = WARM_UP,
        unit: int = 1,
    ) -> None:
        super().__init__(unit)
        self.target = target
        self.timeout = timeout
        self.warm_up = warm_up
        self._aim = lateness.aim(target)
        self._lateness = Lateness.none(2)

    def at(self, clock: int) -> Int64s:
        """The estimated heartbeat of each source, by number."""
        in_force = self.heartbeat(clock)
        effective = self._state.effective
        disorder = self.disorder
        own = np.where(effective > BEGINNING + disorder, effective - disorder, BEGINNING)
        if self._lateness.counts[lateness.ROWS] < self.warm_up:
            own[:] = BEGINNING
        count = int(self._state.arrived().max(initial=-1)) + 1
        return np.maximum(own, in_force)[:count]

    @property
    def disorder(self) -> int:
        """The present estimate of D."""
        return int(self._lateness.marks[DISORDER, lateness.LAG])

    @property
    def skew(self) -> int:
        """The present estimate of S."""
        return int(self._lateness.marks[SKEW, lateness.LAG])

    def __str__(self) -> str:
        parts = [f"disorder about {self.disorder}", f"skew about {self.skew}"]
        parts += [f"learned from {int(self._state.arrivals.sum())} arrivals"]
        parts += [] if self.target is None else [f"{100 * self.target:g} % may be late"]
        return ", ".join(parts)

    def _absorb(self, arrivals: Arrivals) -> None:
        _absorb(arrivals, self._parameters(), self._lateness, self._state)

    def _evaluate(self, unit: int) -> int:
        return int(_evaluate(unit, self._parameters(), self._lateness, self._state))

    def snapshot(self) -> dict[str, Int64s]:
        sources = {_SOURCES + name: array for name, array in self._state.snapshot().items()}
        learned = {_LATENESS + name: array for name, array in self._lateness.snapshot().items()}
        return sources | learned

    def restore(self, arrays: Mapping[str, Int64s]) -> None:
        """Become what `snapshot` was taken of."""
        self._state = Sources.restored(_part(arrays, _SOURCES))
        self._lateness = Lateness.restored(_part(arrays, _LATENESS))

    def _parameters(self) -> _Parameters:
        timeout = -1 if self.timeout is None else self.timeout
        return _Parameters(self.unit, timeout, self.warm_up, self._aim)


class _Parameters(NamedTuple):
    """The parameters of the constructor, as numbers."""

    unit: int
    timeout: int
    warm_up: int
    aim: Aim


def _part(arrays: Mapping[str, Int64s], prefix: str) -> dict[str, Int64s]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


EXACT = 16
"""How many of the least times a summary holds one by one; above these, a row of the summary
stands for at most one sixteenth of what is below it."""


def summary(sources: Int64s, times: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Arrivals of one clock in a few rows per source, on the safe side: sources, times, counts.

    The least times of each source and its greatest are exact. Between these a row stands for
    several arrivals, by the least of them, but for few in proportion to those below it: how many
    are late for any heartbeat is known to one sixteenth. A generator takes these in place of the
    arrivals.

    >>> columns = summary(np.zeros(100, np.int64), np.arange(100))
    >>> len(columns[1]), columns[1][[0, 1, -3, -2, -1]].tolist(), columns[2][-3:].tolist()
    (58, [0, 1, 91, 95, 99], [4, 4, 1])
    """
    if not len(times):
        return sources.astype(np.int64), times.astype(np.int64), np.zeros(0, np.int64)
    order = np.lexsort((times, sources))
    sources, times = sources[order].astype(np.int64), times[order].astype(np.int64)
    new = np.diff(sources, prepend=sources[0] - 1) != 0
    starts = np.flatnonzero(new)
    below = np.arange(len(times)) - np.repeat(starts, np.diff(starts, append=len(times)))
    group = np.where(below < EXACT, below, (EXACT * np.log2(np.maximum(below, 1))).astype(np.int64))
    last = np.append(new[1:], True)
    rows = np.flatnonzero(new | last | (np.diff(group, prepend=-1) != 0))
    return sources[rows], times[rows], np.diff(rows, append=len(times))


@in_place
def _absorb(arrivals: Arrivals, given: _Parameters, late: Lateness, of: Sources) -> None:
    clocks, sources, times, counts, _, in_force = arrivals
    scalars = of.scalars
    before = NEVER
    effect = NEVER
    for at in range(len(times)):
        clock, source, time, count = clocks[at], sources[at], times[at], counts[at]
        if clock != before:
            before = clock
            if (clock - 1) // given.unit > scalars[live.UNIT]:
                _evaluate((clock - 1) // given.unit, given, late, of)
            scalars[live.NOW] = clock
            effect = -((-clock) // given.unit)
        in_force[at] = scalars[live.IN_FORCE]
        if time <= in_force[at]:
            of.late[source] += count
            late.counts[lateness.LATE] += count
        if scalars[live.TOP] > BEGINNING:
            lateness.add(SKEW, shortfall(scalars[live.TOP], time), count, late)
            late.counts[lateness.ROWS] += count
        if of.effective[source] > BEGINNING:
            lateness.add(DISORDER, shortfall(of.effective[source], time), count, late)
        live.hear(source, clock, time, 0, count, effect, of)


@in_place
def _evaluate(b: int, given: _Parameters, late: Lateness, of: Sources) -> int:
    """Advance to unit b, and return the heartbeat of the stream."""
    scalars, unit, timeout = of.scalars, given.unit, given.timeout
    if b < scalars[live.UNIT]:
        return int(scalars[live.IN_FORCE])
    scalars[live.UNIT] = b
    live.take_effect(b, of)
    least = live.least_live(b, unit, timeout, of)
    in_force = scalars[live.IN_FORCE]
    lateness.estimate(given.aim, late)
    if late.counts[lateness.ROWS] >= given.warm_up:
        disorder, skew = late.marks[DISORDER, lateness.LAG], late.marks[SKEW, lateness.LAG]
        in_force = max(in_force, less(least, disorder), less(scalars[live.TOP], skew))
    if is_over(scalars[live.LAST], timeout, unit, b):
        in_force = max(in_force, scalars[live.HIGHEST])
    scalars[live.IN_FORCE] = in_force
    return int(scalars[live.IN_FORCE])
