"""Explode: every row once for each item of a list that it holds.

    explode_f(H) = { (vs, ve, r + i) : (vs, ve, r) ∈ H, i an item of f(r) }

An item is what it adds to the row: columns and their values. Lifetimes stay as they are. With
`outer` a row without items is there once, with `outer` in the place of an item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from driftline.model.history import History, Lifetime
from driftline.model.reference.project import flat_project
from driftline.model.row import Row, Value

Item = Mapping[str, Value]


def explode(
    history: History, items: Callable[[Row], Sequence[Item] | None], outer: Item | None = None
) -> History:
    def rows(lifetime: Lifetime) -> Iterator[Row]:
        found = items(lifetime.row) or ([] if outer is None else [outer])
        for item in found:
            yield Row(lifetime.row, **item)

    return flat_project(history, rows)
