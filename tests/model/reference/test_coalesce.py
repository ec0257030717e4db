from __future__ import annotations

from hypothesis import given

from driftline.model.history import History
from driftline.model.reference.coalesce import coalesce, ends, starts
from driftline.testing import histories
from tests.build import history


def test_lifetimes_that_meet_are_one() -> None:
    #   1───3───6       becomes   1───────6
    #             7───∞                     7───∞
    table = history((1, 3, "a"), (3, 6, "a"), (7, None, "a"))
    assert coalesce(table) == history((1, 6, "a"), (7, None, "a"))
    assert starts(table) == history((1, None, "a"), (7, None, "a"))
    assert ends(table) == history((6, None, "a"))


def test_copies_are_layers() -> None:
    #   1───────5       becomes   1───────────7
    #       3───────7                 3───5
    assert coalesce(history((1, 5, "a"), (3, 7, "a"))) == history((1, 7, "a"), (3, 5, "a"))


def test_different_rows_are_apart() -> None:
    table = history((1, 3, "a"), (3, 6, "b"))
    assert coalesce(table) == table


@given(histories())
def test_it_keeps_the_snapshots_and_depends_on_nothing_else(table: History) -> None:
    merged = coalesce(table)
    assert merged.same_snapshots(table)
    pieces = History(
        piece for start, end, _ in table.snapshots() for piece in table.clip(start, end)
    )
    assert coalesce(merged) == merged == coalesce(pieces)
