from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.history import History
from driftline.model.reference import alter_lifetime, hopping, now, sliding, unbounded
from driftline.model.time import INFINITY
from driftline.testing import histories
from tests.build import history


def test_sliding_ignores_the_old_end() -> None:
    assert sliding(history((1, 2, "a"), (3, None, "b")), 5) == history((1, 6, "a"), (3, 8, "b"))


def test_now_and_unbounded() -> None:
    table = history((1, 9, "a"))
    assert now(table) == history((1, 2, "a"))
    assert unbounded(table) == history((1, None, "a"))


def test_hopping_answers_the_window_before_t_from_t_on() -> None:
    # RANGE 10 SLIDE 5: a row at 7 is in the windows [0, 10) and [5, 15), answered in [10, 20).
    assert hopping(history((7, None, "a")), size=10, slide=5) == history((10, 20, "a"))


def test_hopping_at_the_edge_of_a_window() -> None:
    # A row at 10 is not in [0, 10) but in [5, 15) and [10, 20).
    assert hopping(history((10, None, "a")), size=10, slide=5) == history((15, 25, "a"))
    assert hopping(history((9, None, "a")), size=10, slide=5) == history((10, 20, "a"))


def test_hopping_with_gaps_loses_rows_that_are_in_no_window() -> None:
    # RANGE 2 SLIDE 5: windows [3, 5), [8, 10), … A row at 1 is in none, one at 4 in the first.
    table = history((1, None, "in none"), (4, None, "in one"))
    assert hopping(table, size=2, slide=5) == history((5, 10, "in one"))


def test_hopping_before_zero() -> None:
    assert hopping(history((-7, None, "a")), size=10, slide=5) == history((-5, 5, "a"))


def test_hopping_needs_a_slide() -> None:
    with pytest.raises(ValueError, match="slide of at least one tick"):
        hopping(history(), size=10, slide=0)


def test_a_point_at_the_end() -> None:
    table = history((1, 9, "a"), (2, None, "never ends"))
    ended = alter_lifetime(table, lambda vs, ve: ve, lambda vs, ve: 1)
    assert ended == history((9, 10, "a"))


def test_empty_lifetimes_vanish() -> None:
    table = history((1, 9, "a"))
    assert alter_lifetime(table, lambda vs, ve: vs, lambda vs, ve: 0) == history()
    assert alter_lifetime(table, lambda vs, ve: vs, lambda vs, ve: -3) == history()


def test_nothing_goes_past_infinity() -> None:
    assert sliding(history((INFINITY - 2, None, "a")), 5) == history((INFINITY - 2, None, "a"))
    assert hopping(history((INFINITY - 2, None, "a")), 5, 10) == history()


@given(histories(), st.integers(1, 12), st.integers(1, 6), st.integers(-3, 6))
def test_hopping_is_its_windows(table: History, size: int, slide: int, number: int) -> None:
    answered_at = number * slide
    window = [row for vs, _, row in table if answered_at - size <= vs < answered_at]
    during = hopping(table, size, slide)
    for t in range(answered_at, answered_at + slide):
        assert sorted(during.snapshot(t).elements()) == sorted(window)
