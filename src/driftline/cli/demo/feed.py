"""The market feed of the tour: trades that come late, and trades that are corrected."""

from __future__ import annotations

import random
from dataclasses import dataclass

from driftline.model.event import Cti, Event, Insert, Retract
from driftline.model.row import Row
from driftline.model.time import INFINITY, TICKS_PER_SECOND, parse_timestamp

OPENING = parse_timestamp("2026-03-02T09:30:00Z")
MINUTE = 60 * TICKS_PER_SECOND
SYMBOLS = {"ACME": 40.0, "BOLT": 120.0, "CORE": 75.0}
SHARE_LATE = 0.12
SHARE_CORRECTED = 0.03
LATEST = 4 * MINUTE
CTI_EVERY = 25


@dataclass(frozen=True)
class Arrival:
    """An event, and when it arrives."""

    at: int
    event: Event


def market_feed(minutes: int = 20, trades_per_minute: int = 20, seed: int = 7) -> list[Event]:
    """Trades in arrival order, with ctis as tight as the feed allows."""
    chance = random.Random(seed)
    arrivals: list[Arrival] = []
    for number in range(minutes * trades_per_minute):
        time = OPENING + number * MINUTE // trades_per_minute + chance.randrange(TICKS_PER_SECOND)
        symbol = chance.choice(list(SYMBOLS))
        price = round(SYMBOLS[symbol] + chance.gauss(0, 1), 2)
        late = chance.randrange(MINUTE // 2, LATEST) if chance.random() < SHARE_LATE else 0
        trade = Row(id=number, symbol=symbol, price=price, qty=chance.randrange(1, 100))
        arrivals.append(Arrival(time + late, Insert(time, INFINITY, trade)))
        if chance.random() < SHARE_CORRECTED:
            known = time + late + chance.randrange(MINUTE // 2, LATEST)
            right = Row({**trade, "price": round(price * 10, 2)})
            arrivals.append(Arrival(known, Retract(time, INFINITY, time, trade)))
            arrivals.append(Arrival(known, Insert(time, INFINITY, right)))
    arrivals.sort(key=lambda arrival: arrival.at)
    return _with_ctis([arrival.event for arrival in arrivals])


def _with_ctis(changes: list[Event]) -> list[Event]:
    events: list[Event] = []
    for place, change in enumerate(changes):
        events.append(change)
        later = [
            other.sync for other in changes[place + 1 :] if isinstance(other, Insert | Retract)
        ]
        if place % CTI_EVERY == CTI_EVERY - 1 and later:
            events.append(Cti(min(later)))
    events.append(Cti(INFINITY))
    return events
