from __future__ import annotations

from collections import Counter
from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from driftline.model.history import History
from driftline.model.reference import group_by, select
from driftline.model.reference.aggregates import count_all, max_, sum_
from driftline.model.row import Row, sort_key
from driftline.testing import histories
from tests.build import history


def test_a_sum_over_two_overlapping_lifetimes() -> None:
    #   1   2───────────8
    #   10      4───6
    table = history((2, 8, {"x": 1}), (4, 6, {"x": 10}))
    assert group_by(table, {}, {"s": sum_(lambda row: row["x"])}) == history(
        (2, 4, {"s": 1}), (4, 6, {"s": 11}), (6, 8, {"s": 1})
    )


def test_no_change_where_the_value_does_not_change() -> None:
    table = history((1, 5, {"x": 7}), (3, 9, {"x": 7}))
    assert group_by(table, {}, {"m": max_(lambda row: row["x"])}) == history((1, 9, {"m": 7}))


def test_null_is_a_key_like_any_other() -> None:
    table = history((1, 5, {"k": None}), (1, 5, {"k": None}), (1, 5, {"k": "a"}))
    assert group_by(table, {"k": lambda row: row["k"]}, {"n": count_all()}) == history(
        (1, 5, {"k": None, "n": 2}), (1, 5, {"k": "a", "n": 1})
    )


def test_no_row_for_an_empty_snapshot() -> None:
    table = history((1, 2, {"x": 1}), (5, 6, {"x": 1}))
    assert group_by(table, {}, {"n": count_all()}) == history((1, 2, {"n": 1}), (5, 6, {"n": 1}))
    assert group_by(history(), {}, {"n": count_all()}) == history()


def test_having_is_a_select_on_the_result() -> None:
    table = history((1, 9, {"k": "a"}), (3, 5, {"k": "a"}))
    counts = group_by(table, {"k": lambda row: row["k"]}, {"n": count_all()})
    assert select(counts, lambda row: row["n"] > 1) == history((3, 5, {"k": "a", "n": 2}))


@given(histories(), st.integers(0, 13))
def test_every_snapshot_is_sqls_group_by(table: History, t: int) -> None:
    rows = sorted(table.snapshot(t).elements(), key=lambda row: sort_key(row["k"]))
    expected: list[Row] = []
    for _, members in groupby(rows, key=lambda row: sort_key(row["k"])):
        group = list(members)
        known = [row["x"] for row in group if row["x"] is not None]
        expected.append(Row(k=group[0]["k"], n=len(group), s=sum(known) if known else None))
    answer = group_by(
        table,
        {"k": lambda row: row["k"]},
        {"n": count_all(), "s": sum_(lambda row: row["x"])},
    )
    assert answer.snapshot(t) == Counter(expected)
