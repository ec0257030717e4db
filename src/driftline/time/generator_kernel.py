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

import numpy as np

from driftline.model.compiled import njit
from driftline.model.time import BEGINNING
from driftline.time.bounds import Int64s

NOW, UNIT, LAST, HIGHEST = range(4)
"""Places in `scalars`: the clock, the unit it is judged by, the last arrival, the greatest time."""

NEVER = -(2**62)
"""A clock before every clock."""


@njit(cache=True, nogil=True, inline="always")
def less(time: int, lag: int) -> int:
    """time - lag, but never below BEGINNING."""
    return time - lag if time >= BEGINNING + lag else BEGINNING


@njit(cache=True, nogil=True)
def absorb(
    clocks: Int64s,
    sources: Int64s,
    times: Int64s,
    unit: int,
    timeout: int,
    cuts: Int64s,
    rows: Int64s,
    target: Int64s,
    delay: Int64s,
    lag: Int64s,
    counted_rows: Int64s,
    counted_origin: Int64s,
    counted_delay: Int64s,
    counted_lag: Int64s,
    counted_ring: Int64s,
    latency: Int64s,
    scalars: Int64s,
    ring: Int64s,
    current: Int64s,
    greatest: Int64s,
    held_clock: Int64s,
    held_time: Int64s,
    past: Int64s,
    references: Int64s,
    places: Int64s,
    arrivals: Int64s,
    violations: Int64s,
    last: Int64s,
) -> None:
    """Take in arrivals whose clocks do not decrease."""
    cut = -1
    before = NEVER
    for at in range(len(times)):
        clock, source, time = clocks[at], sources[at], times[at]
        if clock != before:
            before = clock
            b = (clock - 1) // unit
            if b > scalars[UNIT]:
                release(unit, rows, target, delay, lag, ring, held_clock, held_time)
                advance(b, unit, timeout, scalars, ring, current, greatest, past)
            if timeout >= 0 and NEVER < scalars[LAST] < clock - timeout:
                # The pause that ends here was long enough, if only inside this unit.
                slot = -((-scalars[LAST] - timeout) // unit) % ring.shape[1]
                for each in range(len(current)):
                    ring[each, slot] = max(ring[each, slot], scalars[HIGHEST])
            scalars[NOW] = clock
            cut = np.searchsorted(cuts, b * unit + unit - clock, side="right")
        arrivals[source] += 1
        if time <= current[source]:
            violations[source] += 1
        for p in range(counted_rows[source], counted_rows[source + 1]):
            # What came on the origin long enough before this tuple, which is surely emitted later.
            known = (clock - 1 - counted_delay[p]) // unit
            origin = counted_origin[p]
            reference = past[origin, known % past.shape[1]]
            start, size = counted_ring[p], counted_ring[p + 1] - counted_ring[p]
            references[start + places[p]] = reference
            places[p] = (places[p] + 1) % size
            matured = references[start + places[p]]
            due = -((-clock - latency[source]) // unit)
            slot = due % ring.shape[1]
            ring[source, slot] = max(ring[source, slot], less(matured, counted_lag[p]))
        greatest[source] = max(greatest[source], time)
        scalars[HIGHEST] = max(scalars[HIGHEST], time)
        scalars[LAST] = clock
        last[source] = clock
        if held_clock[source] != NEVER:
            held = held_clock[source]
            h = (held - 1) // unit
            if np.searchsorted(cuts, h * unit + unit - held, side="right") == cut:
                held_time[source] = max(held_time[source], time)
                continue
            _apply(source, unit, rows, target, delay, lag, ring, held, held_time[source])
        held_clock[source], held_time[source] = clock, time


@njit(cache=True, nogil=True)
def _apply(
    source: int,
    unit: int,
    rows: Int64s,
    target: Int64s,
    delay: Int64s,
    lag: Int64s,
    ring: Int64s,
    clock: int,
    time: int,
) -> None:
    """Line 4 of the paper's figure 2, for every pair of the source."""
    for p in range(rows[source], rows[source + 1]):
        slot = -((-clock - delay[p]) // unit) % ring.shape[1]
        ring[target[p], slot] = max(ring[target[p], slot], less(time, lag[p]))


@njit(cache=True, nogil=True)
def release(
    unit: int,
    rows: Int64s,
    target: Int64s,
    delay: Int64s,
    lag: Int64s,
    ring: Int64s,
    held_clock: Int64s,
    held_time: Int64s,
) -> None:
    """Apply what the sources still hold of the present unit."""
    for source in range(len(held_clock)):
        if held_clock[source] != NEVER:
            held = held_clock[source]
            _apply(source, unit, rows, target, delay, lag, ring, held, held_time[source])
            held_clock[source] = NEVER


@njit(cache=True, nogil=True)
def advance(
    b: int,
    unit: int,
    timeout: int,
    scalars: Int64s,
    ring: Int64s,
    current: Int64s,
    greatest: Int64s,
    past: Int64s,
) -> None:
    """Go on to unit b: heartbeats that are due by then are current, and so is a timeout."""
    size = ring.shape[1]
    for u in range(max(scalars[UNIT] + 1, b - size + 1), b + 1):
        slot = u % size
        for source in range(len(current)):
            current[source] = max(current[source], ring[source, slot])
            ring[source, slot] = BEGINNING
    length = past.shape[1]
    for u in range(max(scalars[UNIT] + 1, b - length + 1), b + 1):
        for source in range(past.shape[0]):
            past[source, u % length] = greatest[source]
    if timeout >= 0 and scalars[LAST] > NEVER and -((-scalars[LAST] - timeout) // unit) <= b:
        for source in range(len(current)):
            current[source] = max(current[source], scalars[HIGHEST])
    scalars[UNIT] = b
