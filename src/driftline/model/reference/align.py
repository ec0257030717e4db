"""Align: how long an event is held back before the query speculates.

    history(Align(S)) = history(S) in the end: Align delays, it changes nothing.

While a change is held back, it is merged with what follows it in its chain: a retract shortens or
removes an insert that is held back, or extends a retract. A change is emitted

    - as soon as a cti t with sync time < t comes: then all such changes go out in sync order,
      followed by the cti; or
    - when it was held back for `block` on the clock, whichever comes first.

The clock is application time or system time. In application time it shows the greatest vs of the
inserts and the greatest t of the ctis so far, and a change was held back for `block` when the clock
has come to min(its sync time, the clock when it arrived) + block. (An end that is known long
before it comes is not held back until then; so block = 0 holds back nothing.) In system time the
clock is passed in with every event, and a change is held back from its arrival on. A change that is
merged with an earlier one is held back from then on as that one was.

block = 0 holds nothing back; block = ∞ holds everything back until a cti.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from driftline.model.event import Change, Cti, Event, ExternalCti, Insert, Retract
from driftline.model.time import BEGINNING, plus


@dataclass(frozen=True)
class HeldBack:
    """A change that is held back, and the time on the clock since when it is."""

    change: Change
    since: int


def align(
    events: Iterable[Event | None], block: int, system_clock: Iterable[int] | None = None
) -> Iterator[list[Event]]:
    """What is emitted after each event. With a system clock, None is the passing of time alone."""
    held_back: list[HeldBack] = []
    clock = BEGINNING
    readings = None if system_clock is None else iter(system_clock)
    for event in events:
        clock = _application_clock(clock, event) if readings is None else next(readings)
        output: list[Event] = []
        match event:
            case Insert() | Retract():
                since = clock if readings is not None else min(event.sync, clock)
                held_back = _merged(held_back, HeldBack(event, since))
            case Cti(t):
                final = [held for held in held_back if held.change.sync < t]
                held_back = [held for held in held_back if held.change.sync >= t]
                output += _in_sync_order(final)
            case ExternalCti():
                raise ValueError("an external cti comes to Align: Finalize has to come before it")
        due = [held for held in held_back if plus(held.since, block) <= clock]
        held_back = [held for held in held_back if held not in due]
        output += _in_sync_order(due)
        if isinstance(event, Cti):
            output.append(event)
        yield output


def _application_clock(clock: int, event: Event | None) -> int:
    match event:
        case Insert(vs):
            return max(clock, vs)
        case Cti(t):
            return max(clock, t)
    return clock


def _merged(held_back: list[HeldBack], new: HeldBack) -> list[HeldBack]:
    """The changes that are held back and one more, which may follow one of them in a chain."""
    retract = new.change
    for held in held_back:
        if not isinstance(retract, Retract) or not _follows(retract, held.change):
            continue
        others = list(held_back)
        others.remove(held)
        if isinstance(held.change, Retract):
            longer = replace(held.change, vn=retract.vn)
            return [*others, HeldBack(longer, min(held.since, new.since))]
        if retract.full:
            return others
        return [*others, replace(held, change=replace(held.change, ve=retract.vn))]
    return [*held_back, new]


def _follows(retract: Retract, change: Change) -> bool:
    left = change.ve if isinstance(change, Insert) else change.vn
    return (change.vs, left, change.row) == (retract.vs, retract.ve, retract.row)


def _in_sync_order(held: list[HeldBack]) -> list[Event]:
    """Inserts before retracts of the same time; ties keep their order of arrival."""
    changes = [item.change for item in held]
    return [*sorted(changes, key=lambda change: (change.sync, isinstance(change, Retract)))]
