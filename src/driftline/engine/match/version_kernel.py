"""Versions: a match, or a row without one, with the time in which it holds; and their rows.

The rows of versions stand in one pool [place, (entry, symbol)]. A match that has grown at its end
has the rows of the one before and some more: it begins at the same place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import INFINITY

MATCHED, UNMATCHED = range(2)
SLOT, KIND, SINCE, UNTIL, SETTLED, NUMBER, FIRST, SIZE = range(8)
"""The columns of a version: the number of its slot; its kind; the time in which it holds; the time
since which it cannot change but by late rows (INFINITY: it still can); the number of its match; and
where its rows are, and how many. Before and after them are the rows around the match; a version
without rows has one place, that of the row it stands at."""
NO_ROW = -1
"""Among the rows around a match: the partition has none there."""
CARRIED_ROW = -2
"""A row of an earlier batch that is not among the entries: CARRIED_ROW - its place."""
MADE, POOLED = range(2)


class WrittenVersions(NamedTuple):
    """`versions` and the `pool` of their rows, with `counts`, how many there are of both. `before`,
    `after`: how many rows around a match its measures see."""

    versions: Int64Table
    pool: Int64Table
    counts: Int64s
    before: int
    after: int


@compiled
def written(before: int, after: int) -> WrittenVersions:
    """Room for some versions."""
    return WrittenVersions(
        np.empty((1024, 8), np.int64), np.empty((4096, 2), np.int64), np.zeros(2, np.int64),
        before, after,
    )  # fmt: skip


@compiled
def with_more_room(output: WrittenVersions) -> WrittenVersions:
    return WrittenVersions(
        _grown(output.versions), _grown(output.pool), output.counts, output.before, output.after
    )


@compiled
def _grown(array: Int64Table) -> Int64Table:
    bigger = np.empty((2 * len(array), array.shape[1]), np.int64)
    bigger[: len(array)] = array
    return bigger


@in_place
def put_unmatched(output: WrittenVersions, slot: int, entry: int, since: int, until: int) -> int:
    """Write a row without a match; returns its version, or -1 where there is no room."""
    made, pooled = int(output.counts[MADE]), int(output.counts[POOLED])
    if made == len(output.versions) or pooled == len(output.pool):
        return -1
    put_version(output.versions, made, slot, UNMATCHED, since, until, 0, pooled, 0)
    output.pool[pooled, 0], output.pool[pooled, 1] = entry, -1
    output.counts[MADE], output.counts[POOLED] = made + 1, pooled + 1
    return made


@in_place
def put_match(
    output: WrittenVersions, before: int, slot: int, since: int, until: int, number: int,
    alive: Int64s, size: int, at: int, end: int, labels: Int64s,
) -> int:  # fmt: skip
    """Write the match of the rows at some positions, in the place of a version (-1: of none);
    returns its version, which is that one if it has the same rows, or -1 where there is no room."""
    versions, pool = output.versions, output.pool
    if before >= 0 and _is_version(output, before, alive, size, at, end, labels, number):
        return before
    made, pooled = int(output.counts[MADE]), int(output.counts[POOLED])
    rows_at, first = pooled, at - output.before
    if before >= 0 and _extends(output, before, alive, at, end, labels):
        rows_at, first = versions[before, FIRST], at + versions[before, SIZE]
    room = max(1, end + output.after - first)
    if made == len(versions) or pooled + room > len(pool):
        return -1
    put_version(versions, made, slot, MATCHED, since, until, number, rows_at, end - at)
    if end == at:
        pool[pooled, 0], pool[pooled, 1] = alive[at], -1
        pooled += 1
    else:
        for position in range(first, end + output.after):
            pool[pooled, 0] = alive[position] if 0 <= position < size else NO_ROW
            pool[pooled, 1] = labels[position] if at <= position < end else -1
            pooled += 1
    output.counts[MADE], output.counts[POOLED] = made + 1, pooled
    return made


@in_place
def put_version(
    versions: Int64Table, version: int, slot: int, kind: int, since: int, until: int, number: int,
    first: int, size: int,
) -> None:  # fmt: skip
    versions[version, SLOT], versions[version, KIND] = slot, kind
    versions[version, SINCE], versions[version, UNTIL] = since, until
    versions[version, SETTLED], versions[version, NUMBER] = INFINITY, number
    versions[version, FIRST], versions[version, SIZE] = first, size


@in_place
def _is_version(
    output: WrittenVersions, version: int, alive: Int64s, size: int, at: int, end: int,
    labels: Int64s, number: int,
) -> bool:  # fmt: skip
    """Whether a match has the rows, the labels, the number and the neighbours of a version."""
    versions, pool = output.versions, output.pool
    if versions[version, SIZE] != end - at or versions[version, NUMBER] != number:
        return False
    first = versions[version, FIRST]
    if end == at:
        return bool(pool[first, 0] == alive[at])
    for position in range(at - output.before, end + output.after):
        row = alive[position] if 0 <= position < size else NO_ROW
        symbol = labels[position] if at <= position < end else -1
        if pool[first, 0] != row or pool[first, 1] != symbol:
            return False
        first += 1
    return True


@in_place
def _extends(
    output: WrittenVersions, version: int, alive: Int64s, at: int, end: int, labels: Int64s
) -> bool:
    """Whether a match is that of a version with more rows behind, which is the last in the pool: it
    then has the same rows there, and these more."""
    pool = output.pool
    place, length = output.versions[version, FIRST], output.versions[version, SIZE]
    if (
        length == 0
        or output.after > 0
        or end - at <= length
        or place + output.before + length != output.counts[POOLED]
    ):
        return False
    for position in range(at - output.before, at + length):
        row = alive[position] if position >= 0 else NO_ROW
        symbol = labels[position] if position >= at else -1
        if pool[place, 0] != row or pool[place, 1] != symbol:
            return False
        place += 1
    return True


@in_place
def last_entry(output: WrittenVersions, version: int) -> int:
    """The last entry of a match; of one without rows, that which it stands at."""
    last, length = output.versions[version, FIRST], output.versions[version, SIZE]
    if length > 0:
        last += output.before + length - 1
    return int(output.pool[last, 0])
