"""The latency levels of snapshot operators: how much of the answer is emitted so far.

With o(H) the answer for the input so far and τ the output watermark:

    perfect(o(H), τ) = o(H) before τ
    ordered(o(H), τ) = o(H) before τ, and what o(H) is at τ, with an open end
    eager(o(H), τ)   = o(H)

τ grows to vs on an insert; on a cti t, to the greatest endpoint of H at or before t; it never
shrinks. While time has come to T (a now-mark), it is at least the greatest endpoint at or before T.
An operator with several inputs has one τ: inserts of any input move it, and its cti and its time
are the least of its inputs'.

Perfect input gives perfect output at `perfect`; ordered input gives ordered output at `ordered`.

τ is an endpoint of H, so that `perfect` emits the snapshots that end at or before τ: unless the
lifetimes that moved τ have been retracted altogether. Then τ may lie inside a snapshot, and that
snapshot is emitted as far as τ, cut there. For a cti may have passed that part meanwhile, and what
is before a cti can not be taken back: a [3, 8), b [5, 10), cti 5, and b was never there; [3, 5)
was emitted, is right, and is final. Without a cti, and where b has come and gone in one batch, it
is the same: what `perfect` emits depends on o(H) and τ alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from driftline.model.event import Cti, Event, Insert
from driftline.model.history import History, Lifetime, canonical_history
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY


class NowMark(NamedTuple):
    """A now-mark: application time has come to t."""

    t: int


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


def output_watermark(events: Iterable[Event | NowMark]) -> int:
    """τ after the events and now-marks of an operator's only input.

    >>> from driftline.model.row import Row
    >>> output_watermark([Insert(3, 8, Row()), Cti(20)])
    8
    >>> output_watermark([NowMark(9), Insert(3, 8, Row())])
    8
    """
    return merged_watermark(((0, event) for event in events), ports=1)


def merged_watermark(arrivals: Iterable[tuple[int, Event | NowMark]], ports: int) -> int:
    """τ after events and now-marks that arrived, in this order, at the ports of an operator."""
    watermark = BEGINNING
    ctis, nows = [BEGINNING] * ports, [BEGINNING] * ports
    came: list[Event] = []
    for port, event in arrivals:
        limit = BEGINNING
        if isinstance(event, NowMark):
            nows[port] = max(nows[port], event.t)
        else:
            came.append(event)
        if isinstance(event, Insert):
            watermark = max(watermark, event.vs)
        elif isinstance(event, Cti):
            ctis[port] = max(ctis[port], event.t)
            limit = min(ctis)
        limit = max(limit, min(nows))
        if limit > BEGINNING:
            reached = [time for time in canonical_history(came).endpoints if time <= limit]
            watermark = max([watermark, *reached])
    return watermark
