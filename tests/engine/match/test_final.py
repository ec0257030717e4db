"""Final matches: each once, when no row to come can change it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.plain import batch_of, events_of
from driftline.model.event import CLOSE, Cti, Event, Insert
from driftline.model.history import canonical_history
from driftline.model.level import Level
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.plan.finals import only_final
from driftline.plan.nodes import Match
from tests.matches import meaning

S = dl.stream("s", {"k": "STRING", "t": "BIGINT", "x": "BIGINT"}, time="t")
LEVELS = [Level.ORDERED, Level.EAGER]


def finals(query: dl.Query, batches: list[list[Event]], level: Level) -> list[list[Event]]:
    """What is emitted after each batch, if only final answers are wanted."""
    out: list[Batch] = []
    graph = compile_plan(only_final(query.plan, ["s"]), out.append, level, inserts_only=["s"])
    emitted = []
    for batch in batches:
        out.clear()
        graph.push("s", batch_of(batch, S.schema.arrow))
        emitted.append([event for each in out for event in events_of(each)])
    return emitted


def came(x: int, t: int, k: str = "a") -> Event:
    return Insert(t, INFINITY, Row(k=k, t=t, x=x))


def rows(events: list[Event]) -> list[dict[str, object]]:
    assert all(isinstance(event, (Insert, Cti)) for event in events)
    return [dict(event.row) for event in events if isinstance(event, Insert)]


@pytest.mark.parametrize("level", LEVELS)
def test_a_greedy_match_is_final_when_a_row_has_come_that_does_not_go_on(level: Level) -> None:
    query = S.match("A+", {"A": "x > 0"}, {"n": "count(*)"}, by="t", per="k")
    batches: list[list[Event]] = [
        [came(1, 1), came(1, 3), Cti(4)],
        [came(1, 5), Cti(6)],
        [came(0, 8), came(1, 9), Cti(8)],
        [came(1, 8, "b"), Cti(9)],
        [CLOSE],
    ]
    emitted = [rows(each) for each in finals(query, batches, level)]
    assert emitted[:3] == [[], [], []]
    assert emitted[3] == [{"k": "a", "n": 3}]
    assert sorted(map(str, emitted[4])) == ["{'k': 'a', 'n': 1}", "{'k': 'b', 'n': 1}"]


@pytest.mark.parametrize("level", LEVELS)
def test_a_match_that_cannot_go_on_is_final_with_its_last_row(level: Level) -> None:
    query = S.match("A+ B", {"A": "x > 0", "B": "x = 0"}, {"n": "count(*)"}, by="t")
    batches: list[list[Event]] = [
        [came(1, 1), came(0, 3), Cti(3)],
        [came(2, 3), Cti(4)],  # late: a row of the same time
        [came(0, 5), CLOSE],
    ]
    emitted = [rows(each) for each in finals(query, batches, level)]
    assert emitted == [[], [{"n": 2}], [{"n": 2}]]


@pytest.mark.parametrize("level", LEVELS)
def test_a_match_is_final_when_its_time_is_over(level: Level) -> None:
    query = S.match("A+", {"A": "x > 0"}, {"n": "count(*)"}, by="t", within=5)
    batches: list[list[Event]] = [[came(1, 1), came(1, 3), Cti(5)], [Cti(6)], [CLOSE]]
    assert [rows(each) for each in finals(query, batches, level)] == [[], [{"n": 2}], []]


@settings(max_examples=40)
@given(
    records=st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 3)), max_size=8
    ),
    pattern=st.sampled_from(["A+ B", "A B+", "A (B | C)*", "A? B", "A B+? C", "(A | B) C $"]),
    within=st.sampled_from([None, 3]),
    output=st.sampled_from(["one", "all", "with unmatched"]),
    level=st.sampled_from(LEVELS),
)
def test_final_matches_come_once_and_are_those_of_the_end(
    records: list[tuple[str, int, int]],
    pattern: str,
    within: int | None,
    output: str,
    level: Level,
) -> None:
    query = S.match(
        pattern,
        {"A": "x > 0", "B": "x > PREV(x)"},
        {"n": "count(*)", "first": "FIRST(t)"},
        by="t",
        per="k",
        rows=output,  # type: ignore[arg-type]
        within=within,
    )
    batches: list[list[Event]] = []
    time = 0
    for k, x, step in records:  # each is up to three ticks after the cti before it
        batches.append([came(x, time + step, k), Cti(time)])
        time += step % 2
    match = query.plan
    assert isinstance(match, Match)
    wanted = meaning(replace(match, settled=True))
    so_far: list[Event] = []
    emitted: Counter[Row] = Counter()
    last = meaning(match)(canonical_history(e for batch in batches for e in batch))
    at_the_end = last.snapshot(INFINITY - 1)
    for batch, answer in zip(batches, finals(query, batches, level), strict=True):
        so_far += batch
        emitted.update(Row(row) for row in rows(answer))
        cti = max(event.t for event in so_far if isinstance(event, Cti))
        settled = Counter(
            Row({name: row[name] for name in row if name != "$settled"})
            for row in wanted(canonical_history(so_far)).snapshot(INFINITY - 1).elements()
            if row["$settled"] is not None and row["$settled"] < cti
        )
        assert emitted <= at_the_end
        looks_ahead = within is not None and "$" in pattern  # then settled by a later row
        assert emitted <= settled if looks_ahead else emitted == settled
    closed = finals(query, [*batches, [CLOSE]], level)
    assert Counter(Row(row) for answer in closed for row in rows(answer)) == at_the_end


def test_what_was_settled_before_is_not_emitted_again_when_the_time_of_an_attempt_is_over() -> None:
    query = S.match(
        "A+ B", {"A": "x > 0"}, "count(*) AS n", by="t", rows="with unmatched", within=3
    )
    out: list[Batch] = []
    graph = compile_plan(query.plan, out.append, Level.ORDERED, inserts_only=["s"])
    for batch in ([came(0, 0), came(1, 0), Cti(1)], [Cti(3)], [Cti(4)]):
        graph.push("s", batch_of(batch, S.schema.arrow))
    inserted = [event for each in out for event in events_of(each) if isinstance(event, Insert)]
    assert [event.row["x"] for event in inserted] == [0, 1]
