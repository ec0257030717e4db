from __future__ import annotations

from hypothesis import given

from driftline.model.reference.output_consistency import Change, Channel, Execution, Plan, PlanNode
from driftline.model.reference.output_consistency.plan import aggregate, select, union
from driftline.model.reference.output_consistency.trace import Inbound
from tests.model.reference.output_consistency.executions import (
    follow,
    random_execution,
    rows,
    seeds,
)

SUM = Plan(("X",), {"sum": PlanNode(aggregate(lambda row: "all", sum), ("X",))}, ("sum",))


@given(seeds)
def test_in_the_end_every_order_gives_the_answer_for_all_inputs(seed: int) -> None:
    execution = random_execution(seed)
    for name in execution.plan.edges:
        assert execution.output(name) == execution.plan.answer(name, execution.inputs)
    assert not any(execution.channels.values())


def test_an_aggregate_takes_back_what_it_has_put_out() -> None:
    execution = Execution(SUM, {"X": [Change(2, at=1), Change(3, at=2), Change(3, -1, at=5)]})
    execution.run()
    assert execution.put_out["sum"] == [
        Change(("all", 2), 1, 1),
        Change(("all", 2), -1, 2),
        Change(("all", 5), 1, 2),
        Change(("all", 5), -1, 5),
        Change(("all", 2), 1, 5),
    ]


def test_what_an_operator_takes_at_once_is_put_out_at_once() -> None:
    execution = Execution(SUM, {"X": rows(2, 3, 4)})
    follow(execution, "X X X")
    work = execution.take(Channel("sum", 0), most=2)
    assert work is not None
    assert len(work.takes) == 2
    assert execution.put_out["sum"] == [Change(("all", 5), 1, 2)]
    assert execution.trace.origins[work.puts[0]] == {Inbound("X", 1), Inbound("X", 2)}


def test_the_trace_names_what_took_part() -> None:
    plan = Plan(("X",), {"sum": PlanNode(aggregate(lambda row: row % 2, sum), ("X",))}, ("sum",))
    execution = Execution(plan, {"X": rows(1, 2, 3)})
    execution.run()
    used = [
        execution.trace.lineage[work.puts[-1]] for work in execution.works if work.operator == "sum"
    ]
    assert used == [{("X", 1)}, {("X", 2)}, {("X", 1), ("X", 3)}]


def test_what_is_shared_is_one_element_in_several_queues() -> None:
    plan = Plan(
        ("X",),
        {
            "left": PlanNode(select(lambda row: True), ("X",)),
            "right": PlanNode(select(lambda row: False), ("X",)),
            "both": PlanNode(union(), ("left", "right")),
        },
        ("both",),
    )
    execution = Execution(plan, {"X": rows("x")})
    follow(execution, "X")
    left, right = (execution.channels[Channel(name, 0)][0] for name in ("left", "right"))
    assert left == right
    execution.run()
    assert [work.puts for work in execution.works if work.operator == "right"] == [()]
