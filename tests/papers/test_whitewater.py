"""The examples of the paper on the consistency of continuous queries: Figures 1, 2 and 4.

Rows are named as in the paper; a joined row is written as its parts side by side. Each output state
is what has come out when so many elements have.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from driftline.model.reference.output_consistency import (
    Execution,
    Heeding,
    Plan,
    PlanNode,
    Work,
    consistent_prefixes,
    cut,
    is_closed,
    is_input_prefix_update_complete,
    is_update_complete,
    update_complete_prefixes,
)
from driftline.model.reference.output_consistency.heeding import Label
from driftline.model.reference.output_consistency.plan import join, project, union
from tests.model.reference.output_consistency.executions import follow, rows, verdicts

CROSS = join(lambda left, right: True)


def shown(execution: Execution, output: str, so_far: int) -> list[str]:
    return [change.row for change in execution.put_out[output][:so_far]]


# Figure 1: one join of two inbound streams.
#
#     left   a  b                  output   ak bk │ al bl
#     right        k     l                       (a)     (b)
FIGURE_1 = Plan(("left", "right"), {"join": PlanNode(CROSS, ("left", "right"))}, ("join",))


def figure_1() -> Execution:
    execution = Execution(FIGURE_1, {"left": rows("a", "b"), "right": rows("k", "l")})
    follow(execution, "left join.0 left join.0 right join.1 right join.1")
    return execution


def test_figure_1_what_a_join_puts_out_while_it_works_on_l() -> None:
    execution = figure_1()
    assert shown(execution, "join", 4) == ["ak", "bk", "al", "bl"]
    complete = [is_update_complete(execution.state("join", n)) for n in range(5)]
    assert complete == [True, False, True, False, True]


def test_figure_1_right_before_bl_no_prefix_has_this_answer() -> None:
    # b is there, because of bk; that bl is missing looks as if b had gone before l came.
    execution = figure_1()
    before_bl = Counter(["ak", "bk", "al"])
    assert not [
        *consistent_prefixes(execution.inputs, lambda i: FIGURE_1.answer("join", i), before_bl)
    ]
    assert not verdicts(execution, "join", 3).consistent


def test_figure_1_the_states_a_and_b_and_their_prefixes() -> None:
    execution = figure_1()
    a, b = execution.state("join", 2), execution.state("join", 4)
    assert next(update_complete_prefixes(a)) == {"left": 0, "right": 1}
    assert is_closed(a, {"left": 2, "right": 1})
    assert is_closed(b, {"left": 2, "right": 2})
    # Active derivation alone does not say that a and b are in it: ak and bk are derived from k.
    assert is_input_prefix_update_complete(a, {"left": 0, "right": 1})
    assert not is_closed(a, {"left": 0, "right": 1})
    answers = [
        [*consistent_prefixes(execution.inputs, lambda i: FIGURE_1.answer("join", i), answer)]
        for answer in (Counter(["ak", "bk"]), Counter(["ak", "bk", "al", "bl"]))
    ]
    assert answers == [[{"left": 2, "right": 1}], [{"left": 2, "right": 2}]]


def test_figure_1_the_first_element_is_an_answer_but_not_of_this_execution() -> None:
    # ak is the answer for a and k; but k was joined with a and b, and bk is still to come.
    assert verdicts(figure_1(), "join", 1)[:4] == (False, False, False, True)


def test_figure_1_revisited_without_k_the_order_of_processing_decides() -> None:
    inputs = {"left": rows("a", "b"), "right": rows("l")}
    l_first = Execution(FIGURE_1, inputs)
    follow(l_first, "right join.1 left join.0 left join.0")
    l_last = Execution(FIGURE_1, inputs)
    follow(l_last, "left join.0 left join.0 right join.1")
    assert shown(l_first, "join", 2) == shown(l_last, "join", 2) == ["al", "bl"]
    assert [is_update_complete(l_first.state("join", n)) for n in range(3)] == [True] * 3
    assert [is_update_complete(l_last.state("join", n)) for n in range(3)] == [True, False, True]
    # Consistency sees inputs and output only, and says the same of both.
    for execution in (l_first, l_last):
        assert [verdicts(execution, "join", n).consistent for n in range(3)] == [True] * 3


# Figure 2: l is still before O1 while what O2 made of it is before O3.
#
#     Emitter1 (a b) ────▶ O1 ──┐
#     Emitter2 (k l m) ─┬▶ O1   ├─▶ O3 ─▶ output
#                       └▶ O2 ──┘
FIGURE_2 = Plan(
    ("Emitter1", "Emitter2"),
    {
        "O1": PlanNode(CROSS, ("Emitter1", "Emitter2")),
        "O2": PlanNode(project(lambda row: f"{row}'"), ("Emitter2",)),
        "O3": PlanNode(CROSS, ("O1", "O2")),
    },
    ("O3",),
)


def figure_2() -> Execution:
    execution = Execution(FIGURE_2, {"Emitter1": rows("a", "b"), "Emitter2": rows("k", "l", "m")})
    follow(execution, "Emitter1*2 O1.0*2 Emitter2 O1.1 O2 O3.0*2 O3.1 Emitter2 O2")
    return execution


def test_figure_2_the_output_of_o3_reflects_l_only_in_part() -> None:
    execution = figure_2()  # part (b): l is before O1, l' before O3
    assert shown(execution, "O3", 9) == ["akk'", "bkk'"]
    follow(execution, "O3.1")  # O3 works on l'
    assert shown(execution, "O3", 9) == ["akk'", "bkk'", "akl'", "bkl'"]
    execution.run()
    assert verdicts(execution, "O3", 2) == (True,) * 4 + (False,)
    assert verdicts(execution, "O3", 4) == (False,) * 5


def test_figure_2_the_output_is_right_again_when_o1_has_seen_l() -> None:
    execution = figure_2()
    follow(execution, "O3.1 O1.1 O3.0*2")
    execution.run()
    state = execution.state("O3", 8)
    assert {*shown(execution, "O3", 8)} == {
        left + right + other for left in "ab" for right in "kl" for other in ("k'", "l'")
    }
    assert [verdicts(execution, "O3", n).consistent for n in range(3, 9)] == [False] * 5 + [True]
    assert is_closed(state, {"Emitter1": 2, "Emitter2": 2})


# Figure 4: a1b1, a2b2 and a1b2 is the whole answer. What is underlined there is active here:
# a1b1 by b1, a2b2 by a2, and a1b2, which is delayed, by b2. (The set that the text gives has a2b1
# where the example needs a2b2.)
FIGURE_4 = Plan(
    ("A", "B"),
    {
        "equal": PlanNode(join(lambda left, right: left[1] == right[1]), ("A", "B")),
        "other": PlanNode(join(lambda left, right: left + right == "a1b2"), ("A", "B")),
        "output": PlanNode(union(), ("equal", "other")),
    },
    ("output",),
)


FIGURE_4_INPUTS = {"A": rows("a1", "a2"), "B": rows("b1", "b2")}
FIGURE_4_STEPS = "A equal.0 B equal.1 output.0 B equal.1 A equal.0 output.0"


def figure_4() -> Execution:
    execution = Execution(FIGURE_4, FIGURE_4_INPUTS)
    follow(execution, FIGURE_4_STEPS)
    return execution


def test_figure_4_the_last_tuple_is_delayed() -> None:
    execution = figure_4()
    assert shown(execution, "output", 9) == ["a1b1", "a2b2"]
    execution.run()
    assert shown(execution, "output", 9) == ["a1b1", "a2b2", "a1b2"]
    origins = [execution.trace.origins[each] for each in execution.trace.output("output")]
    assert [next(iter(event)) for event in origins] == [("B", 1), ("A", 2), ("B", 2)]


def test_figure_4_active_derivation_alone_takes_the_state_for_consistent() -> None:
    # Definitions 1 and 2 hold: a1, a2 and b1 derive a1b1 and a2b2 actively, and nothing else. But
    # a2b2 is derived from b2 as well, passively, and no prefix has the answer {a1b1, a2b2}. The
    # inclusion of Figure 3 needs a prefix that is closed.
    execution = figure_4()
    execution.run()
    state = execution.state("output", 2)
    assert is_update_complete(state)
    assert [*update_complete_prefixes(state)] == [{"A": 2, "B": 1}]
    assert not is_closed(state)
    assert not verdicts(execution, "output", 2).consistent
    assert is_closed(execution.state("output", 3), {"A": 2, "B": 2})


class ActiveOnly(Heeding):
    """Labels that leave out what was stored."""

    def _label(self, work: Work) -> Label:
        return super()._label(replace(work, uses=()))


def test_figure_4_labels_have_to_name_passive_events_too() -> None:
    def marked(kind: type[Heeding]) -> list[int]:
        execution = Execution(FIGURE_4, FIGURE_4_INPUTS)
        heeding = kind(execution, "output")
        follow(execution, FIGURE_4_STEPS, heeding.observe)
        execution.run((), heeding.observe)
        return [mark.so_far for mark in heeding.marks]

    assert 2 in marked(ActiveOnly)
    assert 2 not in marked(Heeding)
    assert marked(Heeding)[-1] == 3


def test_the_whole_input_is_a_prefix_in_every_example() -> None:
    for execution, output in ((figure_1(), "join"), (figure_2(), "O3"), (figure_4(), "output")):
        execution.run()
        whole = {stream: len(events) for stream, events in execution.inputs.items()}
        assert is_closed(execution.state(output), whole)
        assert execution.output(output) == execution.plan.answer(
            output, cut(execution.inputs, whole)
        )
