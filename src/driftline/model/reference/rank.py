"""Rank and top-k, snapshot operators.

    rank, at every time: every row of the snapshot, with its place among the rows of its partition
        row_number   1, 2, 3, 4   ties are broken by the whole row, so the answer is determined
        rank         1, 2, 2, 4   one more than the rows strictly before it
        dense_rank   1, 2, 2, 3   one more than the different order keys strictly before it

    top_k = the rows whose row_number is at most k

Nulls come first in ascending order and last in descending order, as in Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from driftline.model.history import Bag, History, Lifetime
from driftline.model.reference.aggregates import Argument
from driftline.model.reference.project import project
from driftline.model.reference.select import select
from driftline.model.reference.snapshot_operator import snapshot_operator
from driftline.model.row import Row, Value, sort_key

Method = Literal["row_number", "rank", "dense_rank"]


@dataclass(frozen=True)
class Order:
    """One item of an ORDER BY."""

    by: Argument
    descending: bool = False
    nulls_first: bool | None = None  # None: first when ascending, last when descending

    def key(self, row: Row) -> tuple[Any, ...]:
        return self.key_of(self.by(row))

    def key_of(self, value: Value) -> tuple[Any, ...]:
        nulls_first = not self.descending if self.nulls_first is None else self.nulls_first
        if value is None:
            return (0 if nulls_first else 2,)
        key = sort_key(value)
        return (1, _Reversed(key) if self.descending else key)


class _Reversed:
    """A key that sorts the other way round."""

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and self.key == other.key

    __hash__ = None  # type: ignore[assignment]  # it is only ever sorted


def rank(
    history: History,
    order: Sequence[Order],
    partition: Sequence[Argument] = (),
    method: Method = "row_number",
    name: str = "rank",
) -> History:
    def operate(alive: Sequence[Lifetime]) -> Bag:
        partitions: dict[Any, list[Row]] = {}
        for lifetime in alive:
            key = tuple(sort_key(part(lifetime.row)) for part in partition)
            partitions.setdefault(key, []).append(lifetime.row)
        return Counter(
            Row(row, **{name: place})
            for rows in partitions.values()
            for row, place in _places(rows, order, method)
        )

    return snapshot_operator(operate, history)


def top_k(
    history: History, k: int, order: Sequence[Order], partition: Sequence[Argument] = ()
) -> History:
    place = "the place among the rows"
    ranked = rank(history, order, partition, name=place)
    best = select(ranked, lambda row: row[place] <= k)
    return project(best, lambda row: {column: row[column] for column in row if column != place})


def _places(rows: list[Row], order: Sequence[Order], method: Method) -> list[tuple[Row, int]]:
    def key(row: Row) -> list[tuple[Any, ...]]:
        return [item.key(row) for item in order]

    ordered = sorted(rows, key=lambda row: (key(row), row))
    if method == "row_number":
        return [(row, place) for place, row in enumerate(ordered, 1)]
    places: list[tuple[Row, int]] = []
    for before, row in enumerate(ordered):
        if before and key(row) == key(ordered[before - 1]):
            place = places[-1][1]
        elif method == "rank":
            place = before + 1
        else:
            place = places[-1][1] + 1 if places else 1
        places.append((row, place))
    return places
