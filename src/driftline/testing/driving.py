"""Driving physical operators with streams of plain events, batch by batch.

For tests that hold an operator to its reference: what goes in and what comes out are lists of
events, so that the model's own functions say what is right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from driftline.engine.batch import Batch, empty, from_changes
from driftline.engine.operator import Operator
from driftline.model.columns import INSERT, RETRACT
from driftline.model.event import Cti, Event, ExternalCti, Insert, Retract
from driftline.model.row import Row
from driftline.model.time import BEGINNING


def batch_of(events: Iterable[Event], schema: pa.Schema) -> Batch:
    """One batch of some events; of several ctis the greatest holds, after all changes."""
    changes: list[Insert | Retract] = []
    cti = BEGINNING
    for event in events:
        if isinstance(event, Cti):
            cti = max(cti, event.t)
        elif isinstance(event, ExternalCti):
            raise ValueError("an external cti is for Finalize alone")
        else:
            changes.append(event)
    if not changes:
        return empty(schema, cti)
    kind = [INSERT if isinstance(change, Insert) else RETRACT for change in changes]
    new_end = [change.ve if isinstance(change, Insert) else change.vn for change in changes]
    return from_changes(
        np.array(kind, np.int8),
        np.array([change.vs for change in changes], np.int64),
        np.array([change.ve for change in changes], np.int64),
        np.array(new_end, np.int64),
        pa.RecordBatch.from_pylist([_plain(change.row) for change in changes], schema=schema),
        cti,
    )


def events_of(batch: Batch) -> list[Event]:
    """What a batch says, as plain events."""
    changes = batch.changes()
    rows = changes.rows().to_pylist() if len(changes) else []
    events: list[Event] = []
    for place, values in enumerate(rows):
        vs, ve, vn = (int(times[place]) for times in (changes.vs, changes.ve, changes.vn))
        row = Row(values)
        inserted = changes.kind[place] == INSERT
        events.append(Insert(vs, ve, row) if inserted else Retract(vs, ve, vn, row))
    if batch.cti != BEGINNING:
        events.append(Cti(batch.cti))
    return events


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


def _plain(row: Row) -> dict[str, object]:
    return {name: _plain_value(value) for name, value in row.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, Row):
        return _plain(value)
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    return value
