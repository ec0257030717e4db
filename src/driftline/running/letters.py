"""Dead letters as the events they were."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from driftline.model.columns import INSERT, StreamColumns

if TYPE_CHECKING:
    from driftline.engine.ingest.dead_letters import DeadLetters


def letter_events(name: str, stamps: bool, dead: DeadLetters) -> StreamColumns:
    """The events that dead letters were, without the records that could not be read."""
    count = len(dead.kind)
    return StreamColumns(
        name=name,
        timestamps=stamps,
        kind=dead.kind,
        vs=dead.vs,
        ve=dead.ve,
        vn=np.where(dead.kind == INSERT, 0, dead.vn),
        at=None,
        position=np.arange(count, dtype=np.int64),
        line=np.arange(1, count + 1, dtype=np.int64),
        source=np.zeros(count, np.int32),
        payload=pa.Table.from_batches([dead.payload]),
    )
