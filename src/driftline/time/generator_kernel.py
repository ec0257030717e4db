"""The kernels of the heartbeat generator: arrivals into a ring of heartbeats to come.

Clocks are cut into units: unit b is the clock b * unit, and what arrives in (b * unit, (b + 1) *
unit] is judged by the heartbeats of b. A heartbeat that is due at clock d counts from the first
unit at or after d: less than a unit late, never early.

Of the arrivals of one source in one unit only the greatest time matters, as long as all of them
fall due in the same units. `cuts` are the places inside a unit where that changes: the remainders
of (wait + latency) by the unit. So a source is handled once for each cut of a unit, however many
tuples it sends.

Heartbeats, those in force and those to come, are kept less what a least rate has added to all of
them by the unit that they count from (see `rate`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.kernels import in_place, inlined
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import BEGINNING, INFINITY
from driftline.time.arrivals import NO_SOURCE, STRANGER, Arrivals
from driftline.time.rate import advanced, moved

NOW, UNIT, LAST, HIGHEST, FIRST, COMPLETE, IN_FORCE = range(7)
"""Places in `scalars`: the clock, the unit it is judged by, the last arrival, the greatest time;
the first arrival; what is complete by a timeout, and the heartbeat of the stream."""

NEVER = -(2**62)
"""A clock before every clock."""


@inlined
def less(time: int, lag: int) -> int:
    """time - lag, but never below BEGINNING."""
    return time - lag if time >= BEGINNING + lag else BEGINNING


@inlined
def is_over(last: int, timeout: int, unit: int, b: int) -> bool:
    """Whether the timeout has passed by unit b since `last`, if there are both."""
    return timeout >= 0 and last > NEVER and -((-last - timeout) // unit) <= b


class ClockSteps(NamedTuple):
    """How the clock is cut: the unit, the timeout (-1: none), and the cuts inside a unit; and how
    many ticks clocks advance in how many units of the arrival clock, at least."""

    unit: int
    timeout: int
    cuts: Int64s
    ticks: int = 0
    units: int = 1


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


class GeneratorState(NamedTuple):
    """The state of a generator; every field is an array of the snapshot."""

    scalars: Int64s
    ring: Int64Table  # [source, unit] heartbeats to come
    current: Int64s
    greatest: Int64s
    held_clock: Int64s
    held_time: Int64s
    past: Int64Table  # [source, unit] the greatest times up to then
    references: Int64s
    places: Int64s
    arrivals: Int64s
    violations: Int64s
    last: Int64s


@in_place
def absorb(
    arrivals: Arrivals, steps: ClockSteps, timed: Timed, counted: Counted, state: GeneratorState
) -> None:
    """Take in arrivals whose clocks do not decrease."""
    clocks, sources, times, counts, reached, in_force = arrivals
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
                release(steps, timed, state)
                advance(b, steps, state)
            if steps.ticks == 0 and timeout >= 0 and NEVER < scalars[LAST] < clock - timeout:
                # The pause that ends here was long enough, if only inside this unit.
                slot = -((-scalars[LAST] - timeout) // unit) % ring.shape[1]
                for each in range(len(state.current)):
                    ring[each, slot] = max(ring[each, slot], scalars[HIGHEST])
            scalars[NOW] = clock
            cut = np.searchsorted(steps.cuts, b * unit + unit - clock, side="right")
        in_force[at] = scalars[IN_FORCE]
        if source == STRANGER:
            continue
        scalars[LAST] = clock
        if scalars[FIRST] == NEVER:
            scalars[FIRST] = clock
        if source == NO_SOURCE:
            continue
        state.arrivals[source] += counts[at]
        if time <= of_source(source, scalars[UNIT], steps, state):
            state.violations[source] += counts[at]
        for p in range(counted.rows[source], counted.rows[source + 1]):
            _count(p, source, clock, counts[at], steps, counted, state)
        time = reached[at]
        state.greatest[source] = max(state.greatest[source], time)
        scalars[HIGHEST] = max(scalars[HIGHEST], time)
        state.last[source] = clock
        held = state.held_clock[source]
        if held != NEVER:
            h = (held - 1) // unit
            if np.searchsorted(steps.cuts, h * unit + unit - held, side="right") == cut:
                state.held_time[source] = max(state.held_time[source], time)
                continue
            _apply(source, steps, timed, state)
        state.held_clock[source], state.held_time[source] = clock, time


@in_place
def of_source(source: int, b: int, steps: ClockSteps, state: GeneratorState) -> int:
    """The heartbeat of a source at unit b, which has come."""
    own = moved(state.current[source], advanced(b * steps.unit, steps.ticks, steps.units))
    return int(max(own, state.scalars[COMPLETE]))


@in_place
def _to_come(
    source: int, due: int, heartbeat: int, steps: ClockSteps, state: GeneratorState
) -> None:
    """Note a heartbeat that is due at a clock; one that was due already takes effect next."""
    unit, ring = steps.unit, state.ring
    b = max(-(-due // unit), state.scalars[UNIT] + 1)
    kept = moved(heartbeat, advanced(-b * unit, steps.ticks, steps.units))
    slot = b % ring.shape[1]
    ring[source, slot] = max(ring[source, slot], kept)


@in_place
def _count(
    p: int,
    source: int,
    clock: int,
    count: int,
    steps: ClockSteps,
    counted: Counted,
    state: GeneratorState,
) -> None:
    """Count tuples of the source for pair p. A time of the origin that arrived long enough before
    the tuples to be surely emitted earlier, and that enough of them have followed, becomes a
    heartbeat to come."""
    past, references, places = state.past, state.references, state.places
    known = (clock - 1 - counted.delay[p]) // steps.unit
    start, size = counted.ring[p], counted.ring[p + 1] - counted.ring[p]
    for _ in range(min(count, size)):
        references[start + places[p]] = past[counted.origin[p], known % past.shape[1]]
        places[p] = (places[p] + 1) % size
    matured = references[start + places[p]]
    due = clock + counted.latency[source]
    _to_come(source, due, less(matured, counted.lag[p]), steps, state)


@in_place
def _apply(source: int, steps: ClockSteps, timed: Timed, state: GeneratorState) -> None:
    """Line 4 of the paper's figure 2, for every pair of the source and what it holds."""
    clock, time = state.held_clock[source], state.held_time[source]
    for p in range(timed.rows[source], timed.rows[source + 1]):
        due = clock + timed.delay[p]
        _to_come(timed.target[p], due, less(time, timed.lag[p]), steps, state)


@in_place
def release(steps: ClockSteps, timed: Timed, state: GeneratorState) -> None:
    """Apply what the sources still hold of the present unit."""
    for source in range(len(state.held_clock)):
        if state.held_clock[source] != NEVER:
            _apply(source, steps, timed, state)
            state.held_clock[source] = NEVER


@in_place
def advance(b: int, steps: ClockSteps, state: GeneratorState) -> None:
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
    judge(b, steps, state)


@in_place
def of_sources(steps: ClockSteps, state: GeneratorState, heartbeats: Int64s) -> None:
    """The heartbeats of all sources at the unit that has come."""
    for source in range(len(heartbeats)):
        heartbeats[source] = of_source(source, state.scalars[UNIT], steps, state)


@in_place
def judge(b: int, steps: ClockSteps, state: GeneratorState) -> None:
    """Unit b has come. The heartbeat of the stream is the least of those of the sources that have
    not been silent for the timeout; if all have, of all that were heard."""
    scalars = state.scalars
    if is_over(scalars[LAST], steps.timeout, steps.unit, b):
        scalars[COMPLETE] = max(scalars[COMPLETE], scalars[HIGHEST])
    scalars[UNIT] = b
    least = of_all = INFINITY
    for source in range(len(state.current)):
        own = of_source(source, b, steps, state)
        last = scalars[FIRST]
        if state.last[source] > NEVER:
            last, of_all = state.last[source], min(of_all, own)
        if not is_over(last, steps.timeout, steps.unit, b):
            least = min(least, own)
    if least == INFINITY:
        least = of_all
    if least < INFINITY:
        scalars[IN_FORCE] = max(scalars[IN_FORCE], least)
