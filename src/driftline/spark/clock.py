"""What Spark itself has written down about a query: who it is, and when each micro-batch began.

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
    with checkpoint.files.open_input_stream(f"{checkpoint.root}/spark/metadata") as file:
        return str(json.loads(file.read())["id"])


def began_at(checkpoint: Checkpoint, batch_id: int) -> int:
    """When a micro-batch began, in milliseconds since 1970: Spark writes the time into its log of
    offsets before it reads anything."""
    with checkpoint.files.open_input_stream(f"{checkpoint.root}/spark/offsets/{batch_id}") as file:
        _, metadata, *_ = file.read().decode().split("\n")
    return int(json.loads(metadata)["batchTimestampMs"])
