from __future__ import annotations

from driftline.model.reference import intersect, intersect_all
from tests.build import history

TWO = history((1, 9, "a"), (1, 9, "a"), (1, 9, "b"))
THREE = history((3, 7, "a"), (3, 7, "a"), (5, 7, "a"))


def test_intersect_all_takes_the_smaller_number_of_copies() -> None:
    assert intersect_all(TWO, THREE) == history((3, 7, "a"), (3, 7, "a"))


def test_intersect_takes_one() -> None:
    assert intersect(TWO, THREE) == history((3, 7, "a"))
