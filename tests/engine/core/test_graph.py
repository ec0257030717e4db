"""The graph: its schedulers give the same answers, with threads and without."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa
import pytest

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core import branches
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph, Step
from driftline.engine.core.queues import Item
from driftline.model.level import Level
from driftline.plan.choices import Scheduler

COLUMNS = {"ts": "BIGINT", "key": "BIGINT", "price": "DOUBLE"}
ROWS = 4_000


def _query() -> dl.Query:
    """Two branches that meet in a join, and a third that meets the first two in a union."""
    events = dl.stream("events", COLUMNS, time="ts")
    sums = events.window(range=100).group_by("key").agg("sum(price) AS s")
    counts = events.window(range=200).group_by("key").agg("count(*) AS n", "max(price) AS m")
    joined = sums.join(counts, on="key").select("key", "s", "n")
    alone = events.window(range=50).group_by("key").agg("sum(price) AS s", "count(*) AS n")
    return joined.union(alone.select("key", "s", "n"))


def _batches() -> list[Batch]:
    random = np.random.default_rng(3)
    made = []
    for start in range(0, 10 * ROWS, ROWS):
        ts = start + random.integers(-500, ROWS, ROWS)
        rows = pa.record_batch(
            {
                "ts": ts,
                "key": random.integers(0, 50, ROWS),
                "price": random.integers(0, 400, ROWS) / 4,
            }
        )
        ends = np.full(ROWS, np.iinfo(np.int64).max)
        made.append(
            Batch(ts, ends, np.ones(ROWS, np.int64), rows, cti=start - 500, high=int(ts.max()))
        )
    return made


def _said(scheduler: Scheduler = "drain", *, threads: bool = False) -> list[Batch]:
    emitted: list[Batch] = []
    graph = compile_plan(_query().plan, emitted.append, Level.ORDERED, scheduler)
    graph.branches = threads
    for batch in _batches():
        graph.push("events", batch)
    return emitted


def _as_rows(emitted: list[Batch]) -> list[tuple[object, ...]]:
    return [
        (*row.values(), vs, ve, weight)
        for batch in emitted
        for row, vs, ve, weight in zip(
            batch.payload.to_pylist(), batch.vs, batch.ve, batch.weight, strict=True
        )
    ]


def test_branches_in_threads_say_the_same_in_the_same_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(branches, "WORTH_A_THREAD", 1)
    first, second = _said(threads=True), _said(threads=True)
    assert _as_rows(first) == _as_rows(second)
    assert sorted(map(repr, _as_rows(first))) == sorted(map(repr, _as_rows(_said())))


def test_branches_run_in_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "WORTH_A_THREAD", 1)
    seen: set[str] = set()
    work = Graph.output_of

    def noting(graph: Graph, step: Step, port: int, item: Item) -> Item | None:
        seen.add(threading.current_thread().name)
        return work(graph, step, port, item)

    monkeypatch.setattr(Graph, "output_of", noting)
    _said(threads=True)
    assert len(seen) > 1


def test_what_fails_in_a_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "WORTH_A_THREAD", 1)
    graph = compile_plan(_query().plan, lambda batch: None, Level.ORDERED)
    graph.branches = True
    last_source, _ = graph.sources["events"][-1]

    def fails(port: int, batch: Batch) -> Batch:
        raise OverflowError("a sum does not fit")

    monkeypatch.setattr(last_source.operator, "receive", fails)
    with pytest.raises(OverflowError, match="does not fit"):
        graph.push("events", _batches()[0])
