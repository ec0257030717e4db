"""Nile's workload: Q1 and Q2 of the sliding-window paper.

    Q1  count(*) of the sales [RANGE w] of favourite items (a stream joined with a table)
    Q2  max(price) over a join of two streams of sales [RANGE w] by store

In simulated time, a tuple at a time and round-robin, each operator for a slot of time at most or
until its queue is empty, as in the paper. What a join or an aggregate works on takes time, either
as in the paper (`EQUAL`: every event takes the same, a now-mark by itself less at a join, which
looks for no partners) or as it does here (`MEASURED`, by `workloads.sale_costs`). The output delay
is from the arrival or the end of a tuple to its effect in the answer.

The capacity of the join of Q2 is how many positive tuples it takes in a second of its processor
time, in batches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import process_time
from typing import get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch, added_and_removed
from driftline.engine.core.graph import Graph, Step
from driftline.engine.core.queues import Item
from driftline.engine.core.snapshot_operator import SnapshotOperator
from driftline.model.arrays import Int64s, Mask, stored
from driftline.model.columns import INSERT
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import Expiry
from workloads.round_robin import RoundRobin

Floats = NDArray[np.float64]

EXPIRIES: tuple[Expiry, ...] = get_args(Expiry)
SLOT = 10
"""As many events as an operator works on before the next one has its turn."""
ITEMS, FAVOURITES = 1_200, 600

_SALES = {"item": "BIGINT", "price": "BIGINT", "store": "BIGINT"}


def _sales(name: str, window: int) -> dl.Query:
    return dl.stream(name, _SALES).window(range=window)


def q1(window: int) -> dl.Query:
    favourites = dl.stream("favourites", {"item": "BIGINT"})
    joined = _sales("s1", window).alias("s").join(favourites.alias("f"), "s.item = f.item")
    return joined.agg("count(*) AS n")


def q2(window: int) -> dl.Query:
    one, other = _sales("s1", window).alias("a"), _sales("s2", window).alias("b")
    return one.join(other, "a.store = b.store").agg("max(b.price) AS n")


@dataclass
class Sales:
    """The tuples of a stream: when they arrive, and their rows; `punctuated`: with a cti each."""

    at: Int64s
    rows: pa.RecordBatch
    punctuated: bool = True

    @staticmethod
    def of(random: np.random.Generator, at: Int64s, item: Int64s, store: Int64s) -> Sales:
        columns = [item, random.integers(0, 1_000, len(at)), store]
        rows = pa.RecordBatch.from_arrays([pa.array(each) for each in columns], [*_SALES])
        return Sales(at, rows)

    @staticmethod
    def random(random: np.random.Generator, at: Int64s, stores: int) -> Sales:
        item, store = (random.integers(0, high, len(at)) for high in (ITEMS, stores))
        return Sales.of(random, at, item, store)

    @staticmethod
    def by_store(random: np.random.Generator, at: Int64s, low: int, high: int) -> Sales:
        """Stores uniform in [low, high)."""
        return Sales.of(random, at, 0 * at, random.integers(low, high, len(at)))

    def batch(self, first: int, last: int) -> Batch:
        """Some of the tuples. They come in order: what is before the last one is final."""
        ones, ends = np.ones(last - first, np.int64), np.full(last - first, INFINITY)
        at, rows = int(self.at[last - 1]), self.rows.slice(first, last - first)
        cti = at if self.punctuated else BEGINNING
        return Batch(self.at[first:last], ends, ones, rows, cti, at, at)


def arrivals(random: np.random.Generator, each: float, length: int) -> Int64s:
    """Ticks of arrivals before an end; the time between two is exponential, with a mean."""
    at = np.cumsum(random.exponential(each, int(2 * length / each) + 10)).astype(np.int64)
    return at[at < length]


@dataclass(frozen=True)
class Costs:
    """What a batch of one takes, by what a tuple takes at an aggregate: `join`: a tuple at a join;
    `join_negative`: a negative one there; `join_mark`: there a now-mark by itself; `mark`: at an
    aggregate; `promise`: there a cti by itself, as a tuple without partners has; `ending`: if rows
    end with a tuple, in addition; `ending_alone`: with a mark or a promise."""

    join: float
    join_negative: float
    join_mark: float
    mark: float
    promise: float
    ending: float
    ending_alone: float


EQUAL = Costs(1, 1, join_mark=0.2, mark=1, promise=0, ending=0, ending_alone=0)
MEASURED = Costs(0.65, 0.75, join_mark=0.11, mark=0.2, promise=0.2, ending=0.15, ending_alone=0.4)


@dataclass
class Counted:
    """The events that an operator has worked on."""

    positive: int = 0
    negative: int = 0
    marks: int = 0

    @property
    def events(self) -> int:
        return self.positive + self.negative + self.marks

    def count(self, batch: Batch) -> None:
        """Count a batch. (A join may take back a result and give it again in one batch, for an
        aggregate adds up what it is given: that is no event.)"""
        added, removed = added_and_removed(batch.consolidated().weight)
        self.positive += max(0, added - removed)
        self.negative += removed
        self.marks += batch.is_only_now

    def add(self, other: Counted) -> None:
        self.positive += other.positive
        self.negative += other.negative
        self.marks += other.marks


def is_join(step: Step) -> bool:
    return step.operator.knows_ends


def is_aggregate(step: Step) -> bool:
    return isinstance(step.operator, SnapshotOperator)


def ends_rows(step: Step, batch: Batch) -> bool:
    """Whether time comes so far with a batch that an aggregate has something to do for rows that it
    holds."""
    operator = step.operator
    assert isinstance(operator, SnapshotOperator)
    time = min(max(batch.high, batch.cti, batch.now), INFINITY - 1)
    return time > operator.watermark and len(operator.due.up_to(time)) > 0


class Simulation(RoundRobin):
    """A query over sales. `join`, `aggregate`: what they have worked on; `delays`: of the changes
    of the answer; `results`: when the aggregate took in how many; `values`: what the answer is at
    each tick, as emitted so far; `pending`: the ticks at which it changes and is not right yet;
    `work`: what was worked on, in units."""

    def __init__(
        self,
        query: Callable[[int], dl.Query],
        window: int,
        expiry: Expiry,
        sales: dict[str, Sales],
        correct: Floats,
        unit: float = 0.0,
        costs: Costs = EQUAL,
    ) -> None:
        graph = compile_plan(
            query(window).plan, self._emitted, scheduler="round-robin", expiry=expiry
        )
        super().__init__(graph, len(correct), unit, SLOT)
        self.sales = {name: each for name, each in sales.items() if name in graph.sources}
        self.join, self.aggregate = Counted(), Counted()
        self.costs, self.work = costs, 0.0
        self.delays: list[float] = []
        self.results: list[tuple[float, int]] = []
        self.values, self.correct = np.full(len(correct), np.nan), correct
        self.pending = np.flatnonzero(~_same(correct[1:], correct[:-1])) + 1
        self.taken = dict.fromkeys(self.sales, 0)
        starts = [each.at for each in self.sales.values()]
        ends = [at + window for at in starts]
        self.moments = np.unique(np.concatenate([*starts, *ends, [self.length]]))

    @property
    def events(self) -> int:
        return self.join.events + self.aggregate.events

    def _emitted(self, batch: Batch) -> None:
        _apply(self.values, batch)
        come = self.pending[self.pending <= self.time]
        right = come[_same(self.values[come], self.correct[come])]
        self.delays += (self.time - right).tolist()
        self.pending = np.setdiff1d(self.pending, right)

    def run(self) -> Simulation:
        admit_table(self.graph)
        self.go()
        self.delays += (self.length - self.pending).tolist()
        return self

    def admit(self, now: int) -> None:
        for name, each in self.sales.items():
            until = int(np.searchsorted(each.at, now, side="right"))
            for place in range(self.taken[name], until):
                self.graph.admit(name, each.batch(place, place + 1))
            self.taken[name] = until
        self.graph.advance(now)

    def next_moment(self, now: int) -> int:
        """The next tick at which a tuple comes or a window loses one."""
        return int(self.moments[np.searchsorted(self.moments, now, side="right")])

    def cost(self, step: Step, item: Item) -> float:
        """At the bottom, nothing."""
        assert isinstance(item, Batch)
        counted, costs, units = Counted(), self.costs, 0.0
        counted.count(item)
        if is_join(step):
            self.join.add(counted)
            units += costs.join * counted.positive + costs.join_negative * counted.negative
            units += costs.join_mark * counted.marks
        elif is_aggregate(step):
            self.aggregate.add(counted)
            self.results.append((self.time, counted.positive))
            tuples = counted.positive + counted.negative
            units += tuples + costs.mark * counted.marks + costs.promise * (counted.events == 0)
            units += (costs.ending if tuples else costs.ending_alone) * ends_rows(step, item)
        self.work += units
        return units

    def throughput(self, since: int) -> float:
        """Join results that the aggregate has taken in, in a tick after a time."""
        return sum(count for time, count in self.results if time >= since) / (self.length - since)


def _apply(values: Floats, batch: Batch) -> None:
    """Bring the answer, which has one row at most, up to date."""
    changes = batch.changes()
    rows = stored(changes.rows().column(0))
    for kind, vs, ve, vn, value in zip(
        changes.kind, changes.vs, changes.ve, changes.vn, rows, strict=True
    ):
        end = min(ve, len(values))
        if kind == INSERT:
            values[max(vs, 0) : end] = value
        else:
            values[max(vn, 0) : end] = np.nan


def _same(one: Floats, other: Floats) -> Mask:
    same: Mask = (one == other) | (np.isnan(one) & np.isnan(other))
    return same


def admit_table(graph: Graph) -> None:
    if "favourites" in graph.sources:
        items = pa.RecordBatch.from_arrays([pa.array(np.arange(FAVOURITES))], ["item"])
        ones, ends = np.ones(FAVOURITES, np.int64), np.full(FAVOURITES, INFINITY)
        graph.push("favourites", Batch(0 * ones, ends, ones, items, INFINITY, 0))


def answer(query: dl.Query, sales: dict[str, Sales], length: int) -> Floats:
    """What the answer is at each tick, if nothing takes any time."""
    values = np.full(length, np.nan)
    graph = compile_plan(query.plan, lambda batch: _apply(values, batch), Level.EAGER)
    admit_table(graph)
    for name, each in sales.items():
        if name in graph.sources:
            graph.push(name, replace(each.batch(0, len(each.at)), cti=BEGINNING))
    return values


def capacity(sales: dict[str, Sales], window: int, batch: int) -> dict[Expiry, float]:
    """Of the join of Q2, million positive tuples in a second of its processor time. All policies go
    hand in hand, a batch at a time: the machine is the same for all."""
    events = len(sales["s1"].at)
    for size in (min(events, window + 2 * batch), events):  # first to compile
        joins = [_TimedJoin(expiry, window) for expiry in EXPIRIES]
        for first in range(0, size, batch):
            for name, each in sales.items():
                some = each.batch(first, min(first + batch, size))
                for join in joins:
                    join.graph.push(name, some)
                joins = joins[1:] + joins[:1]
    return {join.expiry: 2 * events / join.seconds / 1e6 for join in joins}


@dataclass
class _TimedJoin:
    """Q2 with a policy; `seconds`: the processor time that its join has taken."""

    expiry: Expiry
    window: int
    seconds: float = 0.0
    graph: Graph = field(init=False)

    def __post_init__(self) -> None:
        plan = q2(self.window).plan
        self.graph = compile_plan(plan, lambda batch: None, expiry=self.expiry)
        join = next(step.operator for step in self.graph.steps if step.operator.knows_ends)
        self.receive = join.receive
        join.receive = self._timed  # type: ignore[method-assign]

    def _timed(self, port: int, batch: Batch) -> Batch:
        start = process_time()
        output = self.receive(port, batch)
        self.seconds += process_time() - start
        return output
