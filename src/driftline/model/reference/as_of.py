"""As-of joins: for each row of the left the latest row of the right.

    as_of(L, R), at every time: for every l of the snapshot of L the row r of that of R with
        on(l, r), time(r) <= time(l) and the greatest time(r); (l + r) if there is one, and else
        nothing or, of a left join, l padded with nulls

With `strict` it is time(r) < time(l). A time that is null is before nothing. Of several rows with
the greatest time it is the one that is last by `rank`: which that is, is left open, but it is
always the same one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from driftline.model.history import Bag, History, Lifetime
from driftline.model.reference.join import Condition
from driftline.model.reference.snapshot_operator import snapshot_operator
from driftline.model.row import Row

TimeOf = Callable[[Row], int | None]


def as_of_join(
    left: History,
    right: History,
    on: Condition,
    left_time: TimeOf,
    right_time: TimeOf,
    rank: Callable[[Row], Any],
    padded: Iterable[str] | None = None,
    *,
    strict: bool = False,
) -> History:
    """`padded`: of a left join, the columns of the right."""

    def before(one: Row, other: Row) -> bool:
        then, now = right_time(other), left_time(one)
        return then is not None and now is not None and (then < now or (then == now and not strict))

    def joined(lefts: list[Lifetime], rights: list[Lifetime]) -> Bag:
        found: Bag = Counter()
        for one in lefts:
            rows = [
                each.row
                for each in rights
                if on(one.row, each.row) is True and before(one.row, each.row)
            ]
            if rows:
                found[Row(one.row, **max(rows, key=lambda row: (right_time(row), rank(row))))] += 1
            elif padded is not None:
                found[Row(one.row, **dict.fromkeys(padded))] += 1
        return found

    return snapshot_operator(joined, left, right)
