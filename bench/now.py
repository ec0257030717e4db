"""What it costs that answers leave on time: Q1 and Q2 of `workloads.sales`.

First in simulated time: the delays of the answer, and for some sets of tuples those of `piggyback`
by those of `ita` and `time-message`. Then the capacity of the join of Q2. Last, what the view
itself costs: the processor time of Q2 and Q4 of the part `engine` with the answer now, by that
without it; both give their changes as tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median
from time import process_time

import numpy as np
from rich.table import Table

import driftline as dl
from bench import data
from bench.engine import BATCH, DISORDER, LATE
from bench.queries import CASES, Case
from bench.report import RUNS
from bench.tables import Shown
from driftline.plan.choices import Expiry
from workloads.sales import EXPIRIES, MEASURED, Sales, Simulation, answer, capacity, q1, q2

WINDOW, LENGTH = 500, 4_000
"""In ticks of a millisecond."""
RATES = {"low": (20, 0.05), "middle": (160, 0.6), "high": (160, 0.97)}
"""Tuples a second, of each stream, and which share of the time it takes to work on what `ita` has
to work on."""
SETS = 5
"""The sets of tuples for which `piggyback` is held against others."""
OTHERS: tuple[Expiry, ...] = ("ita", "time-message")
JOIN_BATCH, JOIN_WINDOW, JOIN_STORES = 10_000, 40_000, 20_000
SHARE = 10
"""The join gets one in so many of the benchmark's events, of each stream."""
VIEWED = ("Q2", "Q4")
QUERIES: dict[str, Callable[[int], dl.Query]] = {"Q1": q1, "Q2": q2}


@dataclass
class NowReport:
    """`rows`: by query and rate, and by expiry, what was counted; `against`: the delays of
    `piggyback` by those of others, and its events by those of `ita`, for every set of tuples;
    `capacity`: of the join of Q2,
    million positive tuples a second; `view`: of queries of the part `engine` on late events, the
    processor time of a run with the answer now, by that of one without."""

    events: int
    rows: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    against: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    capacity: dict[str, float] = field(default_factory=dict)
    view: dict[str, float] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "query, rate", "expiry", "positive", "negative", "marks", "events ÷ ita",
            "average delay, ms", "greatest delay, ms",
            title=f"simulated: {LENGTH / 1000:.0f} s, windows of {WINDOW} ms",
        )  # fmt: skip
        for name, policies in self.rows.items():
            for expiry, row in policies.items():
                table.add_row(name, expiry, *(f"{value:,.2f}" for value in row.values()))
        yield table
        table = Table(
            "query, rate", "piggyback", "least", "mean", "greatest",
            title=f"piggyback beside others, {SETS} sets of tuples",
        )  # fmt: skip
        for name, ratios in self.against.items():
            for what, each in ratios.items():
                shown = (min(each), sum(each) / len(each), max(each))
                table.add_row(name, what, *(f"{value:.3f}" for value in shown))
        yield table
        table = Table("expiry", "million tuples/s", "÷ nta", title="capacity of the join of Q2")
        for expiry, speed in self.capacity.items():
            table.add_row(expiry, f"{speed:.2f}", f"{speed / self.capacity['nta']:.2f}")
        yield table
        table = Table("query", "with the answer now ÷ without", title="late events")
        for name, ratio in self.view.items():
            table.add_row(name, f"{ratio:.2f}")
        yield table

    def as_dict(self) -> dict[str, object]:
        return {
            "events": self.events,
            "rows": self.rows,
            "piggyback ÷ others": self.against,
            "join M/s": self.capacity,
            "now ÷ without": self.view,
        }


def measure(events: int) -> NowReport:
    report = NowReport(events // SHARE)
    for name, query in QUERIES.items():
        for rate, (tuples, load) in RATES.items():
            runs = [_simulated(query, tuples, load, EXPIRIES, 1)]
            report.rows[f"{name}, {rate}"] = _counted(runs[0])
            for seed in range(2, SETS + 1):
                runs.append(_simulated(query, tuples, load, (*OTHERS, "piggyback"), seed))
            report.against[f"{name}, {rate}"] = _against(runs)
    report.capacity = _capacity(report.events)
    report.view = {name: _view(CASES[name], events) for name in VIEWED}
    return report


def _view(case: Case, events: int) -> float:
    """The median over some rounds of the time with the answer now by that without."""
    query, inputs = case.query(DISORDER[LATE]), case.inputs(data.events(events, late=True))

    def plain() -> None:
        for update in query.changes(inputs, batch=BATCH):
            update.table()

    def with_view() -> None:
        for _ in query.now(inputs, batch=BATCH).tables():
            pass

    def spent(run: Callable[[], None]) -> float:
        start = process_time()
        run()
        return process_time() - start

    spent(with_view)  # and compile
    return median(spent(with_view) / spent(plain) for _ in range(RUNS))


def _simulated(
    query: Callable[[int], dl.Query], rate: int, load: float, expiries: Iterable[Expiry], seed: int
) -> dict[Expiry, Simulation]:
    random = np.random.default_rng(seed)
    count = rate * LENGTH // 1000
    sales = {
        name: Sales.random(random, np.sort(random.integers(0, LENGTH, count)), rate // 2)
        for name in ("s1", "s2")
    }
    correct = answer(query(WINDOW), sales, LENGTH)
    all_work = Simulation(query, WINDOW, "ita", sales, correct, costs=MEASURED).run().work
    unit = load * LENGTH / all_work
    return {
        expiry: Simulation(query, WINDOW, expiry, sales, correct, unit, MEASURED).run()
        for expiry in expiries
    }


def _against(runs: list[dict[Expiry, Simulation]]) -> dict[str, list[float]]:
    delays = {
        f"average delay ÷ {other}": [
            float(np.mean(run["piggyback"].delays) / np.mean(run[other].delays)) for run in runs
        ]
        for other in OTHERS
    }
    return {**delays, "events ÷ ita": [run["piggyback"].events / run["ita"].events for run in runs]}


def _counted(runs: dict[Expiry, Simulation]) -> dict[str, dict[str, float]]:
    return {
        expiry: {
            "positive": run.join.positive + run.aggregate.positive,
            "negative": run.join.negative + run.aggregate.negative,
            "marks": run.join.marks + run.aggregate.marks,
            "events ÷ ita": run.events / runs["ita"].events,
            "average delay": float(np.mean(run.delays)),
            "greatest delay": max(run.delays),
        }
        for expiry, run in runs.items()
    }


def _capacity(events: int) -> dict[str, float]:
    random = np.random.default_rng(2)
    sales = {name: Sales.random(random, np.arange(events), JOIN_STORES) for name in ("s1", "s2")}
    return {**capacity(sales, JOIN_WINDOW, JOIN_BATCH)}
