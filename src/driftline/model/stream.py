"""Streams: what makes one valid, and the classes of streams that operators preserve.

A stream is a sequence of events in arrival order. It is valid if

1. every event is well formed (vs < ve; vs <= vn < ve),
2. no change comes with a sync time before the latest cti (a promise is kept),
3. every retract names a lifetime that is there: its insert's, or the one its predecessor in the
   chain left. As vn < ve, chains strictly shrink,
4. the intervals of external ctis do not overlap, and no more changes fall into one than it counts.

An event that breaks a rule is left out, and the rest is checked as if it had never come: one bad
event is reported once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from driftline.model.event import Cti, Event, ExternalCti, Insert, Retract, malformed
from driftline.model.history import Lifetime
from driftline.model.time import BEGINNING, show

Stream = Sequence[Event]


@dataclass(frozen=True, slots=True)
class Breach:
    """The event at `position` (from 0) breaks a rule, and why."""

    position: int
    event: Event
    reason: str


class Checker:
    """Takes a stream's events in arrival order, and finds for each the rule it breaks, if any."""

    def __init__(self, timestamps: bool = False) -> None:
        self.timestamps = timestamps
        self.latest_cti = BEGINNING
        self.alive: Counter[Lifetime] = Counter()
        self.promised: list[ExternalCti] = []
        self.received: Counter[int] = Counter()  # how many changes came with each sync time

    def breach(self, event: Event) -> str | None:
        """Why the event breaks a rule; if it does not, it becomes part of the stream."""
        reason = malformed(event, self.timestamps)
        if reason is None and isinstance(event, (Insert, Retract)):
            reason = self._broken_promise(event) or self._broken_chain(event)
        if reason is None and isinstance(event, ExternalCti):
            reason = self._bad_count(event)
        if reason is None:
            self._accept(event)
        return reason

    def _show(self, time: int) -> str:
        return show(time, self.timestamps)

    def _broken_promise(self, event: Insert | Retract) -> str | None:
        kind = "an insert" if isinstance(event, Insert) else "a retract"
        if event.sync < self.latest_cti:
            return (
                f"{kind} with sync time {self._show(event.sync)} "
                f"comes after cti {self._show(self.latest_cti)}"
            )
        for promise in self.promised:
            inside = promise.start <= event.sync < promise.end
            if inside and self._received_in(promise) == promise.count:
                return (
                    f"{kind} with sync time {self._show(event.sync)} is one more than the "
                    f"{promise.count} that an external cti promised in "
                    f"[{self._show(promise.start)}, {self._show(promise.end)})"
                )
        return None

    def _broken_chain(self, event: Insert | Retract) -> str | None:
        if isinstance(event, Insert) or self.alive[Lifetime(event.vs, event.ve, event.row)] > 0:
            return None
        return (
            f"a retract of the lifetime [{self._show(event.vs)}, {self._show(event.ve)}), "
            "but no insert or earlier retract left this row with that lifetime"
        )

    def _bad_count(self, event: ExternalCti) -> str | None:
        for other in self.promised:
            if event.start < other.end and other.start < event.end:
                return (
                    f"an external cti for [{self._show(event.start)}, {self._show(event.end)}) "
                    f"overlaps an earlier one for "
                    f"[{self._show(other.start)}, {self._show(other.end)})"
                )
        if self._received_in(event) > event.count:
            return (
                f"an external cti counts {event.count} events in "
                f"[{self._show(event.start)}, {self._show(event.end)}), "
                f"but {self._received_in(event)} have come already"
            )
        return None

    def _received_in(self, promise: ExternalCti) -> int:
        return sum(
            copies for sync, copies in self.received.items() if promise.start <= sync < promise.end
        )

    def _accept(self, event: Event) -> None:
        match event:
            case Insert(vs, ve, row):
                self.alive[Lifetime(vs, ve, row)] += 1
                self.received[event.sync] += 1
            case Retract(vs, ve, vn, row):
                self.alive[Lifetime(vs, ve, row)] -= 1
                if vs < vn:
                    self.alive[Lifetime(vs, vn, row)] += 1
                self.received[event.sync] += 1
            case Cti(t):
                self.latest_cti = max(self.latest_cti, t)
            case ExternalCti():
                self.promised.append(event)


def breaches(events: Iterable[Event], timestamps: bool = False) -> list[Breach]:
    """Every event that breaks a rule, with the rule it breaks.

    >>> from driftline.model.row import Row
    >>> [bad] = breaches([Cti(10), Insert(5, 9, Row(a=1))])
    >>> bad.position, bad.reason
    (1, 'an insert with sync time 5 comes after cti 10')
    """
    checker = Checker(timestamps)
    return [
        Breach(position, event, reason)
        for position, event in enumerate(events)
        if (reason := checker.breach(event)) is not None
    ]


def is_valid(events: Iterable[Event]) -> bool:
    return not breaches(events)


def is_ordered(events: Iterable[Event]) -> bool:
    """No event comes after one with a greater sync time."""
    syncs = [event.sync for event in events if not isinstance(event, ExternalCti)]
    return all(earlier <= later for earlier, later in pairwise(syncs))


def is_perfect(events: Stream) -> bool:
    """Ordered, and nothing is ever retracted."""
    return is_ordered(events) and not any(isinstance(event, Retract) for event in events)


def closed_up_to(events: Iterable[Event]) -> int:
    """The greatest cti: the relation before it is final."""
    return max((event.t for event in events if isinstance(event, Cti)), default=BEGINNING)


def is_closed_at(events: Iterable[Event], t: int) -> bool:
    """Some cti is at or after t, so that the relation before t is final."""
    return closed_up_to(events) >= t


def is_closed(events: Stream) -> bool:
    """The last event is a cti, and later in application time than any other event."""
    if not events or not isinstance(events[-1], Cti):
        return False
    others = [event.sync for event in events[:-1] if not isinstance(event, ExternalCti)]
    return all(sync < events[-1].t for sync in others)


def up_to(events: Iterable[Event], t: int) -> list[Event]:
    """The events with sync time before t, in their order (the papers' S up to t)."""
    return [event for event in events if not isinstance(event, ExternalCti) and event.sync < t]
