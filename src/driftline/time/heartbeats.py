"""The heartbeat generator: what no source can still send, from bounds and arrivals.

A heartbeat τ of source j at clock c promises: whatever arrives on j after clock c is > τ. A tuple
with timestamp τ that arrives on i at clock c gives

    for (t, δ) in B*[i, j]       τ - δ for j, at c + t + L[j]
    for (t, n, δ) in B*[i, j]    τ - δ for j, at c' + L[j], where c' is the clock of the n-th
                                 arrival on j after c + t + L[j]

The second, for n tuples: the tuple was emitted at c or before. An arrival on j after c + t + L[j]
was emitted after c + t, so that it counts. When n of them have come, at c', what j emits after c'
is bound, and what j emitted until then arrives until c' + L[j].

With a least rate r at which clocks advance, a heartbeat that is due at clock d is greater by
r · (c - d) at clock c. When nothing has arrived for the timeout, everything seen is complete.

The heartbeat of the stream is the least of those of its sources; one that was silent for the
timeout (one never heard: since the first arrival) is not waited for until it is heard again.

State: for each source a ring of heartbeats to come, one for each unit of the clock up to the
longest wait and latency; what has arrived in the present unit; for pairs that count, the last n
references.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING
from driftline.time import generator_kernel as kernel
from driftline.time.arrivals import arrivals
from driftline.time.bounds import Bounds
from driftline.time.closure import closure
from driftline.time.describe import Description
from driftline.time.rate import Rate

MOST_UNITS = 2**24
"""More units than this in a ring are a mistake in the choice of the unit."""


class HeartbeatGenerator:
    """Heartbeats for each of a fixed set of sources, from any bounds. Memory is n² for n sources.

    >>> from driftline.time.presets import uniform
    >>> generator = HeartbeatGenerator(uniform(2, disorder=0, skew=3, latency=2))
    >>> _ = generator.arrive(10, [0, 1], [100, 95])
    >>> generator.heartbeat(11) == BEGINNING, generator.at(12).tolist()
    (True, [99, 96])
    """

    def __init__(
        self,
        bounds: Bounds,
        *,
        unit: int = 1,
        timeout: int | None = None,
        rate: Fraction | int | None = None,
        close: bool = True,
    ) -> None:
        """`rate`: the ticks that clocks advance at least in a unit of the arrival clock.
        `close=False` takes the bounds to the letter (see `driftline.time.closure`)."""
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
        self._steps = kernel.ClockSteps(
            unit, -1 if timeout is None else timeout, cuts, *Rate.of(rate)
        )
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
        self._state = kernel.GeneratorState(
            scalars=np.array([*[kernel.NEVER] * 3, BEGINNING, kernel.NEVER, *[BEGINNING] * 2]),
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

    @property
    def highest(self) -> int:
        """The greatest time that has arrived."""
        return int(self._state.scalars[kernel.HIGHEST])

    @property
    def in_force(self) -> int:
        """The heartbeat of the stream that was in force at the last arrival, or at the last clock
        that was closed."""
        return int(self._state.scalars[kernel.IN_FORCE])

    def arrive(
        self,
        clock: object,
        sources: object,
        times: object,
        counts: object | None = None,
        reached: object | None = None,
    ) -> Int64s:
        """Arrivals at one clock, or at clocks of their own; a clock that goes back stands still.
        `counts`, `reached` and what is returned: as `LiveHeartbeats.arrive` has them; with
        `reached`, arrivals may be of NO_SOURCE or of a STRANGER."""
        now = int(self._state.scalars[kernel.NOW])
        came = arrivals(clock, sources, times, counts, reached, now)
        if len(came.sources) and came.sources.max() >= self.sources:
            raise ValueError(f"an arrival names a source outside 0..{self.sources - 1}")
        kernel.absorb(came, self._steps, self._timed, self._counted, self._state)
        return came.in_force

    def at(self, clock: int) -> Int64s:
        """The heartbeat of each source, once all that arrives until `clock` has been taken in."""
        heartbeats = np.empty(self.sources, np.int64)
        kernel.of_sources(self._steps, self._shown(clock), heartbeats)
        return heartbeats

    def heartbeat(self, clock: int) -> int:
        """The heartbeat of the stream, once all that arrives until `clock` has been taken in."""
        return int(self._shown(clock).scalars[kernel.IN_FORCE]) if self.sources else BEGINNING

    def close(self, clock: int) -> int:
        """The same, if all that arrives until `clock` has: what comes at that clock later is judged
        by it."""
        state = self._state
        state.scalars[kernel.NOW] = max(clock, int(state.scalars[kernel.NOW]))
        self._advance(int(state.scalars[kernel.NOW]) // self.unit)
        return self.in_force

    def _advance(self, b: int) -> None:
        if b > self._state.scalars[kernel.UNIT]:
            kernel.release(self._steps, self._timed, self._state)
            kernel.advance(b, self._steps, self._state)

    def _shown(self, clock: int) -> kernel.GeneratorState:
        """The state as it is at a clock. At the end of a unit what falls due shows, but arrivals at
        this clock are not bound by it."""
        state, unit = self._state, self.unit
        now = max(clock, int(state.scalars[kernel.NOW]))
        self._advance((now - 1) // unit)
        state.scalars[kernel.NOW] = now
        b = now // unit
        if b <= state.scalars[kernel.UNIT]:
            return state
        kernel.release(self._steps, self._timed, state)
        scalars, due = state.scalars.copy(), state.ring[:, b % state.ring.shape[1]]
        shown = state._replace(scalars=scalars, current=np.maximum(state.current, due))
        kernel.judge(b, self._steps, shown)
        return shown

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
        self._state = kernel.GeneratorState(
            **{name: np.array(array) for name, array in arrays.items()}
        )


def _beginnings(*shape: int) -> Int64s:
    return np.full(shape, BEGINNING, np.int64)
