from __future__ import annotations

from collections import Counter

from driftline.model.history import Bag, Lifetime
from driftline.model.reference import snapshot_operator
from driftline.model.row import Row
from tests.build import history


def test_an_empty_snapshot_is_not_asked_about() -> None:
    asked: list[int] = []

    def operate(alive: list[Lifetime]) -> Bag:
        asked.append(len(alive))
        return Counter([Row(n=len(alive))])

    answer = snapshot_operator(operate, history((1, 3, "a"), (5, 6, "b")))
    assert answer == history((1, 3, {"n": 1}), (5, 6, {"n": 1}))
    assert asked == [1, 1]


def test_the_endpoints_of_all_inputs_cut_the_time_line() -> None:
    def both(one: list[Lifetime], other: list[Lifetime]) -> Bag:
        return Counter([Row(n=len(one), m=len(other))])

    assert snapshot_operator(both, history((1, 5, "a")), history((3, 7, "b"))) == history(
        (1, 3, {"n": 1, "m": 0}), (3, 5, {"n": 1, "m": 1}), (5, 7, {"n": 0, "m": 1})
    )
