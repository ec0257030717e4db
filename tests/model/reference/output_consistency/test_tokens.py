from __future__ import annotations

from itertools import islice
from math import inf
from random import Random

from hypothesis import given, settings

from driftline.model.reference.output_consistency import (
    Execution,
    Heeding,
    OutputState,
    Plan,
    PlanNode,
    TokenExecution,
    cut,
    is_closed,
)
from driftline.model.reference.output_consistency.plan import join, union
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


def random_tokens(seed: int, together: bool | None = None, all_end: bool = False) -> TokenExecution:
    random = Random(seed)
    plan = random_plan(random)
    ends = [stream for stream in plan.streams if all_end or random.random() < 0.5]
    execution = TokenExecution(
        plan,
        random_inputs(random, plan),
        every={stream: random.randint(1, 3) for stream in plan.streams},
        together=random.random() < 0.5 if together is None else together,
        ends=frozenset(ends),
    )
    sizes = random_sizes(random) if random.random() < 0.5 else ()
    execution.run(islice(random_schedule(random), 400), sizes=sizes)
    return execution


@given(seeds)
@settings(max_examples=80)
def test_every_token_at_an_output_is_a_closed_and_exact_state(seed: int) -> None:
    execution = random_tokens(seed)
    for mark in execution.marks:
        shown = execution.put_out[mark.output][: mark.so_far]
        assert is_exact(execution, mark.output, mark.prefix, shown)
        assert is_closed(OutputState(execution.trace, mark.output, mark.so_far), mark.prefix)


@given(seeds)
def test_what_operators_hold_at_a_token_is_a_snapshot_of_the_whole_plan(seed: int) -> None:
    execution = random_tokens(seed)
    for (name, number), held in execution.snapshots.items():
        prefix = {
            stream: execution.cuts.get((stream, number), len(execution.inputs[stream]))
            for stream in execution.plan.streams
        }
        inputs = cut(execution.inputs, prefix)
        taken = execution.plan.nodes[name].takes
        assert held == [execution.plan.answer(each, inputs) for each in taken]


@given(seeds)
def test_tokens_put_in_together_wait_for_no_rows(seed: int) -> None:
    # Whatever streams end, are slow or silent: in the end nothing is left in any channel but the
    # tokens ∞ of streams that have ended, and every token has come out of every output.
    execution = random_tokens(seed, together=True)
    for queue in execution.channels.values():
        assert [*queue] in ([], [(inf,)])
    for output in execution.plan.outputs:
        streams = [s for s in execution.plan.streams if s in execution.plan.ancestors(output)]
        put_in = max(execution.tokens[stream] for stream in streams)
        finite = [n for name, n in execution.snapshots if name == output and n < inf]
        assert finite == [*range(1, put_in + 1)]


@given(seeds)
def test_when_all_streams_end_the_last_token_marks_the_whole_input(seed: int) -> None:
    execution = random_tokens(seed, all_end=True)
    assert not any(execution.channels.values())
    for output in execution.plan.outputs:
        last = [mark for mark in execution.marks if mark.output == output][-1]
        assert all(last.prefix[stream] == len(execution.inputs[stream]) for stream in last.prefix)
        assert last.so_far == len(execution.put_out[output])


CROSS = Plan(("X", "Y"), {"join": PlanNode(join(lambda x, y: True), ("X", "Y"))}, ("join",))


def test_a_port_that_has_its_token_is_not_read_until_the_other_has_its_own() -> None:
    inputs = {"X": rows("a", "b"), "Y": rows("k", "l")}
    execution = TokenExecution(CROSS, inputs, every={"X": 1, "Y": 2}, together=False)
    follow(execution, "X X join.0 Y")
    assert [channel.target for channel in execution.ready()] == ["Y", "join"]
    assert [channel.port for channel in execution.ready()] == [0, 1]  # b waits behind a token
    execution.run()
    assert [(mark.prefix, mark.so_far) for mark in execution.marks] == [({"X": 1, "Y": 2}, 2)]


def test_a_silent_stream_blocks_tokens_that_are_put_in_separately_but_not_together() -> None:
    inputs = {"X": rows("a", "b", "c"), "Y": rows()}
    marks = {}
    for together in (False, True):
        execution = TokenExecution(CROSS, inputs, every={"X": 1, "Y": 1}, together=together)
        execution.run()
        marks[together] = [mark.prefix["X"] for mark in execution.marks]
    assert marks == {False: [], True: [1, 2, 3]}


def test_a_stream_that_has_ended_has_all_further_tokens() -> None:
    inputs = {"X": rows("a", "b", "c"), "Y": rows("k")}
    ends = frozenset({"Y"})
    execution = TokenExecution(CROSS, inputs, every={"X": 1, "Y": 1}, together=False, ends=ends)
    execution.run()
    assert [mark.prefix for mark in execution.marks] == [{"X": n, "Y": 1} for n in (1, 2, 3)]


def test_any_number_of_tokens_may_lie_on_one_path_while_the_other_is_slow() -> None:
    plan = Plan(
        ("X",),
        {
            "slow": PlanNode(union(), ("X",)),
            "fast": PlanNode(union(), ("X",)),
            "output": PlanNode(union(), ("slow", "fast")),
        },
        ("output",),
    )
    execution = TokenExecution(plan, {"X": rows(*range(9))}, every={"X": 1})
    follow(execution, "X*9 fast*18")
    assert len([n for name, n in execution.snapshots if name == "fast"]) == 9
    assert not [n for name, n in execution.snapshots if name == "slow"]


@given(seeds)
def test_tokens_and_heeding_agree(seed: int) -> None:
    # At a token all labels of its prefix have left the channels; heeding finds at least that.
    random = Random(seed)
    plan = random_plan(random)
    every = dict.fromkeys(plan.streams, 2)
    execution = TokenExecution(plan, random_inputs(random, plan), every)
    heedings = {output: Heeding(execution, output) for output in plan.outputs}
    execution.run(random_schedule(random), *(each.observe for each in heedings.values()))
    for mark in execution.marks:
        found = heedings[mark.output].marks
        assert not any(mark.prefix.values()) or any(
            mark.so_far == each.so_far
            and all(each.prefix[stream] >= n for stream, n in mark.prefix.items())
            for each in found
        )


def test_without_tokens_it_is_an_ordinary_execution() -> None:
    inputs = {"X": rows("a"), "Y": rows("k")}
    execution = TokenExecution(CROSS, inputs, every={"X": 9, "Y": 9})
    plain = Execution(CROSS, inputs)
    execution.run()
    plain.run()
    assert execution.works == plain.works
    assert not execution.marks
