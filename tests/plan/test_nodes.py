"""Every node answers every question that the rest of the project has about it."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

import driftline as dl
from driftline.plan import nodes
from driftline.plan.expressions import Column, Expression
from driftline.plan.facts import Closes, Facts, Times
from driftline.plan.finals import final
from driftline.plan.lifetimes import Coalescing
from driftline.plan.native import Native
from driftline.plan.needed import needed
from driftline.plan.nodes import Keys, Node, Remarks
from driftline.plan.types import Schema
from tests.matches import match_node

S = dl.stream("s", {"k": "STRING", "x": "BIGINT", "at": "BIGINT", "a": "ARRAY<INT>"}, time="at")
T = dl.stream("t", {"k": "STRING", "x": "BIGINT", "at": "BIGINT", "a": "ARRAY<INT>"}, time="at")
PLAIN = ["s", "t"]


EXAMPLES: dict[type[Node], Node] = {
    type(node): node
    for node in (
        S.plan,
        nodes.constant(2, timestamps=False),
        nodes.Leaf("s", S.plan.schema, time="at"),
        S.alias("a").plan,
        S.where("x > 1").plan,
        S.select("k", "x + 1 AS x", "at").plan,
        S.explode("a").plan,
        S.tumble(5).plan,
        S.window(range=5).plan,
        nodes.Clip(S.plan, Column("x", S.schema.fields[1].type), 2, "until"),
        S.session(5, per="k").plan,
        S.session(5, per="k", at_most=9, columns=True).plan,
        nodes.SessionMembers(S.plan, (Column("k", S.schema.fields[0].type),), 5),
        dl.stream("s", {"k": "STRING", "x": "BIGINT", "at": "BIGINT"}, time="at", key="k").plan,
        nodes.Coalesce(S.distinct().plan),
        final(S.tumble(5).plan, PLAIN),
        S.distinct().plan,
        S.stitch().plan,
        nodes.Aggregate(
            S.plan, (nodes.Named("k", Column("k", S.schema.fields[0].type)),), aggregates=()
        ),
        S.top(2, by="x", per="k").plan,
        S.over("lag(x) AS l", per="k", by="x").plan,
        match_node(S.plan, "A B+", {"B": "x > PREV(x)"}, {"n": "count(*)"}, per=["k"], by=["at"]),
        S.join(T, "s.k = t.k").plan,
        S.as_of(T, "s.k = t.k AND s.at >= t.at").plan,
        S.union(T).plan,
        S.minus(T).plan,
        S.automaton(
            dl.Automaton("S", ["F"], [dl.Transition("S", "F", "a")]),
            sequence="x",
            symbol="k",
            per="k",
        ).plan,
        nodes.Back("r", Schema.of({"k": "STRING"})),
        nodes.Loop(
            (S.select("k").plan,),
            (
                nodes.Rule(
                    "r",
                    Schema.of({"k": "STRING"}),
                    nodes.Leaf("input 0", S.select("k").schema),
                    True,
                ),
            ),
            10,
        ),
    )
}


def subclasses() -> Iterator[type[Node]]:
    """All classes of nodes that the project has."""
    waiting = Node.__subclasses__()
    while waiting:
        each = waiting.pop()
        waiting += each.__subclasses__()
        if each.__module__.startswith("driftline."):
            yield each


@dataclass(frozen=True)
class Asked:
    """A question: how it is asked of a node, and what an answer looks like."""

    ask: Callable[[Node, Facts], object]
    kinds: tuple[type, ...]


def of_columns(ask: Callable[[Node, int, Facts], object]) -> Callable[[Node, Facts], object]:
    return lambda node, facts: [ask(node, place, facts) for place in range(len(node.schema))]


NOTHING = type(None)
QUESTIONS = {
    "schema": Asked(lambda node, facts: node.schema, (Schema,)),
    "inputs": Asked(lambda node, facts: node.inputs, (tuple,)),
    "label": Asked(lambda node, facts: node.label(), (str,)),
    "is_loose": Asked(lambda node, facts: node.is_loose, (bool,)),
    "goes_by": Asked(lambda node, facts: node.goes_by, (str, NOTHING)),
    "only_grows": Asked(lambda node, facts: node.only_grows(facts), (bool,)),
    "never_ends": Asked(lambda node, facts: node.never_ends(facts), (bool,)),
    "is_table": Asked(lambda node, facts: node.is_table(facts), (bool,)),
    "origin": Asked(of_columns(lambda node, place, facts: node.origin(place)), (list,)),
    "reads": Asked(lambda node, facts: node.reads(frozenset({0})), (tuple,)),
    "closes": Asked(lambda node, facts: node.closes(facts), (dict,)),
    "after_vs": Asked(of_columns(lambda node, place, facts: node.after_vs(place, facts)), (list,)),
    "times": Asked(of_columns(lambda node, place, facts: node.times(place, facts)), (list,)),
    "required_keys": Asked(lambda node, facts: node.required_keys, (tuple, NOTHING)),
    "is_stateless": Asked(lambda node, facts: node.is_stateless, (bool,)),
    "wants_order": Asked(lambda node, facts: node.wants_order, (bool,)),
    "native": Asked(lambda node, facts: node.native, (Native, NOTHING)),
    "remarks": Asked(lambda node, facts: node.remarks("ordered", facts), (Remarks,)),
}
ITEMS = {"origin": Expression, "after_vs": int, "times": Times}


def test_a_question_has_no_answer_that_is_right_for_every_node() -> None:
    assert Node.__abstractmethods__ == set(QUESTIONS)


def test_every_class_of_nodes_has_an_example() -> None:
    assert {each for each in set(subclasses()) if not inspect.isabstract(each)} == set(EXAMPLES)


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_node_answers(kind: type[Node], question: str) -> None:
    asked = QUESTIONS[question]
    answer = asked.ask(EXAMPLES[kind], Facts(PLAIN))
    assert isinstance(answer, asked.kinds)
    if isinstance(answer, list):
        assert all(each is None or isinstance(each, ITEMS[question]) for each in answer)


@pytest.mark.parametrize("node", EXAMPLES.values(), ids=lambda node: type(node).__name__)
def test_answers_fit_the_inputs(node: Node) -> None:
    facts = Facts(PLAIN)
    read = node.reads(frozenset(range(len(node.schema))))
    assert len(read) == len(node.inputs)
    for given, places in zip(node.inputs, read, strict=True):
        assert places <= set(range(len(given.schema)))
    for keys, given in zip(node.required_keys or (), node.inputs, strict=False):
        assert all(key.columns() <= set(given.schema.names) for key in keys)
    for side, given in enumerate(node.inputs):
        origins = [node.origin(place, side) for place in range(len(node.schema))]
        assert all(each is None or each.columns() <= set(given.schema.names) for each in origins)
    assert all(isinstance(each, Closes) for each in node.closes(facts).values())
    assert node.with_inputs(node.inputs) == node
    assert pickle.loads(pickle.dumps(node)) == node


@pytest.mark.parametrize("node", EXAMPLES.values(), ids=lambda node: type(node).__name__)
def test_what_keeps_rows_says_what_evicts_them(node: Node) -> None:
    remarks = node.remarks("ordered", Facts(PLAIN))
    assert bool(remarks.state) == bool(remarks.evicted)
    if node.inputs:
        assert node.is_stateless == (not remarks.state)
        assert node.is_stateless or node.wants_order
        assert node.native is None or node.is_stateless
        assert node.required_keys is None or not node.is_stateless


def test_a_class_that_does_not_answer_cannot_be_made() -> None:
    @dataclass(frozen=True)
    class Silent(nodes.Rowwise):
        @property
        def schema(self) -> Schema:
            return self.input.schema

    with pytest.raises(TypeError, match="computes_with.*goes_by.*label.*native.*origin"):
        Silent(S.plan)  # type: ignore[abstract]


def test_a_node_that_is_used_twice_comes_once_and_after_its_inputs() -> None:
    shared = S.where("x > 1")
    plan = shared.union(shared.select("k", "x", "at", "a")).plan
    labels = [node.label().split()[0] for node in plan.from_below()]
    assert labels == ["source", "select", "project", "union"]
    assert sorted(map(id, plan.from_below())) == sorted(map(id, plan.walk()))


def test_a_plan_of_many_uses_is_gone_through_once() -> None:
    query = S
    for _ in range(60):  # 2**60 ways down
        query = query.union(query)
    plan, facts = query.plan, Facts(PLAIN)
    assert facts.only_grows(plan)
    assert facts.closes(plan) == {}
    assert facts.times(plan, 2) == Times(1)
    assert not plan.is_loose
    assert needed(plan) == {}
    assert Coalescing().of(plan) is plan


# A fixed point: its body reads what has been found so far under the name of the node.


@dataclass(frozen=True)
class FixedPoint(nodes.SetOperation):
    """What follows from the left, if the right says what follows from a row found before."""

    name: str = "found"

    def label(self) -> str:
        return f"fixed point {self.name}"

    @property
    def required_keys(self) -> tuple[Keys, ...] | None:
        return ((), ())


def test_an_edge_back_is_a_name() -> None:
    pairs = dl.stream("pairs", {"a": "BIGINT", "b": "BIGINT"})
    found = dl.Query(nodes.Leaf("found", pairs.schema))
    further = found.alias("f").join(pairs.alias("p"), "f.b = p.a").select("f.a AS a", "p.b AS b")
    plan = FixedPoint(pairs.plan, further.plan, "intersect", distinct=True)
    assert plan.tree().splitlines()[0] == "fixed point found"
    assert [node.label() for node in plan.walk()].count("from found") == 1
    assert needed(plan) == {"found": {0, 1}}
    assert not Facts(["pairs"]).only_grows(plan)
    assert Coalescing().of(plan) is plan
