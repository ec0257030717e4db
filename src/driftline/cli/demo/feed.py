"""The market feed of the tour: trades that come late, and trades that are corrected."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from driftline.model.event import Cti, Event, Insert, Retract
from driftline.model.row import Row
from driftline.model.time import INFINITY, TICKS_PER_SECOND, parse_timestamp

if TYPE_CHECKING:
    import pyarrow as pa

    from driftline.model.columns import StreamColumns

OPENING = parse_timestamp("2026-03-02T09:56:00Z")
MINUTE = 60 * TICKS_PER_SECOND
SYMBOLS = {"ACME": 40.0, "BOLT": 120.0, "CORE": 75.0, "DUNE": 8.5}
MINUTES = 15
MICRO_BATCH = 3 * MINUTE
"""The feed is replayed in micro-batches, each what came in so long."""
TRADES_PER_MINUTE = 60
SHARE_LATE = 0.04
SHARE_CORRECTED = 0.01
EARLIEST_LATE, LATEST = MINUTE // 2, 9 * MINUTE
CTI_EVERY = 25
MILLISECOND = TICKS_PER_SECOND // 1000
SLIP = 10
"""A trade that is corrected was first reported with so many times its shares."""


@dataclass(frozen=True)
class Arrival:
    """An event, and when it arrives."""

    at: int
    event: Event


@dataclass(frozen=True)
class Feed:
    """The feed as it is replayed, micro-batch by micro-batch."""

    arrivals: Sequence[Arrival]

    @cached_property
    def cuts(self) -> list[int]:
        """Where each micro-batch begins; the last goes on until all has come."""
        times = [arrival.at for arrival in self.arrivals]
        ends = range(OPENING, OPENING + MINUTES * MINUTE, MICRO_BATCH)
        return [bisect_left(times, end) for end in ends]

    @cached_property
    def parts(self) -> list[Sequence[Arrival]]:
        """What comes with each micro-batch."""
        ends = [*self.cuts[1:], len(self.arrivals)]
        return [self.arrivals[start:end] for start, end in zip(self.cuts, ends, strict=True)]

    @cached_property
    def clock(self) -> list[int]:
        """The time of the feed after each micro-batch."""
        return [part[-1].at for part in self.parts]

    @cached_property
    def columns(self) -> StreamColumns:
        """All events; the places of a micro-batch are those from `batch` times its number on."""
        import numpy as np

        from driftline.model.columns import StreamColumns

        events = [arrival.event for arrival in self.arrivals]
        position = [
            n * self.batch + i for n, part in enumerate(self.parts) for i in range(len(part))
        ]
        columns = StreamColumns.from_events("trades", events, timestamps=True)
        return replace(columns, position=np.array(position, np.int64))

    @property
    def batch(self) -> int:
        return len(self.arrivals)

    def first_reports(self) -> list[pa.Table]:
        """The trades of each part as they are first reported, with the time in a column."""
        from driftline.model.columns import INSERT

        seen: set[int] = set()
        found = []
        numbers, kinds = self.columns.payload.column("id").to_pylist(), self.columns.kind.tolist()
        for start, part in zip(self.cuts, self.parts, strict=True):
            first = []
            for place in range(start, start + len(part)):
                if kinds[place] == INSERT and numbers[place] not in seen:
                    seen.add(numbers[place])
                    first.append(place)
            found.append(with_time(self.columns.payload.take(first), self.columns.vs[first]))
        return found


def with_time(trades: pa.Table, vs: object) -> pa.Table:
    """Trades with their time in a column."""
    import pyarrow as pa

    return trades.append_column("ts", pa.array(vs, pa.timestamp("us", "UTC")))


def market_feed(
    minutes: int = MINUTES, trades_per_minute: int = TRADES_PER_MINUTE, seed: int = 25
) -> list[Arrival]:
    """Trades in arrival order, each the matter of a moment, with ctis as tight as they allow."""
    chance = random.Random(seed)
    arrivals: list[Arrival] = []
    for number in range(minutes * trades_per_minute):
        time = OPENING + number * MINUTE // trades_per_minute
        time += chance.randrange(TICKS_PER_SECOND // MILLISECOND) * MILLISECOND
        symbol = chance.choice(list(SYMBOLS))
        price = round(SYMBOLS[symbol] + chance.gauss(0, 1), 2)
        late = _delay(chance) if chance.random() < SHARE_LATE else 0
        trade = Row(id=number, symbol=symbol, price=price, qty=chance.randrange(1, 100))
        if chance.random() >= SHARE_CORRECTED:
            arrivals.append(Arrival(time + late, Insert(time, time + 1, trade)))
            continue
        wrong = Row({**trade, "qty": SLIP * trade["qty"]})
        known = time + late + _delay(chance)
        arrivals.append(Arrival(time + late, Insert(time, time + 1, wrong)))
        arrivals.append(Arrival(known, Retract(time, time + 1, time, wrong)))
        arrivals.append(Arrival(known, Insert(time, time + 1, trade)))
    arrivals.sort(key=lambda arrival: arrival.at)
    return _with_ctis(arrivals)


def _delay(chance: random.Random) -> int:
    return chance.randrange(EARLIEST_LATE, LATEST, MILLISECOND)


def _with_ctis(changes: list[Arrival]) -> list[Arrival]:
    """After every so many changes the promise that those to come keep; in the end, that no more
    come."""
    promise = INFINITY
    backwards = [Arrival(changes[-1].at, Cti(INFINITY))]
    for place in range(len(changes) - 1, -1, -1):
        change = changes[place]
        if place % CTI_EVERY == CTI_EVERY - 1 and promise < INFINITY:
            backwards.append(Arrival(change.at, Cti(promise)))
        backwards.append(change)
        assert isinstance(change.event, Insert | Retract)
        promise = min(promise, change.event.sync)
    return backwards[::-1]
