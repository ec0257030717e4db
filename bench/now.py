"""What it costs that answers leave on time: Q1 and Q2 of the sliding-window paper.

    Q1  count(*) of the sales [RANGE 500 ms] of favourite items (a stream joined with a table)
    Q2  max(price) over a join of two streams of sales [RANGE 500 ms] by store

First in simulated time, a tuple at a time and round-robin, each operator for a slot of time at most
or until its queue is empty, as in the paper: tuples arrive at a rate, and every event that a join
or an aggregate works on (a positive or a negative tuple, or a now-mark that comes by itself) takes
the same time, but a now-mark at a join, which looks for no partners, takes `MARK_AT_JOIN` of it.
The output delay is from the arrival or the end of a tuple to its effect in the answer. Then the
capacity of the join of Q2: how many positive tuples it takes in a second of its processor time, in
batches. Last, what the view itself costs: the processor time of Q2 and Q4 of the part `engine` with
the answer now, by that without it; both give their changes as tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median
from time import process_time
from typing import get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import driftline as dl
from bench import data
from bench.engine import BATCH, DISORDER, LATE
from bench.queries import CASES, Case
from bench.report import RUNS
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch, added_and_removed
from driftline.engine.core.graph import Graph, Step
from driftline.engine.core.operator import Operator
from driftline.engine.core.queues import Item
from driftline.model.arrays import Int64s, Mask, stored
from driftline.model.columns import INSERT
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import Expiry

Floats = NDArray[np.float64]

EXPIRIES: tuple[Expiry, ...] = get_args(Expiry)
WINDOW, LENGTH = 500, 4_000
"""In ticks of a millisecond."""
RATES = {"low": (20, 0.05), "high": (160, 0.97)}
"""Tuples a second, of each stream, and which share of the time it takes to work on what `ita` has
to work on."""
SLOT = 10
"""As many events as an operator works on before the next one has its turn."""
MARK_AT_JOIN = 0.2
"""What a now-mark takes at a join, by what a tuple takes: 110 µs to 600 µs and more, in batches of
one."""
ITEMS, FAVOURITES = 1_200, 600
JOIN_BATCH, JOIN_WINDOW, JOIN_STORES = 10_000, 40_000, 20_000
SHARE = 10
"""The join gets one in so many of the benchmark's events, of each stream."""
VIEWED = ("Q2", "Q4")

_SALES = {"item": "BIGINT", "price": "BIGINT", "store": "BIGINT"}


def _sales(name: str, window: int) -> dl.Query:
    return dl.stream(name, _SALES).window(range=window)


def q1() -> dl.Query:
    favourites = dl.stream("favourites", {"item": "BIGINT"})
    joined = _sales("s1", WINDOW).alias("s").join(favourites.alias("f"), "s.item = f.item")
    return joined.agg("count(*) AS n")


def q2(window: int = WINDOW) -> dl.Query:
    one, other = _sales("s1", window).alias("a"), _sales("s2", window).alias("b")
    return one.join(other, "a.store = b.store").agg("max(b.price) AS n")


QUERIES: dict[str, Callable[[], dl.Query]] = {"Q1": q1, "Q2": q2}


@dataclass
class Sales:
    """The tuples of a stream: when they arrive, and their rows."""

    at: Int64s
    rows: pa.RecordBatch

    @staticmethod
    def random(random: np.random.Generator, at: Int64s, stores: int) -> Sales:
        columns = [random.integers(0, high, len(at)) for high in (ITEMS, 1_000, stores)]
        rows = pa.RecordBatch.from_arrays([pa.array(each) for each in columns], [*_SALES])
        return Sales(at, rows)

    def batch(self, first: int, last: int) -> Batch:
        """Some of the tuples. They come in order: what is before the last one is final."""
        ones, ends = np.ones(last - first, np.int64), np.full(last - first, INFINITY)
        at = int(self.at[last - 1])
        return Batch(
            self.at[first:last], ends, ones, self.rows.slice(first, last - first), at, at, at
        )


@dataclass
class Simulated:
    """A run in simulated time: the events that were worked on, and the delays of the answer's
    changes, in ticks."""

    positive: int = 0
    negative: int = 0
    marks: int = 0
    delays: list[float] = field(default_factory=list)

    @property
    def events(self) -> int:
        return self.positive + self.negative + self.marks

    def count(self, item: Item, operator: Operator) -> float:
        """Count what is worked on; returns how many tuples' time that takes."""
        before = self.events
        assert isinstance(item, Batch)
        added, removed = added_and_removed(item.weight)
        self.positive += max(0, added - removed)
        self.negative += removed
        self.marks += item.says_only_now
        is_quick = item.says_only_now and operator.knows_ends
        return MARK_AT_JOIN if is_quick else self.events - before


class Simulation:
    """A query that runs round-robin in simulated time. `values`: what the answer is at each tick,
    as emitted so far; `pending`: the ticks at which it changes and is not right yet."""

    def __init__(
        self,
        query: dl.Query,
        expiry: Expiry,
        sales: dict[str, Sales],
        correct: Floats,
        cost: float = 0.0,
    ) -> None:
        self.cost = cost  # ticks that an event takes
        self.graph = compile_plan(query.plan, self._emitted, scheduler="round-robin", expiry=expiry)
        self.sales = {name: each for name, each in sales.items() if name in self.graph.sources}
        self.made = Simulated()
        self.values, self.correct = _no_values(), correct
        self.pending = np.flatnonzero(~_same(correct[1:LENGTH], correct[: LENGTH - 1])) + 1
        self.time = 0.0

    def _emitted(self, batch: Batch) -> None:
        _apply(self.values, batch)
        come = self.pending[self.pending <= self.time]
        right = come[_same(self.values[come], self.correct[come])]
        self.made.delays += (self.time - right).tolist()
        self.pending = np.setdiff1d(self.pending, right)

    def run(self) -> Simulated:
        _admit_table(self.graph)
        taken = dict.fromkeys(self.sales, 0)
        while self.time < LENGTH:
            now = int(self.time)
            for name, each in self.sales.items():
                until = int(np.searchsorted(each.at, now, side="right"))
                for place in range(taken[name], until):
                    self.graph.admit(name, each.batch(place, place + 1))
                taken[name] = until
            self.graph.advance(now)
            before = self.time
            for step in self.graph.steps:
                self._turn(step)
            if self.time == before:
                self.time = now + 1.0
        self.made.delays += (LENGTH - self.pending).tolist()
        return self.made

    def _turn(self, step: Step) -> None:
        """An operator works for its slot, or until its queue is empty; at the bottom in no time."""
        takes_time = step.operator.knows_ends or step.name.endswith("group by")
        done = 0.0
        while done < SLOT and (taken := step.queue.take()) is not None:
            if takes_time:
                took = self.made.count(taken[1], step.operator)
                done, self.time = done + took, self.time + took * self.cost
            self.graph.work_on(step, *taken)


def _no_values() -> Floats:
    return np.full(LENGTH, np.nan)


def _apply(values: Floats, batch: Batch) -> None:
    """Bring the answer, which has one row at most, up to date."""
    changes = batch.changes()
    rows = stored(changes.rows().column(0))
    for kind, vs, ve, vn, value in zip(
        changes.kind, changes.vs, changes.ve, changes.vn, rows, strict=True
    ):
        if kind == INSERT:
            values[max(vs, 0) : min(ve, LENGTH)] = value
        else:
            values[max(vn, 0) : min(ve, LENGTH)] = np.nan


def _same(one: Floats, other: Floats) -> Mask:
    return (one == other) | (np.isnan(one) & np.isnan(other))


def _admit_table(graph: Graph) -> None:
    if "favourites" in graph.sources:
        items = pa.RecordBatch.from_arrays([pa.array(np.arange(FAVOURITES))], ["item"])
        ones, ends = np.ones(FAVOURITES, np.int64), np.full(FAVOURITES, INFINITY)
        graph.push("favourites", Batch(0 * ones, ends, ones, items, INFINITY, 0))


def _answer(query: dl.Query, sales: dict[str, Sales]) -> Floats:
    """What the answer is at each tick, if nothing takes any time."""
    values = _no_values()
    graph = compile_plan(query.plan, lambda batch: _apply(values, batch), Level.EAGER)
    _admit_table(graph)
    for name, each in sales.items():
        if name in graph.sources:
            graph.push(name, replace(each.batch(0, len(each.at)), cti=BEGINNING))
    return values


@dataclass
class NowReport:
    """`rows`: by query and rate, and by expiry, what was counted; `capacity`: of the join of Q2,
    million positive tuples a second; `view`: of queries of the part `engine` on late events, the
    processor time of a run with the answer now, by that of one without."""

    events: int
    rows: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    capacity: dict[str, float] = field(default_factory=dict)
    view: dict[str, float] = field(default_factory=dict)

    def print(self) -> None:
        table = Table(
            "query, rate", "expiry", "positive", "negative", "marks", "events ÷ ita",
            "average delay, ms", "greatest delay, ms",
            title=f"simulated: {LENGTH / 1000:.0f} s, windows of {WINDOW} ms",
        )  # fmt: skip
        for name, policies in self.rows.items():
            for expiry, row in policies.items():
                table.add_row(name, expiry, *(f"{value:,.2f}" for value in row.values()))
        Console(width=120).print(table)
        table = Table("expiry", "million tuples/s", "÷ nta", title="capacity of the join of Q2")
        for expiry, speed in self.capacity.items():
            table.add_row(expiry, f"{speed:.2f}", f"{speed / self.capacity['nta']:.2f}")
        Console(width=120).print(table)
        table = Table("query", "with the answer now ÷ without", title="late events")
        for name, ratio in self.view.items():
            table.add_row(name, f"{ratio:.2f}")
        Console(width=120).print(table)

    def as_dict(self) -> dict[str, object]:
        return {
            "events": self.events,
            "rows": self.rows,
            "join M/s": self.capacity,
            "now ÷ without": self.view,
        }


def measure(events: int) -> NowReport:
    report = NowReport(events // SHARE)
    for name, query in QUERIES.items():
        for rate, (tuples, load) in RATES.items():
            report.rows[f"{name}, {rate}"] = _simulated(query(), tuples, load)
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


def _simulated(query: dl.Query, rate: int, load: float) -> dict[str, dict[str, float]]:
    random = np.random.default_rng(1)
    count = rate * LENGTH // 1000
    sales = {
        name: Sales.random(random, np.sort(random.integers(0, LENGTH, count)), rate // 2)
        for name in ("s1", "s2")
    }
    correct = _answer(query, sales)
    cost = load * LENGTH / Simulation(query, "ita", sales, correct).run().events
    runs = {expiry: Simulation(query, expiry, sales, correct, cost).run() for expiry in EXPIRIES}
    return {
        expiry: {
            "positive": run.positive,
            "negative": run.negative,
            "marks": run.marks,
            "events ÷ ita": run.events / runs["ita"].events,
            "average delay": float(np.mean(run.delays)),
            "greatest delay": max(run.delays),
        }
        for expiry, run in runs.items()
    }


def _capacity(events: int) -> dict[str, float]:
    """All policies hand in hand, a batch at a time: the machine is the same for all."""
    random = np.random.default_rng(2)
    sales = {name: Sales.random(random, np.arange(events), JOIN_STORES) for name in ("s1", "s2")}
    for size in (min(events, JOIN_WINDOW + 2 * JOIN_BATCH), events):  # first to compile
        joins = [_TimedJoin(expiry) for expiry in EXPIRIES]
        for first in range(0, size, JOIN_BATCH):
            for name, each in sales.items():
                batch = each.batch(first, min(first + JOIN_BATCH, size))
                for join in joins:
                    join.graph.push(name, batch)
                joins = joins[1:] + joins[:1]
    return {join.expiry: 2 * events / join.seconds / 1e6 for join in joins}


class _TimedJoin:
    """Q2 with a policy; `seconds`: the processor time that its join has taken."""

    def __init__(self, expiry: Expiry) -> None:
        self.expiry, self.seconds = expiry, 0.0
        self.graph = compile_plan(q2(JOIN_WINDOW).plan, lambda batch: None, expiry=expiry)
        join = next(step.operator for step in self.graph.steps if step.operator.knows_ends)
        self.receive = join.receive
        join.receive = self._timed  # type: ignore[method-assign]

    def _timed(self, port: int, batch: Batch) -> Batch:
        start = process_time()
        output = self.receive(port, batch)
        self.seconds += process_time() - start
        return output
