from __future__ import annotations

from driftline.model.reference import select
from tests.build import history


def test_select_keeps_lifetimes_and_copies() -> None:
    table = history((1, 5, 10), (1, 5, 10), (2, None, 3))
    assert select(table, lambda row: row["p"] > 5) == history((1, 5, 10), (1, 5, 10))


def test_a_null_predicate_does_not_select() -> None:
    assert select(history((1, 5, 10)), lambda row: None) == history()
