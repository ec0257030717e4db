"""The schedulers side by side: what it brings that operators run at the same time.

Q3 and Q5 of `queries`, and a plan of four joins over two streams, keys uniform in 1 to 5,000, as in
the experiments of WhiteWater. `drain` as users have it: branches that do not wait for each other
run in threads already.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import get_args

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import driftline as dl
from bench import data
from bench.engine import BATCH, DISORDER, LATE
from bench.queries import CASES
from bench.report import RUNS
from driftline.plan.choices import Scheduler

SCHEDULERS: tuple[Scheduler, ...] = get_args(Scheduler)
KEYS, RANGE = 5_000, 10_000
COLUMNS = {"ts": "BIGINT", "k": "BIGINT", "x": "BIGINT"}


@dataclass
class SchedulersReport:
    """Million events a second, by query and scheduler."""

    events: int
    rows: dict[str, dict[str, float]] = field(default_factory=dict)

    def print(self) -> None:
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
        Console(width=110).print(table)

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


def joins(count: int) -> dl.Query:
    """1: a ⋈ b on k; 2: a ⋈ b on x beside it (a union); 3: both of them joined; 4: that with a."""
    a, b = (dl.stream(name, COLUMNS, time="ts", disorder=0).window(range=RANGE) for name in "ab")
    by_k = a.alias("a").join(b.alias("b"), "a.k = b.k").select("a.k AS k", "b.x AS x")
    if count == 1:
        return by_k
    by_x = a.alias("a").join(b.alias("b"), "a.x = b.x").select("a.k AS k", "b.x AS x")
    if count == 2:
        return by_k.union(by_x)
    both = by_k.alias("p").join(by_x.alias("q"), "p.k = q.k").select("p.k AS k", "q.x AS x")
    if count == 3:
        return both
    return both.alias("p").join(a.alias("a"), "p.x = a.x").select("p.k AS k", "a.x AS x")


def two_streams(events: int) -> dict[str, pa.Table]:
    made = {}
    for seed, name in enumerate("ab"):
        random = np.random.default_rng(seed)
        ts = np.arange(events // 2) * 2 + seed
        made[name] = pa.table(
            {
                "ts": ts,
                "k": random.integers(1, KEYS + 1, len(ts)),
                "x": random.integers(1, KEYS + 1, len(ts)),
            }
        )
    return made
