"""Finalize: how long the past can be corrected, and how raw events become a valid stream.

    history(Finalize(S)) = history(S without its dead letters)

It does four things, and never holds back what is well formed:

    - A retract that comes before its insert or before its predecessor in the chain is kept until
      these come; then the chain is emitted in one piece.
    - An external cti that all its events have come for becomes a cti, at the earliest correct
      place: when nothing before its interval can come any more either. It promises the sync times
      of events, and not that chains are whole: while a retract waits whose predecessor may still
      come (a retract with the sync time at which its lifetime ends), the cti stays at the time of
      the one that waits.
    - When the clock (the greatest vs of the inserts and t of the ctis so far) has come to t +
      `remember`, the past before t is closed: a cti t is forced.
    - What comes too late is a dead letter; so is what breaks a rule of valid streams, and a retract
      that never found its lifetime, when its time has passed and nothing that it waits for can
      come any more.

remember = ∞ forces nothing, remember = 0 closes the past at every insert. Application time starts
at 0 for external ctis: one whose `from` is 0 or less needs no other before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from driftline.model.event import Change, Cti, Event, ExternalCti, Insert, Retract, malformed
from driftline.model.history import Lifetime
from driftline.model.time import BEGINNING, INFINITY, ORIGIN, plus, show


@dataclass(frozen=True)
class DeadLetter:
    """An event that is not part of the stream, and why."""

    event: Event
    reason: str


@dataclass
class _Output:
    """What Finalize emits after one event, and the dead letters."""

    events: list[Event] = field(default_factory=list)
    dead: list[DeadLetter] = field(default_factory=list)


def finalize(events: Iterable[Event], remember: int) -> Iterator[_Output]:
    """The output and the dead letters after each event."""
    state = _Finalize(remember)
    for event in events:
        yield state.take(event)


class _Finalize:
    def __init__(self, remember: int) -> None:
        self.remember = remember
        self.clock = BEGINNING
        self.closed = BEGINNING  # by ctis and `remember`: the relation before it does not change
        self.counted = BEGINNING  # by external ctis: no event before it is still to come
        self.latest_cti = BEGINNING  # as emitted
        self.alive: Counter[Lifetime] = Counter()
        self.broken: list[Retract] = []  # retracts that have not found their lifetime yet
        self.promised: list[ExternalCti] = []
        self.received: list[int] = []  # the sync time of every change that came in time

    def take(self, event: Event) -> _Output:
        reason = malformed(event) or self._unacceptable(event)
        if reason is not None:
            return _Output(dead=[DeadLetter(event, reason)])
        output = _Output()
        match event:
            case Insert() | Retract():
                self.received.append(event.sync)
                output.events += self._repaired(event)
                if isinstance(event, Insert):
                    self.clock = max(self.clock, event.vs)
            case Cti(t):
                self.clock = max(self.clock, t)
                self.closed = max(self.closed, t)
                self._close(output)
            case ExternalCti():
                self.promised.append(event)
        self.counted = self._counted()
        self._close(output)
        self.closed = max(self.closed, self._forgotten())
        self._close(output)
        return output

    @property
    def in_time(self) -> int:
        """The least sync time of events that may still come."""
        return max(self.closed, self.counted)

    def _unacceptable(self, event: Event) -> str | None:
        match event:
            case Insert() | Retract() if event.sync < self.in_time:
                return (
                    f"too late: its sync time {show(event.sync)} is before "
                    f"the watermark {show(self.in_time)}"
                )
            case Insert() | Retract():
                for promise in self.promised:
                    inside = promise.start <= event.sync < promise.end
                    if inside and self._received_in(promise) == promise.count:
                        return f"one more than promised by the {promise}"
            case ExternalCti(start, end, count):
                if any(start < other.end and other.start < end for other in self.promised):
                    return "it overlaps an earlier external cti"
                if self._received_in(event) > count:
                    return f"{self._received_in(event)} events have come already"
        return None

    def _repaired(self, change: Change) -> list[Event]:
        """The change with the retracts kept for it; nothing if it has to be kept itself."""
        vs, row = change.vs, change.row
        start = Lifetime(vs, change.ve, row)
        if isinstance(change, Retract) and self.alive[start] == 0:
            self.broken.append(change)
            return []
        end = change.ve if isinstance(change, Insert) else change.vn
        while follower := next(
            (held for held in self.broken if (held.vs, held.ve, held.row) == (vs, end, row)), None
        ):
            self.broken.remove(follower)
            end = follower.vn
        if vs < end:
            self.alive[Lifetime(vs, end, row)] += 1
        if isinstance(change, Insert):
            return [Insert(vs, end, row)] if vs < end else []
        self.alive[start] -= 1
        return [Retract(vs, change.ve, end, row)]

    def _counted(self) -> int:
        """How far complete external ctis, one after the other, close the past."""
        reached = self.in_time
        for promise in sorted(self.promised, key=lambda promise: promise.start):
            complete = self._received_in(promise) == promise.count
            if promise.start <= max(reached, ORIGIN) and complete:
                reached = max(reached, promise.end)
        return reached

    def _forgotten(self) -> int:
        if self.clock == BEGINNING or self.remember == INFINITY:
            return BEGINNING
        return self.clock if self.clock == INFINITY else plus(self.clock, -self.remember)

    def _close(self, output: _Output) -> None:
        for retract in [held for held in self.broken if self._is_lost(held)]:
            self.broken.remove(retract)
            output.dead.append(DeadLetter(retract, "no insert came for it before its time passed"))
        reached = min([self.in_time, *(held.sync for held in self.broken)])
        if reached > self.latest_cti:
            self.latest_cti = reached
            output.events.append(Cti(reached))

    def _is_lost(self, held: Retract) -> bool:
        """Whether the time of a retract that waits has passed, and that of its predecessors."""
        return held.sync < self.closed or max(held.sync, self._awaited(held)) < self.counted

    def _awaited(self, held: Retract) -> int:
        """The latest sync time of an event that makes the lifetime that a retract waits for: the
        time at which it ends, if a retract does; what another one that waits is waiting for."""
        own = held.vs if held.ve == INFINITY else held.ve
        before = (
            other
            for other in self.broken
            if (other.vs, other.vn, other.row) == (held.vs, held.ve, held.row)
        )
        return max([own, *map(self._awaited, before)])

    def _received_in(self, promise: ExternalCti) -> int:
        return sum(promise.start <= sync < promise.end for sync in self.received)
