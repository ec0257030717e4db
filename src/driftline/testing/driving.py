"""Driving physical operators with streams of plain events, batch by batch.

For tests that hold an operator to its reference: what goes in and what comes out are lists of
events, so that the model's own functions say what is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from driftline.engine.operator import Operator
from driftline.engine.plain import batch_of, events_of
from driftline.model.event import Cti, Event

__all__ = ["as_batched", "batch_of", "drive", "events_of"]


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
) -> Iterable[tuple[list[tuple[int, Event]], list[Event]]]:
    """Feed events port by port in batches of `size`; after each, all input and output so far."""
    came: list[tuple[int, Event]] = []
    said: list[Event] = []
    for start in range(0, len(arrivals), size):
        chunk = arrivals[start : start + size]
        for port, schema in enumerate(schemas):
            events = [event for which, event in chunk if which == port]
            if not events:
                continue
            came += [(port, event) for event in as_batched(events)]
            said += events_of(operator.receive(port, batch_of(events, schema)))
            yield came, said
