"""Arrivals as generators of heartbeats take them in: checked, in columns, with steady clocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.model.arrays import Int64s

NO_SOURCE = -1
"""The source of an arrival that is about the whole stream: a cti."""

STRANGER = -2
"""The source of an arrival that nothing is declared of: it tells nothing of any other."""


class Arrivals(NamedTuple):
    """In the order in which they came: so many tuples of a source, and the greatest time of them.
    `reached`: the time that the source is known to have reached by them, which is the same for
    inserts. `in_force` receives the heartbeat of the stream that was in force."""

    clocks: Int64s
    sources: Int64s
    times: Int64s
    counts: Int64s
    reached: Int64s
    in_force: Int64s


def arrivals(
    clock: object,
    sources: object,
    times: object,
    counts: object | None,
    reached: object | None,
    now: int,
) -> Arrivals:
    """The arrivals that a user gave, checked; the clock has come to `now` before."""
    stamps, numbers = _for_kernels(times), _for_kernels(sources)
    many = np.ones(len(stamps), np.int64) if counts is None else _for_kernels(counts)
    if not len(numbers) == len(stamps) == len(many):
        raise ValueError(f"{len(numbers)} sources came with {len(stamps)} times")
    least = 0 if reached is None else STRANGER
    if len(numbers) and numbers.min() < least:
        raise ValueError(f"a source has the number {numbers.min()}: number them from 0")
    clocks = steady(clock, len(stamps), now)
    far = stamps if reached is None else _for_kernels(reached)
    return Arrivals(clocks, numbers, stamps, many, far, np.empty(len(stamps), np.int64))


def _for_kernels(given: object) -> Int64s:
    """Contiguous and writable: for arrays that only can be read kernels would be compiled anew."""
    return np.require(given, np.int64, ["C", "W"])


def steady(clock: object, count: int, now: int) -> Int64s:
    """A clock for each arrival, none of them before the one before it, nor before `now`."""
    clocks = np.asarray(clock, np.int64)
    if clocks.ndim == 0:
        return np.full(count, max(int(clocks), now), np.int64)
    if len(clocks) != count:
        raise ValueError(f"{len(clocks)} clocks came with {count} times: give one, or one for each")
    return np.maximum(np.maximum.accumulate(clocks), now)
