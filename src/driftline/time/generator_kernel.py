"""The kernels of the heartbeat generator: arrivals into a ring of heartbeats to come.

Clocks are cut into units: unit b is the clock b * unit, and what arrives in (b * unit, (b + 1) *
unit] is judged by the heartbeats of b. A heartbeat that is due at clock d counts from the first
unit at or after d: less than a unit late, never early.

Of the arrivals of one source in one unit only the greatest time matters, as long as all of them
fall due in the same units. `cuts` are the places inside a unit where that changes: the remainders
of (wait + latency) by the unit. So a source is handled once for each cut of a unit, however many
tuples it sends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.model.arrays import Int64s
from driftline.model.compiled import in_place, njit
from driftline.model.time import BEGINNING

NOW, UNIT, LAST, HIGHEST = range(4)
"""Places in `scalars`: the clock, the unit it is judged by, the last arrival, the greatest time."""

NEVER = -(2**62)
"""A clock before every clock."""


@njit(cache=True, nogil=True, inline="always")
def less(time: int, lag: int) -> int:
    """time - lag, but never below BEGINNING."""
    return time - lag if time >= BEGINNING + lag else BEGINNING


@njit(cache=True, nogil=True, inline="always")
def is_over(last: int, timeout: int, unit: int, b: int) -> bool:
    """Whether the timeout has passed by unit b since `last`, if there are both."""
    return timeout >= 0 and last > NEVER and -((-last - timeout) // unit) <= b


class Steps(NamedTuple):
    """How the clock is cut: the unit, the timeout (-1: none), and the cuts inside a unit."""

    unit: int
    timeout: int
    cuts: Int64s


class Timed(NamedTuple):
    """Pairs without tuples, by origin: those of source i are rows[i] … rows[i + 1] - 1."""

    rows: Int64s
    target: Int64s
    delay: Int64s  # the wait, and the latency of the target
    lag: Int64s


class Counted(NamedTuple):
    """Pairs that count tuples, by target: those of source j are rows[j] … rows[j + 1] - 1."""

    rows: Int64s
    origin: Int64s
    delay: Int64s
    lag: Int64s
    ring: Int64s  # where the references of each pair start
    latency: Int64s  # by source


class State(NamedTuple):
    """The state of a generator; every field is an array of the snapshot."""

    scalars: Int64s
    ring: Int64s  # [source, unit] heartbeats to come
    current: Int64s
    greatest: Int64s
    held_clock: Int64s
    held_time: Int64s
    past: Int64s  # [source, unit] the greatest times up to then
    references: Int64s
    places: Int64s
    arrivals: Int64s
    violations: Int64s
    last: Int64s


@in_place
def absorb(
    clocks: Int64s,
    sources: Int64s,
    times: Int64s,
    steps: Steps,
    timed: Timed,
    counted: Counted,
    state: State,
) -> None:
    """Take in arrivals whose clocks do not decrease."""
    scalars, ring = state.scalars, state.ring
    unit, timeout = steps.unit, steps.timeout
    cut = -1
    before = NEVER
    for at in range(len(times)):
        clock, source, time = clocks[at], sources[at], times[at]
        if clock != before:
            before = clock
            b = (clock - 1) // unit
            if b > scalars[UNIT]:
                release(unit, timed, state)
                advance(b, steps, state)
            if timeout >= 0 and NEVER < scalars[LAST] < clock - timeout:
                # The pause that ends here was long enough, if only inside this unit.
                slot = -((-scalars[LAST] - timeout) // unit) % ring.shape[1]
                for each in range(len(state.current)):
                    ring[each, slot] = max(ring[each, slot], scalars[HIGHEST])
            scalars[NOW] = clock
            cut = np.searchsorted(steps.cuts, b * unit + unit - clock, side="right")
        state.arrivals[source] += 1
        if time <= state.current[source]:
            state.violations[source] += 1
        for p in range(counted.rows[source], counted.rows[source + 1]):
            _count(p, source, clock, unit, counted, state)
        state.greatest[source] = max(state.greatest[source], time)
        scalars[HIGHEST] = max(scalars[HIGHEST], time)
        scalars[LAST] = clock
        state.last[source] = clock
        held = state.held_clock[source]
        if held != NEVER:
            h = (held - 1) // unit
            if np.searchsorted(steps.cuts, h * unit + unit - held, side="right") == cut:
                state.held_time[source] = max(state.held_time[source], time)
                continue
            _apply(source, unit, timed, state)
        state.held_clock[source], state.held_time[source] = clock, time


@in_place
def _count(p: int, source: int, clock: int, unit: int, counted: Counted, state: State) -> None:
    """Count a tuple of the source for pair p. A time of the origin that arrived long enough before
    the tuple to be surely emitted earlier, and that enough tuples have followed, becomes a
    heartbeat to come."""
    past, references, places = state.past, state.references, state.places
    known = (clock - 1 - counted.delay[p]) // unit
    start, size = counted.ring[p], counted.ring[p + 1] - counted.ring[p]
    references[start + places[p]] = past[counted.origin[p], known % past.shape[1]]
    places[p] = (places[p] + 1) % size
    matured = references[start + places[p]]
    slot = -((-clock - counted.latency[source]) // unit) % state.ring.shape[1]
    state.ring[source, slot] = max(state.ring[source, slot], less(matured, counted.lag[p]))


@in_place
def _apply(source: int, unit: int, timed: Timed, state: State) -> None:
    """Line 4 of the paper's figure 2, for every pair of the source and what it holds."""
    clock, time, ring = state.held_clock[source], state.held_time[source], state.ring
    for p in range(timed.rows[source], timed.rows[source + 1]):
        slot = -((-clock - timed.delay[p]) // unit) % ring.shape[1]
        target = timed.target[p]
        ring[target, slot] = max(ring[target, slot], less(time, timed.lag[p]))


@in_place
def release(unit: int, timed: Timed, state: State) -> None:
    """Apply what the sources still hold of the present unit."""
    for source in range(len(state.held_clock)):
        if state.held_clock[source] != NEVER:
            _apply(source, unit, timed, state)
            state.held_clock[source] = NEVER


@in_place
def advance(b: int, steps: Steps, state: State) -> None:
    """Advance to unit b: heartbeats and timeouts that are due by then take effect."""
    scalars, ring, current, past = state.scalars, state.ring, state.current, state.past
    size = ring.shape[1]
    for u in range(max(scalars[UNIT] + 1, b - size + 1), b + 1):
        slot = u % size
        for source in range(len(current)):
            current[source] = max(current[source], ring[source, slot])
            ring[source, slot] = BEGINNING
    length = past.shape[1]
    for u in range(max(scalars[UNIT] + 1, b - length + 1), b + 1):
        for source in range(past.shape[0]):
            past[source, u % length] = state.greatest[source]
    if is_over(scalars[LAST], steps.timeout, steps.unit, b):
        for source in range(len(current)):
            current[source] = max(current[source], scalars[HIGHEST])
    scalars[UNIT] = b
