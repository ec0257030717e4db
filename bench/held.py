"""Does a micro-batch cost what it changes? The same input with so much state, and with ten times as
much.

A first micro-batch brings the rows that are held from then on, then come equal ones. The join finds
one row of those held for every row that comes; the sum is per key, over a window that none leaves.
The first of the equal micro-batches is left out: workers may take the state in then.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

import driftline as dl
from bench.tables import Shown
from driftline.engine.options import Options
from driftline.spark.query import SparkQuery
from driftline.spark.session import session

FEW, MANY = 200_000, 2_000_000
SIZE, BATCHES = 50_000, 9
KEYS = 1000
COLUMNS = {"key": "BIGINT", "value": "BIGINT", "ts": "BIGINT"}
HELD = dl.stream("held", COLUMNS, time="ts", disorder=3000)
COMING = dl.stream("coming", COLUMNS, time="ts", disorder=3000)


@dataclass
class Findings:
    """For each query the seconds of a micro-batch with few and with many rows held."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "query", f"{FEW:,} rows held, s", f"{MANY:,} rows held, s", "ratio", "slowest, s",
            title=f"micro-batches of {SIZE:,} rows on Spark, by what is held",
        )  # fmt: skip
        for row in self.rows:
            table.add_row(*(str(value) for value in row.values()))
        yield table

    def as_dict(self) -> dict[str, object]:
        return {"rows": self.rows}


def measure(count: int) -> Findings:
    found = Findings()
    spark = session("bench", "local[2]", {"spark.sql.shuffle.partitions": "2"})
    folder = Path(tempfile.mkdtemp(prefix="driftline-bench-"))
    try:
        for name, query in QUERIES.items():
            few, many = (
                _seconds(spark, query(), rows, folder / f"{name} {rows}") for rows in (FEW, MANY)
            )
            found.rows.append(
                {
                    "query": name,
                    "few": round(statistics.mean(few), 2),
                    "many": round(statistics.mean(many), 2),
                    "ratio": round(statistics.mean(many) / statistics.mean(few), 2),
                    "slowest": round(max(many), 2),
                }
            )
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _join() -> dl.Query:
    joined = COMING.window(range=100).alias("c").join(HELD.alias("h"), "c.key = h.key")
    return joined.select("c.key", "c.value + h.value AS value")


def _sum() -> dl.Query:
    both = HELD.union(COMING)
    return both.window(range=10**9).group_by(f"key % {KEYS} AS key").agg("sum(value) AS value")


QUERIES: dict[str, Callable[[], dl.Query]] = {"join": _join, "sliding sum": _sum}


def _seconds(spark: Any, query: dl.Query, rows: int, folder: Path) -> list[float]:
    draw = np.random.default_rng(1)
    held = {"key": np.arange(rows), "value": np.arange(rows) % 97, "ts": np.arange(rows) // KEYS}
    parts = [
        {
            "key": draw.integers(0, FEW, SIZE),
            "value": draw.integers(0, 97, SIZE),
            "ts": np.sort(MANY // KEYS + number * 1000 + draw.integers(0, 1000, SIZE)),
        }
        for number in range(BATCHES)
    ]
    nothing = {name: values[:1] for name, values in parts[0].items()}
    frames = {
        "held": _streamed(spark, folder / "held", [held]),
        "coming": _streamed(spark, folder / "coming", [nothing, *parts]),
    }
    run = SparkQuery({"result": query.plan}, frames, Options(), 2)
    started = run.start(
        lambda emitted: None, checkpoint=folder / "checkpoint", trigger={"availableNow": True}
    )
    started.awaitTermination()
    seconds = [
        progress["durationMs"]["triggerExecution"] / 1000
        for progress in started.recentProgress
        if progress["numInputRows"]
    ]
    return seconds[2:]


def _streamed(spark: Any, folder: Path, parts: list[dict[str, Any]]) -> Any:
    folder.mkdir(parents=True)
    for number, part in enumerate(parts):
        path = folder / f"{number:06}.parquet"
        pq.write_table(pa.table(part), path)
        os.utime(path, (number + 1, number + 1))
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
