"""Answers that are right as far as they have come, and such as are not.

truth   a ├──1──┤├──2───┤├─3─▶        vs 0, 4, 9
"""

from __future__ import annotations

from collections import Counter

import pytest

from driftline.cli.behind import Lifetimes, agree_before, is_behind
from driftline.model.level import Level
from driftline.model.time import BEGINNING

TRUTH: Lifetimes = Counter([(0, 4, "1"), (4, 9, "2"), (9, None, "3")])


@pytest.mark.parametrize(
    ("level", "found", "final", "right"),
    [
        (Level.ORDERED, [(0, None, "1")], BEGINNING, True),
        (Level.ORDERED, [(0, 4, "1"), (4, None, "2")], 4, True),
        (Level.ORDERED, [(0, 4, "1"), (4, None, "2")], 9, False),  # the cti has passed that
        (Level.ORDERED, [(0, 4, "1"), (4, None, "7")], BEGINNING, False),
        (Level.ORDERED, [(0, 3, "1"), (4, None, "2")], BEGINNING, False),
        (Level.PERFECT, [(0, 2, "1"), (2, 4, "1"), (4, 9, "2")], 9, True),
        (Level.PERFECT, [(0, 4, "1"), (4, None, "2")], BEGINNING, False),
        (Level.PERFECT, [(0, 4, "1"), (0, 4, "1")], BEGINNING, False),
    ],
)
def test_a_row_is_right_up_to_a_watermark(
    level: Level, found: list[tuple[int, int | None, str]], final: int, right: bool
) -> None:
    assert is_behind(Counter(found), TRUTH, level, final) is right


def test_what_is_final_is_the_same() -> None:
    found: Lifetimes = Counter([(0, 4, "1"), (4, 8, "2"), (8, None, "5")])
    assert agree_before(found, TRUTH, 8)
    assert not agree_before(found, TRUTH, 9)
