"""The schedulers side by side: what it brings that operators run at the same time.

Q3 and Q5 of `queries`, and a plan of four joins over two streams, keys uniform in 1 to 5,000, as in
the experiments of WhiteWater. `drain` as users have it: branches that do not wait for each other
run in threads already.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import get_args

import pyarrow as pa
from rich.table import Table

import driftline as dl
from bench import data
from bench.engine import BATCH, DISORDER, LATE
from bench.queries import CASES
from bench.report import RUNS
from bench.tables import Shown
from driftline.plan.choices import Scheduler
from workloads.joins import joins, two_streams

SCHEDULERS: tuple[Scheduler, ...] = get_args(Scheduler)


@dataclass
class SchedulersReport:
    """Million events a second, by query and scheduler."""

    events: int
    rows: dict[str, dict[str, float]] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "query", *SCHEDULERS, "threads ÷ drain",
            title=f"{self.events:,} late events, million events/s, {os.cpu_count()} cores",
        )  # fmt: skip
        for name, speeds in self.rows.items():
            table.add_row(
                name,
                *(f"{speed:.2f}" for speed in speeds.values()),
                f"{speeds['threads'] / speeds['drain']:.2f}",
            )
        yield table

    def as_dict(self) -> dict[str, object]:
        return {"events": self.events, "M/s": self.rows}


def measure(events: int) -> SchedulersReport:
    report = SchedulersReport(events)
    table = data.events(events, late=True)
    queries: dict[str, Callable[[int], tuple[dl.Query, dict[str, pa.Table]]]] = {
        name: lambda size, case=CASES[name]: (  # type: ignore[misc]
            case.query(DISORDER[LATE]),
            case.inputs(table.slice(0, size)),
        )
        for name in ("Q3", "Q5")
    }
    queries["four joins"] = lambda size: (joins(4), two_streams(size))
    for name, made in queries.items():
        query, few = made(BATCH)
        query.run(few, batch=BATCH)  # compile what has to be compiled
        query, inputs = made(events)
        taken: dict[str, list[float]] = {scheduler: [] for scheduler in SCHEDULERS}
        for _ in range(RUNS):
            for scheduler in SCHEDULERS:  # in turn, so that the machine is the same for all
                start = perf_counter()
                query.run(inputs, batch=BATCH, scheduler=scheduler)
                taken[scheduler].append(perf_counter() - start)
        report.rows[name] = {
            scheduler: round(events / min(times) / 1e6, 2) for scheduler, times in taken.items()
        }
    return report
