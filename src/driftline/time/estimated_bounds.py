"""B′ from arrivals, for sources without known bounds (section 6 of the paper): skews as seen here.

For every pair of sources and every wait t of a list, δ[i, j, t] estimates how far an arrival on j
can be below what arrived on i more than t before it:

    observation at an arrival of τ on j at clock c:  max(M[i](c - t) - τ + 1, 0)
    M[i](c - t): the greatest time on i that arrived before clock c - t

A pair (t, δ) binds what arrives *after* c + t; so "before" is strict here, and an arrival is not
compared with itself or its own clock. Latency is part of what is seen, and there is no closure.

    heartbeat of j at clock c:  max over i and t of M[i] up to c - t, less δ[i, j, t]

These heartbeats are guesses. An arrival costs n · T for T waits, and the memory is n² · T: this is
for few sources. `driftline.time.estimate` is for many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from driftline.kernels import in_place
from driftline.model.arrays import Floats, Int64s, Int64Table
from driftline.model.time import BEGINNING
from driftline.time.adaptive import (
    Adaptivity,
    Estimates,
    Float64s,
    adaptivity,
    observe,
    shortfall,
)
from driftline.time.arrivals import steady
from driftline.time.bounds import LONGEST, Bounds
from driftline.time.describe import Description
from driftline.time.generator_kernel import HIGHEST, LAST, NEVER, NOW, UNIT, is_over, less


class EstimatedBounds:
    """Estimates of the skew between every two sources, and the heartbeats that follow from them.

    `window` is W (None: estimates never fall), `alpha` is α; a `target` share of late events steers
    W instead.

    >>> learned = EstimatedBounds(1)
    >>> learned.arrive([1, 2, 3], [0, 0, 0], [10, 7, 20])
    >>> str(learned.bounds()[0, 0][0]), learned.heartbeat(3)
    ('(0, 4)', 16)
    """

    def __init__(
        self,
        sources: int,
        *,
        waits: Sequence[int] = (0,),
        window: int | None = None,
        alpha: float = 0.5,
        target: float | None = None,
        timeout: int | None = None,
        unit: int = 1,
    ) -> None:
        self.sources = sources
        self.waits = np.array(sorted(waits), np.int64)
        self.unit = unit
        self.timeout = timeout
        start, self._adaptivity = adaptivity(window, alpha, target)
        count = sources * sources * len(waits)
        self._estimates = Estimates.new(count, start, self._adaptivity.rate)
        length = int(self.waits.max(initial=0)) // unit + 3
        self._state = _State(
            scalars=np.array([NEVER, NEVER, NEVER, BEGINNING], np.int64),
            past=np.full((sources, length), BEGINNING, np.int64),
            current=np.full(sources, BEGINNING, np.int64),
            greatest=np.full(sources, BEGINNING, np.int64),
            arrivals=np.zeros(sources, np.int64),
            late=np.zeros(sources, np.int64),
            last=np.full(sources, NEVER, np.int64),
        )

    def arrive(self, clock: object, sources: object, times: object) -> None:
        """Arrivals at one clock, or at clocks of their own. A clock that goes back stands still."""
        stamps = np.ascontiguousarray(times, np.int64)
        numbers = np.ascontiguousarray(sources, np.int64)
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.sources:
            raise ValueError(f"an arrival names a source outside 0..{self.sources - 1}")
        clocks = steady(clock, len(stamps), int(self._state.scalars[NOW]))
        references = np.empty((self.sources, len(self.waits)), np.int64)
        _absorb(
            clocks, numbers, stamps, self._parameters(), self._adaptivity, self._estimates,
            self._state, references,
        )  # fmt: skip

    def at(self, clock: int) -> Int64s:
        """The heartbeat of each source, once all that arrives until `clock` has been taken in."""
        state, given, delta = self._state, self._parameters(), self._estimates.delta
        now = max(clock, int(state.scalars[NOW]))
        state.scalars[NOW] = now
        b = (now - 1) // self.unit
        if b > state.scalars[UNIT]:
            _advance(b, given, state, delta)
        if now // self.unit == b:
            return state.current.copy()
        # At the end of a unit: what is due shows, but arrivals at this clock are not judged by it.
        peek = _State(*(array.copy() for array in state))
        _advance(b + 1, given, peek, delta)
        return peek.current

    def heartbeat(self, clock: int) -> int:
        """The heartbeat of all sources together."""
        return int(self.at(clock).min())

    def bounds(self) -> Bounds:
        """B′ as it is estimated now, without redundant pairs."""
        n, count = self.sources, len(self.waits)
        i, j, t = np.indices((n, n, count)).reshape(3, -1)
        none = np.zeros(len(i), np.int64)
        lags = self._estimates.lags()
        return Bounds.from_pairs(i, j, self.waits[t], none, lags, latency=np.zeros(n, np.int64))

    def delta(self) -> Float64s:
        """δ[i, j, t]."""
        shape = (self.sources, self.sources, len(self.waits))
        return self._estimates.delta.reshape(shape).copy()

    @property
    def violations(self) -> Int64s:
        """By source, what came at or below its heartbeat."""
        return self._state.late.copy()

    def describe(self, clock: int) -> Description:
        """What is known of each source."""
        state, heartbeats = self._state, self.at(clock)
        return Description(
            source=np.arange(self.sources),
            arrivals=state.arrivals.copy(),
            greatest=state.greatest.copy(),
            last_arrival=state.last.copy(),
            heartbeat=heartbeats,
            violations=state.late.copy(),
            stream=int(heartbeats.min()),
            bounds=str(self.bounds()),
            guessed=True,
        )

    def snapshot(self) -> dict[str, Int64s]:
        mine = {name: array.copy() for name, array in self._state._asdict().items()}
        return mine | self._estimates.snapshot()

    def restore(self, arrays: Mapping[str, Int64s]) -> None:
        """Become what `snapshot` was taken of."""
        self._state = _State(*(np.array(arrays[name]) for name in _State._fields))
        self._estimates = Estimates.restored(arrays)

    def _parameters(self) -> _Parameters:
        return _Parameters(self.unit, -1 if self.timeout is None else self.timeout, self.waits)


class _Parameters(NamedTuple):
    unit: int
    timeout: int
    waits: Int64s


class _State(NamedTuple):
    """What was seen; every field is an array of the snapshot."""

    scalars: Int64s
    past: Int64Table  # [source, unit] the greatest times up to then
    current: Int64s
    greatest: Int64s
    arrivals: Int64s
    late: Int64s
    last: Int64s


@in_place
def _absorb(
    clocks: Int64s,
    sources: Int64s,
    times: Int64s,
    given: _Parameters,
    how: Adaptivity,
    estimates: Estimates,
    state: _State,
    references: Int64Table,
) -> None:
    """`references`: room for a time of each source and wait."""
    scalars, past, waits, unit = state.scalars, state.past, given.waits, given.unit
    before = NEVER
    count, n = len(waits), len(state.current)
    for at in range(len(times)):
        clock, source, time = clocks[at], sources[at], times[at]
        if clock != before:
            before = clock
            if (clock - 1) // unit > scalars[UNIT]:
                _advance((clock - 1) // unit, given, state, estimates.delta)
            scalars[NOW] = clock
            for i in range(n):
                for t in range(count):
                    references[i, t] = past[i, ((clock - 1 - waits[t]) // unit) % past.shape[1]]
        state.arrivals[source] += 1
        if time <= state.current[source]:
            state.late[source] += 1
        for i in range(n):
            for t in range(count):
                skew = 0.0
                if references[i, t] > BEGINNING:
                    skew = float(shortfall(references[i, t], time))
                k = (i * n + source) * count + t
                if (
                    skew > estimates.delta[k]
                    or estimates.seen[k] >= estimates.window[k]
                    or estimates.tried[k] + 1 >= estimates.period[k]
                ):
                    observe(k, skew, 1, int(skew > estimates.delta[k]), how, estimates)
                else:
                    estimates.seen[k] += 1
                    estimates.tried[k] += 1
                    estimates.highest[k] = max(estimates.highest[k], skew)
        state.greatest[source] = max(state.greatest[source], time)
        scalars[HIGHEST] = max(scalars[HIGHEST], time)
        scalars[LAST] = clock
        state.last[source] = clock


@in_place
def _advance(b: int, given: _Parameters, state: _State, delta: Floats) -> None:
    """Advance to unit b, and set the heartbeats for it."""
    scalars, past, current, unit = state.scalars, state.past, state.current, given.unit
    length, count, n = past.shape[1], len(given.waits), len(current)
    for u in range(max(scalars[UNIT] + 1, b - length + 1), b + 1):
        for i in range(n):
            past[i, u % length] = state.greatest[i]
    scalars[UNIT] = b
    for t in range(count):
        reached = (b * unit - given.waits[t]) // unit
        for i in range(n):
            time = past[i, reached % length]
            if time == BEGINNING:
                continue
            for j in range(n):
                lag = int(np.ceil(min(delta[(i * n + j) * count + t], float(LONGEST))))
                current[j] = max(current[j], less(time, lag))
    if is_over(scalars[LAST], given.timeout, unit, b):
        for j in range(n):
            current[j] = max(current[j], scalars[HIGHEST])
