from __future__ import annotations

from driftline.model.reference import union, union_all
from tests.build import history


def test_union_all_keeps_every_lifetime() -> None:
    assert union_all(history((1, 5, "a")), history((3, 7, "a"))) == history(
        (1, 5, "a"), (3, 7, "a")
    )


def test_union_is_distinct() -> None:
    assert union(history((1, 5, "a")), history((3, 7, "a"))) == history((1, 7, "a"))
