from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Literal

import pytest
from hypothesis import given, settings

from driftline.model.reference.output_consistency import (
    Execution,
    Heeding,
    Mark,
    OutputState,
    Plan,
    PlanNode,
    Prefix,
    is_closed,
    is_update_complete,
)
from driftline.model.reference.output_consistency.heeding import Vector
from driftline.model.reference.output_consistency.plan import (
    Change,
    aggregate,
    join,
    select,
    union,
)
from tests.model.reference.output_consistency.executions import (
    follow,
    is_exact,
    random_inputs,
    random_plan,
    random_schedule,
    random_sizes,
    rows,
    seeds,
)


def random_heedings(seed: int) -> list[Heeding]:
    """One random execution, observed in every way for each of its outputs. Half of them take
    several elements at once now and then."""
    random = Random(seed)
    plan = random_plan(random)
    execution = Execution(plan, random_inputs(random, plan))
    detections: list[Literal["output", "leaving"]] = ["output", "leaving"]
    found: list[Literal["scan", "multiset"]] = ["scan", "multiset"]
    heedings = [
        Heeding(execution, output, detection, active)
        for output in plan.outputs
        for detection in detections
        for active in found
    ]
    sizes = random_sizes(random) if random.random() < 0.5 else ()
    execution.run(random_schedule(random), *(each.observe for each in heedings), sizes=sizes)
    return heedings


def is_true(execution: Execution, mark: Mark) -> bool:
    return is_exact(
        execution, mark.output, mark.prefix, execution.put_out[mark.output][: mark.so_far]
    )


@given(seeds)
@settings(max_examples=80)
def test_every_mark_is_closed_and_exact(seed: int) -> None:
    for heeding in random_heedings(seed):
        for mark in heeding.marks:
            assert is_true(heeding.execution, mark)
            state = OutputState(heeding.execution.trace, mark.output, mark.so_far)
            assert is_closed(state, mark.prefix)


@given(seeds)
def test_scanning_queues_and_multisets_find_the_same(seed: int) -> None:
    heedings = random_heedings(seed)
    for scan, multiset in zip(heedings[::2], heedings[1::2], strict=True):
        assert scan.marks == multiset.marks


@given(seeds)
def test_detection_when_something_leaves_finds_all_states_and_the_last_one(seed: int) -> None:
    heedings = random_heedings(seed)
    for at_output, leaving in zip(heedings[0::4], heedings[2::4], strict=True):
        assert all(mark in leaving.marks for mark in at_output.marks)
        execution, output = leaving.execution, leaving.output
        streams = execution.plan.ancestors(output) & {*execution.plan.streams}
        if any(execution.inputs[stream] for stream in streams):
            whole = {stream: len(execution.inputs[stream]) for stream in sorted(streams)}
            assert leaving.marks[-1] == Mark(output, whole, len(execution.put_out[output]))


@given(seeds)
def test_marks_never_go_back(seed: int) -> None:
    for heeding in random_heedings(seed):
        for earlier, later in zip(heeding.marks, heeding.marks[1:], strict=False):
            assert earlier.so_far <= later.so_far
            assert all(later.prefix[stream] >= n for stream, n in earlier.prefix.items())


class Forgetting(Heeding):
    """Drops what is within the greatest prefix, of works and of every stored element."""

    def _greatest_prefix(self) -> Vector:
        prefix = super()._greatest_prefix()
        self.came_to_nothing = [each for each in self.came_to_nothing if not each.vector <= prefix]
        for element, label in self.labels.items():
            left = Counter({s: n for s, n in label.vector.items() if n > prefix[s]})
            self.labels[element] = replace(label, vector=left)
        return prefix


@given(seeds)
def test_what_is_within_the_greatest_prefix_can_be_forgotten(seed: int) -> None:
    random = Random(seed)
    plan = random_plan(random)
    execution = Execution(plan, random_inputs(random, plan))
    keeping = [Heeding(execution, output) for output in plan.outputs]
    forgetting = [Forgetting(execution, output) for output in plan.outputs]
    observers = [each.observe for each in [*keeping, *forgetting]]
    execution.run(random_schedule(random), *observers, sizes=random_sizes(random))
    assert [each.marks for each in keeping] == [each.marks for each in forgetting]
    assert not any(each.came_to_nothing for each in forgetting)  # nothing is active in the end


class WithoutTheThird(Heeding):
    """Takes no account of works that came to nothing."""

    def _greatest_prefix(self) -> Vector:
        return self._frontier()


@given(seeds)
def test_the_third_condition_is_not_needed_where_no_row_takes_another_away(seed: int) -> None:
    # Joins, selects, projects and unions of streams that only insert.
    random = Random(seed)
    plan = random_plan(random, linear=True)
    inputs = {
        stream: [change for change in changes if change.weight > 0]
        for stream, changes in random_inputs(random, plan).items()
    }
    execution = Execution(plan, inputs)
    heedings = [WithoutTheThird(execution, output) for output in plan.outputs]
    execution.run(random_schedule(random), *(each.observe for each in heedings))
    for heeding in heedings:
        for mark in heeding.marks:
            assert is_true(execution, mark)


# The printed method, and where it goes wrong.


def followed(
    plan: Plan, inputs: dict[str, list[Change]], steps: str, as_printed: bool
) -> tuple[Execution, list[Mark]]:
    """Takes from the channels named, then everything else; the marks of the first part."""
    execution = Execution(plan, inputs)
    heeding = Heeding(execution, plan.outputs[0], as_printed=as_printed)
    follow(execution, steps, heeding.observe)
    marks = [*heeding.marks]
    execution.run((), heeding.observe)
    assert all(is_true(execution, mark) for mark in heeding.marks) or as_printed
    return execution, marks


SUM_OVER_TEN = Plan(
    ("X", "Y"),
    {
        "both": PlanNode(union(), ("X", "Y")),
        "sum": PlanNode(
            aggregate(lambda row: "", lambda group: sum(v for _, v in group)), ("both",)
        ),
        "over": PlanNode(select(lambda row: bool(row[1] > 10)), ("sum",)),
        "direct": PlanNode(union(), ("X", "Y")),
        "output": PlanNode(union(), ("over", "direct")),
    },
    ("output",),
)
UNCHANGED_MAX = Plan(
    ("X", "Y"),
    {
        "both": PlanNode(union(), ("X", "Y")),
        "max": PlanNode(
            aggregate(lambda row: "", lambda group: max(v for _, v in group)), ("both",)
        ),
        "direct": PlanNode(union(), ("X", "Y")),
        "output": PlanNode(union(), ("max", "direct")),
    },
    ("output",),
)
JOINED = Plan(
    ("X", "Y"),
    {
        "join": PlanNode(join(lambda x, y: True), ("X", "Y")),
        "direct": PlanNode(union(), ("X", "Y")),
        "output": PlanNode(union(), ("join", "direct")),
    },
    ("output",),
)


@pytest.mark.parametrize(
    ("plan", "inputs", "steps", "prefix"),
    [
        pytest.param(
            SUM_OVER_TEN,
            {"X": rows(("x", 20)), "Y": rows(("y", -15))},
            "Y both.1 sum over X both.0 sum over over direct.0 output.1",
            {"X": 1, "Y": 0},
            id="a filter drops what y has made of the sum with x",
        ),
        pytest.param(
            UNCHANGED_MAX,
            {"X": rows(("x", 5)), "Y": rows(("y", 10))},
            "Y both.1 max X both.0 max direct.0 output.1",
            {"X": 1, "Y": 0},
            id="x does not change the maximum, because y is there",
        ),
        pytest.param(
            JOINED,
            {"X": rows("x"), "Y": [Change("y"), Change("y", -1)]},
            "Y join.1 direct.1 output.1 Y join.1 X join.0 direct.0 output.1",
            {"X": 1, "Y": 1},
            id="x finds no partner, because y has been retracted",
        ),
    ],
)
def test_a_work_that_came_to_nothing_has_a_reason(
    plan: Plan, inputs: dict[str, list[Change]], steps: str, prefix: Prefix
) -> None:
    execution, printed = followed(plan, inputs, steps, as_printed=True)
    assert printed[-1].prefix == prefix
    assert not is_true(execution, printed[-1])
    _, marks = followed(plan, inputs, steps, as_printed=False)
    assert prefix not in [mark.prefix for mark in marks]


def test_the_active_event_needs_a_place_of_its_own() -> None:
    # x1 meets x2, which took the shorter way; the maximum says 2. What x1 derives is still to come.
    plan = Plan(
        ("X",),
        {
            "copy": PlanNode(union(), ("X",)),
            "join": PlanNode(join(lambda left, right: bool(left < right)), ("copy", "X")),
            "direct": PlanNode(union(), ("X",)),
            "output": PlanNode(union(), ("join", "direct")),
        },
        ("output",),
    )
    inputs = {"X": rows("x1", "x2")}
    steps = "X X copy join.1 join.1 join.0 direct output.1"
    execution, printed = followed(plan, inputs, steps, as_printed=True)
    assert [mark.prefix for mark in printed if mark.so_far] == [{"X": 1}]
    assert not is_update_complete(execution.state("output", 1))
    _, marks = followed(plan, inputs, steps, as_printed=False)
    assert not [mark for mark in marks if mark.so_far]


def test_a_filtered_event_moves_the_prefix_on_though_nothing_comes_out() -> None:
    plan = Plan(("X",), {"output": PlanNode(select(lambda row: False), ("X",))}, ("output",))
    execution = Execution(plan, {"X": rows(1, 2, 3)})
    heeding = Heeding(execution, "output")
    execution.run((), heeding.observe)
    assert [mark.prefix["X"] for mark in heeding.marks] == [0, 1, 2, 3][-len(heeding.marks) :]
    assert heeding.marks[-1] == Mark("output", {"X": 3}, 0)
