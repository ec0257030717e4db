from __future__ import annotations

from hypothesis import given

from driftline.model.history import History
from driftline.model.reference import until
from driftline.testing import histories
from tests.build import history

A, B = {"k": "a"}, {"k": "b"}


def test_the_first_row_that_starts_later_and_matches_cuts() -> None:
    #   1────4           cut at 4
    #     3──────9       one that starts together with it does not cut it
    rows = history((1, None, A), (3, 9, B), (6, 8, A))
    others = history((4, 5, A), (3, None, B), (7, None, A), (9, None, B))
    expected = history((1, 4, A), (3, 9, B), (6, 7, A))
    assert until(rows, others, lambda one, other: one["k"] == other["k"]) == expected


def test_null_is_no_match() -> None:
    assert until(history((1, 5, A)), history((2, 3, A)), lambda *_: None) == history((1, 5, A))


@given(histories(), histories())
def test_lifetimes_become_shorter_and_none_vanishes(rows: History, others: History) -> None:
    found = until(rows, others, lambda *_: True)
    assert sorted(each.vs for each in found) == sorted(each.vs for each in rows)
    assert not any(each.vs < other.vs < each.ve for each in found for other in others)
