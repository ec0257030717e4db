from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from driftline.model import reference
from driftline.model.history import History
from driftline.model.reference import session, session_columns, sessions
from driftline.model.row import Row
from driftline.testing import histories
from tests.build import history

A, B = {"k": "a"}, {"k": "b"}


def k(row: Row) -> object:
    return row["k"]


def test_a_row_lives_until_its_session_ends() -> None:
    #   1──────6──────11           6 is no more than 5 after 1, and 12 is more than 5 after 6
    #                     12───17
    table = history((1, None, A), (6, 7, A), (12, None, A))
    assert session(table, 5) == history((1, 11, A), (6, 11, A), (12, 17, A))


def test_sessions_go_by_key_and_null_is_one() -> None:
    table = history((1, None, A), (3, None, B), (2, None, {"k": None}), (4, None, {"k": None}))
    assert session(table, 3, k) == history(
        (1, 4, A), (3, 6, B), (2, 7, {"k": None}), (4, 7, {"k": None})
    )


def test_a_session_may_have_a_longest_duration() -> None:
    #   1  3  5  7        at most 5 from the first row: 7 begins the next one
    table = history((1, None, A), (3, None, A), (5, None, A), (7, None, A))
    assert session(table, 3, at_most=5) == history((1, 6, A), (3, 6, A), (5, 6, A), (7, 10, A))


def test_columns_know_of_a_session_what_has_come_by_then() -> None:
    #   1  at 4 the session becomes longer
    table = history((1, None, A), (4, 9, A))
    first = {**A, "window_start": 1, "window_end": 6}
    both = {**A, "window_start": 1, "window_end": 9}
    assert session_columns(table, 5) == history((1, 4, first), (4, None, both), (4, 9, both))


def test_nothing_has_no_session() -> None:
    assert session(history(), 5) == session_columns(history(), 5) == history()
    assert sessions([], 5) == []


@given(histories({"k": st.sampled_from(["a", None])}), st.integers(1, 4), st.integers(1, 6))
def test_sessions_are_apart_and_columns_are_their_limits(
    table: History, gap: int, at_most: int
) -> None:
    found = sessions([each.vs for each in table], gap, at_most)
    assert all(end <= first for (_, end), (first, _) in pairwise(found))
    assert all(end - first <= at_most for first, end in found)
    starts = {each.vs for each in table}
    assert starts == {start for start in starts for first, end in found if first <= start < end}
    columns = session_columns(reference.unbounded(table), gap, at_most=at_most)
    last = {(each.row["window_start"], each.row["window_end"]) for each in columns.alive(100)}
    assert last == set(found)
