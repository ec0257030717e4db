"""Warming up runs, rather than failing where nobody sees it, and workers have what it loads."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from driftline.spark.warm import load_workers_modules, run_a_small_query

MANY = 50_000


def test_the_small_query_runs() -> None:
    run_a_small_query()


def test_the_modules_of_workers_are_there() -> None:
    load_workers_modules()


def _looked_at(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How many objects a worker goes through when it collects garbage, and how many it does not."""
    for _ in batches:
        gc.collect()
        counts = {"mine": [len(gc.get_objects())], "frozen": [gc.get_freeze_count()]}
        yield pa.RecordBatch.from_pydict(counts)


@pytest.mark.spark
def test_a_worker_does_not_go_through_what_was_loaded_before_it(spark: Any) -> None:
    rows = spark.range(0, 1, 1, 1).mapInArrow(_looked_at, "mine BIGINT, frozen BIGINT").collect()
    ((mine, frozen),) = rows
    assert frozen > MANY
    assert mine < frozen
