"""Heeding: what is on its way into a queue is not done. The marks of whole runs: `test_prefix`."""

from __future__ import annotations

import pytest

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.graph import Step
from driftline.engine.core.labels import Vector
from driftline.engine.outputs.heeding import Heeding
from driftline.plan.choices import Heeding as How


@pytest.mark.parametrize("how", ["multiset", "naive"])
def test_an_input_is_active_until_it_lies_in_its_queues(how: How) -> None:
    marks: list[Vector] = []

    def consistent(step: Step, vector: Vector) -> None:
        marks.append(vector)

    graph = compile_plan(dl.stream("s", {"x": "INT"}).where("x > 0").plan, lambda batch: None)
    heeding = Heeding(graph, how, consistent)
    label = heeding.admit("s")
    heeding.detect()  # as another thread may that has just ended a work
    assert marks == [(0,)]
    heeding.release(label)
    assert marks == [(0,), (1,)]
