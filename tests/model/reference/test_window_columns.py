from __future__ import annotations

import pytest

from driftline.model.reference import cumulate, hop, tumble
from tests.build import history


def windowed(
    vs: int, ve: int | None, payload: str, start: int, end: int
) -> tuple[int, int | None, dict[str, object]]:
    return (vs, ve, {"p": payload, "window_start": start, "window_end": end})


def test_tumble_adds_the_window_and_leaves_lifetimes_alone() -> None:
    table = history((9, None, "a"), (10, 12, "b"), (-1, None, "c"))
    assert tumble(table, 10) == history(
        windowed(9, None, "a", 0, 10),
        windowed(10, 12, "b", 10, 20),
        windowed(-1, None, "c", -10, 0),
    )


def test_hop_gives_a_row_for_every_window() -> None:
    assert hop(history((7, None, "a")), slide=5, size=10) == history(
        windowed(7, None, "a", 0, 10), windowed(7, None, "a", 5, 15)
    )


def test_hop_with_gaps_gives_none_outside_the_windows() -> None:
    assert hop(history((7, None, "a"), (11, None, "b")), slide=10, size=5) == history(
        windowed(11, None, "b", 10, 15)
    )


def test_the_time_may_be_a_column_and_null_has_no_window() -> None:
    table = history((0, None, {"at": 12}), (0, None, {"at": None}))
    assert tumble(table, 10, time=lambda lifetime: lifetime.row["at"]) == history(
        (0, None, {"at": 12, "window_start": 10, "window_end": 20})
    )


def test_windows_have_a_size() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        tumble(history(), 0)


def test_cumulate_gives_the_windows_that_begin_together_and_end_after_the_row() -> None:
    table = history((3, None, "a"), (9, 12, "b"))
    assert cumulate(table, step=2, size=6) == history(
        windowed(3, None, "a", 0, 4),
        windowed(3, None, "a", 0, 6),
        windowed(9, 12, "b", 6, 10),
        windowed(9, 12, "b", 6, 12),
    )
    with pytest.raises(ValueError, match="multiple"):
        cumulate(table, step=4, size=6)
