"""Loading the engine and its kernels before they are needed."""

from __future__ import annotations

from contextlib import suppress


def warm_up() -> None:
    """Load what almost every query uses, by running a small one.

    Nothing may go wrong here: who starts workers cannot be told."""
    with suppress(Exception):
        import numpy as np
        import pyarrow as pa

        import driftline.spark.processor  # noqa: F401
        from driftline.api import stream
        from driftline.engine.local import Options
        from driftline.engine.shard import Shard
        from driftline.engine.source_parcels import VS, source_parcels
        from driftline.engine.stages import Reading, stages
        from driftline.plan.fragments import RESULT, cut

        events = stream("events", {"key": "BIGINT", "value": "DOUBLE"}, timestamps=False)
        query = events.window(range=4, slide=2).group_by("key").agg("count(*) AS n", "sum(value)")
        plan = query.where("n > 0").plan
        made = stages(cut(plan), [RESULT], {"events": Reading(True, False)}, Options(), 2)
        shard = Shard(made.levels[0], 0)
        for start in range(3):
            rows = pa.RecordBatch.from_arrays(
                [pa.array(np.arange(start, start + 4)) for _ in range(2)]
                + [pa.array(np.arange(4) / 2)],
                names=[VS, "key", "value"],
            )
            schema = events.plan.schema.arrow
            parcels = source_parcels(rows, schema, made.sources["events"], 2, 0, ordered=False)
            shard.step([parcel for parcel in parcels if parcel.shard == 0])
