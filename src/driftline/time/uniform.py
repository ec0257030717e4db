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

When nothing arrives for `timeout`, everything seen is complete: the heartbeat is M. Without a skew
a source that is silent for `timeout` alone is not waited for until it is heard again. A heartbeat
that was told is never taken back. (With a coarse unit of the clock, a pause that ends inside the
unit in which it gets long enough is not noticed.)

State: a few numbers per source, and what arrived within the latency, once per source and unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.model.compiled import njit
from driftline.model.time import BEGINNING
from driftline.time import live_sources as live
from driftline.time.bounds import Int64s
from driftline.time.generator_kernel import NEVER, less
from driftline.time.live import LiveHeartbeats
from driftline.time.live_sources import Sources

NONE = -1
"""No skew, no timeout, no number of sources."""


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

    def at(self, clock: int) -> Int64s:
        """The heartbeat of each source, by number; a source never heard has the stream's."""
        told = self.heartbeat(clock)
        own = np.maximum(self._state.effective, BEGINNING + self.disorder + 1) - self.disorder - 1
        own[self._state.effective == BEGINNING] = BEGINNING
        count = int(self._state.arrived().max(initial=-1)) + 1
        heartbeats: Int64s = np.maximum(own, max(told, self._top()))[:count]
        return heartbeats

    def __str__(self) -> str:
        parts = [f"disorder {self.disorder}", f"latency {self.latency}"]
        parts += [] if self.skew is None else [f"skew {self.skew}"]
        parts += [] if self.timeout is None else [f"timeout {self.timeout}"]
        return ", ".join(parts)

    def _absorb(self, *arrivals: Any) -> None:
        _absorb(*arrivals, *self._arguments())

    def _evaluate(self, unit: int) -> int:
        return int(_evaluate(unit, *self._arguments()))

    def snapshot(self) -> dict[str, NDArray[np.int64]]:
        return self._state.snapshot()

    def restore(self, arrays: Mapping[str, NDArray[np.int64]]) -> None:
        """Become what `snapshot` was taken of."""
        self._state = Sources.restored(arrays)

    def _top(self) -> int:
        if self.skew is None:
            return BEGINNING
        return int(less(int(self._state.scalars[live.TOP]), self.skew + self.disorder + 1))

    def _arguments(self) -> list[Any]:
        """What the kernels take beside arrivals, in their order."""
        optional = (self.skew, self.timeout, self.sources)
        skew, timeout, count = (NONE if value is None else value for value in optional)
        parameters = self.disorder, skew, self.latency, timeout, count, self.unit
        return [*parameters, *self._state.arrays()]


@njit(cache=True, nogil=True)
def _absorb(
    clocks: Int64s,
    sources: Int64s,
    times: Int64s,
    counts: Int64s,
    told: Int64s,
    disorder: int,
    skew: int,
    latency: int,
    timeout: int,
    number: int,
    unit: int,
    scalars: Int64s,
    effective: Int64s,
    greatest: Int64s,
    last: Int64s,
    heard: Int64s,
    late: Int64s,
    key: Int64s,
    place: Int64s,
    heap: Int64s,
    tail: Int64s,
    due: Int64s,
    waiting: Int64s,
    waiting_source: Int64s,
) -> None:
    before = NEVER
    floor = BEGINNING
    effect = NEVER
    for at in range(len(times)):
        clock, source, time = clocks[at], sources[at], times[at]
        if clock != before:
            before = clock
            if (clock - 1) // unit > scalars[live.UNIT]:
                _evaluate(
                    (clock - 1) // unit, disorder, skew, latency, timeout, number, unit, scalars,
                    effective, greatest, last, heard, late, key, place, heap, tail, due, waiting,
                    waiting_source,
                )  # fmt: skip
            floor = scalars[live.TOLD]
            if skew != NONE:
                floor = max(floor, less(scalars[live.TOP], skew + disorder + 1))
            scalars[live.NOW] = clock
            effect = -((-clock - latency) // unit)
            if scalars[live.FIRST] == NEVER:
                scalars[live.FIRST] = clock
        told[at] = scalars[live.TOLD]
        if time <= max(floor, less(effective[source], disorder + 1)):
            late[source] += counts[at]
        if heard[source] == 0:
            scalars[live.SEEN] += 1
        heard[source] += counts[at]
        greatest[source] = max(greatest[source], time)
        scalars[live.HIGHEST] = max(scalars[live.HIGHEST], time)
        last[source] = clock
        scalars[live.LAST] = clock
        slot = tail[source] & (len(due) - 1)
        if tail[source] >= scalars[live.HEAD] and due[slot] == effect:
            waiting[slot] = max(waiting[slot], time)
        else:
            live.enqueue(source, effect, time, scalars, tail, due, waiting, waiting_source)
        if place[source] == live.OUT:
            live.join(source, scalars, effective, key, place, heap)


@njit(cache=True, nogil=True)
def _evaluate(
    b: int,
    disorder: int,
    skew: int,
    latency: int,
    timeout: int,
    number: int,
    unit: int,
    scalars: Int64s,
    effective: Int64s,
    greatest: Int64s,
    last: Int64s,
    heard: Int64s,
    late: Int64s,
    key: Int64s,
    place: Int64s,
    heap: Int64s,
    tail: Int64s,
    due: Int64s,
    waiting: Int64s,
    waiting_source: Int64s,
) -> int:
    """Go on to unit b, and tell the heartbeat of the stream."""
    if b >= scalars[live.UNIT]:
        scalars[live.UNIT] = b
        live.take_effect(b, scalars, effective, due, waiting, waiting_source)
        told = scalars[live.TOLD]
        all_heard = number == NONE or scalars[live.SEEN] >= number
        if skew == NONE:
            started = scalars[live.FIRST]
            if timeout >= 0 and started > NEVER and -((-started - timeout) // unit) <= b:
                all_heard = True  # the others have been silent for the timeout
            least = live.least_live(b, unit, timeout, scalars, effective, last, key, place, heap)
            if all_heard:
                told = max(told, less(least, disorder + 1))
        else:
            told = max(told, less(scalars[live.TOP], skew + disorder + 1))
            if number != NONE and all_heard:
                least = live.least_live(b, unit, NONE, scalars, effective, last, key, place, heap)
                told = max(told, less(least, disorder + 1))
        final = scalars[live.LAST]
        if timeout >= 0 and final > NEVER and -((-final - timeout) // unit) <= b:
            told = max(told, scalars[live.HIGHEST])
        scalars[live.TOLD] = told
    return int(scalars[live.TOLD])
