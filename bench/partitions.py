"""Window functions over one large partition, in small batches: what a row costs, and how that grows
with the partition.

The rows come in small batches; those by number come nearly in order, those by price anywhere. The
answer in the end is compared with DuckDB's.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import polars as pl
import pyarrow as pa
from rich.table import Table

import driftline as dl
from bench.queries import on_duckdb
from bench.tables import Shown

FEW, MANY = 11_000, 100_000
BATCH = 10
LATE = 20
CLOSE = 1e-12
"""DuckDB adds floats up with rounding."""
COLUMNS = {
    "ts": "BIGINT",
    "n": "BIGINT",
    "price": "BIGINT",
    "x": "BIGINT",
    "y": "DOUBLE",
    "name": "STRING",
}
CASES = {
    "lag by number": "lag(x) OVER (ORDER BY n)",
    "lead by price": "lead(x) OVER (ORDER BY price, n)",
    "sum of 10 rows by price": "sum(x) OVER (ORDER BY price, n ROWS 9 PRECEDING)",
    "sum within 5 by price": (
        "sum(x) OVER (ORDER BY price RANGE BETWEEN 5 PRECEDING AND 5 FOLLOWING)"
    ),
    "running sum by number": "sum(x) OVER (ORDER BY n)",
    "running sum of floats": "sum(y) OVER (ORDER BY n)",
    "running average of floats": "avg(y) OVER (ORDER BY n ROWS UNBOUNDED PRECEDING)",
    "running sum and lag": "sum(x) OVER (ORDER BY n) + coalesce(lag(x) OVER (ORDER BY n), 0)",
    "row number by number": "row_number() OVER (ORDER BY n)",
    "rank by number": "rank() OVER (ORDER BY n)",
    "dense rank by number": "dense_rank() OVER (ORDER BY n)",
    "dense rank by text": "dense_rank() OVER (ORDER BY name)",
    "running standard deviation": "stddev(y) OVER (ORDER BY n)",
    "running count of different": "count(DISTINCT price) OVER (ORDER BY n)",
    "running median": "median(y) OVER (ORDER BY n)",
    "running sum of different": "sum(DISTINCT price) OVER (ORDER BY n)",
    "running bits": "bit_xor(price) OVER (ORDER BY n)",
    "sum to the end": (
        "sum(x) OVER (ORDER BY n DESC ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)"
    ),
}


def rows(count: int) -> pa.Table:
    """Numbered rows, a few of them late."""
    generator = np.random.default_rng(7)
    order = np.argsort(np.arange(count) + generator.integers(0, LATE, count), kind="stable")
    return pa.table(
        {
            "ts": np.arange(count),
            "n": order,
            "price": generator.integers(0, 4 * count, count),
            "x": generator.integers(0, 100, count),
            "y": generator.random(count),
            "name": [f"{number:09}" for number in order],
        }
    )


@dataclass
class PartitionsReport:
    """By function: microseconds of CPU a row, over few rows and over many; and wrong results."""

    few: int
    many: int
    rows: dict[str, tuple[float, float, int]] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "function", f"{self.few:,} rows, µs a row", f"{self.many:,} rows, µs a row", "ratio",
            "wrong results", title=f"one partition, batches of {BATCH}",
        )  # fmt: skip
        for name, (few, many, wrong) in self.rows.items():
            table.add_row(
                name, f"{1e6 * few:.0f}", f"{1e6 * many:.0f}", f"{many / few:.1f}", str(wrong)
            )
        yield table

    def as_dict(self) -> dict[str, object]:
        return {
            "batch": BATCH,
            "functions": {
                name: {
                    f"{self.few} rows, µs a row": round(1e6 * few, 1),
                    f"{self.many} rows, µs a row": round(1e6 * many, 1),
                    "ratio": round(many / few, 2),
                    "wrong results": wrong,
                }
                for name, (few, many, wrong) in self.rows.items()
            },
        }


def measure(events: int) -> PartitionsReport:
    """The sizes are what is measured: `events` only makes them smaller."""
    report = PartitionsReport(min(FEW, events), min(MANY, events))
    for name, function in CASES.items():
        _seconds(function, rows(200))  # compile what has to be compiled
        few, wrong = _seconds(function, rows(report.few))
        many, also = _seconds(function, rows(report.many))
        report.rows[name] = few, many, wrong + also
    return report


def _seconds(function: str, table: pa.Table) -> tuple[float, int]:
    """CPU seconds a row, and the rows of the answer in the end that are wrong."""
    stream = dl.stream("t", COLUMNS, time="ts", disorder=0)
    query = dl.sql(f"SELECT n, {function} AS f FROM t", t=stream)
    start = time.process_time()
    answer = query.run(t=table, batch=BATCH).history()
    seconds = (time.process_time() - start) / len(table)
    found = pl.from_arrow(answer)
    assert isinstance(found, pl.DataFrame)
    last = found.filter(pl.col("ve").is_null()).select("n", "f").sort("n")
    truth = on_duckdb(f"SELECT n, ({function})::DOUBLE AS f FROM events ORDER BY n", table)
    if not last["n"].equals(truth["n"]):
        return seconds, len(truth)
    here, there = (each["f"].cast(pl.Float64).to_numpy() for each in (last, truth))
    return seconds, int((~np.isclose(here, there, rtol=CLOSE, equal_nan=True)).sum())
