"""Batches from plain events and back: for tests, examples and small streams."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, empty, from_changes
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
    """A batch as plain events."""
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


def _plain(row: Row) -> dict[str, object]:
    return {name: _plain_value(value) for name, value in row.items()}


def _plain_value(value: object) -> object:
    if isinstance(value, Row):
        return _plain(value)
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    return value
