"""A batch as columns of events: the form in which an event log is written."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.model.columns import CTI, INSERT, StreamColumns


def said_events(
    name: str, batch: Batch, *, timestamps: bool, cti: int | None = None
) -> StreamColumns:
    """The changes of a batch, and then a cti if one is given, as events of the stream `name`."""
    changes = batch.changes()
    count, more = len(changes), 0 if cti is None else 1
    nothing = np.zeros(more, np.int64)
    schema = batch.payload.schema
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
