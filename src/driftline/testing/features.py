"""Which hard cases a stream holds, to measure how often random streams reach them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from driftline.model.event import Cti, Event, ExternalCti, Insert, Retract
from driftline.model.history import Lifetime
from driftline.model.stream import is_ordered, is_perfect
from driftline.model.time import INFINITY

LONG_CHAIN = 2


def features(events: Sequence[Event]) -> set[str]:
    """The names of the hard cases that are in this stream."""
    inserts = [event for event in events if isinstance(event, Insert)]
    retracts = [event for event in events if isinstance(event, Retract)]
    ctis = [event for event in events if isinstance(event, Cti)]
    chains = Counter((event.vs, event.row) for event in retracts)
    inserted = Counter(Lifetime(event.vs, event.ve, event.row) for event in inserts)
    lives = [(event.vs, event.ve) for event in inserts]
    endpoints = Counter(time for life in lives for time in life if time != INFINITY)
    found = {
        "empty": not events,
        "late insert": _late(events, Insert),
        "late retract": _late(events, Retract),
        "retraction": bool(retracts),
        "full retraction": any(event.full for event in retracts),
        "chain of several retractions": any(n >= LONG_CHAIN for n in chains.values()),
        "endless lifetime": any(event.ve == INFINITY for event in inserts),
        "duplicate insert": any(copies > 1 for copies in inserted.values()),
        "shared endpoint": any(times > 1 for times in endpoints.values()),
        "lifetimes that touch": bool({vs for vs, _ in lives} & {ve for _, ve in lives}),
        "null in a row": any(value is None for event in inserts for value in event.row.values()),
        "cti in the middle": any(isinstance(event, Cti) for event in events[:-1]),
        "tight cti": _tight(events),
        "cti that does not advance": any(b.t <= a.t for a, b in pairwise(ctis)),
        "retraction after a cti": _retracts_after_cti(events),
        "closed": bool(ctis) and ctis[-1].t == INFINITY,
        "open": not ctis or ctis[-1].t != INFINITY,
        "ordered": is_ordered(events),
        "perfect": is_perfect(events),
    }
    return {name for name, there in found.items() if there}


def _late(events: Sequence[Event], kind: type[Insert] | type[Retract]) -> bool:
    greatest = None
    for event in events:
        if isinstance(event, kind) and greatest is not None and event.sync < greatest:
            return True
        if not isinstance(event, (Cti, ExternalCti)):
            greatest = event.sync if greatest is None else max(greatest, event.sync)
    return False


def _tight(events: Sequence[Event]) -> bool:
    """A cti after which a change with exactly its time comes: one tick more would be wrong."""
    for place, event in enumerate(events):
        later = [
            after.sync for after in events[place + 1 :] if isinstance(after, (Insert, Retract))
        ]
        if isinstance(event, Cti) and later and min(later) == event.t:
            return True
    return False


def _retracts_after_cti(events: Sequence[Event]) -> bool:
    """A lifetime that began before a cti is shortened after it."""
    latest = None
    for event in events:
        if isinstance(event, Cti):
            latest = event.t
        if isinstance(event, Retract) and latest is not None and event.vs < latest:
            return True
    return False
