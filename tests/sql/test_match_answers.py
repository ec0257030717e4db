"""MATCH_RECOGNIZE from text to answers: random queries are their references after every batch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.plain import batch_of, events_of
from driftline.model.event import CLOSE, Event, Insert
from driftline.model.history import History, Lifetime, canonical_history
from driftline.model.level import Level
from driftline.model.row import Row, Value
from driftline.model.stream import breaches
from driftline.model.time import INFINITY
from driftline.plan.nodes import Match
from driftline.testing import streams
from driftline.testing.driving import as_batched
from tests.matches import meaning

COLUMNS = {"k": "STRING", "t": "BIGINT", "x": "BIGINT"}
S = dl.stream("s", COLUMNS)
KTX = S.schema.arrow

PATTERNS = [
    *("A B", "A+ B", "A B+ C?", "(A | B)+? C", "A? (B C)*", "A*", "A+? B", "(A | B){2,3}?"),
    *("PERMUTE(A, B)", "A {- B+ -} C", "(A B?){1,2} C", "^ A B*", "A+ $", "A (() | B)* C"),
]
CONDITIONS = [
    *("x > 0", "x > PREV(x)", "x >= A.x", "x < NEXT(x)", "x = 1 OR PREV(x, 2) IS NULL", "k = 'a'"),
    *("count(*) < 4", "sum(x) < 5", "x <> COALESCE(FIRST(A.x), 0)", "x >= LAST(x, 1)"),
    *("max(A.x) <= x", "x IS NOT NULL", "CLASSIFIER() = 'B' OR x < 2", "MATCH_NUMBER() < 3"),
]
MEASURES = [
    *("FIRST(t)", "LAST(x)", "count(*)", "sum(A.x)", "MATCH_NUMBER()", "CLASSIFIER()"),
    *("PREV(FIRST(x))", "NEXT(LAST(x))", "FINAL LAST(x)", "max(x) - min(A.x)", "array_agg(x)"),
    *("count(DISTINCT x)", "FIRST(A.x, 1)", "RUNNING count(A.*)", "avg(x)", "CLASSIFIER(U)"),
]


@st.composite
def clauses(draw: st.DrawFn, order: st.SearchStrategy[str]) -> str:
    """What is in the brackets of MATCH_RECOGNIZE."""
    pattern = draw(st.sampled_from(PATTERNS))
    variables = [name for name in "ABC" if name in pattern.replace("PERMUTE", "")]
    chosen = draw(st.lists(st.sampled_from(variables), unique=True))
    define = [f"{name} AS {draw(st.sampled_from(CONDITIONS))}" for name in sorted(chosen)]
    measures = draw(st.lists(st.sampled_from(MEASURES), min_size=1, max_size=3, unique=True))
    named = ", ".join(f"{each} AS m{place}" for place, each in enumerate(measures))
    rows = ["ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH OMIT EMPTY MATCHES"]
    if "{-" not in pattern:
        rows.append("ALL ROWS PER MATCH WITH UNMATCHED ROWS")
    skips = ["", "AFTER MATCH SKIP TO NEXT ROW"]
    if pattern in ("A B", "A+ B", "A+? B"):
        skips.append("AFTER MATCH SKIP TO FIRST B")
    within = draw(st.sampled_from(["", "", "WITHIN 3"]))
    return " ".join(
        [
            draw(st.sampled_from(["", "PARTITION BY k"])),
            f"ORDER BY {draw(order)} MEASURES {named}",
            draw(st.sampled_from(rows)),
            draw(st.sampled_from(skips)),
            f"PATTERN ({pattern}) {within} SUBSET U = ({', '.join(variables)})",
            f"DEFINE {', '.join(define)}" if define else "",
        ]
    )


def match_of(query: dl.Query) -> Match:
    (found,) = (node for node in query.plan.walk() if isinstance(node, Match))
    return found


ORDERS = st.sampled_from(["t", "t, x DESC", "x NULLS LAST, t", "t DESC"])
EVENTS = streams(
    {
        "k": st.sampled_from(["a", "b"]),
        "t": st.integers(1, 6),
        "x": st.sampled_from([None, 0, 1, 2, 3]),
    },
    max_size=6,
)


def over_events(text: str, events: list[Event], level: Level, size: int) -> None:
    """The answer is the reference's: at `eager` after every batch, at every level in the end."""
    query = dl.sql(f"SELECT * FROM s MATCH_RECOGNIZE ({text})", s=S)
    wanted = meaning(match_of(query))
    out: list[Batch] = []
    graph = compile_plan(query.plan, out.append, level)
    came: list[Event] = []
    emitted: list[Event] = []
    arrivals = [*events, CLOSE]
    for start in range(0, len(arrivals), size):
        chunk = as_batched(arrivals[start : start + size])
        came += chunk
        out.clear()
        graph.push("s", batch_of(chunk, KTX))
        emitted += [event for batch in out for event in events_of(batch)]
        assert not breaches(emitted)
        if level is Level.EAGER or start + size >= len(arrivals):
            assert canonical_history(emitted).same_snapshots(wanted(canonical_history(came)))


@settings(max_examples=60)
@given(clauses(ORDERS), EVENTS, st.sampled_from(Level), st.sampled_from([1, 3, 100]))
def test_random_queries_over_events_are_their_references(
    text: str, events: list[Event], level: Level, size: int
) -> None:
    over_events(text, events, level, size)


UNMATCHED = "MEASURES FIRST(t) AS m ALL ROWS PER MATCH WITH UNMATCHED ROWS"


@pytest.mark.parametrize("level", Level)
def test_a_row_is_unmatched_when_the_match_that_it_was_in_has_gone(level: Level) -> None:
    row = Row(k="a", t=1, x=None)
    text = f"ORDER BY t {UNMATCHED} AFTER MATCH SKIP TO NEXT ROW PATTERN (A B)"
    over_events(text, [Insert(0, 1, row), Insert(0, INFINITY, row)], level, 1)


@pytest.mark.parametrize("level", Level)
def test_equal_rows_that_end_at_different_times_are_told_apart(level: Level) -> None:
    row = Row(k="a", t=1, x=None)
    first = Row(k="a", t=1, x=1)
    text = f"ORDER BY t, x DESC {UNMATCHED} PATTERN (A B) DEFINE A AS x > 0"
    over_events(text, [Insert(0, 1, first), Insert(0, 2, row), Insert(0, 3, row)], level, 1)


RECORDS = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.integers(1, 12), st.sampled_from([None, 0, 1, 2, 3])),
    min_size=1,
    max_size=8,
)


def over_records(
    text: str, records: list[tuple[str, int, Value]], disorder: int | None, size: int
) -> None:
    """After every batch what was emitted is valid, and is the reference's answer for the records
    that are no dead letters."""
    stream = dl.stream("s", COLUMNS, time="t", disorder=disorder)
    query = dl.sql(f"SELECT * FROM s MATCH_RECOGNIZE ({text})", s=stream)
    wanted = meaning(match_of(query))
    rows = [Row(dict(zip(COLUMNS, record, strict=True))) for record in records]
    answer: list[Event] = []
    alive: list[Row | None] = []
    for update in query.changes({"s": [dict(row) for row in rows]}, batch=size, emit="eager"):
        answer += events_of(update.batch)
        alive += rows[len(alive) : len(alive) + size]
        for letters in update.dead_letters.values():
            for number in letters.number.tolist():
                alive[number] = None
        came = History(Lifetime(row["t"], INFINITY, row) for row in alive if row is not None)
        assert not breaches(answer)
        assert canonical_history(answer).same_snapshots(wanted(came))


@settings(max_examples=60)
@given(
    clauses(st.sampled_from(["t", "t, x DESC", "t, k"])),
    RECORDS,
    st.sampled_from([None, 0, 3]),
    st.sampled_from([1, 2, 100]),
)
def test_random_queries_over_records_are_their_references_with_and_without_ctis(
    text: str, records: list[tuple[str, int, Value]], disorder: int | None, size: int
) -> None:
    over_records(text, records, disorder, size)


@st.composite
def within(draw: st.DrawFn) -> str:
    """Clauses with WITHIN, and with patterns and conditions that often match."""
    pattern = draw(st.sampled_from(["A B", "A B", "A B?", "A (B | C B)", "A+ B"]))
    conditions = st.sampled_from(["x >= 0", "x > 0", "x >= PREV(x)", "x >= A.x", "NEXT(x) > 0"])
    chosen = draw(st.sampled_from(["", "B", "", "A", "AB"]))
    define = ", ".join(f"{name} AS {draw(conditions)}" for name in chosen)
    measures = ["FIRST(t) AS f, LAST(t) AS l", "PREV(FIRST(t)) AS p", "MATCH_NUMBER() AS n"]
    rows = ["ONE ROW", "ALL ROWS", "ALL ROWS"]
    unmatched = ["", "", "WITH UNMATCHED ROWS"]
    shown = draw(st.integers(0, 2))
    return " ".join(
        [
            draw(st.sampled_from(["PARTITION BY k", "PARTITION BY k", ""])),
            f"ORDER BY t MEASURES {draw(st.sampled_from(measures))}",
            f"{rows[shown]} PER MATCH {unmatched[shown]}",
            draw(st.sampled_from(["", "AFTER MATCH SKIP TO NEXT ROW"])),
            f"PATTERN ({pattern}) WITHIN {draw(st.sampled_from([3, 4, 8]))}",
            f"DEFINE {define}" if define else "",
        ]
    )


@st.composite
def promised(draw: st.DrawFn) -> tuple[list[tuple[str, int, Value]], int]:
    """Records that come as late as a bound on their disorder allows, with gaps, and that bound."""
    disorder = draw(st.sampled_from([0, 2]))
    steps = st.tuples(
        st.sampled_from([1, 1, 6]),
        st.integers(0, disorder),
        st.sampled_from("abc"),  # of each some rows, so that there are many ends
        st.sampled_from([0, 1, 2, None]),
    )
    records: list[tuple[str, int, Value]] = []
    latest = 5
    for step, late, k, x in draw(st.lists(steps, min_size=8, max_size=16)):
        latest += step
        records.append((k, latest - late, x))
    return records, disorder


@settings(max_examples=40)
@given(within(), promised())
def test_matches_within_a_time_are_their_references_as_ctis_pass_them(
    text: str, given: tuple[list[tuple[str, int, Value]], int]
) -> None:
    for size in (1, 2, 3, 100):
        over_records(text, *given, size)


def test_a_match_after_an_attempt_whose_time_is_over_is_kept() -> None:
    text = "PARTITION BY k ORDER BY t MEASURES FIRST(t) AS f, LAST(t) AS l {} PATTERN (A B) WITHIN"
    records: list[tuple[str, int, Value]] = [("z", 20, 3), ("z", 30, 1), ("z", 31, 0)]
    over_records(f"{text.format('')} 8 DEFINE B AS x >= 0", [*records, ("y", 34, None)], 0, 100)
    unmatched = text.format("ALL ROWS PER MATCH WITH UNMATCHED ROWS")
    records = [("z", 1, 0), ("z", 10, 2), ("y", 13, 1)]
    over_records(f"{unmatched} 4 DEFINE A AS x = 0", records, 0, 1)


def test_rows_that_come_with_a_cti_are_near_enough_for_the_attempts_before_it() -> None:
    text = "ORDER BY t MEASURES FIRST(t) AS m PATTERN (A B) WITHIN 3"
    over_records(text, [("a", 1, None), ("a", 2, None), ("a", 4, None)], 0, 100)


def test_a_condition_that_looks_ahead_waits_for_a_row_however_late() -> None:
    text = "ORDER BY t MEASURES FIRST(t) AS m PATTERN (A) WITHIN 3 DEFINE A AS NEXT(x) > 0"
    over_records(text, [("a", 1, 0), ("b", 9, 0), ("a", 11, 1)], 0, 1)


def test_a_match_in_the_place_of_an_equal_one_is_not_cut_by_a_later_row() -> None:
    text = "ORDER BY t MEASURES FIRST(t) AS m PATTERN (A B)"
    over_records(text, [("a", t, None) for t in (1, 3, 1, 2)], None, 1)
