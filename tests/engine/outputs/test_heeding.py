"""Heeding: whatever is scheduled when, what is marked is the answer for the prefix that is named.

The marks of whole runs: `test_prefix`.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph, Step
from driftline.engine.core.labels import Label, Vector
from driftline.engine.core.plain import batch_of, events_of
from driftline.engine.core.queues import Item
from driftline.engine.outputs.heeding import Active, Heeding
from driftline.model.event import CLOSE, Event, Insert
from driftline.model.history import canonical_history
from driftline.model.level import Level
from driftline.model.row import Row
from tests.engine.core.free_runs import cut
from tests.engine.held_to_reference import KX
from tests.engine.test_plans import ARRIVALS, PLANS, Both, S, T


class Heeded:
    """A query that runs free: what every source has let in, batch by batch, who has worked on what
    came of which of these, and what has come out. At every mark that is what comes out if nothing
    but the prefix is let in, and worked on in the same order. (At `eager` the order is of no
    account; how far the other levels have come depends on it.)"""

    def __init__(self, query: dl.Query, level: Level, how: Active) -> None:
        self.query, self.level = query, level
        self.out: list[Batch] = []
        self.graph = self._made(self.out)
        self.heeding = Heeding(self.graph, how, self._consistent)
        self.came: dict[str, list[Batch]] = {name: [] for name in self.graph.sources}
        self.done: list[tuple[Label, str | Step]] = []
        self.marks: list[Vector] = []

    def _made(self, out: list[Batch]) -> Graph:
        return compile_plan(self.query.plan, out.append, self.level, "round-robin")

    def admit(self, source: str, *events: Event) -> None:
        if source in self.came and events:
            batch = batch_of(events, KX)
            self.came[source].append(batch)
            label = self.heeding.admit(source)
            self.done.append((label, source))
            self.graph.admit(source, replace(batch, label=label))

    def work(self, step: Step) -> None:
        """Let an operator work on one item, if it has one."""
        if (taken := step.queue.take()) is not None:
            self.work_on(step, *taken)

    def work_on(self, step: Step, port: int, item: Item) -> None:
        assert isinstance(item, Batch)
        assert item.label is not None
        self.done.append((item.label, step))
        self.graph.work_on(step, port, item)

    def drain(self) -> None:
        while any(step.queue for step in self.graph.steps):
            for step in self.graph.steps:
                self.work(step)

    def _consistent(self, step: Step, prefix: Vector) -> None:
        self.marks.append(prefix)
        emitted, truth = (
            canonical_history(event for batch in batches for event in events_of(batch))
            for batches in (self.out, self._afresh(prefix))
        )
        assert emitted.same_snapshots(truth)

    def _afresh(self, prefix: Vector) -> list[Batch]:
        out: list[Batch] = []
        graph = self._made(out)
        if self.level is Level.EAGER:
            for (source, batches), count in zip(self.came.items(), prefix, strict=True):
                for batch in batches[:count]:
                    graph.push(source, batch)
            return out
        for label, what in self.done:
            if label.number > prefix[label.source]:
                continue
            if isinstance(what, str):
                graph.admit(what, self.came[what][label.number - 1])
                continue
            step = graph.steps[self.graph.steps.index(what)]
            if (taken := step.queue.take()) is not None:
                graph.work_on(step, *taken)
        return out


@settings(max_examples=40)
@given(
    PLANS,
    ARRIVALS,
    st.randoms(use_true_random=False),
    st.sampled_from(Level),
    st.sampled_from(["multiset", "naive"]),
)
def test_every_mark_is_true_whoever_works_next(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, level: Level, how: Active
) -> None:
    run = Heeded(plan.query, level, how)
    for stretch in cut([*arrivals, (0, CLOSE), (1, CLOSE)], random):
        for port, events in enumerate(stretch):
            run.admit("st"[port], *events)
        for _ in range(random.randrange(6)):
            run.work(random.choice(run.graph.steps))
    run.drain()
    assert run.marks[-1] == tuple(len(batches) for batches in run.came.values())


def inserted(key: str, x: int, vs: int = 0) -> Insert:
    return Insert(vs, dl.INFINITY, Row({"k": key, "x": x}))


def marks_of_two_groups(level: Level) -> list[Vector]:
    """Sums of s and t by key. The first of s touches only group a and comes out alone, while that
    of t, for group b, is still in the queue before the sums' output."""
    query = S.union(T).group_by("k").agg("sum(x) AS x").where("x > 0")
    run = Heeded(query, level, "multiset")
    *_, last = run.graph.steps
    run.admit("t", inserted("b", 1))
    for step in run.graph.steps:
        if step is not last:
            run.work(step)
    run.admit("s", inserted("a", 1))
    for step in run.graph.steps:
        if step is not last:
            run.work(step)
    taken = [last.queue.items.pop() for _ in range(2)]
    run.work_on(last, *taken[0])  # that of s, before that of t
    marks = list(run.marks)
    run.work_on(last, *taken[1])
    assert run.marks[-1] == (1, 1)
    return marks


def test_groups_that_were_not_touched_take_no_part() -> None:
    assert marks_of_two_groups(Level.EAGER) == [(1, 0)]


def test_what_moves_time_takes_part_in_all_groups() -> None:
    assert marks_of_two_groups(Level.ORDERED) == []


@pytest.mark.parametrize("how", ["multiset", "naive"])
def test_an_input_is_active_until_it_lies_in_its_queues(how: Active) -> None:
    marks: list[Vector] = []

    def consistent(step: Step, vector: Vector) -> None:
        marks.append(vector)

    graph = compile_plan(dl.stream("s", {"x": "INT"}).where("x > 0").plan, lambda batch: None)
    heeding = Heeding(graph, how, consistent)
    label = heeding.admit("s")
    heeding.detect()  # as another thread may that has just ended a work
    assert marks == []
    heeding.leave_out(label)
    assert marks == [(1,)]
