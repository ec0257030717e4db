"""Loading the engine and its kernels before they are needed."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TypeVar

T = TypeVar("T")


def warm(batches: T) -> T:
    """What a worker is given to do that is only to start."""
    warm_up()
    return batches


@cache
def warm_up() -> None:
    """Load what almost every query uses. What goes wrong here goes wrong again where it is
    needed, and is reported there: the process that starts workers cannot report it."""
    with suppress(Exception):
        run_a_small_query()
        load_workers_modules()


def run_a_small_query() -> None:
    """A few micro-batches of a group by over a window, as a worker runs them."""
    import numpy as np
    import pyarrow as pa

    import driftline.spark.stepping  # noqa: F401
    from driftline.api import stream
    from driftline.engine.options import Options
    from driftline.engine.shards.shard import Shard
    from driftline.engine.shards.source_messages import VS, source_messages
    from driftline.engine.shards.stages import Reading, stages
    from driftline.plan.fragments import RESULT, cut

    events = stream("events", {"key": "BIGINT", "value": "DOUBLE", "time": "BIGINT"}, time="time")
    query = events.window(range=4, slide=2).group_by("key").agg("count(*) AS n", "sum(value) AS s")
    plan = query.where("n > 0").plan
    made = stages(cut(plan), [RESULT], {"events": Reading(True, False)}, Options(), 2)
    shards = [Shard(made.levels[0], number) for number in range(2)]
    for start in range(3):
        times = np.arange(start, start + 4)
        columns = [pa.array(times), pa.array(times / 2), pa.array(times)]
        payload = pa.RecordBatch.from_arrays(columns, schema=events.plan.schema.arrow)
        raw = pa.RecordBatch.from_arrays([pa.array(times)], names=[VS])
        sent = list(source_messages(raw, payload, made.sources["events"], 2, 0, ordered=False))
        for shard in shards:
            shard.step([message for message in sent if message.shard == shard.number])


def load_workers_modules() -> None:
    """What a worker loads by itself, for its first task and its first state."""
    import pyspark.sql.streaming.proto.StateMessage_pb2
    import pyspark.worker  # noqa: F401

    import driftline.engine.loop
    import driftline.spark.processor  # noqa: F401
