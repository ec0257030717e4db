from __future__ import annotations

from driftline.model.reference import minus, minus_all
from tests.build import history

#   a  1───────────────9   twice        minus   3───────7   once
LEFT = history((1, 9, "a"), (1, 9, "a"), (1, 9, "b"))
RIGHT = history((3, 7, "a"))


def test_minus_all_takes_copies_away() -> None:
    assert minus_all(LEFT, RIGHT).same_snapshots(
        history((1, 9, "a"), (1, 3, "a"), (7, 9, "a"), (1, 9, "b"))
    )


def test_minus_takes_the_row_away() -> None:
    assert minus(LEFT, RIGHT) == history((1, 3, "a"), (7, 9, "a"), (1, 9, "b"))


def test_nothing_is_never_less_than_nothing() -> None:
    assert minus_all(RIGHT, LEFT) == history()
