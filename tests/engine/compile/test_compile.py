"""Every node has an operator."""

from __future__ import annotations

import pytest

import driftline as dl
from driftline.engine.compile import BUILDERS, compile_plan
from driftline.engine.ingest.holding import Holding
from driftline.plan.nodes import Back, Node
from tests.plan.test_nodes import EXAMPLES

ALONE = [node for kind, node in EXAMPLES.items() if kind is not Back]
"""Those that stand by themselves: an edge back is compiled with its loop."""


def test_every_node_has_an_operator() -> None:
    assert set(BUILDERS) == set(EXAMPLES) - {Back}


@pytest.mark.parametrize("node", ALONE, ids=lambda node: type(node).__name__)
def test_an_operator_has_the_columns_of_its_node(node: Node) -> None:
    graph = compile_plan(node, lambda batch: None)
    ((step, _),) = graph.sinks
    assert step.operator.schema == node.schema.arrow
    assert any(each.wants_order for each in graph.steps) == any(
        each.wants_order for each in node.walk()
    )


@pytest.mark.parametrize("node", ALONE, ids=lambda node: type(node).__name__)
def test_what_a_node_says_of_state_is_so_for_its_operator(node: Node) -> None:
    steps = compile_plan(node, lambda batch: None).steps
    keeps_rows = any(not each.is_stateless for each in node.walk())
    assert any(step.operator.uses_state for step in steps) == keeps_rows


def test_explode_passes_rows_in_any_order() -> None:
    exploded = dl.stream("s", {"t": "BIGINT", "x": "ARRAY<INT>"}, time="t").explode("x")
    limits = []
    for query in (exploded, exploded.distinct()):
        graph = compile_plan(query.plan, lambda batch: None)
        limits.append(Holding(graph, "operator").limits({"s": 5})["s"])
    assert limits == [dl.INFINITY, 5]
