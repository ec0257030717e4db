"""Joins. Lifetimes intersect.

    L ⋈ R      = { (max vs, min ve, l + r) : l ∈ L, r ∈ R, on(l, r), max vs < min ve }
    L ⟕ R      = L ⋈ R  ∪  (L ▷ R) padded with nulls
    L ⟖ R      = L ⋈ R  ∪  (R ▷ L) padded with nulls
    L ⟗ R      = L ⋈ R  ∪  both
    L ⋉ R      = every lifetime of L, cut down to the longest stretches where it has a match in R
    L ▷ R      = every lifetime of L, cut down to the longest stretches where it has none

The condition is a predicate over both rows: equality keys and anything else. When it is null there
is no match, so null keys match nothing. Semi and anti joins keep the multiplicity of L.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from driftline.model.history import History, Lifetime
from driftline.model.row import Row

Condition = Callable[[Row, Row], bool | None]
Stretch = tuple[int, int]


def inner_join(left: History, right: History, on: Condition) -> History:
    return History(
        Lifetime(max(one.vs, other.vs), min(one.ve, other.ve), _both(one.row, other.row))
        for one in left
        for other in right
        if on(one.row, other.row) is True and _overlap(one, other)
    )


def left_join(
    left: History, right: History, on: Condition, right_columns: Iterable[str]
) -> History:
    """`right_columns` names the columns that are null where a row of the left has no match."""
    return inner_join(left, right, on) + _padded(anti_join(left, right, on), right_columns)


def right_join(
    left: History, right: History, on: Condition, left_columns: Iterable[str]
) -> History:
    unmatched = anti_join(right, left, lambda row, other: on(other, row))
    return inner_join(left, right, on) + _padded(unmatched, left_columns)


def full_join(
    left: History,
    right: History,
    on: Condition,
    left_columns: Iterable[str],
    right_columns: Iterable[str],
) -> History:
    unmatched = anti_join(right, left, lambda row, other: on(other, row))
    return left_join(left, right, on, right_columns) + _padded(unmatched, left_columns)


def semi_join(left: History, right: History, on: Condition) -> History:
    return History(
        Lifetime(start, end, one.row) for one in left for start, end in _matched(one, right, on)
    )


def anti_join(left: History, right: History, on: Condition) -> History:
    return History(
        Lifetime(start, end, one.row)
        for one in left
        for start, end in _gaps((one.vs, one.ve), _matched(one, right, on))
    )


def _both(one: Row, other: Row) -> Row:
    shared = one.keys() & other.keys()
    if shared:
        raise ValueError(f"both sides of the join have the columns {sorted(shared)}: rename them")
    return Row({**one, **other})


def _padded(history: History, columns: Iterable[str]) -> History:
    nulls = Row(dict.fromkeys(columns))
    return History(Lifetime(vs, ve, _both(row, nulls)) for vs, ve, row in history)


def _overlap(one: Lifetime, other: Lifetime) -> bool:
    return max(one.vs, other.vs) < min(one.ve, other.ve)


def _matched(one: Lifetime, right: History, on: Condition) -> list[Stretch]:
    """The longest stretches of a lifetime during which it has at least one match."""
    stretches: list[Stretch] = []
    for other in right:  # in order of vs
        if on(one.row, other.row) is not True or not _overlap(one, other):
            continue
        start, end = max(one.vs, other.vs), min(one.ve, other.ve)
        if stretches and start <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(stretches[-1][1], end))
        else:
            stretches.append((start, end))
    return stretches


def _gaps(whole: Stretch, stretches: list[Stretch]) -> Iterator[Stretch]:
    """What the stretches leave of the whole."""
    since = whole[0]
    for start, end in stretches:
        if since < start:
            yield since, start
        since = end
    if since < whole[1]:
        yield since, whole[1]
