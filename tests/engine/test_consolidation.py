from __future__ import annotations

import driftline as dl
from driftline.engine.compile import compile_plans
from driftline.engine.core.batch import Batch
from driftline.engine.join import Join
from driftline.engine.stateless.project import Project


def netting(query: dl.Query) -> list[bool]:
    """Who consolidates, of the joins and projects of a plan in their order."""
    emitted: list[Batch] = []
    graph = compile_plans([(query.plan, emitted.append)])
    operators = [step.operator for step in graph.steps]
    return [each.consolidates for each in operators if isinstance(each, (Project, Join))]


LEFT = dl.stream("l", {"t": "BIGINT", "key": "BIGINT", "x": "BIGINT"}, time="t").window(range=5)
RIGHT = dl.stream("r", {"u": "BIGINT", "key": "BIGINT", "y": "BIGINT"}, time="u").window(range=5)


def test_the_output_is_consolidated() -> None:
    assert netting(LEFT.select("x + 1 AS x")) == [True]
    assert any(netting(LEFT.join(RIGHT, on="key")))


def test_nobody_nets_for_an_aggregate() -> None:
    joined = LEFT.join(RIGHT, on="key").select("x + y AS z").agg("sum(z) AS s")
    assert not any(netting(joined))


def test_of_two_projects_the_last_one_nets() -> None:
    assert netting(LEFT.select("x + 1 AS x").select("x * 0 AS x")) == [False, True]


def test_a_select_in_between_wants_what_is_consolidated() -> None:
    assert netting(LEFT.select("x + 1 AS x").where("x > 1").agg("sum(x) AS s"))[0]
