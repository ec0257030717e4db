"""How old the state of operators is: the oldest and the newest time that it is about."""

from __future__ import annotations

from typing import Literal

import pytest

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.plain import batch_of
from driftline.engine.state.fields import NOTHING_HELD, joined_span
from driftline.model.event import Cti, Event, Insert
from driftline.model.reference import Level
from driftline.model.row import Row
from tests.engine.test_plans import KX, S, T

EVENTS: list[Event] = [
    Insert(3, 9, Row(k="a", x=1)),
    Insert(5, dl.INFINITY, Row(k="b", x=2)),
    Insert(12, 20, Row(k="a", x=3)),
]


def span(query: dl.Query, events: list[Event]) -> tuple[int, int]:
    graph = compile_plan(query.plan, lambda batch: None, Level.EAGER)
    for name in query.plan.sources():
        graph.push(name, batch_of(events, KX))
    return joined_span(*(step.operator.state_span() for step in graph.steps))


@pytest.mark.parametrize(
    "query",
    [
        S.group_by("k").agg("sum(x) AS x"),
        S.group_by("k").agg("median(x) AS x"),
        S.top(1, by="x"),
        S.distinct(),
    ],
)
def test_what_is_held_is_of_its_events_times(query: dl.Query) -> None:
    oldest, newest = span(query, EVENTS)
    assert oldest == 3
    assert 12 <= newest <= 20
    later, _ = span(query, [*EVENTS, Cti(11)])
    assert later >= 5  # a cti has let the first event go
    assert span(query, [*EVENTS, Cti(dl.INFINITY)]) == NOTHING_HELD
    assert span(query, []) == NOTHING_HELD


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_join_lets_go_when_that_is_worth_it(how: Literal["inner", "left"]) -> None:
    query = S.join(T.select("k", "x AS y"), on="k", how=how)
    assert span(query, EVENTS) == (3, 12)
    assert span(query, [*EVENTS, Cti(11)])[1] == 12
    assert span(query, []) == NOTHING_HELD


def test_what_keeps_nothing_has_no_age() -> None:
    assert span(S.where("x > 1"), EVENTS) == NOTHING_HELD
