"""The engine in one process against Polars and DuckDB on the finished data (the limit)."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa
from rich.table import Table

import driftline as dl
from bench import data
from bench.queries import CASES, Case, on_duckdb
from bench.report import RUNS, seconds
from bench.tables import Shown

BATCH = 50_000
IN_ORDER, LATE = "A in order", "B late"
DISORDER = {IN_ORDER: 0, LATE: data.LATE_BY + data.VERY_LATE_BY}


@dataclass
class Row:
    """One query on one version of the events, in million events a second."""

    driftline: float
    polars: float
    duckdb: float
    wrong: int
    retractions: int

    @property
    def slower(self) -> float:
        return min(self.polars, self.duckdb)

    @property
    def faster(self) -> float:
        return max(self.polars, self.duckdb)


@dataclass
class EngineReport:
    events: int
    rows: dict[str, Row] = field(default_factory=dict)
    peak_mib: int = 0

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "query", "events", "Driftline", "Polars", "DuckDB", "slower limit ÷ Driftline",
            "faster limit ÷ Driftline", "wrong results", "retractions",
            title=f"{self.events:,} events, million events/s, batches of {BATCH:,}",
        )  # fmt: skip
        for name, row in self.rows.items():
            query, version = name.split(" ", 1)
            table.add_row(
                query, version, f"{row.driftline:.2f}", f"{row.polars:.2f}", f"{row.duckdb:.2f}",
                f"{row.slower / row.driftline:.1f}", f"{row.faster / row.driftline:.1f}",
                str(row.wrong), f"{row.retractions:,}",
            )  # fmt: skip
        yield table

    def as_dict(self) -> dict[str, object]:
        return {
            "events": self.events,
            "batch": BATCH,
            "peak MiB": self.peak_mib,
            "queries": {
                name: {
                    "driftline M/s": round(row.driftline, 2),
                    "polars M/s": round(row.polars, 2),
                    "duckdb M/s": round(row.duckdb, 2),
                    "slower limit / driftline": round(row.slower / row.driftline, 2),
                    "faster limit / driftline": round(row.faster / row.driftline, 2),
                    "wrong results": row.wrong,
                    "retractions": row.retractions,
                }
                for name, row in self.rows.items()
            },
        }


def measure(events: int) -> EngineReport:
    """All queries on both versions."""
    report = EngineReport(events)
    warm = data.events(BATCH, late=True)
    for case in CASES.values():
        _run(case, warm, DISORDER[LATE])
    for version, late in ((IN_ORDER, False), (LATE, True)):
        table = data.events(events, late)
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        for name, case in CASES.items():
            taken, result = _run(case, table, DISORDER[version], RUNS)
            truth = case.polars(frame)
            answer = case.answer(result.history(), table)
            retractions = sum(
                int(-emitted.batch.weight[emitted.batch.weight < 0].sum())
                for emitted in result.updates
            )
            del result
            polars = seconds(lambda case=case, frame=frame: case.polars(frame))
            duckdb = seconds(lambda case=case, table=table: on_duckdb(case.duckdb, table))
            report.rows[f"{name} {version}"] = Row(
                events / taken / 1e6,
                events / polars / 1e6,
                events / duckdb / 1e6,
                _wrong(answer, truth) + _wrong(on_duckdb(case.duckdb, table), truth),
                retractions,
            )
    report.peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return report


def _run(case: Case, table: pa.Table, disorder: int, runs: int = 1) -> tuple[float, dl.Result]:
    """The shortest time of some runs, and the result."""
    query, inputs = case.query(disorder), case.inputs(table)
    shortest = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        result = query.run(inputs, batch=BATCH)
        shortest = min(shortest, time.perf_counter() - start)
    return shortest, result


def _wrong(answer: pl.DataFrame, truth: pl.DataFrame) -> int:
    """How many rows are in one and not in the other."""
    columns = truth.columns
    answer = answer.select([pl.col(name).cast(truth.schema[name]) for name in columns])
    both = pl.concat([answer.with_columns(side=1), truth.with_columns(side=-1)])
    sums = both.group_by(columns).agg(pl.col("side").sum())
    return int(sums["side"].abs().sum())
