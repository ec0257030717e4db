"""Queries in a session of Spark Connect, whose driver is another process.

python -m tests.spark.connected DIR     (by test_connect.py)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import driftline as dl
from driftline.plan.errors import PlanError
from driftline.spark.failures import TOO_SLOW
from driftline.spark.retried import PATIENCE

SCHEMA = "symbol STRING, qty BIGINT, ts BIGINT"
ROWS = [("A", 5, 1), ("B", 7, 3), ("A", 1, 2)]


def await_end(writer: Any) -> None:
    """Run a query to its end; on a busy machine its workers may be too slow for Spark to wait."""
    for left in reversed(range(PATIENCE)):
        try:
            writer.start().awaitTermination()
        except Exception as error:
            if TOO_SLOW not in str(error) or not left:
                raise
        else:
            return


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    (folder / "in").mkdir(parents=True)
    lines = [json.dumps({"symbol": s, "qty": qty, "ts": ts}) for s, qty, ts in ROWS]
    (folder / "in" / "0.json").write_text("\n".join(lines))
    table = spark.read.schema(SCHEMA).json(str(folder / "in"))
    totals = dl.stream(table, time="ts").group_by("symbol").agg("sum(qty) AS qty")
    assert {tuple(row) for row in totals.history().collect()} == {
        (1, 2, "A", 5), (2, None, "A", 6), (3, None, "B", 7),
    }  # fmt: skip
    trades = dl.stream(spark.readStream.schema(SCHEMA).json(str(folder / "in")), time="ts")
    totals = trades.group_by("symbol").agg("sum(qty) AS qty")
    writer = totals.now(keys=["symbol"]).writeStream.format("memory").queryName("totals")
    writer = writer.option("checkpointLocation", str(folder / "cp")).trigger(availableNow=True)
    await_end(writer)
    rows = spark.table("totals").select("op", "symbol", "qty").collect()
    assert {tuple(row) for row in rows} == {("+", "A", 6), ("+", "B", 7)}
    with pytest.raises(PlanError, match="take a view"):
        totals.start(print, checkpoint=folder / "sink")
    with pytest.raises(PlanError, match="is a table beside a stream"):
        dl.sql(
            "SELECT s.* FROM s JOIN t USING (symbol)",
            s=trades,
            t=dl.stream(table, timestamps=False),
        ).changes()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
