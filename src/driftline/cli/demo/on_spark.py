"""What Spark says about the same trades: on the corrected table, and as a stream of its own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

Answer = dict[tuple[str, str], tuple[int, int]]
"""By symbol and minute: how many trades, and how many shares."""

FILES = 8
WATERMARK = "1 minute"


def session() -> Any:
    """A quiet local Spark."""
    from driftline.spark.session import session as quiet_session

    return quiet_session("driftline-demo", "local[*]", {"spark.sql.shuffle.partitions": "2"})


def on_the_table(spark: Any, trades: pa.Table) -> Answer:
    """The answer for a finished table of trades."""
    return _collected(_per_minute(spark.createDataFrame(trades.to_pandas())))


def as_a_stream(spark: Any, arrivals: pa.Table, folder: Path) -> Answer:
    """The answer of Spark's own streaming aggregation, with a watermark, in append mode."""
    import pyarrow.parquet as pq

    size = -(-arrivals.num_rows // FILES)
    for number, start in enumerate(range(0, arrivals.num_rows, size)):
        path = folder / f"{number:03}.parquet"
        pq.write_table(arrivals.slice(start, size), path)
        os.utime(path, (number, number))  # Spark takes files in order of their time
    source = spark.read.parquet(str(folder)).schema
    stream = spark.readStream.schema(source).option("maxFilesPerTrigger", 1).parquet(str(folder))
    query = (
        _per_minute(stream.withWatermark("ts", WATERMARK))
        .writeStream.format("memory")
        .queryName("spark_says")
        .outputMode("append")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return _collected(spark.table("spark_says"))


def _per_minute(trades: Any) -> Any:
    from pyspark.sql import functions as f

    window = f.window("ts", "1 minute")
    counted = trades.groupBy("symbol", window).agg(f.count("*").alias("n"), f.sum("qty").alias("s"))
    return counted.select("symbol", f.col("window.start").alias("minute"), "n", "s")


def _collected(answer: Any) -> Answer:
    rows: Sequence[Any] = answer.collect()
    return {(row["symbol"], f"{row['minute']:%H:%M}"): (row["n"], row["s"]) for row in rows}
