"""Queries of TPC-H as streams on Spark, in any order of arrival, against DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

import driftline as dl
from driftline.engine.plan_sources import sources_of
from driftline.spark import sinks
from driftline.spark.query import SparkQuery
from driftline.spark.spool import spool, spooled
from tests.sql.tpch import QUERIES, STREAMS
from tests.sql.tpch_streams import Arrivals

pytestmark = pytest.mark.spark

FEW = ["q4", "q13", "q16"]
"""A semi join, an outer join, and NOT IN with distinct counts."""
MICRO_BATCHES = 2
PATIENCE = 600  # seconds


def check(spark: Any, folder: Path, names: Sequence[str]) -> None:
    """The queries as one, with a cut in common."""
    arrivals = Arrivals()
    plans = {name: dl.sql(STREAMS + QUERIES[name]).plan for name in names}
    sources = sources_of(plans.values())
    inputs = arrivals.of(sources, Random(" ".join(names)))
    batch = -(-max(map(len, inputs.values())) // MICRO_BATCHES)
    folders = spool(sources, inputs, folder / "input", batch, keep_open=False)
    frames = {name: spooled(spark, path) for name, path in folders.items()}
    memory = sinks.Memory()
    run = SparkQuery(plans, frames, shards=2).start(
        memory, checkpoint=folder / "checkpoint", trigger={"availableNow": True}
    )
    assert run.awaitTermination(PATIENCE)
    for name in names:
        arrivals.check(name, memory.history(name))


def test_a_few_queries(spark: Any, tmp_path: Path) -> None:
    check(spark, tmp_path, FEW)


@pytest.mark.long
@pytest.mark.parametrize("name", QUERIES)
def test_every_query(spark: Any, tmp_path: Path, name: str) -> None:
    check(spark, tmp_path, [name])
