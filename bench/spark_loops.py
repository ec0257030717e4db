"""Recursion on Spark beside the local runner: which nodes some sources reach over the links of the
last window, with as many new links in every micro-batch. The loop is partitioned by the source, and
every shard has all links. Parquet in, the same batches, local[2]; seconds are those of a clock.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import driftline as dl
from bench.beside import Report, beside_local
from bench.spark import COLD
from driftline.engine.core.batch import Batch

SIZE = 400_000
BATCHES = 5
TICKS = 100
"""Of time in a micro-batch; a link lasts as long."""
LINKS_A_SOURCE = 400
"""Every node leads on to 0.9 others at a time, and a source so to ten."""


def measure(events: int) -> Report:
    size = min(SIZE, events // BATCHES)
    links = _links(size)
    on_spark, local = beside_local(_query(size), "links", links, size)
    answer, expected = _lived(on_spark.emitted), _lived(local.emitted)
    if answer != expected:
        raise AssertionError(f"rows live for {answer:,} ticks on Spark, and {expected:,} locally")
    rows, counted = (BATCHES - COLD) * size, ("row_ticks", expected)
    return Report("reachability", rows, counted, on_spark.seconds, local.seconds)


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


def _lived(emitted: list[Batch]) -> int:
    """The ticks of all rows, as far as all is final."""
    end = (BATCHES - 1) * TICKS
    return sum(
        int((each.weight * (np.minimum(each.ve, end) - np.minimum(each.vs, end))).sum())
        for each in emitted
    )
