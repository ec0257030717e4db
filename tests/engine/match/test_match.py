"""MATCH_RECOGNIZE, held to its reference after every batch."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftline.engine.by_rows.order_words import OrderBy
from driftline.engine.expressions import EvaluationError
from driftline.engine.limits import Limits, limited
from driftline.engine.match.match import Match
from driftline.model.event import Cti, Event, Insert, Retract
from driftline.model.level import Level
from driftline.model.patterns import SkipError
from driftline.model.row import Row, Value
from driftline.model.time import INFINITY
from driftline.plan import nodes
from driftline.plan.errors import PlanError
from driftline.plan.expressions import Column
from driftline.plan.nodes import RowsPerMatch
from driftline.testing import streams
from driftline.testing.driving import batch_of, events_of
from tests.engine.held_snapshots import BATCH_SIZES, hold
from tests.matches import match_node, meaning

COLUMNS = {"f": "double", "k": "string", "t": "bigint", "x": "int"}
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "f": st.sampled_from([None, 0.5, 1.5, float("nan")]),
    "k": st.sampled_from(["a", "b", None]),
    "t": st.sampled_from([1, 2, 3, 5, 8]),
    "x": st.sampled_from([None, 0, 1, 2, 3]),
}
ALONE = ["x > 1", "x IN (1, 2)", "x IS NULL OR f > 1"]
NEAR = ["x < PREV(x)", "x >= NEXT(x)", "coalesce(PREV(x, 2), 0) < x", "NEXT(x) IS NULL"]
OF_MATCH = [
    "x > FIRST(x)",
    "x <> LAST(x, 1) OR LAST(x, 1) IS NULL",
    "x >= A.x",
    "B.x IS NULL OR x + 1 > FIRST(B.x, 1)",
    "count(*) < 3",
    "count(A.x) <= count(B.*)",
    "sum(x) < 4",
    "avg(f) <= 1.0D AND max(x) > 0",
    "f / 2 < min(f)",
    "k = FIRST(k)",
    "concat(k, FIRST(k)) IN ('aa', 'ab')",
    "LAST(CLASSIFIER(), 1) = 'A' OR x > 1",
    "MATCH_NUMBER() < 3 AND x > 0",
    "CASE WHEN A.x > PREV(x) THEN x > 0 ELSE FIRST(x) = 1 END",
    "PREV(FIRST(x)) IS NULL",
    "concat(string(sum(x)), k) <> '1a'",
]
MEASURES = [
    "count(*)",
    "sum(A.x)",
    "FIRST(x)",
    "LAST(B.x)",
    "LAST(x, 1)",
    "PREV(FIRST(x))",
    "NEXT(LAST(x), 2)",
    "MATCH_NUMBER()",
    "CLASSIFIER()",
    "FINAL LAST(x)",
    "avg(f)",
    "array_agg(x)",
    "count(DISTINCT x)",
    "concat(FIRST(k), FIRST(CLASSIFIER()))",
    "coalesce(A.x, -1) + B.x",
]
LETTERS = st.sampled_from(["A", "B", "C"])


@st.composite
def patterns(draw: st.DrawFn, depth: int = 2) -> str:
    """The text of a random pattern."""
    kinds = ["letter", "letter"]
    if depth:
        kinds += ["concat", "concat", "concat", "alternate", "repeat", "repeat", "group", "anchor"]
    kind = draw(st.sampled_from(kinds))

    def inner() -> str:
        return draw(patterns(depth - 1))

    if kind == "letter":
        return draw(LETTERS)
    if kind == "concat":
        return " ".join(inner() for _ in range(draw(st.integers(2, 3))))
    if kind == "alternate":
        return f"({inner()} | {inner()})"
    if kind == "repeat":
        times = draw(st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{1,}"]))
        return f"({inner()}){times}{draw(st.sampled_from(['', '', '?']))}"
    if kind == "anchor":
        return draw(st.sampled_from([f"^ {inner()}", f"{inner()} $", f"({inner()} | ())"]))
    return draw(
        st.sampled_from([f"PERMUTE({draw(LETTERS)}, {inner()})", f"{{- {inner()} -}} {inner()}"])
    )


@st.composite
def matches(draw: st.DrawFn, *, by_time: bool) -> nodes.Match:
    """A random node; `by_time`: its first order is the time of the rows."""
    conditions = st.one_of(
        *(
            st.sampled_from(each)
            for each in draw(st.sampled_from([[ALONE], [ALONE, NEAR], [OF_MATCH, NEAR]]))
        )
    )
    pattern = draw(patterns())
    used = [name for name in "ABC" if name in pattern.replace("PERMUTE", "")]
    define = {name: draw(conditions) for name in used if draw(st.integers(0, 3))}
    define = {
        name: text for name, text in define.items()
        if all(f"{other}." not in text for other in "AB" if other not in used)
    }  # fmt: skip
    chosen = draw(st.lists(st.sampled_from(MEASURES), min_size=1, max_size=3))
    measures = {
        f"m{place}": text
        for place, text in enumerate(chosen)
        if all(f"{other}." not in text for other in "AB" if other not in used)
    }  # fmt: skip
    by = draw(st.sampled_from([["t"], ["t", "x DESC"]])) if by_time else draw(
        st.sampled_from([["t"], ["x DESC", "t"], ["f"], ["t DESC NULLS LAST"]])
    )  # fmt: skip
    skips = ["past last row", "past last row", "to next row", "to first {}", "to last {}"]
    try:
        return match_node(
            COLUMNS,
            pattern,
            define,
            measures or {"n": "count(*)"},
            per=draw(st.sampled_from([[], ["k"]])),
            by=by,
            output=draw(st.sampled_from(["one", "all", "omit empty", "with unmatched"])),
            skip=draw(st.sampled_from(skips)).format(draw(st.sampled_from(used))),
            within=draw(st.sampled_from([None, None, 3])) if by[0].startswith("t") else None,
        )
    except PlanError:
        return draw(matches(by_time=by_time))


def operator_of(node: nodes.Match, level: Level, *, in_order: bool = False) -> Match:
    """The operator of a node whose order goes by columns. Matches that grow are simulated from
    their first row on, which otherwise only longer ones are."""
    made = Match(
        node.input.schema.arrow,
        node.schema.arrow,
        [each.name for each in node.partition if isinstance(each, Column)],
        [
            OrderBy(each.value.name, each.descending, each.nulls_first)
            for each in node.order
            if isinstance(each.value, Column)
        ],
        node.pattern,
        [(each.name, each.value) for each in node.conditions],
        [(each.name, each.value) for each in node.measures],
        node.rows,
        node.skip,
        node.within,
        level,
        in_order=in_order,
    )
    made.rules = made.rules._replace(long=0)
    return made


def held(
    node: nodes.Match, events: Sequence[Event], level: Level, size: int, *, in_order: bool = False
) -> None:
    # That there is no row to skip to is an error of the reference, too.
    with contextlib.suppress(SkipError):
        hold(
            lambda: operator_of(node, level, in_order=in_order),
            node.input.schema.arrow,
            meaning(node),
            events,
            level,
            size,
        )


@st.composite
def plain_streams(draw: st.DrawFn, max_size: int = 9) -> list[Event]:
    """Rows that never end, by their time, in any order, with ctis."""
    values = dict(VALUES)
    del values["t"]
    rows = draw(
        st.lists(st.tuples(st.integers(1, 9), st.fixed_dictionaries(values)), max_size=max_size)
    )
    delays = draw(
        st.lists(st.sampled_from([0, 0, 0, 1, 4]), min_size=len(rows), max_size=len(rows))
    )
    arrived = [
        row
        for _, row in sorted(zip(delays, rows, strict=True), key=lambda pair: pair[0] + pair[1][0])
    ]
    events: list[Event] = []
    for place, (t, row) in enumerate(arrived):
        events.append(Insert(t, INFINITY, Row(t=t, **row)))
        rest = [later for later, _ in arrived[place + 1 :]]
        if draw(st.integers(0, 2)) == 0:
            latest = min(rest, default=t + draw(st.integers(0, 5)))
            events.append(Cti(latest - draw(st.sampled_from([0, 0, 1]))))
    return events


@pytest.mark.parametrize("level", Level)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_match_is_its_reference_after_every_batch(level: Level, data: st.DataObject) -> None:
    node = data.draw(matches(by_time=False))
    events = data.draw(streams(VALUES))
    held(node, events, level, data.draw(st.sampled_from(BATCH_SIZES)))


@pytest.mark.parametrize("level", [Level.ORDERED, Level.EAGER])
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_so_it_is_for_rows_by_time_that_never_end(level: Level, data: st.DataObject) -> None:
    node = data.draw(matches(by_time=True))
    held(
        node,
        data.draw(plain_streams()),
        level,
        data.draw(st.sampled_from(BATCH_SIZES)),
        in_order=True,
    )


GROWING = [
    "A+", "A B*", "(A+ B)+", "A+ B+", "(A | B)+ C", "A B+ C | A", "(A+? B)+", "A (B | A B)*",
    "(A | A B)+", "(A* B)+", "A{2,}", "(A | B C | B)+", "{- A -} B*", "(A B? C?)+",
]  # fmt: skip


@pytest.mark.parametrize("level", [Level.ORDERED, Level.EAGER])
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_so_are_matches_that_grow(level: Level, data: st.DataObject) -> None:
    pattern = data.draw(st.sampled_from(GROWING))
    conditions = st.sampled_from([*ALONE, "x > 0", "x >= PREV(x)", "PREV(x) IS NULL OR x > 0"])
    measures = st.lists(st.sampled_from(MEASURES), min_size=1, max_size=3)
    used = [name for name in "ABC" if name in pattern]
    node = match_node(
        COLUMNS,
        pattern,
        {name: data.draw(conditions) for name in used if data.draw(st.integers(0, 3))},
        {
            f"m{place}": text
            for place, text in enumerate(["count(*)", *data.draw(measures)])
            if "B." not in text or "B" in used
        },
        per=data.draw(st.sampled_from([[], ["k"]])),
        output=data.draw(st.sampled_from(["one", "all"])),
    )
    events = data.draw(plain_streams(max_size=14))
    held(node, events, level, data.draw(st.sampled_from(BATCH_SIZES)), in_order=True)


def plain(*rows: tuple[int, int | None], key: str = "a") -> list[Event]:
    """Rows (t, x) of a key that are there from t on, for ever."""
    return [Insert(t, INFINITY, Row(t=t, x=x, k=key, f=None)) for t, x in rows]


FALLS = match_node(
    COLUMNS,
    "DOWN+ UP",
    {"DOWN": "x < PREV(x)", "UP": "x > PREV(x)"},
    {"first": "FIRST(DOWN.t)", "last": "UP.t"},
    per=["k"],
)


def said(operator: Match, events: Sequence[Event]) -> list[Event]:
    return events_of(operator.receive(0, batch_of(events, FALLS.input.schema.arrow)))


@pytest.mark.parametrize("level", [Level.ORDERED, Level.EAGER])
def test_a_row_that_is_unmatched_when_its_time_is_over_stays_so(level: Level) -> None:
    node = match_node(
        COLUMNS, "A B", {}, {"n": "RUNNING count(*)"}, output="with unmatched", within=3
    )
    events = [*plain((1, None)), Cti(4), *plain((4, None))]
    held(node, events, level, 1, in_order=True)


@pytest.mark.parametrize("level", [Level.ORDERED, Level.EAGER])
def test_a_match_that_was_emitted_in_two_parts_is_found_again_by_a_late_row(level: Level) -> None:
    node = match_node(COLUMNS, "A", {"A": "NEXT(x) IS NULL"}, {"n": "count(*)"})
    # The row at 1 matches during [1, 4), then, when that at 3 has come, from 4 on as well.
    held(node, plain((1, None), (4, 0), (3, None), (1, None)), level, 1, in_order=True)


@pytest.mark.parametrize("level", [Level.ORDERED, Level.EAGER])
@pytest.mark.parametrize("measure", ["count(*)", "MATCH_NUMBER()"])
def test_attempts_whose_time_is_over_begin_where_they_did(level: Level, measure: str) -> None:
    node = match_node(COLUMNS, "A B | A", {}, {"n": measure}, within=3)
    # The rows at 8 and one of those at 9 are a match; the other one waits for a B until 12.
    events = [*plain((8, 0), (9, 1), (9, 2)), Cti(10), Cti(13)]
    held(node, events, level, 1, in_order=True)


def fall(first: int, last: int) -> Row:
    return Row(k="a", first=first, last=last)


def test_a_late_row_takes_back_the_matches_that_it_breaks_and_no_others() -> None:
    operator = operator_of(FALLS, Level.ORDERED, in_order=True)
    rows = plain((1, 9), (2, 8), (3, 9), (5, 7), (7, 8), (8, 5), (9, 6))
    assert said(operator, rows) == [
        Insert(3, INFINITY, fall(2, 3)),
        Insert(7, INFINITY, fall(5, 7)),
        Insert(9, INFINITY, fall(8, 9)),
    ]
    assert said(operator, plain((6, 6))) == []  # 9 7 6 8 falls from 5 on, and rises at 7, as before
    assert said(operator, plain((4, 3))) == [
        Insert(5, INFINITY, fall(4, 5)),
        Retract(7, INFINITY, 7, fall(5, 7)),
        Insert(7, INFINITY, fall(6, 7)),
    ]


def test_after_a_cti_only_open_attempts_are_kept() -> None:
    operator = operator_of(FALLS, Level.ORDERED, in_order=True)
    many = plain(*((t, t % 5) for t in range(1, 1000)))
    said(operator, [*many, Cti(990)])
    assert operator.state_size()[0] < 30
    alone = match_node(COLUMNS, "A B", {"A": "x = 1", "B": "x = 2"}, {"n": "count(*)"}, per=["k"])
    operator = operator_of(alone, Level.ORDERED, in_order=True)
    said(operator, [*plain((1, 1), (2, 2), (3, 7)), *plain((1, 1), key="b"), Cti(9)])
    assert operator.slots.live == 1  # that of b, which may go on; a has nothing open


def test_within_closes_attempts_that_nothing_to_come_can_join() -> None:
    node = match_node(COLUMNS, "A B+", {"B": "x > 0"}, {"n": "count(*)"}, per=["k"], within=5)
    operator = operator_of(node, Level.ORDERED, in_order=True)
    said(operator, [*plain((1, 1), (2, 1)), Cti(4)])
    assert operator.state_size()[0] > 0
    said(operator, [Cti(50)])
    assert operator.state_size()[0] == 0


def test_a_late_row_costs_its_partition_up_to_where_all_is_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator = operator_of(FALLS, Level.ORDERED, in_order=True)
    said(operator, plain(*((2 * t, t % 5) for t in range(20_000))))
    looked_at: list[int] = []
    swept = operator._swept

    def counted(found: Any, entries: Any, *rest: Any) -> Any:
        looked_at.append(len(entries.member))
        return swept(found, entries, *rest)

    monkeypatch.setattr(operator, "_swept", counted)
    said(operator, plain((101, 7)))
    assert max(looked_at) < 100


def test_rows_of_attempts_that_are_open_for_long_are_read_again_only_for_a_match(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = match_node(
        COLUMNS, "A+ B", {"A": "x >= 0", "B": "x < 0"}, {"n": "count(*)", "first": "FIRST(t)"}
    )
    operator = operator_of(node, Level.ORDERED, in_order=True)
    said(operator, plain(*((t, 1) for t in range(1_000))))
    looked_at: list[int] = []
    swept = operator._swept

    def counted(found: Any, entries: Any, *rest: Any) -> Any:
        looked_at.append(len(entries.member))
        return swept(found, entries, *rest)

    monkeypatch.setattr(operator, "_swept", counted)
    assert said(operator, plain((1_000, 1), (1_001, 1))) == []
    operator.restore(operator.snapshot())
    assert said(operator, plain((500, -1))) == [
        Insert(500, INFINITY, Row(n=501, first=0)),
    ]
    assert looked_at[0] == 2
    looked_at.clear()
    assert said(operator, plain((1_002, 1))) == []
    assert said(operator, plain((1_003, -1))) == [
        Insert(1_003, INFINITY, Row(n=504, first=500)),
    ]
    assert looked_at == [1, 1, 505]  # the match, and the other row of its first time


@pytest.mark.parametrize(
    ("pattern", "output"), [("A+", "one"), ("A+", "all"), ("A B*", "one"), ("(A+ B?)+", "one")]
)
def test_a_match_that_grows_costs_its_new_rows(
    pattern: str, output: RowsPerMatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    measures = {"n": "count(*)", "s": "sum(x)", "first": "FIRST(t)", "last": "LAST(A.t)"}
    conditions = {name: "x > 0" for name in "AB" if name in pattern}
    node = match_node(COLUMNS, pattern, conditions, measures, per=["k"], output=output)
    operator = operator_of(node, Level.ORDERED, in_order=True)
    said(operator, plain(*((t, 1) for t in range(1_000))))
    looked_at, emitted = [], []
    swept, answered = operator._swept, operator._answered

    def counted(found: Any, entries: Any, *rest: Any) -> Any:
        looked_at.append(len(entries.member))
        return swept(found, entries, *rest)

    def measured(*given: Any) -> Any:
        answers = answered(*given)
        emitted.append(len(answers.rows))
        return answers

    monkeypatch.setattr(operator, "_swept", counted)
    monkeypatch.setattr(operator, "_answered", measured)
    for t in range(1_000, 1_010, 2):
        found = said(operator, plain((t, 1), (t + 1, 1)))
        new = [event.row for event in found if isinstance(event, Insert)]
        assert [row["n"] for row in new] == [row["s"] for row in new] == [t + 1, t + 2]
        assert len(found) == (2 if output == "all" else 3)
    assert looked_at == [2] * 5  # the rows of the match are not among them,
    assert emitted == [2] * 5  # nor are they put out again
    # Elsewhere attempts are made again, with the same answer.
    other = operator_of(node, Level.ORDERED, in_order=True)
    other.restore(operator.snapshot())
    rows = plain((1_010, 1), (1_011, 0), (1_012, 1))
    assert said(operator, rows) == said(other, rows)
    late = plain((500, 1), (1_013, 1))
    assert said(operator, late) == said(other, late)


def test_ways_that_conditions_allow_are_tried_one_by_one_up_to_a_limit() -> None:
    node = match_node(
        COLUMNS,
        "(A+ B+)+ C",
        {"A": "x >= FIRST(x)", "B": "x >= FIRST(x)", "C": "x < 0"},
        {"n": "count(*)"},
    )
    few = limited(Limits(max_steps=10_000))
    wanted = "more than 10,000 steps: .* or SET max_steps = 100000"
    with few, pytest.raises(EvaluationError, match=wanted):
        said(operator_of(node, Level.ORDERED), plain(*((t, 1) for t in range(40))))
    # Where conditions do not look at the match, the same pattern takes time in proportion.
    local = match_node(
        COLUMNS, "(A+ B+)+ C", {"A": "x > 0", "B": "x > 0", "C": "x < 0"}, {"n": "count(*)"}
    )
    with limited(Limits(max_steps=10_000)):
        assert said(operator_of(local, Level.ORDERED), plain(*((t, 1) for t in range(40)))) == []


def test_what_define_cannot_use_is_refused() -> None:
    node = match_node(COLUMNS, "A+", {"A": "size(array_agg(x)) < 3"}, {"n": "count(*)"})
    with pytest.raises(PlanError, match="DEFINE can use count, sum, avg, min and max"):
        operator_of(node, Level.ORDERED)


def test_problems_of_conditions_and_skips_are_one_line() -> None:
    node = match_node(COLUMNS, "A B", {"B": "1 / (x - A.x) > 0"}, {"n": "count(*)"})
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO"):
        said(operator_of(node, Level.ORDERED), plain((1, 1), (2, 1)))
    node = match_node(COLUMNS, "A B?", {}, {"n": "count(*)"}, skip="to last B")
    with pytest.raises(SkipError, match="TO LAST B has no row"):
        said(operator_of(node, Level.ORDERED), plain((1, 1)))


def test_a_match_that_grows_row_by_row_keeps_each_row_once() -> None:
    node = match_node(COLUMNS, "A+", {}, {"n": "count(*)", "s": "sum(A.x)", "last": "LAST(t)"})
    operator = operator_of(node, Level.ORDERED, in_order=True)
    found = said(operator, plain(*((t, 1) for t in range(3_000))))
    assert len(found) == 3_000
    assert found[-1] == Insert(2_999, INFINITY, Row(n=3_000, s=3_000, last=2_999))
