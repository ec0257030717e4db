"""A batch as an event log has it: as columns of events, or as their lines."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, Changes
from driftline.event_log.few_lines import FEW, few_lines
from driftline.event_log.writer import event_lines, text_bytes
from driftline.model.columns import CTI, INSERT, StreamColumns


def output_events(
    name: str, batch: Batch, *, timestamps: bool, cti: int | None = None
) -> StreamColumns:
    """The changes of a batch, and then a cti if one is given, as events of the stream `name`."""
    return _columns(name, batch.changes(), timestamps, cti)


def output_lines(
    name: str, batch: Batch, *, timestamps: bool, cti: int | None = None
) -> bytes | pa.Buffer:
    """The same events as lines."""
    changes = batch.changes()
    if len(changes) > FEW:
        return text_bytes(event_lines(_columns(name, changes, timestamps, cti)))
    rows, place = changes.payload, changes.row
    if len(rows) > 2 * len(changes):  # most of them are not there
        rows, place = changes.rows(), np.arange(len(changes))
    columns = (changes.kind, changes.vs, changes.ve, changes.vn, place)
    events = [*zip(*(column.tolist() for column in columns), strict=True)]
    return few_lines(name, timestamps, events, rows, cti)


def _columns(name: str, changes: Changes, timestamps: bool, cti: int | None) -> StreamColumns:
    count, more = len(changes), 0 if cti is None else 1
    nothing = np.zeros(more, np.int64)
    schema = changes.payload.schema
    payload = pa.Table.from_batches([changes.rows()], schema)
    if more:
        payload = pa.concat_tables(
            [payload, pa.table([pa.nulls(1, each.type) for each in schema], schema=schema)]
        )
    return StreamColumns(
        name=name,
        timestamps=timestamps,
        kind=np.concatenate([changes.kind, np.full(more, CTI, np.int8)]),
        vs=np.concatenate([changes.vs, nothing if cti is None else np.full(1, cti, np.int64)]),
        ve=np.concatenate([changes.ve, nothing]),
        vn=np.concatenate([np.where(changes.kind == INSERT, 0, changes.vn), nothing]),
        at=None,
        position=np.arange(count + more, dtype=np.int64),
        line=np.arange(1, count + more + 1, dtype=np.int64),
        source=np.zeros(count + more, np.int32),
        payload=payload,
    )
