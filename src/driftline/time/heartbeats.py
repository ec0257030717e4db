"""The heartbeat generator: what no source can still send, from bounds and arrivals.

A heartbeat τ of source j at clock c promises: whatever arrives on j after clock c is > τ. A tuple
with timestamp τ that arrives on i at clock c gives

    for (t, δ) in B*[i, j]       τ - δ for j, at c + t + L[j]
    for (t, n, δ) in B*[i, j]    τ - δ for j, at c' + L[j], where c' is the clock of the n-th
                                 arrival on j after c + t + L[j]

The second, for n tuples: the tuple was emitted at c or before. An arrival on j after c + t + L[j]
was emitted after c + t, so that it counts. When n of them have come, at c', what j emits after c'
is bound, and what j emitted until then arrives until c' + L[j].

State: for each source a ring of heartbeats to come, one for each unit of the clock up to the
longest wait and latency; what has arrived in the present unit; for pairs that count, the last n
references.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING
from driftline.time import generator_kernel as kernel
from driftline.time.bounds import Bounds
from driftline.time.closure import closure
from driftline.time.describe import Description

MOST_UNITS = 2**24
"""More units than this in a ring are a mistake in the choice of the unit."""


class HeartbeatGenerator:
    """Heartbeats for each of a fixed set of sources, from any bounds. Memory is n² for n sources.

    >>> from driftline.time.presets import uniform
    >>> generator = HeartbeatGenerator(uniform(2, disorder=0, skew=3, latency=2))
    >>> generator.arrive(10, [0, 1], [100, 95])
    >>> generator.heartbeat(11) == BEGINNING, generator.at(12).tolist()
    (True, [99, 96])
    """

    def __init__(
        self,
        bounds: Bounds,
        *,
        unit: int = 1,
        timeout: int | None = None,
        close: bool = True,
    ) -> None:
        """`close=False` takes the bounds to the letter (see `driftline.time.closure`)."""
        if unit < 1:
            raise ValueError(f"the unit of the clock is {unit}: give 1 or more")
        if timeout is not None and timeout < 0:
            raise ValueError(f"the timeout is {timeout}: give 0 or more")
        self.bounds = closure(bounds) if close else bounds
        self.unit = unit
        self.timeout = timeout
        timed = self.bounds.tuples == 0
        targets = self.bounds.target[timed]
        delay = self.bounds.wait[timed] + self.bounds.latency[targets]
        ends = np.arange(bounds.sources + 1)
        self._timed = kernel.Timed(
            np.searchsorted(self.bounds.origin[timed], ends),
            targets,
            delay,
            self.bounds.lag[timed],
        )
        cuts = np.unique(delay % unit)
        self._steps = kernel.Steps(unit, -1 if timeout is None else timeout, cuts)
        order = np.argsort(self.bounds.target[~timed], kind="stable")
        counted = tuple(column[~timed][order] for column in self.bounds.pairs)
        counted_delay = counted[2] + self.bounds.latency[counted[1]]
        self._counted = kernel.Counted(
            np.searchsorted(counted[1], ends),
            counted[0],
            counted_delay,
            counted[4],
            np.concatenate([np.zeros(1, np.int64), np.cumsum(counted[3])]),
            self.bounds.latency,
        )
        longest = max(self.bounds.longest, int(self.bounds.latency.max(initial=0)))
        units = -(-longest // unit) + 2
        if units > MOST_UNITS:
            raise ValueError(
                f"waits and latencies of {longest} are {units:,} units of the clock: "
                f"give a unit above {unit}"
            )
        past = int(counted_delay.max(initial=0)) // unit + 2 if len(order) else 1
        n = bounds.sources
        self._state = kernel.State(
            scalars=np.array([kernel.NEVER, kernel.NEVER, kernel.NEVER, BEGINNING], np.int64),
            ring=_beginnings(n, units),
            current=_beginnings(n),
            greatest=_beginnings(n),
            held_clock=np.full(n, kernel.NEVER, np.int64),
            held_time=_beginnings(n),
            past=_beginnings(n if len(order) else 0, past),
            references=_beginnings(int(counted[3].sum())),
            places=np.zeros(len(order), np.int64),
            arrivals=np.zeros(n, np.int64),
            violations=np.zeros(n, np.int64),
            last=np.full(n, kernel.NEVER, np.int64),
        )

    @property
    def sources(self) -> int:
        return self.bounds.sources

    @property
    def violations(self) -> Int64s:
        """For each source, the arrivals at or below its heartbeat of the clock before."""
        return self._state.violations.copy()

    def arrive(self, clock: object, sources: object, times: object) -> None:
        """Arrivals at one clock, or at clocks of their own. A clock that goes back stands still."""
        stamps = np.ascontiguousarray(times, np.int64)
        numbers = np.ascontiguousarray(sources, np.int64)
        if len(numbers) != len(stamps):
            raise ValueError(f"{len(numbers)} sources came with {len(stamps)} times")
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.sources:
            raise ValueError(f"an arrival names a source outside 0..{self.sources - 1}")
        clocks = steady(clock, len(stamps), int(self._state.scalars[kernel.NOW]))
        kernel.absorb(
            clocks, numbers, stamps, self._steps, self._timed, self._counted, self._state
        )  # fmt: skip

    def at(self, clock: int) -> Int64s:
        """The heartbeat of each source, once all that arrives until `clock` has been taken in."""
        state, unit = self._state, self.unit
        now = max(clock, int(state.scalars[kernel.NOW]))
        b = (now - 1) // unit
        if b > state.scalars[kernel.UNIT]:
            kernel.release(unit, self._timed, state)
            kernel.advance(b, self._steps, state)
        state.scalars[kernel.NOW] = now
        heartbeats = state.current.copy()
        if now // unit > b:
            # At the end of a unit what falls due shows, but arrivals at this clock are not bound.
            kernel.release(unit, self._timed, state)
            slot = (now // unit) % state.ring.shape[1]
            heartbeats = np.maximum(heartbeats, state.ring[:, slot])
            last = int(state.scalars[kernel.LAST])
            if kernel.is_over(last, self._steps.timeout, unit, now // unit):
                heartbeats = np.maximum(heartbeats, state.scalars[kernel.HIGHEST])
        return heartbeats

    def heartbeat(self, clock: int) -> int:
        """The heartbeat of all sources together: the least of theirs."""
        return int(self.at(clock).min(initial=2**63 - 1)) if self.sources else BEGINNING

    def describe(self, clock: int) -> Description:
        """What is known of each source."""
        state = self._state
        return Description(
            source=np.arange(self.sources),
            arrivals=state.arrivals.copy(),
            greatest=state.greatest.copy(),
            last_arrival=state.last.copy(),
            heartbeat=self.at(clock),
            violations=state.violations.copy(),
            stream=self.heartbeat(clock),
            bounds=str(self.bounds),
            guessed=False,
        )

    def snapshot(self) -> dict[str, Int64s]:
        return {name: array.copy() for name, array in self._state._asdict().items()}

    def restore(self, arrays: Mapping[str, Int64s]) -> None:
        """Become what `snapshot` was taken of: a generator with the same bounds and unit."""
        shapes = {name: array.shape for name, array in self._state._asdict().items()}
        if {name: array.shape for name, array in arrays.items()} != shapes:
            raise ValueError("the snapshot is of a generator with other bounds or another unit")
        self._state = kernel.State(**{name: np.array(array) for name, array in arrays.items()})


def steady(clock: object, count: int, now: int) -> Int64s:
    """A clock for each arrival, none of them before the one before it, nor before `now`."""
    clocks = np.asarray(clock, np.int64)
    if clocks.ndim == 0:
        return np.full(count, max(int(clocks), now), np.int64)
    if len(clocks) != count:
        raise ValueError(f"{len(clocks)} clocks came with {count} times: give one, or one for each")
    return np.maximum(np.maximum.accumulate(clocks), now)


def _beginnings(*shape: int) -> Int64s:
    return np.full(shape, BEGINNING, np.int64)
