from __future__ import annotations

from driftline.model.reference import distinct
from tests.build import history


def test_one_copy_while_any_is_alive() -> None:
    #   1───────5       becomes   1───────────7   and 9──10
    #       3───────7
    table = history((1, 5, "a"), (3, 7, "a"), (9, 10, "a"), (2, 3, "b"))
    assert distinct(table) == history((1, 7, "a"), (9, 10, "a"), (2, 3, "b"))


def test_nulls_are_one_value() -> None:
    assert distinct(history((1, 5, {"p": None}), (1, 5, {"p": None}))) == history(
        (1, 5, {"p": None})
    )
