from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from driftline.model.history import History
from driftline.model.reference import as_of_join
from driftline.model.row import Row
from driftline.testing import histories
from tests.build import history

QUOTES = history((1, None, {"b": 1}), (4, 8, {"b": 4}), (6, None, {"b": 6}))


def joined(
    left: History, right: History = QUOTES, *, padded: bool = True, strict: bool = False
) -> History:
    return as_of_join(
        left,
        right,
        lambda one, other: True,
        lambda row: row["a"],
        lambda row: row["b"],
        lambda row: 0,
        ["b"] if padded else None,
        strict=strict,
    )


def pair(a: int | None, b: int | None) -> dict[str, object]:
    return {"a": a, "b": b}


def test_the_latest_row_that_is_alive() -> None:
    #   4────────8      while the quote of 4 is there it is the one for 5, and then that of 1
    trades = history((5, None, {"a": 5}), (7, None, {"a": 7}))
    assert joined(trades) == history(
        (5, 8, pair(5, 4)), (8, None, pair(5, 1)), (7, None, pair(7, 6))
    )


def test_ties_nulls_and_rows_without_a_match() -> None:
    trades = history((6, None, {"a": 6}), (6, None, {"a": 0}), (6, None, {"a": None}))
    assert joined(trades) == history(
        (6, None, pair(6, 6)), (6, None, pair(0, None)), (6, None, pair(None, None))
    )
    assert joined(trades, padded=False) == history((6, None, pair(6, 6)))
    assert joined(trades, strict=True, padded=False).alive(9)[0].row == Row(a=6, b=1)


@given(histories({"a": st.integers(0, 3)}), histories({"b": st.integers(0, 3)}))
def test_a_left_join_has_the_rows_of_the_left(left: History, right: History) -> None:
    found = joined(left, right)
    for time in left.endpoints:
        assert sorted(row["a"] for row in found.snapshot(time).elements()) == sorted(
            row["a"] for row in left.snapshot(time).elements()
        )
