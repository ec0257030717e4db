"""A pattern on Spark beside the local runner: `DOWN+ UP` of the price per key, late events. The
matches of both are compared one by one. Seconds are those of a clock.
"""

from __future__ import annotations

import polars as pl

from bench import data
from bench.beside import Report, Run, beside_local
from bench.engine import DISORDER, LATE
from bench.patterns import as_frame, falls
from bench.spark import COLD

SIZE = 400_000
BATCHES = 5


def measure(events: int) -> Report:
    size = min(SIZE, events // BATCHES)
    rows = data.events(size * BATCHES, True)
    on_spark, local = beside_local(falls(DISORDER[LATE]), "events", rows, size)
    answer, expected = _matches(on_spark), _matches(local)
    if not answer.equals(expected):
        raise AssertionError(f"{len(answer):,} matches on Spark, and {len(expected):,} locally")
    counted = "matches", len(expected)
    rows_counted = (BATCHES - COLD) * size
    return Report("DOWN+ UP", rows_counted, counted, on_spark.seconds, local.seconds)


def _matches(run: Run) -> pl.DataFrame:
    """The matches that are there in the end."""
    changes = pl.concat(as_frame(each.payload, each.weight) for each in run.emitted)
    names = [name for name in changes.columns if name != "weight"]
    summed = changes.group_by(names).agg(pl.col("weight").sum())
    return summed.filter(pl.col("weight") != 0).sort(names)
