"""Short words for literal events and histories, so that tests read like the papers' tables."""

from __future__ import annotations

from collections.abc import Mapping

from driftline.model.event import Cti, Event, ExternalCti, Insert, Retract
from driftline.model.history import History, Lifetime
from driftline.model.row import Row, Value
from driftline.model.time import INFINITY

Payload = str | int | Mapping[str, Value]


def row(payload: Payload) -> Row:
    """A row; a bare value stands for the row {p: value}."""
    return Row(payload) if isinstance(payload, Mapping) else Row(p=payload)


def insert(vs: int, ve: int | None, payload: Payload) -> Event:
    return Insert(vs, INFINITY if ve is None else ve, row(payload))


def retract(vs: int, ve: int | None, vn: int, payload: Payload) -> Event:
    return Retract(vs, INFINITY if ve is None else ve, vn, row(payload))


def cti(t: int) -> Event:
    return Cti(t)


def external_cti(start: int, end: int, count: int) -> Event:
    return ExternalCti(start, end, count)


def history(*lifetimes: tuple[int, int | None, Payload]) -> History:
    return History(
        Lifetime(vs, INFINITY if ve is None else ve, row(payload)) for vs, ve, payload in lifetimes
    )
