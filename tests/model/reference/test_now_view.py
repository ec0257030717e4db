from __future__ import annotations

import pytest

from driftline.model.history import History, Lifetime
from driftline.model.reference import now_view
from driftline.model.reference.now_view import NowChange
from driftline.model.row import Row
from driftline.model.time import BEGINNING

A, B = Row(k="a"), Row(k="b")
EMPTY = History()


def test_rows_come_and_leave_as_the_clock_passes() -> None:
    answer = History([Lifetime(1, 4, A), Lifetime(3, 9, B)])
    assert now_view(EMPTY, answer, BEGINNING, 5) == [
        NowChange(1, 1, A),
        NowChange(3, 1, B),
        NowChange(4, -1, A),
    ]


def test_a_row_leaves_although_nothing_comes() -> None:
    answer = History([Lifetime(1, 4, A)])
    assert now_view(answer, answer, 3, 4) == [NowChange(4, -1, A)]


def test_what_a_late_row_changes_shows_from_the_clock_on() -> None:
    before, after = History([Lifetime(1, 9, A)]), History([Lifetime(1, 9, B)])
    assert now_view(before, after, 5, 5) == [NowChange(5, -1, A), NowChange(5, 1, B)]


def test_what_changes_the_past_alone_does_not_show() -> None:
    after = History([Lifetime(1, 4, A)])
    assert now_view(EMPTY, after, 5, 7) == []


def test_a_row_that_goes_on_is_not_shown_to_leave() -> None:
    answer = History([Lifetime(1, 4, A), Lifetime(4, 9, A)])
    assert now_view(EMPTY, answer, BEGINNING, 5) == [NowChange(1, 1, A)]


def test_the_clock_never_goes_back() -> None:
    with pytest.raises(ValueError, match="never goes back"):
        now_view(EMPTY, EMPTY, 5, 4)
