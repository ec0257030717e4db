"""What heartbeats should be: by trying every past that explains what was seen, and every future.

`tightest` is the greatest τ such that nothing that keeps the bounds can still arrive at or below τ
on a source. One more tuple is enough to try: further ones only bind more. `plain` is the formula of
the generator's docstring, arrival by arrival.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import floor

from driftline.model.time import BEGINNING
from driftline.testing.sources import Emission
from driftline.time.bounds import Bounds

Seen = tuple[int, int, int]
"""Source, emitted at, timestamp."""


def tightest(bounds: Bounds, seen: Sequence[Emission], clock: int) -> list[int]:
    """For each source. The bounds must be closed and count no tuples."""
    entries = _entries(bounds)
    lowest: list[int | None] = [None] * bounds.sources
    for past in _pasts(bounds, entries, seen):
        for source in range(bounds.sources):
            for emitted in range(clock + 1 - int(bounds.latency[source]), clock + 2):
                least = _least(entries, past, source, emitted)
                if least is not None and (lowest[source] is None or least < lowest[source]):  # type: ignore[operator]
                    lowest[source] = least
    return [BEGINNING if least is None or least == BEGINNING else least - 1 for least in lowest]


def _pasts(bounds: Bounds, entries: Entries, seen: Sequence[Emission]) -> Iterator[list[Seen]]:
    """All emission clocks of what was seen that keep the bounds."""
    ways = [range(each.arrived - int(bounds.latency[each.source]), each.arrived + 1)
            for each in seen]  # fmt: skip
    for clocks in product(*ways):
        past = [(s.source, clock, s.time) for s, clock in zip(seen, clocks, strict=True)]
        if all(_allowed(entries, earlier, later) for earlier in past for later in past):
            yield past


Entries = dict[tuple[int, int], list[tuple[int, int]]]


def _entries(bounds: Bounds) -> Entries:
    assert not bounds.tuples.any()
    every = range(bounds.sources)
    return {(i, j): [(b.wait, b.lag) for b in bounds[i, j]] for i in every for j in every}


def _allowed(entries: Entries, earlier: Seen, later: Seen) -> bool:
    return all(
        later[1] <= earlier[1] + wait or later[2] > earlier[2] - lag
        for wait, lag in entries[earlier[0], later[0]]
    )


def _least(entries: Entries, past: list[Seen], source: int, emitted: int) -> int | None:
    """The least timestamp that the source can have emitted then; None if none fits."""
    least = BEGINNING
    for origin, clock, time in past:
        for wait, lag in entries[origin, source]:
            if emitted > clock + wait:
                least = max(least, time - lag + 1)
    if least == BEGINNING:
        return least
    fits = all(_allowed(entries, (source, emitted, least), known) for known in past)
    return least if fits else None


def plain(
    bounds: Bounds, seen: Sequence[Emission], clock: int, rate: Fraction = Fraction(0)
) -> list[int]:
    """The generator's formula; the bounds may count tuples, and clocks advance at a least rate."""
    heartbeats = [BEGINNING] * bounds.sources
    for tuple_ in seen:
        for j in range(bounds.sources):
            latency = int(bounds.latency[j])
            for bound in bounds[tuple_.source, j]:
                due = tuple_.arrived + bound.wait + latency
                if bound.tuples:
                    later = sorted(s.arrived for s in seen if s.source == j and s.arrived > due)
                    if len(later) < bound.tuples:
                        continue
                    due = later[bound.tuples - 1] + latency
                if due <= clock:
                    gained = floor(rate * clock) + floor(-rate * due)
                    heartbeats[j] = max(heartbeats[j], tuple_.time - bound.lag + gained)
    return heartbeats
