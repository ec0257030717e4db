"""Recursion on Spark beside the local runner: which nodes some sources reach over the links of the
last window, with as many new links in every micro-batch. The loop is partitioned by the source, and
every shard has all links. Parquet in, the same batches, local[2]; seconds are those of a clock.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import driftline as dl
from bench.spark import COLD, MASTER, frames_of, scratch, seconds_of
from driftline.engine.core.batch import Batch
from driftline.engine.options import Options
from driftline.spark.query import SparkQuery
from driftline.spark.session import session

SIZE = 400_000
BATCHES = 6
TICKS = 100
"""Of time in a micro-batch; a link lasts as long."""
LINKS_A_SOURCE = 400
"""Every node leads on to 0.9 others at a time, and a source so to ten."""
SHARDS = 2


@dataclass(frozen=True)
class Report:
    rows: int
    row_ticks: int
    spark: float
    local: float

    def print(self) -> None:
        table = Table("reachability", "rows a second", "seconds ÷ local")
        for name, seconds in (("Driftline on Spark", self.spark), ("local", self.local)):
            table.add_row(name, f"{self.rows / seconds:,.0f}", f"{seconds / self.local:.2f}")
        Console().print(table)

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def measure(events: int) -> Report:
    size = min(SIZE, events // BATCHES)
    links = _links(size)
    spark = session("bench", MASTER, {"spark.sql.shuffle.partitions": str(SHARDS)})
    try:
        answer, on_spark = _on_spark(spark, links, size)
    finally:
        spark.stop()
    expected, local = _locally(links, size)
    if answer != expected:
        raise AssertionError(f"rows live for {answer:,} ticks on Spark, and {expected:,} locally")
    return Report((BATCHES - COLD) * size, expected, on_spark, local)


def _links(size: int) -> pa.Table:
    numbers = np.random.default_rng(1)
    a, b = numbers.integers(0, size * 10 // 9, (2, size * BATCHES))
    return pa.table({"t": np.arange(size * BATCHES) * TICKS // size, "a": a, "b": b})


def _query(size: int) -> dl.Query:
    columns = {"t": "BIGINT", "a": "BIGINT", "b": "BIGINT"}
    links = dl.stream("links", columns, time="t", disorder=0).window(range=TICKS)
    return dl.recursive(
        "reached",
        {"source": "BIGINT", "n": "BIGINT"},
        links.where(f"a < {size // LINKS_A_SOURCE}").select("a AS source", "b AS n"),
        lambda reached: reached.join(links, "reached.n = links.a").select("reached.source", "b"),
    )


def _on_spark(spark: Any, links: pa.Table, size: int) -> tuple[int, float]:
    """For how many ticks rows of the answer live, and seconds."""
    plan, emitted = _query(size).plan, list[Batch]()
    with scratch() as folder:
        frames = frames_of(spark, {"links": links}, folder, size)
        run = SparkQuery({"result": plan}, frames, Options(), SHARDS)
        started = run.start(
            lambda update: emitted.append(update.batches["result"]),
            checkpoint=folder / "checkpoint",
            trigger={"availableNow": True},
        )
        started.awaitTermination()
        seconds = seconds_of(started)
    return _lived(emitted), sum(seconds[COLD:])


def _locally(links: pa.Table, size: int) -> tuple[int, float]:
    query, emitted, taken = _query(size), list[Batch](), list[float]()
    with scratch() as folder:
        path = folder / "links.parquet"
        pq.write_table(links, path, row_group_size=size)
        start = time.perf_counter()
        for each in query.changes({"links": path}, batch=size, keep_open=True):
            emitted.append(each.batch)
            taken.append(time.perf_counter() - start)
            start = time.perf_counter()
    return _lived(emitted), sum(taken[COLD:BATCHES])


def _lived(emitted: list[Batch]) -> int:
    """The ticks of all rows, as far as all is final."""
    end = (BATCHES - 1) * TICKS
    return sum(
        int((each.weight * (np.minimum(each.ve, end) - np.minimum(each.vs, end))).sum())
        for each in emitted
    )
