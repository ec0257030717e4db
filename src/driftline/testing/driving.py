"""Driving physical operators with streams of plain events, batch by batch.

For tests that hold an operator to its reference: what goes in and what comes out are lists of
events, so that the model's own functions decide what is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from random import Random

import pyarrow as pa

from driftline.engine.core.operator import Operator, OperatorKey
from driftline.engine.core.plain import batch_of, events_of
from driftline.engine.shards.stored import state_from_bytes, state_to_bytes
from driftline.model.event import Cti, Event

__all__ = ["as_batched", "batch_of", "drive", "events_of", "take_over"]


def as_batched(events: Sequence[Event]) -> list[Event]:
    """The events of one batch as an operator sees them: the changes, then the greatest cti."""
    ctis = [event.t for event in events if isinstance(event, Cti)]
    changes: list[Event] = [event for event in events if not isinstance(event, Cti)]
    return [*changes, *([Cti(max(ctis))] if ctis else [])]


def drive(
    operator: Operator,
    arrivals: Sequence[tuple[int, Event]],
    schemas: Sequence[pa.Schema],
    size: int,
    *,
    restore: bool = True,
) -> Iterable[tuple[list[tuple[int, Event]], list[Event]]]:
    """Feed events port by port in batches of `size`; after each, all input and output so far.

    After one of the batches, chosen by their number, the operator forgets everything and is
    restored from a snapshot, unless `restore` is off: it goes on as if nothing had happened.
    """
    fresh = deepcopy(operator) if restore else None
    batches = -(-len(arrivals) // size)
    restored = Random(batches + 31 * len(arrivals)).randrange(batches) if batches else 0
    came: list[tuple[int, Event]] = []
    emitted: list[Event] = []
    for number, start in enumerate(range(0, len(arrivals), size)):
        chunk = arrivals[start : start + size]
        for port, schema in enumerate(schemas):
            events = [event for which, event in chunk if which == port]
            if not events:
                continue
            came += [(port, event) for event in as_batched(events)]
            emitted += events_of(operator.receive(port, batch_of(events, schema)))
            if fresh is not None and number == restored:
                take_over(operator, fresh)
                fresh = None
            yield came, emitted


def take_over(operator: Operator, fresh: Operator) -> None:
    """Have a fresh operator take over the state of one, as a checkpoint stores it; it then stands
    in the place of that one."""
    state, counters = operator.snapshot(), operator.counters
    key = OperatorKey(type(operator).__name__)
    fresh.restore(state_from_bytes(state_to_bytes({key: state}))[key])
    again = fresh.snapshot()
    if {name: array.dtype for name, array in again.items()} != {
        name: array.dtype for name, array in state.items()
    }:
        raise AssertionError(f"{type(operator).__name__} was restored to other arrays")
    operator.__dict__ = fresh.__dict__
    operator.counters = counters
