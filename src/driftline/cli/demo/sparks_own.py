"""The tour's question put to Spark itself: on the corrected table, and as a stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from driftline.cli.demo.measured import Answer, Measured, delays
from driftline.model.time import TICKS_PER_SECOND

if TYPE_CHECKING:
    import pyarrow as pa

WATERMARK = "1 minute"
CLOSING = 3600 * TICKS_PER_SECOND
"""A last row so long after all others lets Spark close its windows."""


def session() -> Any:
    """A quiet local Spark."""
    from driftline.spark.session import session as quiet_session

    return quiet_session("driftline-demo", "local[*]", {"spark.sql.shuffle.partitions": "2"})


def start_workers(spark: Any) -> None:
    """Let Spark start its Python workers, which load the engine, while something else is done."""
    rows = spark.range(2).mapInArrow(lambda batches: batches, "id BIGINT")
    Thread(target=rows.collect, daemon=True).start()


def on_the_table(spark: Any, trades: pa.Table) -> Answer:
    """The answer for a finished table of trades."""
    return _collected(_per_minute(spark.createDataFrame(trades.to_pandas())).collect())


def as_a_stream(
    spark: Any,
    parts: Sequence[pa.Table],
    clock: Sequence[int],
    folder: Path,
    tell: Callable[[], None],
) -> Measured:
    """The answers of Spark's own streaming aggregation, with a watermark, in append mode. `parts`:
    the trades of each micro-batch; `clock`: the time of the feed after each."""
    import pyarrow.parquet as pq

    folder.mkdir()
    for number, part in enumerate([*parts, _closing(parts)]):
        path = folder / f"{number:03}.parquet"
        pq.write_table(part, path)
        os.utime(path, (number + 1, number + 1))  # Spark takes files in order of their time
    schema = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    first: dict[int, Answer] = {}

    def keep(frame: Any, number: int) -> None:
        # The batch that closes the windows, and one without rows after it, come with the last.
        first.setdefault(min(number, len(clock) - 1), {}).update(_collected(frame.collect()))
        tell()

    running = (
        _per_minute(stream.withWatermark("ts", WATERMARK))
        .writeStream.foreachBatch(keep)
        .outputMode("append")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    return _measured(first, clock, running.recentProgress)


def _measured(first: dict[int, Answer], clock: Sequence[int], progress: Sequence[Any]) -> Measured:
    operators = [operator for step in progress for operator in step["stateOperators"]]
    answer: Answer = {}
    for new in first.values():
        answer |= new
    return Measured(
        answer=answer,
        first=answer,
        delays=delays(first, clock),
        taken_back=0,
        state_rows=max(each["numRowsTotal"] for each in operators),
        left_out=sum(each["numRowsDroppedByWatermark"] for each in operators),
    )


def _closing(parts: Sequence[pa.Table]) -> pa.Table:
    import pyarrow.compute as pc

    last = next(part for part in reversed(parts) if part.num_rows).slice(0, 1)
    later = pc.add(last.column("ts").cast("int64"), CLOSING).cast(last.schema.field("ts").type)
    return last.set_column(last.schema.get_field_index("ts"), "ts", later)


def _per_minute(trades: Any) -> Any:
    from pyspark.sql import functions as f

    counted = trades.groupBy("symbol", f.window("ts", "1 minute")).agg(
        f.count("*").alias("trades"), f.sum("qty").alias("shares")
    )
    return counted.select("symbol", f.unix_micros("window.end").alias("end"), "trades", "shares")


def _collected(rows: Sequence[Any]) -> Answer:
    return {(row["symbol"], row["end"]): (row["trades"], row["shares"]) for row in rows}
