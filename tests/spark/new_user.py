"""What somebody does who has a plain Spark session and has set nothing: every way to run a query.

python -m tests.spark.new_user DIR     (by test_defaults.py)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import driftline as dl
from driftline.plan.errors import PlanError
from driftline.spark import sinks
from driftline.spark.history import as_of, intervals
from driftline.spark.retried import RetriedQuery

COLUMNS = {"symbol": "STRING", "qty": "BIGINT", "at": "TIMESTAMP"}
TRADES = dl.stream("trades", COLUMNS, time="at", disorder="10 seconds")
VOLUME = TRADES.tumble("1 minute").group_by("window_end", "symbol").agg("sum(qty) AS qty")

# The second has no zone: it is in UTC.
ROWS = [("A", 5, "2026-01-01T10:00:01Z"), ("B", 7, "2026-01-01 10:00:03"), ("A", 2, "2026-01-01")]
LINES = [f'{{"symbol":"{s}","qty":{qty},"at":"{at}"}}\n' for s, qty, at in ROWS]
FINAL = [("10:01:00", "A", 5), ("10:01:00", "B", 7), ("00:01:00", "A", 2)]


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    assert spark.conf.get("spark.sql.shuffle.partitions") == "200"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.json").write_text("".join(LINES))
    every_sink(spark, folder / "default")
    sparks_own_sink(spark, folder / "changes")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    every_sink(spark, folder / "new york")
    frames_of_its_own(spark, folder / "frames")
    spark.stop()


def frame(spark: Any, folder: Path) -> Any:
    """As CSV and JSON often are: a time is a text."""
    return spark.readStream.schema("symbol STRING, qty INT, at STRING").json(
        str(folder.parent / "in")
    )


def every_sink(spark: Any, folder: Path) -> None:
    trades = frame(spark, folder)
    with pytest.raises(PlanError, match="the stream trades, but no DataFrame was given for it"):
        dl.on_spark(VOLUME, {"trade": trades})
    memory = sinks.Memory()
    every = sinks.Several(
        memory,
        sinks.Console("current"),
        sinks.EventLog(folder / "log.jsonl"),
        sinks.EventLogFiles(folder / "logs"),
        sinks.DeadLetterFiles(folder / "dead"),
        sinks.Parquet(folder / "history", "history"),
        sinks.Delta(str(folder / "delta"), keys=["window_end", "symbol"]),
    )
    before = spark.conf.get("spark.sql.shuffle.partitions")
    running = dl.on_spark(VOLUME, {"trades": trades}).start(
        every, checkpoint=folder / "checkpoint", trigger={"availableNow": True}
    )
    running.awaitTermination()
    assert spark.conf.get("spark.sql.shuffle.partitions") == before
    for view in ("changes", "current", "history", "finals"):
        rows = memory.table(view=view).to_pylist()
        assert sorted(map(answer, rows)) == sorted(FINAL), (view, rows)
    table = spark.read.parquet(str(folder / "history"))
    (a,) = as_of(table, valid_time="2026-01-01T10:00:02Z").where("qty = 5").collect()
    assert a.symbol == "A"
    assert intervals(table).count() == len(FINAL)


def sparks_own_sink(spark: Any, folder: Path) -> None:
    changes = dl.on_spark(VOLUME, {"trades": frame(spark, folder)}).changes()
    writer = changes.where("kind = 'insert'").writeStream.format("memory").queryName("changed")
    writer = writer.option("checkpointLocation", str(folder)).trigger(availableNow=True)
    RetriedQuery(writer.start).awaitTermination()  # the machine may be busy
    when = "date_format(window_end, 'HH:mm:ss')"
    rows = spark.table("changed").selectExpr(f"{when} AS at", "symbol", "qty").collect()
    assert sorted(map(tuple, rows)) == sorted(FINAL), rows


def frames_of_its_own(spark: Any, folder: Path) -> None:
    """DataFrames in, DataFrames out: nothing is declared, and the times are the session's."""
    from pyspark.sql import functions as f

    at = f.to_timestamp(f.concat(f.substring("at", 1, 10), f.lit(" "), f.substring("at", 12, 8)))
    stream = frame(spark, folder).where("at <> '2026-01-01'").withColumn("at", at)
    trades = dl.stream(stream, time="at", disorder="10 seconds").where(f.col("qty") > 0)
    volume = dl.sql(
        """SELECT window_end, symbol, sum(qty) AS qty
           FROM TUMBLE(TABLE trades, DESCRIPTOR(at), INTERVAL 1 MINUTE)
           GROUP BY window_end, symbol""",
        trades=trades,
    )
    writer = volume.current().writeStream.format("memory").queryName("current")
    writer = writer.option("checkpointLocation", str(folder)).trigger(availableNow=True)
    RetriedQuery(writer.start).awaitTermination()  # the machine may be busy
    when = "date_format(window_end, 'HH:mm:ss')"
    rows = spark.table("current").selectExpr(f"{when} AS at", "symbol", "qty").collect()
    assert sorted(map(tuple, rows)) == sorted(FINAL[:2]), rows


def answer(row: dict[str, Any]) -> tuple[str, str, int]:
    return f"{row['window_end']:%H:%M:%S}", row["symbol"], row["qty"]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
