from __future__ import annotations

from hypothesis import given

from driftline.model.history import History
from driftline.model.reference import clip_since, clip_until
from driftline.model.row import Row
from driftline.testing import histories
from tests.build import history


def at(row: Row) -> int | None:
    return row["x"]  # type: ignore[no-any-return]


def test_a_row_is_cut_where_it_says() -> None:
    #        5
    #   1────┼────9
    #   1────)         until 5
    #        [────9    since 5
    rows = history((1, 9, {"x": 5}), (6, None, {"x": 5}), (2, 4, {"x": 5}), (1, 3, {"x": None}))
    assert clip_until(rows, at) == history((1, 5, {"x": 5}), (2, 4, {"x": 5}))
    assert clip_since(rows, at) == history((5, 9, {"x": 5}), (6, None, {"x": 5}))


@given(histories())
def test_snapshots_have_the_rows_for_which_the_condition_holds(rows: History) -> None:
    until, since = clip_until(rows, at), clip_since(rows, at)
    for now in range(-2, 14):
        known = [each for each in rows.snapshot(now).elements() if each["x"] is not None]
        for found, keeps in ((until, True), (since, False)):
            expected = [each for each in known if (now < each["x"]) == keeps]
            assert sorted(found.snapshot(now).elements(), key=repr) == sorted(expected, key=repr)
