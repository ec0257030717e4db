from __future__ import annotations

import pytest

from driftline.model.history import History
from driftline.model.reference import Frame, Order, nth, of_frame, over
from driftline.model.reference.aggregates import count_all, first, sum_
from driftline.model.row import Row
from tests.build import history


def t(row: Row) -> object:
    return row["t"]


def x(row: Row) -> object:
    return row["x"]


def values(table: History, time: int) -> list[object]:
    found = table.snapshot(time).elements()
    return [row["v"] for row in sorted(found, key=lambda row: (row["t"] or 0, row["x"]))]


# x   1   2   3   4   5
# t   1   2   2   5   9
FIVE = history(*[(1, 9, {"t": t, "x": x}) for x, t in enumerate([1, 2, 2, 5, 9], 1)])


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (Frame(), [1, 6, 6, 10, 15]),  # up to the peers of the row
        (Frame("rows"), [1, 3, 6, 10, 15]),
        (Frame("rows", -1, 0), [1, 3, 5, 7, 9]),
        (Frame("rows", 1, 2), [5, 7, 9, 5, None]),
        (Frame("range", -3, 0), [1, 6, 6, 9, 5]),
        (Frame("range", 0, 1), [6, 5, 5, 4, 5]),
        (Frame("range", None, None), [15] * 5),
        (Frame("range", -4, -1), [None, 1, 1, 6, 4]),
    ],
)
def test_frames(frame: Frame, expected: list[object]) -> None:
    assert values(over(FIVE, {"v": (frame, of_frame(sum_(x)))}, [Order(t)]), 1) == expected


def test_a_descending_order_turns_distances_round() -> None:
    frame = Frame("range", -3, 0)
    answer = over(FIVE, {"v": (frame, of_frame(sum_(x)))}, [Order(t, descending=True)])
    assert values(answer, 1) == [6, 9, 9, 4, 5]


def test_the_frame_of_a_null_is_that_of_the_nulls() -> None:
    table = history(*[(1, 5, {"t": t, "x": x}) for x, t in enumerate([None, None, 1], 1)])
    answer = over(table, {"v": (Frame("range", -9, 0), of_frame(count_all()))}, [Order(t)])
    assert values(answer, 1) == [2, 2, 1]


def test_neighbours_and_their_default() -> None:
    lag = over(FIVE, {"v": (Frame("rows", -2, -2), nth(x, 1, lambda row: 0))}, [Order(t)])
    assert values(lag, 1) == [0, 0, 1, 2, 3]
    last = over(FIVE, {"v": (Frame("rows", None, 0), nth(x, -2))}, [Order(t)])
    assert values(last, 1) == [None, 1, 2, 3, 4]


def test_first_goes_by_the_order_in_the_frame() -> None:
    answer = over(
        FIVE, {"v": (Frame("rows"), of_frame(first(x)))}, [Order(t, descending=True)], [t]
    )
    assert values(answer, 1) == [1, 2, 2, 4, 5]


def test_a_late_row_changes_the_rows_after_it() -> None:
    #   t 1   1────────────∞
    #   t 5        5───────∞
    #   t 3          7───9
    table = history(
        (1, None, {"t": 1, "x": 1}), (5, None, {"t": 5, "x": 1}), (7, 9, {"t": 3, "x": 1})
    )
    answer = over(table, {"v": (Frame("range", -2, 0), of_frame(count_all()))}, [Order(t)])
    assert answer.same_snapshots(
        history(
            (1, None, {"t": 1, "x": 1, "v": 1}),
            (5, 7, {"t": 5, "x": 1, "v": 1}),
            (7, 9, {"t": 3, "x": 1, "v": 2}),
            (7, 9, {"t": 5, "x": 1, "v": 2}),
            (9, None, {"t": 5, "x": 1, "v": 1}),
        )
    )
