"""What generators of heartbeats for many live sources have in common: see `uniform`, `estimate`."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from driftline.model.arrays import Int64s
from driftline.model.old_names import renamed
from driftline.time import live_sources as live
from driftline.time.arrivals import Arrivals, arrivals
from driftline.time.describe import Description
from driftline.time.generator_kernel import NEVER
from driftline.time.live_sources import Sources

PIECE = 1 << 16
"""How many arrivals are taken in at a time: the queue needs room for no more."""


class LiveHeartbeats(ABC):
    """Heartbeats of a stream. Sources are numbers from 0, dense; new ones may turn up."""

    guessed: bool
    """Whether heartbeats are guesses, rather than promises."""

    def __init__(self, unit: int) -> None:
        if unit < 1:
            raise ValueError(f"the unit of the clock is {unit}: give 1 or more")
        self.unit = unit
        self._state = Sources.none()

    @abstractmethod
    def _absorb(self, arrivals: Arrivals) -> None:
        """Take in arrivals for which there is room."""

    @abstractmethod
    def _evaluate(self, unit: int) -> int:
        """Advance to a unit of the clock, and return the heartbeat of the stream."""

    @abstractmethod
    def at(self, clock: int) -> Int64s:
        """The heartbeat of each source, by number."""

    def arrive(
        self,
        clock: object,
        sources: object,
        times: object,
        counts: object | None = None,
        reached: object | None = None,
    ) -> Int64s:
        """Arrivals at one clock, or at clocks of their own; `counts` of them each (see
        `estimate.summary`). Returns the heartbeat of the stream that was in force when each came.
        `reached`: how far each shows its source to be, if that is not its own time; then some may
        be of NO_SOURCE.

        Asking for heartbeats at a clock closes it: what arrives at that clock later is judged by
        them.
        """
        now = int(self._state.scalars[live.NOW])
        came = arrivals(clock, sources, times, counts, reached, now)
        for first in range(0, len(came.times), PIECE):
            piece = Arrivals(*(column[first : first + PIECE] for column in came))
            self._state = self._state.with_room(int(piece.sources.max()), len(piece.times))
            self._absorb(piece)
        return came.in_force

    @property
    def highest(self) -> int:
        """The greatest time that has arrived."""
        return int(self._state.scalars[live.HIGHEST])

    @property
    def in_force(self) -> int:
        """The heartbeat that was in force at the last arrival."""
        return int(self._state.scalars[live.IN_FORCE])

    @property
    def told(self) -> int:
        """The old name of `in_force`."""
        renamed(f"{type(self).__name__}.told", f"{type(self).__name__}.in_force")
        return self.in_force

    def heartbeat(self, clock: int) -> int:
        """The heartbeat of the stream."""
        self._state = state = self._state.with_room(-1, 1)
        state.scalars[live.NOW] = max(clock, int(state.scalars[live.NOW]))
        return self._evaluate(int(state.scalars[live.NOW]) // self.unit)

    def close(self, clock: int) -> int:
        """The same, as other generators call it."""
        return self.heartbeat(clock)

    def retire(self, sources: object) -> None:
        """Do not wait for these until they are heard again."""
        self._state.last[np.asarray(sources, np.int64)] = NEVER

    @property
    def violations(self) -> Int64s:
        """By source, what came at or below its heartbeat."""
        return self._state.late.copy()

    def describe(self, clock: int) -> Description:
        """What is known of each source that was heard."""
        heartbeats, state = self.at(clock), self._state
        heard = state.arrived()
        return Description(
            source=heard,
            arrivals=state.arrivals[heard],
            greatest=state.greatest[heard],
            last_arrival=state.last[heard],
            heartbeat=heartbeats[heard],
            violations=state.late[heard],
            stream=int(state.scalars[live.IN_FORCE]),
            bounds=str(self),
            guessed=self.guessed,
        )
