from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.expressions import EvaluationError
from driftline.engine.lifetimes.restate import Retell
from driftline.engine.lifetimes.session import Session, SessionColumns
from driftline.engine.lifetimes.session_members import SessionMembers
from driftline.model import reference
from driftline.model.event import CLOSE, Event, Insert
from driftline.model.history import History, Lifetime, canonical_history
from driftline.model.level import Level
from driftline.model.reference import aggregates
from driftline.model.row import Row
from driftline.model.stream import breaches
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan import nodes
from driftline.testing import streams
from driftline.testing.driving import batch_of, drive, events_of
from tests.build import cti, history, insert, retract
from tests.engine.held_snapshots import said_by
from tests.engine.held_to_reference import KX
from tests.engine.test_plans import Both, run

COLUMN_VALUES: dict[str, list[Any]] = {"k": ["a", "b", None], "x": [1, 2]}
COLUMNS = {name: st.sampled_from(values) for name, values in COLUMN_VALUES.items()}
A, B = {"k": "a", "x": 1}, {"k": "a", "x": 2}
KEYS = {"w": "k", "u": "upper(k)"}
SIZES = st.sampled_from([1, 2, 3, 100])
RECORDS = dl.stream("t", {"k": "STRING", "ts": "BIGINT"}, time="ts", disorder=3)
SESSIONS = dl.sql(
    "SELECT k, window_start AS a, window_end AS b, count(*) AS n "
    "FROM SESSION(TABLE t PARTITION BY k, 4) GROUP BY k, window_start, window_end",
    t=RECORDS,
)


def k(row: Row) -> Any:
    return row["k"]


def x(row: Row) -> Any:
    return row["x"]


def window(row: Row) -> dict[str, Any]:
    return {name: row[name] for name in ("window_start", "window_end")}


def test_a_late_row_merges_two_sessions() -> None:
    #   1──3──6  7───10      7 is more than 3 after 3; with 5 all is one
    #        5
    operator = Session(KX, 3, ["k"])
    early = [insert(1, None, A), insert(7, None, B), insert(3, None, B)]
    assert canonical_history(said_by(operator, early, KX)) == history(
        (1, 6, A), (3, 6, B), (7, 10, B)
    )
    assert said_by(operator, [insert(5, None, A)], KX) == [
        retract(1, 6, 1, A),
        insert(1, 10, A),
        retract(3, 6, 3, B),
        insert(3, 10, B),
        insert(5, 10, A),
    ]


def test_a_session_that_grows_after_the_cti_goes_on_in_pieces_and_a_retraction_cuts_them() -> None:
    operator = Session(KX, 10)
    assert said_by(operator, [insert(1, None, A), cti(5)], KX) == [insert(1, 11, A), cti(5)]
    assert said_by(operator, [insert(8, None, B)], KX) == [insert(8, 18, B), insert(11, 18, A)]
    assert said_by(operator, [insert(9, None, B)], KX) == [
        retract(8, 18, 8, B),
        insert(8, 19, B),
        insert(9, 19, B),
        retract(11, 18, 11, A),
        insert(11, 19, A),
    ]
    gone = said_by(operator, [retract(8, None, 8, B), retract(9, None, 9, B)], KX)
    assert retract(11, 19, 11, A) in gone
    assert operator.state_size()[0] == 1


def test_a_cti_evicts_sessions_that_have_ended() -> None:
    operator = Session(KX, 3, ["k"])
    said_by(operator, [insert(1, None, A), insert(7, None, A), insert(2, None, {"k": "b"})], KX)
    said_by(operator, [cti(6)], KX)
    assert operator.state_size()[0] == 1
    assert said_by(operator, [retract(1, None, 3, A)], KX) == []  # by its start it is still there
    said_by(operator, [cti(11)], KX)
    assert operator.state_size()[0] == 0


@settings(max_examples=60)
@given(
    streams(COLUMNS, max_size=8),
    SIZES,
    st.integers(1, 4),
    st.sampled_from([None, 1, 3, 6]),
    st.booleans(),
)
def test_it_is_its_reference(
    events: list[Event], size: int, gap: int, at_most: int | None, keyed: bool
) -> None:
    operator = Session(KX, gap, ["k"] if keyed else [], at_most)
    per = k if keyed else lambda row: None
    for came, emitted in drive(operator, [(0, each) for each in [*events, CLOSE]], [KX], size):
        so_far = canonical_history(each for _, each in came)
        assert breaches(emitted) == []
        expected = reference.session(so_far, gap, per, at_most)
        assert canonical_history(emitted).same_snapshots(expected)
    assert operator.state_size()[0] == 0


@settings(max_examples=60)
@given(streams(COLUMNS, max_size=8), SIZES, st.integers(1, 4), st.sampled_from([None, 3]))
def test_columns_are_their_reference(
    events: list[Event], size: int, gap: int, at_most: int | None
) -> None:
    operator = SessionColumns(KX, gap, ["k"], at_most)
    retell, emitted = Retell(operator.schema), []
    came: list[Event] = []
    for start in range(0, len(events), size):
        came += events[start : start + size]
        batch = operator.receive(0, batch_of(events[start : start + size], KX))
        emitted += events_of(retell.receive(0, batch))
        assert breaches(emitted) == []
        expected = reference.session_columns(canonical_history(came), gap, k, at_most)
        assert canonical_history(emitted).same_snapshots(expected)
    operator.receive(0, batch_of([CLOSE], KX))
    assert operator.state_size()[0] == 0


@settings(max_examples=40)
@given(streams(COLUMNS, max_size=8, retractions=False), SIZES, st.integers(1, 4))
def test_of_rows_that_are_only_added_columns_are_valid_by_themselves(
    events: list[Event], size: int, gap: int
) -> None:
    endless = [
        Insert(each.vs, INFINITY, each.row) if isinstance(each, Insert) else each for each in events
    ]
    operator = SessionColumns(KX, gap, ["k"], only_grows=True)
    for came, emitted in drive(operator, [(0, each) for each in endless], [KX], size):
        expected = reference.session_columns(canonical_history(each for _, each in came), gap, k)
        assert breaches(emitted) == []
        assert canonical_history(emitted).same_snapshots(expected)


@settings(max_examples=100)
@given(
    streams(COLUMNS, max_size=9),
    SIZES,
    st.integers(1, 4),
    st.sampled_from([None, 3]),
    st.booleans(),
)
def test_members_are_their_reference(
    events: list[Event], size: int, gap: int, at_most: int | None, apart: bool
) -> None:
    operator = SessionMembers(KX, gap, ["k"], at_most, further=["x"] if apart else [])
    _hold_members(operator, [*events, CLOSE], size, apart)
    assert operator.state_size()[0] == 0


@settings(max_examples=60)
@given(streams(COLUMNS, max_size=12, retractions=False), SIZES, st.sampled_from([None, 3]))
def test_members_in_parts_need_the_last_row_of_each_alone(
    events: list[Event], size: int, at_most: int | None
) -> None:
    endless = [
        Insert(each.vs, INFINITY, each.row) if isinstance(each, Insert) else each for each in events
    ]
    operator = SessionMembers(KX, 2, ["k"], at_most, further=["x"], only_grows=True)
    _hold_members(operator, endless, size, True)
    latest = max((each.vs for each in endless if isinstance(each, Insert)), default=0)
    operator.receive(0, batch_of([cti(latest + 1)], KX))
    assert operator.state_size()[0] <= len(COLUMN_VALUES["k"]) * len(COLUMN_VALUES["x"])


def _hold_members(operator: SessionMembers, events: list[Event], size: int, apart: bool) -> None:
    """Compare what an operator emits with the reference, after every batch."""
    at_most = None if operator.at_most == INFINITY else operator.at_most
    further = x if apart else lambda row: None
    for came, emitted in drive(operator, [(0, each) for each in events], [KX], size):
        so_far = canonical_history(each for _, each in came)
        found = canonical_history(emitted)
        members = [each for each in found if each.row["window_end"] is None]
        ends = [
            Lifetime(
                each.vs,
                each.ve,
                Row({"key": each.row["k"], "further": further(each.row), **window(each.row)}),
            )
            for each in found
            if each.row["window_end"] is not None
        ]
        assert History([*members, *ends]) == reference.session_members(
            so_far, operator.gap, k, at_most, further
        )


@pytest.mark.parametrize("base", [-20, BEGINNING, INFINITY - 12])
@pytest.mark.parametrize("at_most", [None, 4])
def test_they_are_their_references_before_0_and_at_the_ends_of_time(
    base: int, at_most: int | None
) -> None:
    events: list[Event] = [insert(base + after, None, A) for after in (0, 3, 4, 9, 11)]
    came = canonical_history(events)
    for operator, expected in (
        (Session(KX, 3, ["k"], at_most), reference.session(came, 3, k, at_most)),
        (SessionColumns(KX, 3, ["k"], at_most), reference.session_columns(came, 3, k, at_most)),
    ):
        assert canonical_history(said_by(operator, events, KX)).same_snapshots(expected)
    for apart in (False, True):
        further = ["x"] if apart else []
        operator = SessionMembers(KX, 3, ["k"], at_most, further=further)
        _hold_members(operator, events, 2, apart)


def less(row: Row) -> Any:
    return row["x"] - 1


GROUPED = Both(
    dl.sql(
        "SELECT window_end AS b, k, count(*) AS n, max(x) AS m, median(x) AS h, window_start AS a "
        "FROM (SELECT x - 1 AS x, k, window_start, window_end "
        "FROM SESSION(TABLE s PARTITION BY k, 3) WHERE x > 1) GROUP BY k, window_end, window_start",
        s=dl.stream("s", {"k": "STRING", "x": "BIGINT"}),
    ),
    lambda s, _: reference.group_by(
        reference.select(reference.session_columns(s, 3, k), lambda row: less(row) > 0),
        {"k": k, "a": lambda row: row["window_start"], "b": lambda row: row["window_end"]},
        {
            "n": aggregates.count_all(),
            "m": aggregates.max_(less),
            "h": aggregates.median(less),
        },
    ),
)


DISTINCT = Both(
    dl.sql(
        "SELECT DISTINCT window_end AS b, window_start AS a, k "
        "FROM SESSION(TABLE s PARTITION BY k, 3) WHERE x > 1",
        s=dl.stream("s", {"k": "STRING", "x": "BIGINT"}),
    ),
    lambda s, _: reference.group_by(
        reference.select(reference.session_columns(s, 3, k), lambda row: less(row) > 0),
        {"k": k, "a": lambda row: row["window_start"], "b": lambda row: row["window_end"]},
        {},
    ),
)


def start(row: Row) -> Any:
    return row["window_start"]


def end(row: Row) -> Any:
    return row["window_end"]


def timed_sessions(history: History) -> History:
    """Sessions as columns, of rows that have their own start as a column `t`."""
    with_times = History(Lifetime(each.vs, each.ve, Row(each.row, t=each.vs)) for each in history)
    return reference.session_columns(with_times, 3, k)


def by_time(function: Any) -> aggregates.Aggregate:
    """Of rows with a column `t` the values of x, by t and then by value, as a tuple."""

    def aggregate(group: Any) -> Any:
        return function(
            [value for _, value in sorted((each.row["t"], x(each.row)) for each in group)]
        )

    return aggregate


SESSION = "FROM SESSION(TABLE s PARTITION BY k, 3)"
BY_PARTS = Both(
    dl.sql(
        "SELECT k, window_start AS a, window_end AS b, x AS page, count(*) AS n, "
        f"max(window_end - window_start) AS d {SESSION} GROUP BY k, window_start, window_end, x",
        s=dl.stream("s", {"k": "STRING", "x": "BIGINT"}),
    ),
    lambda s, _: reference.group_by(
        reference.session_columns(s, 3, k),
        {"k": k, "a": start, "b": end, "page": x},
        {
            "n": aggregates.count_all(),
            "d": aggregates.max_(lambda row: end(row) - start(row)),
        },
    ),
)
IN_ORDER = Both(
    dl.sql(
        "SELECT k, window_start AS a, window_end AS b, first(x) AS f, last(x) AS l, "
        f"array_agg(x) AS every {SESSION} GROUP BY k, window_start, window_end",
        s=dl.stream("s", {"k": "STRING", "x": "BIGINT"}),
    ),
    lambda s, _: reference.group_by(
        timed_sessions(s),
        {"k": k, "a": start, "b": end},
        {
            "f": by_time(lambda values: values[0]),
            "l": by_time(lambda values: values[-1]),
            "every": by_time(tuple),
        },
    ),
)
OF_ENDS = Both(
    dl.sql(
        "SELECT k, window_start AS a, max(window_end) AS b, sum(x) AS v, last(x) AS l "
        f"{SESSION} WHERE window_end > window_start + 4 AND x > 0 GROUP BY k, window_start",
        s=dl.stream("s", {"k": "STRING", "x": "BIGINT"}),
    ),
    lambda s, _: reference.group_by(
        reference.select(timed_sessions(s), lambda row: end(row) > start(row) + 4),
        {"k": k, "a": start},
        {
            "b": aggregates.max_(end),
            "v": aggregates.sum_(x),
            "l": by_time(lambda values: values[-1]),
        },
    ),
)
WITHOUT_ENDS = Both(
    dl.sql(
        "SELECT k, window_start AS a, x + 1 AS y, count(*) AS n, min(x) AS m "
        f"{SESSION} GROUP BY k, window_start, x + 1 HAVING count(*) > 1",
        s=dl.stream("s", {"k": "STRING", "x": "BIGINT"}),
    ),
    lambda s, _: reference.select(
        reference.group_by(
            reference.session_columns(s, 3, k),
            {"k": k, "a": start, "y": lambda row: x(row) + 1},
            {"n": aggregates.count_all(), "m": aggregates.min_(x)},
        ),
        lambda row: row["n"] > 1,
    ),
)
DISTINCT_PARTS = Both(
    dl.sql(
        f"SELECT DISTINCT k, window_start AS a, x, window_end - 1 AS c {SESSION}",
        s=dl.stream("s", {"k": "STRING", "x": "BIGINT"}),
    ),
    lambda s, _: reference.group_by(
        reference.session_columns(s, 3, k),
        {"k": k, "a": start, "x": x, "c": lambda row: end(row) - 1},
        {},
    ),
)
BY_SESSION = [
    GROUPED, DISTINCT, BY_PARTS, IN_ORDER, OF_ENDS, WITHOUT_ENDS, DISTINCT_PARTS,
]  # fmt: skip


@settings(max_examples=140)
@given(
    st.sampled_from(BY_SESSION),
    streams(COLUMNS, max_size=9),
    st.sampled_from(Level),
    SIZES,
    st.integers(0, 4),
)
def test_an_aggregate_by_session_is_that_of_its_rows(
    query: Both, events: list[Event], level: Level, size: int, move_at: int
) -> None:
    run(query, [(0, each) for each in [*events, CLOSE]], level, size, move_at)


@pytest.mark.parametrize("query", BY_SESSION)
def test_they_are_by_session(query: Both) -> None:
    found = [each for each in query.query.plan.walk() if isinstance(each, nodes.Aggregate)]
    assert found
    assert all(each.session is not None for each in found)


@pytest.mark.parametrize(
    ("query", "is_by_session"),
    [
        ("SELECT k, min(x) FROM w GROUP BY k, window_start, window_end", True),
        ("SELECT upper(k), max(x) FROM u GROUP BY upper(k), window_end, window_start", True),
        ("SELECT max(x + window_start) FROM w GROUP BY k, window_start, window_end", True),
        ("SELECT count(*) FROM w GROUP BY window_start, window_end", False),
        ("SELECT count(*) FROM w GROUP BY k, x, window_start, window_end", True),
        ("SELECT count(*) FROM w GROUP BY k, x + window_start, window_start", False),
        ("SELECT count(*) FROM w GROUP BY k, x, window_start, window_end - x", True),
        ("SELECT count(*) FROM w GROUP BY k, window_start, window_end - x", False),
        ("SELECT count(*) FROM w GROUP BY k, window_start", True),
        ("SELECT count(*) FROM w GROUP BY k, window_end", False),
        ("SELECT max(window_end) FROM w GROUP BY k, window_start, window_end", True),
        ("SELECT max(window_end - x) FROM w GROUP BY k, window_start, window_end", False),
        ("SELECT max(window_end) FROM w GROUP BY k", False),
        ("SELECT sum(window_end) FROM w GROUP BY k, window_start", False),
        (
            "SELECT max(window_end) FILTER (WHERE x > 1) FROM w GROUP BY k, window_start",
            False,
        ),
        (
            "SELECT k, min(x) FROM w WHERE window_end < 9 GROUP BY k, window_start, window_end",
            True,
        ),
        (
            "SELECT k, min(x) FROM w WHERE window_end < x GROUP BY k, window_start, window_end",
            False,
        ),
        ("SELECT first(x) FROM w GROUP BY k, window_start, window_end", True),
        ("SELECT window_end FROM w GROUP BY k, window_start, window_end", True),
        ("SELECT DISTINCT window_end, k, window_start FROM w WHERE x > 1", True),
        ("SELECT DISTINCT k, window_start FROM w", True),
        ("SELECT DISTINCT k, window_end FROM w", False),
    ],
)
def test_which_aggregates_are_by_session(query: str, is_by_session: bool) -> None:
    s = dl.stream("s", {"k": "STRING", "x": "BIGINT"})
    tables = {name: f"SESSION(TABLE s PARTITION BY {key}, 3)" for name, key in KEYS.items()}
    with_tables = ", ".join(f"{name} AS (SELECT * FROM {of})" for name, of in tables.items())
    plan = dl.sql(f"WITH {with_tables} {query}", s=s).plan
    found = [each.session for each in plan.walk() if isinstance(each, nodes.Aggregate)]
    assert any(found) == is_by_session


@pytest.mark.parametrize(
    ("further", "at_most"),
    [
        ("window_end AS b, count(*) AS n", 10),
        ("max(window_end) AS b, count(*) AS n", 10),
        ("ts % 2 AS p, window_end AS b, count(*) AS n", 15),
        ("window_end AS b, last(ts) AS l", 100),
        ("ts % 2 AS p, max(window_end) AS b, array_agg(ts) AS l", 100),
    ],
)
def test_a_group_goes_with_its_session(further: str, at_most: int) -> None:
    """Nothing is left of sessions that are over; of one that goes on, what is after the cti, or
    where aggregates go by the rows, these."""
    query = dl.sql(
        f"SELECT k, window_start AS a, {further} FROM SESSION(TABLE t PARTITION BY k, 4) "
        "GROUP BY ALL",
        t=RECORDS,
    )
    out: list[Batch] = []
    graph = compile_plan(query.plan, out.append, Level.EAGER, inserts_only=["t"])
    schema = query.plan.sources()["t"].schema.arrow
    for first in (0, 100, 200):
        rows = [insert(ts, None, {"k": "a", "ts": ts}) for ts in range(first, first + 50)]
        graph.push("t", batch_of([*rows, cti(first + 47)], schema))
    held = [step.operator.state_size()[0] for step in graph.steps]
    assert max(held) < at_most
    graph.push("t", batch_of([cti(300)], schema))
    assert sum(step.operator.state_size()[0] for step in graph.steps) == 0
    found = canonical_history(event for batch in out for event in events_of(batch))
    ended = {(each.row["a"], each.row["b"]) for each in found if each.ve == INFINITY}
    assert ended == {(0, 53), (100, 153), (200, 253)}


def test_a_long_session_as_columns_is_refused_before_it_takes_all_memory() -> None:
    rows = [{"ts": ts} for ts in range(400)]
    query = dl.stream("s", {"ts": "BIGINT"}, time="ts").session(5, columns=True)
    assert len(query.run(s=rows).history()) == 400 * 401 // 2
    with pytest.raises(EvaluationError, match="sessions as columns make more than"):
        query.run(s=rows, max_expansion="1MB")
    parts = query.group_by("window_start", "window_end", "ts").agg("count(*) AS n")
    assert len(parts.run(s=rows).history()) == 400 * 401 // 2
    with pytest.raises(EvaluationError, match="sessions in parts make more than"):
        parts.run(s=rows, max_expansion="1MB")
    whole = query.group_by("window_start", "window_end").agg("count(*) AS n")
    assert len(whole.run(s=rows, max_expansion="1MB").history()) == 400


@pytest.mark.parametrize("only_grows", [True, False])
def test_columns_keep_rows_that_may_be_retracted(only_grows: bool) -> None:
    operator = SessionColumns(KX, 3, ["k"], only_grows=only_grows)
    said_by(operator, [insert(1, None, A), cti(5)], KX)
    assert operator.state_size()[0] == (0 if only_grows else 1)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30), st.integers(0, 3)), max_size=12),
    SIZES,
)
def test_with_final_every_session_is_said_once_when_it_is_over(
    made: list[tuple[str, int, int]], size: int
) -> None:
    """Rows come up to three ticks late. What is final is so by the end of its window."""
    came = sorted(made, key=lambda row: row[1] + row[2])
    rows = [{"k": key, "ts": ts} for key, ts, _ in came]
    said = SESSIONS.run(t=rows, batch=size, final=True).changes().to_pylist()
    expected = {
        (key, *span, sum(one == key and span[0] <= ts < span[1] for one, ts, _ in made))
        for key in "ab"
        for span in reference.sessions([ts for one, ts, _ in made if one == key], 4)
    }
    assert sorted((row["k"], row["a"], row["b"], row["n"]) for row in said) == sorted(expected)
    assert all((row["kind"], row["vs"]) == ("insert", row["b"]) for row in said)


def test_a_session_that_is_gone_gives_its_place_back_once() -> None:
    """The session of a at 4 becomes part of the one at 2. A cti passes the end that it had: of the
    two that come then, each has a place of its own."""
    came = ["b1", "a4", "a4", "a2", "b4", "b6", "a8", "a12", "a9", "a26", "a34"]
    query = dl.sql(
        "SELECT k, window_start, window_end, array_agg(ts) AS l "
        "FROM SESSION(TABLE t PARTITION BY k, 4) GROUP BY k, window_start, window_end",
        t=RECORDS,
    )
    rows = [{"k": each[0], "ts": int(each[1:])} for each in came]
    found = query.run(t=rows, batch=3).history().to_pylist()
    assert [(row["k"], row["window_end"], row["l"]) for row in found if row["ve"] is None] == [
        ("b", 10, [1, 4, 6]), ("a", 16, [2, 4, 4, 8, 9, 12]), ("a", 30, [26]), ("a", 38, [34])
    ]  # fmt: skip


T = dl.stream("t", {"k": "STRING", "ts": "BIGINT", "x": "BIGINT"}, time="ts", disorder=3)
BY_DUCKDB = (
    "WITH a AS (SELECT *, ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) <= 4 AS same "
    "FROM records), b AS (SELECT *, sum(if(same, 0, 1)) OVER (PARTITION BY k ORDER BY ts) AS s "
    "FROM a), c AS (SELECT *, min(ts) OVER (PARTITION BY k, s) AS window_start, "
    "max(ts) OVER (PARTITION BY k, s) + 4 AS window_end FROM b) "
)
FINISHED = (
    ("k, window_start, window_end, x, count(*) AS n", "k, window_start, window_end, x"),
    ("k, window_start, max(window_end) AS e, sum(x) AS s", "k, window_start"),
    ("k, window_end - window_start AS d, x, first(ts{0}) AS f, last(ts{0}) AS l",
     "k, window_start, window_end - window_start, x"),
    ("k, window_start, window_end, array_agg(x{1}) AS l", "k, window_start, window_end"),
)  # fmt: skip


@cache
def finished() -> list[tuple[dl.Query, str]]:
    """Each query for us, planned once, and for DuckDB."""
    texts = [f"SELECT {columns} FROM {{2}} GROUP BY {groups}" for columns, groups in FINISHED]
    return [
        (
            dl.sql(text.format("", "", "SESSION(TABLE t PARTITION BY k, 4)"), t=T),
            BY_DUCKDB + text.format(" ORDER BY ts", " ORDER BY ts, x", "c"),
        )
        for text in texts
    ]


@cache
def database() -> Any:
    return pytest.importorskip("duckdb").connect()


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.integers(0, 3), st.integers(0, 2)),
        max_size=25,
    ),
    SIZES,
)
def test_the_finished_table_is_that_of_duckdb(
    made: list[tuple[str, int, int, int]], size: int
) -> None:
    """Rows come up to three ticks late, and what is over is evicted meanwhile."""
    came = sorted(made, key=lambda row: row[1] + row[2])
    rows = [{"k": key, "ts": ts, "x": x} for key, ts, _, x in came]
    records = pa.Table.from_pylist(
        rows, schema=pa.schema([("k", pa.string()), ("ts", pa.int64()), ("x", pa.int64())])
    )
    database().register("records", records)
    for query, theirs in finished():
        answer = [
            tuple(value for name, value in row.items() if name not in ("vs", "ve"))
            for row in query.run(t=rows, batch=size).history().to_pylist()
            if row["ve"] is None
        ]
        assert sorted(answer) == sorted(database().sql(theirs).fetchall())
