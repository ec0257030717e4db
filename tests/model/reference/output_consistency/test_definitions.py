from __future__ import annotations

from collections import Counter

from hypothesis import given, settings

from driftline.model.event import Cti, Insert
from driftline.model.history import History, canonical_history
from driftline.model.reference.output_consistency import (
    Execution,
    Inbound,
    OutputState,
    Plan,
    PlanNode,
    Trace,
    Work,
    closed_prefixes,
    consistent_prefixes,
    is_closed,
    is_cut_at_one_time,
    is_input_prefix_consistent,
    is_input_prefix_update_complete,
    is_update_complete,
    prefixes,
    synchronised_prefixes,
    update_complete_prefixes,
)
from driftline.model.reference.output_consistency.plan import aggregate, join, select, union
from tests.build import cti, insert
from tests.model.reference.output_consistency.executions import (
    follow,
    is_exact,
    random_execution,
    rows,
    seeds,
    verdicts,
)


def states(execution: Execution) -> list[tuple[str, int]]:
    """Every state of every output."""
    return [
        (output, so_far)
        for output in execution.plan.outputs
        for so_far in range(len(execution.put_out[output]) + 1)
    ]


# Figure 3 of the paper: which class contains which.


@given(seeds)
def test_figure_3_what_holds_for_every_state_of_every_execution(seed: int) -> None:
    execution = random_execution(seed)
    for output, so_far in states(execution):
        verdict = verdicts(execution, output, so_far)
        assert verdict.input_prefix_update_complete or not verdict.closed
        assert verdict.update_complete or not verdict.input_prefix_update_complete
        assert verdict.consistent or not verdict.closed
        assert verdict.consistent or not verdict.synchronised


@given(seeds)
def test_the_first_and_the_last_state_are_all_that_a_state_can_be(seed: int) -> None:
    execution = random_execution(seed)
    for output in execution.plan.outputs:
        for so_far in (0, len(execution.put_out[output])):
            assert all(verdicts(execution, output, so_far))


@given(seeds)
@settings(max_examples=30)
def test_every_prefix_that_closes_a_state_has_its_answer(seed: int) -> None:
    execution = random_execution(seed)
    for output, so_far in states(execution):
        state = execution.state(output, so_far)
        for prefix in closed_prefixes(state):
            assert is_exact(execution, output, prefix, execution.put_out[output][:so_far])


CROSS = join(lambda left, right: True)


def test_update_complete_with_a_hole_in_the_input() -> None:
    # x1 and x2 of one stream take two ways; what x2 derives comes out, x1 is delayed.
    plan = Plan(
        ("X",),
        {
            "odd": PlanNode(select(lambda row: row == "x1"), ("X",)),
            "even": PlanNode(select(lambda row: row == "x2"), ("X",)),
            "output": PlanNode(union(), ("odd", "even")),
        },
        ("output",),
    )
    execution = Execution(plan, {"X": rows("x1", "x2")})
    follow(execution, "X X odd even*2 output.1")
    execution.run()
    assert verdicts(execution, "output", 1) == (True, False, False, False, False)


def test_consistent_but_of_another_execution() -> None:
    # The output is the answer for (l1, r1), but r1 was joined with l1 and l2 at once.
    plan = Plan(("L", "R"), {"output": PlanNode(CROSS, ("L", "R"))}, ("output",))
    execution = Execution(plan, {"L": rows("a", "b"), "R": rows("k")})
    follow(execution, "L output.0 L output.0 R output.1")
    assert verdicts(execution, "output", 1) == (False, False, False, True, True)


def test_consistent_for_a_prefix_that_no_time_cuts() -> None:
    # Both rows of L come before the only one of R is read: at times 1, 2 and 1.
    plan = Plan(("L", "R"), {"output": PlanNode(union(), ("L", "R"))}, ("output",))
    execution = Execution(plan, {"L": rows("a", "b"), "R": rows("k")})
    follow(execution, "L output.0 L output.0")
    execution.run()
    assert verdicts(execution, "output", 2) == (True, True, True, True, False)


def test_a_prefix_that_derives_nothing_else_need_not_be_an_answer() -> None:
    # y takes the sum below 10 before x comes, so that the work on x gives nothing; and what y
    # itself derives is delayed. All that is ever derived from x, actively or passively, is out.
    #
    #     X (20) ──┬──────────────────────▶ ┐
    #              └▶ sum ─▶ over 10 ─────▶ ├─▶ output    x
    #     Y (-15) ─┬▶ sum                   │
    #              └──────────────────────▶ ┘
    plan = Plan(
        ("X", "Y"),
        {
            "both": PlanNode(union(), ("X", "Y")),
            "sum": PlanNode(
                aggregate(lambda row: "sum", lambda group: sum(v for _, v in group)), ("both",)
            ),
            "over": PlanNode(select(lambda row: row[1] > 10), ("sum",)),
            "direct": PlanNode(union(), ("X", "Y")),
            "output": PlanNode(union(), ("over", "direct")),
        },
        ("output",),
    )
    execution = Execution(plan, {"X": rows(("x", 20)), "Y": rows(("y", -15))})
    follow(execution, "Y both.1 sum over X both.0 sum over*2 direct.0 output.1")
    execution.run()
    state = execution.state("output", 1)
    assert is_input_prefix_update_complete(state, {"X": 1, "Y": 0})
    element = state.elements[0]
    assert execution.trace.lineage[element] == {Inbound("X", 1)}
    assert verdicts(execution, "output", 1)[:4] == (True, True, False, False)


def test_the_example_of_the_documentation() -> None:
    # docs/model.md: two orders, of 10 and of 5, their total and their number.
    plan = Plan(
        ("orders",),
        {
            "total": PlanNode(aggregate(lambda row: "all", sum), ("orders",)),
            "count": PlanNode(aggregate(lambda row: "all", len), ("orders",)),
            "answer": PlanNode(join(lambda total, count: True), ("total", "count")),
        },
        ("answer",),
    )
    execution = Execution(plan, {"orders": rows(10, 5)})
    shown, exact = [], []
    for steps in (
        "orders total answer.0",
        "count answer.1",
        "orders total answer.0 answer.0",
        "count answer.1 answer.1",
    ):
        follow(execution, steps)
        answer = execution.output("answer")
        shown.append([row[1::2] for row in answer])
        found = consistent_prefixes(execution.inputs, lambda i: plan.answer("answer", i), answer)
        exact.append([prefix["orders"] for prefix in found])
    assert shown == [[], [(10, 1)], [(15, 1)], [(15, 2)]]
    assert exact == [[0], [1], [], [2]]


# Traces from elsewhere.


def test_a_batch_is_derived_from_all_that_was_taken() -> None:
    trace = Trace(
        [
            Work("scan", (Inbound("s", 1), Inbound("s", 2)), puts=("batch 1",)),
            Work("scan", (Inbound("s", 3),), puts=("batch 2",)),
            Work("sum", ("batch 1",), puts=("answer 1", "answer 2")),
            Work("sum", ("batch 2",), uses=("batch 1",), puts=("answer 3",)),
        ],
        {"scan": ["sum"]},
    )
    state = [OutputState(trace, "sum", so_far) for so_far in range(4)]
    assert [is_update_complete(each) for each in state] == [True, False, True, True]
    assert [[*update_complete_prefixes(each)] for each in state[2:]] == [[{"s": 2}], [{"s": 3}]]
    assert [each.read for each in state] == [{"s": 3}] * 4
    assert is_closed(state[2], {"s": 2})
    assert not is_closed(state[2], {"s": 1})


def test_what_has_been_read_in_a_state() -> None:
    trace = Trace(
        [
            Work("out", (Inbound("s", 1),), puts=(1, 2)),
            Work("out", (Inbound("t", 1),)),
            Work("out", (Inbound("s", 2),), puts=(3,)),
            Work("out", (Inbound("s", 3),)),
        ],
        {},
    )
    read = [OutputState(trace, "out", so_far).read for so_far in range(4)]
    assert read == [{}, {"s": 1}, {"s": 1, "t": 1}, {"s": 3, "t": 1}]


def test_a_prefix_that_has_not_been_read_is_none() -> None:
    # The second event is read after the state, and derives nothing.
    trace = Trace([Work("out", (Inbound("s", 1),), puts=(1,)), Work("out", (Inbound("s", 2),))], {})
    early, late = OutputState(trace, "out", 0), OutputState(trace, "out", 1)
    assert not is_closed(early, {"s": 1})
    assert is_closed(late, {"s": 2})
    assert not is_closed(late, {"s": 3})
    assert not is_input_prefix_update_complete(late, {"t": 1, "s": 1})
    assert not is_input_prefix_consistent({"s": "ab"}, lambda i: len(i["s"]), 2, {"s": 3})
    assert is_input_prefix_consistent({"s": "ab"}, lambda i: len(i["s"]), 2, {"s": 2})


def test_answers_may_be_histories_of_events() -> None:
    inputs = {"a": [insert(1, 5, "x"), insert(5, 9, "x"), cti(9)], "b": [insert(2, 3, "y")]}
    output = canonical_history([insert(1, 9, "x")])

    def query(inputs: object) -> History:
        assert isinstance(inputs, dict)
        return canonical_history(event for events in inputs.values() for event in events)

    assert not [*consistent_prefixes(inputs, query, output)]
    assert [*consistent_prefixes(inputs, query, output, History.same_snapshots)] == [
        {"a": 2, "b": 0},
        {"a": 3, "b": 0},
    ]


def test_prefixes_of_one_time_among_late_events() -> None:
    # 5 comes before 3, so no time between 3 and 5 cuts the stream; a cti is on either side.
    inputs = {"a": [insert(1, None, "p"), insert(5, None, "q"), insert(3, None, "r"), cti(6)]}

    def time(event: object) -> int | None:
        return event.vs if isinstance(event, Insert) else None

    cuts = [
        prefix["a"] for prefix in prefixes({"a": 4}) if is_cut_at_one_time(inputs, prefix, time)
    ]
    assert cuts == [0, 1, 3, 4]
    assert isinstance(inputs["a"][3], Cti)
    count = [
        *synchronised_prefixes(inputs, lambda i: Counter(len=len(i["a"])), Counter(len=2), time)
    ]
    assert count == []


def test_prefixes_come_shortest_first() -> None:
    assert [(each["a"], each["b"]) for each in prefixes({"a": 2, "b": 1})] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
    ]
