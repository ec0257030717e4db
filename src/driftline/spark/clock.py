"""What Spark itself records about a query: its id, and when each micro-batch began.

Both stay the same when a micro-batch comes again after a crash, so that a sink may write them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driftline.spark.checkpoint import Checkpoint


def run_id(checkpoint: Checkpoint) -> str:
    """The name of the query that a checkpoint belongs to: it is made with the checkpoint, and as
    old as that."""
    return str(json.loads(_read(checkpoint, "spark/metadata"))["id"])


def began_at(checkpoint: Checkpoint, batch_id: int) -> int:
    """When a micro-batch began, in milliseconds since 1970: Spark writes the time into its log of
    offsets before it reads anything."""
    _, metadata, *_ = _read(checkpoint, f"spark/offsets/{batch_id}").decode().split("\n")
    return int(json.loads(metadata)["batchTimestampMs"])


def _read(checkpoint: Checkpoint, name: str) -> bytes:
    data = checkpoint.place.read(name)
    if data is None:
        raise FileNotFoundError(f"{checkpoint.place}/{name}")
    return data
