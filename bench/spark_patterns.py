"""A pattern on Spark beside the local runner: `DOWN+ UP` of the price per key, late events. The
matches of both are compared one by one. Seconds are those of a clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

import polars as pl
from rich.table import Table

from bench import data
from bench.beside import Run, beside_local
from bench.engine import DISORDER, LATE
from bench.patterns import as_frame, falls
from bench.spark import COLD
from bench.tables import Shown

SIZE = 400_000
BATCHES = 6


@dataclass(frozen=True)
class Report:
    rows: int
    matches: int
    spark: float
    local: float

    def shown(self) -> Iterator[Shown]:
        table = Table("DOWN+ UP", "rows a second", "seconds ÷ local")
        for name, seconds in (("Driftline on Spark", self.spark), ("local", self.local)):
            table.add_row(name, f"{self.rows / seconds:,.0f}", f"{seconds / self.local:.2f}")
        yield table

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def measure(events: int) -> Report:
    size = min(SIZE, events // BATCHES)
    rows = data.events(size * BATCHES, True)
    on_spark, local = beside_local(falls(DISORDER[LATE]), "events", rows, size)
    answer, expected = _matches(on_spark), _matches(local)
    if not answer.equals(expected):
        raise AssertionError(f"{len(answer):,} matches on Spark, and {len(expected):,} locally")
    return Report((BATCHES - COLD) * size, len(expected), on_spark.seconds, local.seconds)


def _matches(run: Run) -> pl.DataFrame:
    """The matches that are there in the end."""
    changes = pl.concat(as_frame(each.payload, each.weight) for each in run.emitted)
    names = [name for name in changes.columns if name != "weight"]
    summed = changes.group_by(names).agg(pl.col("weight").sum())
    return summed.filter(pl.col("weight") != 0).sort(names)
