from __future__ import annotations

import pytest

from driftline.model.history import History
from driftline.model.reference import Order, rank, top_k
from driftline.model.reference.rank import Method
from driftline.model.row import Row
from tests.build import history


def price(row: Row) -> int | None:
    value = row["price"]
    assert value is None or isinstance(value, int)
    return value


def places(table: History, t: int) -> list[tuple[object, int]]:
    return sorted((row["id"], row["rank"]) for row in table.snapshot(t).elements())


FOUR = history(*[(1, 5, {"id": id, "price": price}) for id, price in enumerate([7, 9, 9, 4], 1)])


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("row_number", [(1, 3), (2, 1), (3, 2), (4, 4)]),
        ("rank", [(1, 3), (2, 1), (3, 1), (4, 4)]),
        ("dense_rank", [(1, 2), (2, 1), (3, 1), (4, 3)]),
    ],
)
def test_the_three_ways_to_number(method: Method, expected: list[tuple[object, int]]) -> None:
    assert places(rank(FOUR, [Order(price, descending=True)], method=method), 1) == expected


def test_nulls_first_ascending_and_last_descending_as_in_spark() -> None:
    table = history((1, 5, {"id": 1, "price": None}), (1, 5, {"id": 2, "price": 3}))
    assert places(rank(table, [Order(price)]), 1) == [(1, 1), (2, 2)]
    assert places(rank(table, [Order(price, descending=True)]), 1) == [(1, 2), (2, 1)]
    assert places(rank(table, [Order(price, nulls_first=False)]), 1) == [(1, 2), (2, 1)]


def test_ranks_start_again_in_every_partition() -> None:
    table = history(
        (1, 5, {"id": 1, "k": "a", "price": 1}),
        (1, 5, {"id": 2, "k": "b", "price": 2}),
        (1, 5, {"id": 3, "k": "b", "price": 3}),
    )
    ranked = rank(table, [Order(price)], partition=[lambda row: row["k"]])
    assert places(ranked, 1) == [(1, 1), (2, 1), (3, 2)]


def test_top_k_changes_with_time() -> None:
    #   id 1, price 5    1───────────9
    #   id 2, price 7        3───6
    table = history((1, 9, {"id": 1, "price": 5}), (3, 6, {"id": 2, "price": 7}))
    assert top_k(table, 1, [Order(price, descending=True)]).same_snapshots(
        history(
            (1, 3, {"id": 1, "price": 5}),
            (3, 6, {"id": 2, "price": 7}),
            (6, 9, {"id": 1, "price": 5}),
        )
    )


def test_top_k_has_k_rows_also_with_ties() -> None:
    best = top_k(FOUR, 1, [Order(price, descending=True)])
    assert best == history((1, 5, {"id": 2, "price": 9}))
