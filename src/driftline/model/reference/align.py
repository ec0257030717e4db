"""Align: how long an event waits before the query speculates.

    history(Align(S)) = history(S) in the end: Align delays, it changes nothing.

While a change waits, it is merged with what follows it in its chain: a retract shortens or removes
a waiting insert, or lengthens a waiting retract. A change may be output

    - as soon as a cti t with sync time < t comes: then all such changes go out in sync order,
      followed by the cti; or
    - when it has waited for `block` on the clock, whichever comes first.

The clock is application time or system time. In application time it shows the greatest vs of the
inserts and the greatest t of the ctis so far, and a change has waited for `block` when the clock
has come to min(its sync time, the clock when it arrived) + block. (An end that is known long
before it comes is not held back until then; so block = 0 holds back nothing.) In system time the
clock is passed in with every event, and waiting starts at arrival. What merges with a waiting
change inherits its waiting.

block = 0 lets everything through at once; block = ∞ waits for ctis alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from driftline.model.event import Change, Cti, Event, ExternalCti, Insert, Retract
from driftline.model.time import BEGINNING, plus


@dataclass(frozen=True)
class Waiting:
    """A change that is held back, and the time on the clock from which it has waited."""

    change: Change
    since: int


def align(
    events: Iterable[Event | None], block: int, system_clock: Iterable[int] | None = None
) -> Iterator[list[Event]]:
    """What is output after each event. With a system clock, None is the passing of time alone."""
    waiting: list[Waiting] = []
    clock = BEGINNING
    readings = None if system_clock is None else iter(system_clock)
    for event in events:
        clock = _application_clock(clock, event) if readings is None else next(readings)
        output: list[Event] = []
        match event:
            case Insert() | Retract():
                since = clock if readings is not None else min(event.sync, clock)
                waiting = _merged(waiting, Waiting(event, since))
            case Cti(t):
                final = [held for held in waiting if held.change.sync < t]
                waiting = [held for held in waiting if held.change.sync >= t]
                output += _in_sync_order(final)
            case ExternalCti():
                raise ValueError("an external cti comes to Align: Finalize has to come before it")
        due = [held for held in waiting if plus(held.since, block) <= clock]
        waiting = [held for held in waiting if held not in due]
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


def _merged(waiting: list[Waiting], new: Waiting) -> list[Waiting]:
    """The waiting changes with one more, which may follow one of them in a chain."""
    retract = new.change
    for held in waiting:
        if not isinstance(retract, Retract) or not _follows(retract, held.change):
            continue
        others = list(waiting)
        others.remove(held)
        if isinstance(held.change, Retract):
            longer = replace(held.change, vn=retract.vn)
            return [*others, Waiting(longer, min(held.since, new.since))]
        if retract.full:
            return others
        return [*others, replace(held, change=replace(held.change, ve=retract.vn))]
    return [*waiting, new]


def _follows(retract: Retract, change: Change) -> bool:
    left = change.ve if isinstance(change, Insert) else change.vn
    return (change.vs, left, change.row) == (retract.vs, retract.ve, retract.row)


def _in_sync_order(held: list[Waiting]) -> list[Event]:
    """Inserts before retracts of the same time; ties keep their order of arrival."""
    changes = [item.change for item in held]
    return [*sorted(changes, key=lambda change: (change.sync, isinstance(change, Retract)))]
