"""Now-marks wait for rows in a graph that is busy, and go at once in one that is not."""

from __future__ import annotations

import numpy as np
import pytest

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch, empty
from driftline.engine.core.graph import Graph
from driftline.engine.core.held_marks import LONGEST, HeldMarks
from driftline.engine.core.plain import batch_of, events_of
from driftline.engine.core.queues import Queue
from driftline.model.event import Event
from driftline.model.time import BEGINNING
from tests.build import insert
from tests.engine.held_to_reference import KX

S, T = (dl.stream(name, {"k": "STRING", "x": "BIGINT"}) for name in "st")
JOINED = (
    S.window(range=10)
    .alias("s")
    .join(T.window(range=10).alias("t"), "s.k = t.k")
    .group_by("s.k AS k")
    .agg("count(*) AS n")
)


def made(out: list[Event]) -> Graph:
    def emitted(batch: Batch) -> None:
        out.extend(events_of(batch))

    return compile_plan(JOINED.plan, emitted, scheduler="round-robin", expiry="piggyback")


def rows(time: int) -> Batch:
    batch = batch_of([insert(time, None, {"k": "a", "x": time})], KX)
    return Batch(batch.vs, batch.ve, batch.weight, batch.payload, batch.cti, batch.high, time)


def busy(out: list[Event]) -> Graph:
    """A graph that has had rows from both sources in every turn, until 20."""
    graph = made(out)
    for time in range(20):
        for source in "st":
            graph.admit(source, rows(time))
        graph.turn()
    graph.admit("s", rows(20))
    graph.admit("t", rows(20))
    return graph


def batches(queue: Queue) -> list[tuple[int, Batch]]:
    return [(port, item) for port, item in queue.waiting() if isinstance(item, Batch)]


def waits(graph: Graph) -> bool:
    return bool(graph.held.times)


def test_a_graph_that_is_not_busy_lets_marks_in_at_once() -> None:
    graph = made([])
    graph.advance(5)
    graph.turn()
    assert not waits(graph)


def test_marks_wait_for_rows_in_a_busy_graph() -> None:
    graph = busy([])
    graph.advance(21)
    while any(step.queue and not step.queue.has_only_now_marks for step in graph.steps):
        graph.turn()
        assert waits(graph)
    graph.held.busy = 0.75
    for _ in range(graph.held.patience):
        assert waits(graph)
        graph.turn()
    graph.turn()
    assert not waits(graph)


@pytest.mark.parametrize(
    ("busy", "turns"), [(0.0, 0), (0.4, 0), (0.5, 1), (0.75, 33), (0.9, LONGEST), (1.0, LONGEST)]
)
def test_the_busier_a_graph_the_longer_marks_wait_for_rows(busy: float, turns: int) -> None:
    held = HeldMarks()
    held.busy = busy
    assert held.patience == turns


def test_rows_bring_promises_and_times_along_that_wait_before_them() -> None:
    queue, at_ten = Queue(2), rows(10)
    queue.put(0, empty(KX, cti=7), piggyback=True)
    queue.put(1, empty(KX, cti=3), piggyback=True)
    queue.put(0, empty(KX, now=9), piggyback=True)
    assert [(port, len(item)) for port, item in batches(queue)] == [(0, 0), (1, 0)]
    queue.put(0, at_ten, piggyback=True)
    queue.put(0, empty(KX, cti=10), piggyback=True)
    queue.put(0, at_ten, piggyback=True)
    assert [(port, len(item), item.cti, item.now) for port, item in batches(queue)] == [
        (1, 0, 3, BEGINNING),
        (0, 1, 10, 10),
        (0, 1, BEGINNING, 10),
    ]


def test_rows_bring_the_time_along() -> None:
    graph = busy([])
    graph.advance(21)
    graph.admit("s", rows(21))
    assert [*graph.held.times] == ["t"]


def test_a_stream_that_is_silent_beside_a_busy_one_is_heard() -> None:
    graph = busy([])
    for time in range(21, 21 + LONGEST):
        assert "t" in graph.held.times or time == 21
        graph.admit("s", rows(time))
        graph.advance(time)
        graph.turn()
    assert "t" not in graph.held.times


def test_drained_no_mark_is_left() -> None:
    graph = busy([])
    graph.advance(21)
    graph.drain()
    assert not waits(graph)


def test_how_busy_it_was_belongs_to_the_snapshot_also_if_no_mark_waits() -> None:
    graph = busy([])
    while graph.held.idle != 1:
        graph.turn()
    assert not waits(graph)
    moved = made([])
    moved.restore(graph.snapshot())
    assert (moved.held.busy, moved.held.idle) == (graph.held.busy, graph.held.idle)


@pytest.mark.parametrize("turns", [0, 1, 8, LONGEST])
def test_what_waits_belongs_to_the_snapshot(turns: int) -> None:
    out: list[Event] = []
    graph = busy(out)
    graph.advance(29)
    for _ in range(turns):
        graph.turn()
    states, again = graph.snapshot(), list[Event]()
    moved = made(again)
    moved.restore(states)
    before = len(out)
    for each in (graph, moved):
        each.admit("s", rows(30))
        for _ in range(8):
            each.advance(31)
            each.turn()
        each.drain()
    assert out[before:] == again
    after, copied = graph.snapshot(), moved.snapshot()
    assert after.keys() == copied.keys()
    for name, arrays in after.items():
        assert all(np.array_equal(arrays[key], copied[name][key]) for key in arrays)
