"""Sessions and as-of joins against Polars and DuckDB on the finished data, in CPU time.

sessions   per key, events no more than 100 ms apart: count and sum of each session
as-of      for each event of one half the latest event of its key in the other

Answers are compared as tables, sorted: they must be equal exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import polars as pl
import pyarrow as pa
from rich.table import Table

import driftline as dl
from bench import data
from bench.engine import BATCH, DISORDER, IN_ORDER, LATE, _wrong
from bench.queries import Case, halves, on_duckdb, trades, whole
from bench.report import RUNS
from bench.tables import Shown

GAP = 100
T = TypeVar("T")


def sessions(disorder: int) -> dl.Query:
    found = trades(disorder).session(GAP, per="key", columns=True)
    return found.group_by("key", "window_start", "window_end").agg("count(*) AS n", "sum(qty) AS s")


def sessions_answer(history: pa.Table, _: pa.Table) -> pl.DataFrame:
    """What holds in the end."""
    frame = pl.from_arrow(history)
    assert isinstance(frame, pl.DataFrame)
    last = frame.filter(pl.col("ve").is_null())
    return last.select("key", "window_start", "window_end", "n", "s").sort(pl.all())


def sessions_polars(frame: pl.DataFrame) -> pl.DataFrame:
    begins = (pl.col("ts").diff() > GAP).fill_null(True).over("key")
    return (
        frame.sort("ts")
        .with_columns(begins.alias("begins"))
        .with_columns(pl.col("begins").cum_sum().over("key").alias("number"))
        .group_by("key", "number")
        .agg(
            pl.col("ts").min().alias("window_start"),
            (pl.col("ts").max() + GAP).alias("window_end"),
            pl.len().cast(pl.Int64).alias("n"),
            pl.col("qty").sum().alias("s"),
        )
        .select("key", "window_start", "window_end", "n", "s")
        .sort(pl.all())
    )


SESSIONS_DUCKDB = f"""
    WITH marked AS (
        SELECT *, coalesce(ts - lag(ts) OVER w > {GAP}, true)::INT AS begins FROM events
        WINDOW w AS (PARTITION BY key ORDER BY ts)),
    numbered AS (
        SELECT *, sum(begins) OVER (PARTITION BY key ORDER BY ts) AS number FROM marked)
    SELECT key, min(ts) AS window_start, max(ts) + {GAP} AS window_end, count(*) AS n,
           sum(qty)::BIGINT AS s
    FROM numbered GROUP BY key, number ORDER BY ALL
"""


def as_of(disorder: int) -> dl.Query:
    left, right = trades(disorder, "l"), trades(disorder, "r")
    return left.as_of(right, "l.key = r.key AND l.ts >= r.ts").select(
        "l.key AS key", "l.ts AS ts", "l.qty AS q", "r.ts AS at"
    )


def as_of_answer(history: pa.Table, _: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(history)
    assert isinstance(frame, pl.DataFrame)
    return frame.select("key", "ts", "q", "at").sort(pl.all())


def as_of_polars(frame: pl.DataFrame) -> pl.DataFrame:
    even = pl.int_range(pl.len()) % 2 == 0
    left, right = frame.filter(even).sort("ts"), frame.filter(~even).sort("ts")
    return (
        left.join_asof(
            right.select("key", "ts", pl.col("ts").alias("at")),
            on="ts",
            by="key",
            check_sortedness=False,
        )
        .drop_nulls("at")
        .select("key", "ts", pl.col("qty").alias("q"), "at")
        .sort(pl.all())
    )


AS_OF_DUCKDB = """
    WITH n AS (SELECT *, row_number() OVER () AS i FROM events)
    SELECT l.key, l.ts, l.qty AS q, r.ts AS at
    FROM (SELECT * FROM n WHERE i % 2 = 1) l ASOF JOIN (SELECT * FROM n WHERE i % 2 = 0) r
    ON l.key = r.key AND l.ts >= r.ts ORDER BY ALL
"""

CASES = {
    "sessions": Case(sessions, whole, sessions_answer, sessions_polars, SESSIONS_DUCKDB),
    "as-of": Case(as_of, halves, as_of_answer, as_of_polars, AS_OF_DUCKDB),
}


@dataclass
class LifetimesReport:
    """By query and version: the CPU seconds of Driftline, Polars and DuckDB, and wrong results."""

    events: int
    rows: dict[str, tuple[float, float, float, int]] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "query", "Driftline", "Polars", "DuckDB", "÷ slower", "÷ faster", "wrong results",
            title=f"{self.events:,} events, CPU seconds, batches of {BATCH:,}",
        )  # fmt: skip
        for name, (ours, polars, duckdb, wrong) in self.rows.items():
            table.add_row(
                name, f"{ours:.2f}", f"{polars:.2f}", f"{duckdb:.2f}",
                f"{ours / max(polars, duckdb):.1f}", f"{ours / min(polars, duckdb):.1f}",
                str(wrong),
            )  # fmt: skip
        yield table

    def as_dict(self) -> dict[str, object]:
        return {
            "events": self.events,
            "queries": {
                name: {
                    "driftline CPU s": round(ours, 3),
                    "polars CPU s": round(polars, 3),
                    "duckdb CPU s": round(duckdb, 3),
                    "driftline / slower": round(ours / max(polars, duckdb), 2),
                    "driftline / faster": round(ours / min(polars, duckdb), 2),
                    "wrong results": wrong,
                }
                for name, (ours, polars, duckdb, wrong) in self.rows.items()
            },
        }


def measure(events: int) -> LifetimesReport:
    report = LifetimesReport(events)
    warm = data.events(BATCH, late=True)
    for case in CASES.values():
        case.query(DISORDER[LATE]).run(case.inputs(warm), batch=BATCH)
    for version, late in ((IN_ORDER, False), (LATE, True)):
        table = data.events(events, late)
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        for name, case in CASES.items():
            query, inputs = case.query(DISORDER[version]), case.inputs(table)
            ours, result = _cpu(lambda query=query, inputs=inputs: query.run(inputs, batch=BATCH))
            polars, truth = _cpu(lambda case=case, frame=frame: case.polars(frame))
            duckdb, other = _cpu(lambda case=case, table=table: on_duckdb(case.duckdb, table))
            wrong = _wrong(case.answer(result.history(), table), truth) + _wrong(other, truth)
            report.rows[f"{name} {version}"] = (ours, polars, duckdb, wrong)
    return report


def _cpu(work: Callable[[], T]) -> tuple[float, T]:
    """The least CPU time of some runs, and the result."""
    least = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        result = work()
        least = min(least, time.process_time() - start)
    return least, result
