"""Sets in loops: rows of many derivations, graphs of some size, and what is held of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph
from driftline.engine.loop.least_level_kernel import LONG
from driftline.engine.loop.loop import Loop
from driftline.model.arrays import Int64s, Mask
from driftline.model.event import Event
from driftline.model.level import Level
from driftline.model.time import INFINITY
from driftline.plan.recursion import fixed_point
from tests.build import insert, retract
from tests.engine.loop.programs import CLOSURE, REACH, Program
from tests.engine.loop.test_loop import check


class Running:
    """A recursive program that runs, and the rows of its answer that have no end."""

    def __init__(self, program: Program, level: Level = Level.ORDERED) -> None:
        (plan,) = fixed_point(program.rules).values()
        self.there: dict[tuple[int, ...], int] = {}
        self.graph: Graph = compile_plan(plan, self._answer, level)

    def _answer(self, batch: Batch) -> None:
        rows = zip(*(column.to_pylist() for column in batch.payload.columns), strict=True)
        for row, end, weight in zip(rows, batch.ve.tolist(), batch.weight.tolist(), strict=True):
            if end == INFINITY:
                self.there[row] = self.there.get(row, 0) + weight

    def rows(self) -> list[tuple[int, ...]]:
        assert set(self.there.values()) <= {0, 1}
        return sorted(row for row, count in self.there.items() if count)

    def change(self, stream: str, sign: int, **columns: Int64s | list[int]) -> None:
        rows = pa.RecordBatch.from_pydict(
            {name: np.asarray(each) for name, each in columns.items()}
        )
        count = len(rows)
        vs, ve = np.zeros(count, np.int64), np.full(count, INFINITY)
        self.graph.push(stream, Batch(vs, ve, np.full(count, sign), rows, high=0))

    def state(self) -> tuple[int, int]:
        sizes = [step.operator.state_size() for step in self.graph.steps]
        return sum(rows for rows, _ in sizes), sum(held for _, held in sizes)

    def work(self) -> int:
        """How many changes the operators inside the loop have received."""
        (loop,) = (each.operator for each in self.graph.steps if isinstance(each.operator, Loop))
        return sum(step.operator.counters.changes_in for step in loop.graph.steps)


def hub() -> Iterator[tuple[int, Event]]:
    """A node that is reached over many others, each way with a lifetime of its own, and half of
    these ways taken back or shortened."""
    numbers = np.random.default_rng(3)
    many = LONG + 6
    yield 0, insert(0, None, {"n": 0})
    for node in range(1, many):
        yield 1, insert(0, None, {"a": 0, "b": node})
    ways = [
        (node, *sorted(numbers.choice(60, 2, replace=False).tolist())) for node in range(1, many)
    ]
    for node, start, end in ways:
        yield 1, insert(start, end, {"a": node, "b": -1})
    for node, start, end in ways[::2]:
        yield 1, retract(start, end, start + (node % 3) * (end - start) // 3, {"a": node, "b": -1})


@pytest.mark.parametrize("size", [25, 1000])
def test_a_row_of_many_derivations_is_its_reference(size: int) -> None:
    check(REACH, list(hub()), size)


def test_a_row_at_another_level_is_not_emitted_again() -> None:
    running = Running(REACH)
    emitted: list[Batch] = []
    running.graph.sinks.append((running.graph.steps[-1], emitted.append))
    running.change("roots", 1, n=[0])
    running.change("edges", 1, a=[0, 1, 2], b=[1, 2, 3])
    before = len(emitted)
    running.change("edges", 1, a=[0], b=[3])
    running.change("edges", -1, a=[0], b=[3])
    assert running.rows() == [(0,), (1,), (2,), (3,)]
    assert sum(map(len, emitted[before:])) == 0


@pytest.mark.parametrize("level", [Level.ORDERED, Level.EAGER])
def test_a_large_graph_is_what_a_search_finds(level: Level) -> None:
    """10,000 nodes, at sampled times of random insertions and deletions."""
    numbers, nodes = np.random.default_rng(1), 10_000
    running = Running(REACH, level)
    a, b = numbers.integers(0, nodes, (2, 13_000))
    running.change("roots", 1, n=[0, 1])
    running.change("edges", 1, a=a, b=b)
    for _ in range(5):
        gone = numbers.choice(len(a), 200, replace=False)
        running.change("edges", -1, a=a[gone], b=b[gone])
        new_a, new_b = numbers.integers(0, nodes, (2, 200))
        running.change("edges", 1, a=new_a, b=new_b)
        a, b = np.append(np.delete(a, gone), new_a), np.append(np.delete(b, gone), new_b)
        assert [n for (n,) in running.rows()] == np.flatnonzero(searched(a, b, nodes)).tolist()


def searched(a: Int64s, b: Int64s, nodes: int) -> Mask:
    """Which nodes are found from the first two, breadth first."""
    found = np.zeros(nodes, np.bool_)
    found[:2] = True
    while True:
        more = found.copy()
        more[b[found[a]]] = True
        if (more == found).all():
            return found
        found = more


def test_the_same_edges_in_turn_leave_nothing_behind() -> None:
    a, b = np.random.default_rng(2).integers(0, 60, (2, 90))
    a, b = np.append(a, np.arange(20)), np.append(b, np.arange(1, 21))
    running = Running(REACH)
    running.change("roots", 1, n=[0])
    held = []
    for _ in range(80):
        running.change("edges", 1, a=a, b=b)
        reached = running.rows()
        held.append(running.state())
        running.change("edges", -1, a=a, b=b)
        assert running.rows() == [(0,)]
    assert len(reached) > 10
    assert max(held[40:]) <= max(held[:40])


def test_a_ring_without_its_root_is_gone() -> None:
    running, count = Running(REACH), 200
    ring = np.arange(count)
    running.change("edges", 1, a=ring, b=(ring + 1) % count)
    for root in (0, 100):
        running.change("roots", 1, n=[root])
    running.change("roots", -1, n=[0])
    assert len(running.rows()) == count
    running.change("roots", -1, n=[100])
    assert running.rows() == []
    running.change("roots", 1, n=[7])
    assert len(running.rows()) == count


def test_a_closure_over_edges_that_expire_runs_in_bounded_state() -> None:
    """Ten times the stream: as much state, and as much work for every batch."""
    numbers, nodes, alive, size = np.random.default_rng(4), 200, 80, 40
    running = Running(CLOSURE, Level.EAGER)
    state, work, time = [], [0], 0
    for _ in range(100):
        a, b = numbers.integers(0, nodes, (2, size))
        vs = time + np.arange(size)
        time += size
        rows = pa.RecordBatch.from_pydict({"a": a, "b": b})
        batch = Batch(vs, vs + alive, np.ones(size, np.int64), rows, cti=time, high=int(vs[-1]))
        running.graph.push("edges", batch)
        state.append(running.state())
        work.append(running.work())
    first, rest = np.array(state[:10]), np.array(state[10:])
    assert (np.median(rest, axis=0) <= 1.25 * np.median(first[2:], axis=0)).all()
    assert (rest.max(axis=0) <= 2.5 * first.max(axis=0)).all()
    batches = np.diff(work)
    assert np.mean(batches[-50:]) <= 1.25 * np.mean(batches[:50])


def steps() -> Iterator[tuple[int, Event]]:
    """A node that is reached over many others, one after the other and each time in more steps, so
    that it has as many segments as ways; then a short way is there all the time, and goes again."""
    yield 0, insert(0, None, {"n": 0})
    for node in range(1, LONG - 1):
        yield 1, insert(0, None, {"a": node - 1, "b": node})
        yield 1, insert(3 * node, 3 * node + 2, {"a": node, "b": -1})
    yield 1, insert(0, 100, {"a": 0, "b": -1})
    yield 1, retract(0, 100, 7, {"a": 0, "b": -1})


@pytest.mark.parametrize("size", [1, 9, 1000])
def test_a_row_of_many_segments_is_its_reference(size: int) -> None:
    check(REACH, list(steps()), size)
