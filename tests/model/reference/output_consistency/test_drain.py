from __future__ import annotations

from random import Random

from hypothesis import given

from driftline.model.reference.output_consistency import Execution, drain, is_closed
from tests.model.reference.output_consistency.executions import (
    is_exact,
    random_inputs,
    random_plan,
    seeds,
)


@given(seeds)
def test_every_event_drained_is_a_closed_and_exact_state(seed: int) -> None:
    random = Random(seed)
    plan = random_plan(random)
    inputs = random_inputs(random, plan)
    order = [stream for stream, events in inputs.items() for _ in events]
    random.shuffle(order)
    execution = Execution(plan, inputs)
    marks = drain(execution, order)
    assert len(marks) == len(order) * len(plan.outputs)
    for mark in marks:
        shown = execution.put_out[mark.output][: mark.so_far]
        assert is_exact(execution, mark.output, mark.prefix, shown)
        assert is_closed(execution.state(mark.output, mark.so_far), mark.prefix)
