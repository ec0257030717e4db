"""The latency levels of snapshot operators: how much of the answer is emitted so far.

With o(H) the answer for the input so far and τ the output watermark:

    perfect(o(H), τ) = o(H) before τ
    ordered(o(H), τ) = o(H) before τ, and what o(H) is at τ, with an open end
    eager(o(H), τ)   = o(H)

τ grows to vs on an insert; on a cti t, to the greatest endpoint of H at or before t; it never
shrinks. An operator with several inputs has one τ: inserts of any input move it, and its cti is
the least of its inputs' ctis.

Perfect input gives perfect output at `perfect`; ordered input gives ordered output at `ordered`.
When full retractions have taken away the lifetimes that moved τ, it may lie inside a snapshot.
That snapshot is then cut at τ: what was emitted and is still right is not retracted.
"""

from __future__ import annotations

from collections.abc import Iterable

from driftline.model.event import Cti, Event, Insert
from driftline.model.history import History, Lifetime, canonical_history
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY


def at_level(level: Level, answer: History, watermark: int) -> History:
    """The part of the answer that a latency level emits."""
    if level is Level.EAGER:
        return answer
    emitted = answer.clip(end=watermark)
    if level is Level.PERFECT:
        return emitted
    return emitted + History(
        Lifetime(watermark, INFINITY, lifetime.row) for lifetime in answer.alive(watermark)
    )


def output_watermark(events: Iterable[Event]) -> int:
    """τ after the events of an operator's only input.

    >>> from driftline.model.row import Row
    >>> output_watermark([Insert(3, 8, Row()), Cti(20)])
    8
    """
    return merged_watermark(((0, event) for event in events), ports=1)


def merged_watermark(arrivals: Iterable[tuple[int, Event]], ports: int) -> int:
    """τ after events that arrived, in this order, at the ports of an operator."""
    watermark = BEGINNING
    ctis = [BEGINNING] * ports
    came: list[Event] = []
    for port, event in arrivals:
        came.append(event)
        if isinstance(event, Insert):
            watermark = max(watermark, event.vs)
        elif isinstance(event, Cti):
            ctis[port] = max(ctis[port], event.t)
            reached = [time for time in canonical_history(came).endpoints if time <= min(ctis)]
            watermark = max([watermark, *reached])
    return watermark
