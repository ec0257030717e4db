"""A query on Spark beside the local runner: Parquet in, the same batches, local[2] and two shards;
seconds are those of a clock, without the first micro-batches. The first runs warm
the JVM up, as those of `bench.spark` do, and of the others the one in the middle counts. The local
runner has its turn when Spark has stopped: it is alone, as it is for its users.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table

import driftline as dl
from bench.spark import COLD, MASTER, WARMING, frames_of, scratch, seconds_of
from bench.tables import Shown
from driftline.engine.core.batch import Batch
from driftline.engine.options import Options
from driftline.spark.query import SparkQuery
from driftline.spark.session import session

SHARDS = 2
COUNTED = 3
"""Runs after those that warm up."""


@dataclass(frozen=True)
class Run:
    """What was emitted, and the seconds of the micro-batches that count."""

    emitted: list[Batch]
    seconds: float


@dataclass(frozen=True)
class Report:
    """`what`: the query; `counted`: what was counted of the answers, which are the same."""

    what: str
    rows: int
    counted: tuple[str, int]
    spark: float
    local: float

    def shown(self) -> Iterator[Shown]:
        table = Table(self.what, "rows a second", "seconds ÷ local")
        for name, seconds in (("Driftline on Spark", self.spark), ("local", self.local)):
            table.add_row(name, f"{self.rows / seconds:,.0f}", f"{seconds / self.local:.2f}")
        yield table

    def as_dict(self) -> dict[str, object]:
        name, count = self.counted
        return {"rows": self.rows, name: count, "spark": self.spark, "local": self.local}


def beside_local(query: dl.Query, name: str, rows: pa.Table, size: int) -> tuple[Run, Run]:
    """A query over one stream, so many rows a micro-batch: on Spark, and by the local runner."""
    on_spark, local = list[Run](), list[Run]()
    spark = session("bench", MASTER, {"spark.sql.shuffle.partitions": str(SHARDS)})
    try:
        for _ in range(WARMING + COUNTED):
            with scratch() as folder:
                on_spark.append(_on_spark(spark, query, name, rows, size, folder))
    finally:
        spark.stop()
    for _ in range(WARMING + COUNTED):
        with scratch() as folder:
            local.append(_locally(query, name, rows, size, folder))
    return _middle(on_spark[WARMING:]), _middle(local[WARMING:])


def _middle(runs: Sequence[Run]) -> Run:
    return sorted(runs, key=lambda run: run.seconds)[len(runs) // 2]


def _on_spark(
    spark: Any, query: dl.Query, name: str, rows: pa.Table, size: int, folder: Path
) -> Run:
    emitted: list[Batch] = []
    frames = frames_of(spark, {name: rows}, folder, size)
    started = SparkQuery({"result": query.plan}, frames, Options(), SHARDS).start(
        lambda update: emitted.append(update.batches["result"]),
        checkpoint=folder / "checkpoint",
        trigger={"availableNow": True},
    )
    started.awaitTermination()
    return Run(emitted, sum(seconds_of(started)[COLD:]))


def _locally(query: dl.Query, name: str, rows: pa.Table, size: int, folder: Path) -> Run:
    emitted, taken = list[Batch](), list[float]()
    path = folder / "rows.parquet"
    pq.write_table(rows, path, row_group_size=size)
    start = time.perf_counter()
    for each in query.changes({name: path}, batch=size, keep_open=True):
        emitted.append(each.batch)
        taken.append(time.perf_counter() - start)
        start = time.perf_counter()
    return Run(emitted, sum(taken[COLD : -(-len(rows) // size)]))
