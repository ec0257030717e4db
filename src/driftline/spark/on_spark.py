"""`driftline.on_spark`. It loads little itself: workers start while the driver loads the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from driftline.plan.sizes import DEFAULT_EXPANSION, DEFAULT_STEPS
from driftline.spark.session import prepare_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from driftline.api import Query
    from driftline.plan.choices import Clock, Emit, Heartbeat, Outputs
    from driftline.plan.durations import Duration
    from driftline.plan.nodes import Node
    from driftline.spark.query import SparkQuery


def on_spark(
    query: Query | Node | Mapping[str, Query | Node],
    frames: Mapping[str, DataFrame],
    *,
    emit: Emit = "ordered",
    block: Duration = 0,
    remember: Duration = "inf",
    final: bool = False,
    shards: int | None = None,
    heartbeat: Heartbeat = "source",
    strict: bool = False,
    max_expansion: int | str = DEFAULT_EXPANSION,
    max_steps: int | str = DEFAULT_STEPS,
    clock: Clock = "latest",
    outputs: Outputs = "free",
) -> SparkQuery:
    """A query on Spark, over a streaming DataFrame for each stream that it reads.

    `query`: one query (its result is called "result"), several by name, which then share one cut,
    or a plan. A DataFrame has plain records, which get their time from the stream's time column, or
    events: columns kind, vs, ve, vn and the stream's own, as `SparkQuery.changes` gives them.

    `emit`, `block`, `remember`, `heartbeat`, `max_expansion`, `max_steps`: as `Query.run` takes
    them. `final`:
    emit every row once, when it cannot change any more. `shards`: how many; by default as many as
    the checkpoint has, or, of a new one, as Spark has cores. `strict`: the first dead letter ends
    the query, instead of going to the sink. `clock`: which time is now, for sinks with the view
    "now" (see `Query.now`). `outputs`: "marked" gives every micro-batch, which is a consistent cut,
    the prefix of the streams whose exact answer it completes, for the sink ("held" is the same).

    >>> import driftline as dl                                                   # doctest: +SKIP
    >>> trades = dl.stream("trades", {"symbol": "STRING", "qty": "INT", "ts": "TIMESTAMP"},
    ...                    time="ts", disorder="10 minutes")                     # doctest: +SKIP
    >>> volume = trades.tumble("1 minute").group_by("window_end", "symbol").agg("sum(qty) AS qty")
    ...                                                                          # doctest: +SKIP
    >>> query = dl.on_spark(volume, {"trades": spark.readStream.table("trades")},
    ...                     remember="1 hour", final=True)                       # doctest: +SKIP
    >>> query.start(sinks.Parquet("volume"), checkpoint="checkpoints/volume")    # doctest: +SKIP
    """
    _begin(frames)
    from driftline.spark.query import query_on_spark

    return query_on_spark(
        query,
        frames,
        emit=emit,
        block=block,
        remember=remember,
        final=final,
        shards=shards,
        heartbeat=heartbeat,
        strict=strict,
        max_expansion=max_expansion,
        max_steps=max_steps,
        clock=clock,
        outputs=outputs,
    )


def _begin(frames: object) -> None:
    """Start workers, if it is clear where; mistakes in the frames are reported later."""
    frame = next(iter(frames.values()), None) if isinstance(frames, Mapping) else None
    if type(frame).__module__.startswith("pyspark.sql.classic"):
        prepare_workers(frame.sparkSession)  # type: ignore[union-attr]
