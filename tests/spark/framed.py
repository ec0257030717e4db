"""Views of DataFrames that are written by Spark's own sinks, in a process that runs until it is
killed.

python -m tests.spark.framed DIR VIEW…     (by test_frames_killed.py)
"""

from __future__ import annotations

import json
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import driftline as dl
from driftline.spark.retried import RetriedQuery

SCHEMA = "symbol STRING, qty BIGINT, ts BIGINT"
RECENT = "SELECT symbol, sum(qty) AS qty FROM trades [RANGE 30] GROUP BY symbol"
CHAINED = """
WITH RECURSIVE chained (symbol, qty, ts) AS (
    SELECT symbol, qty, ts FROM trades WHERE ts < 20
    UNION
    SELECT trades.symbol, trades.qty, trades.ts
    FROM chained JOIN trades ON trades.symbol = chained.symbol
        AND trades.ts > chained.ts AND trades.ts < chained.ts + 30)
SELECT symbol, sum(qty) AS qty FROM chained GROUP BY symbol"""
"""A loop: the trades that follow one another by less than 30, from one of the first on."""
QUERIES = {"current": CHAINED, "now": RECENT}
SHARDS = 2


def started(spark: Any, folder: Path, view: str, **trigger: Any) -> RetriedQuery:
    """A view as a query, into files of Spark's, or by a function that writes a file whenever it is
    called."""
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    trades = dl.stream(reader.json(str(folder / "in")), time="ts", disorder=20)
    query = dl.sql(QUERIES[view], trades=trades)
    writer = getattr(query, view)(keys=["symbol"], emit="eager", shards=SHARDS).writeStream
    if view == "current":
        out = folder / "calls"
        out.mkdir(exist_ok=True)

        def write(rows: Any, number: int) -> None:
            lines = sorted(json.dumps(row.asDict()) for row in rows.collect())
            (out / f"{number}-{uuid.uuid4().hex}").write_text("\n".join(lines))

        writer = writer.foreachBatch(write)
    else:
        writer = writer.format("parquet").option("path", str(folder / view))
    writer = writer.option("checkpointLocation", str(folder / "checkpoints" / view))
    return RetriedQuery((writer.trigger(**trigger) if trigger else writer).start)


def main(folder: Path, views: list[str]) -> None:
    from driftline.spark.session import session

    spark = session("driftline-tests", f"local[{SHARDS}]")
    for view in views:
        query = started(spark, folder, view)
        while query.isActive and not committed(folder, view):  # processes start one after another
            time.sleep(0.1)
    query.awaitTermination()


def committed(folder: Path, view: str) -> list[int]:
    """The micro-batches of a view that are over."""
    found = (folder / "checkpoints" / view / "commits").glob("*")
    return sorted(int(path.name) for path in found if path.name.isdigit())


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
