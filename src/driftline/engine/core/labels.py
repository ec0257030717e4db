"""Labels: which input a batch in a queue comes from, and what has taken part in it.

Every source numbers what it lets in. What an operator puts out has the greatest numbers of all that
took part, and is active for the very input whose effects are being worked out:

    label(output) = max(label of the batch, labels of the stored rows that took part)
    active(output) = active(batch)

See `outputs.heeding` for what they tell. Beside what it stores an operator keeps labels by row
(`raise_to`, the partners of a join) or by key (`KeyLabels`: all that has touched a group).
"""

from __future__ import annotations

from operator import le
from typing import NamedTuple

import numpy as np

from driftline.kernels import in_place
from driftline.model.arrays import Int64s, Int64Table, UInt64s
from driftline.model.time import INFINITY

Vector = tuple[int, ...]
"""For each source a number of its inputs; 0: none of them."""

_SMALLEST = 1024


class Label(NamedTuple):
    """`vector`: what took part; `source`, `number`: for which input the batch is active."""

    vector: Vector
    source: int
    number: int


def greatest(one: Vector, other: Vector) -> Vector:
    """Component by component.

    >>> greatest((1, 5), (3, 2))
    (3, 5)
    """
    return tuple(map(max, one, other))


def is_within(one: Vector, other: Vector) -> bool:
    return all(map(le, one, other))


class KeyLabels:
    """For every key the greatest labels of all that has touched it, also of what is gone: a row
    that was retracted, and its retraction, are reasons for what comes out without it.

    `table`: by hash. Keys that share a place share the label, which is then larger than it has to
    be; there is room for twice the keys that are held. Nothing is evicted: what is old is within
    the prefixes that are asked about."""

    def __init__(self, sources: int) -> None:
        self.table = np.zeros((_SMALLEST, sources), np.int64)

    def touch(self, keys: UInt64s, vector: Vector, held: int) -> Vector:
        """Raise the labels of keys (their hashes); returns the greatest of what they were."""
        self._make_room(held)
        before = np.zeros(len(vector), np.int64)
        _touch(self.table, keys, np.array(vector, np.int64), before)
        return tuple(before.tolist())

    def touch_each(self, keys: UInt64s, labels: Int64s, held: int) -> None:
        """Raise the label of every key to one of its own."""
        self._make_room(held)
        np.maximum.at(self.table, (keys & np.uint64(len(self.table) - 1)).view(np.int64), labels)

    def of(self, keys: UInt64s) -> Vector:
        """The greatest label of some keys."""
        places = (keys & np.uint64(len(self.table) - 1)).view(np.int64)
        found = np.zeros(self.table.shape[1], np.int64)
        raise_to(self.table, places, found, np.full_like(found, INFINITY))
        return tuple(found.tolist())

    def _make_room(self, held: int) -> None:
        while len(self.table) < 2 * held:  # the keys of one place are in two now, which both know
            self.table = np.concatenate([self.table, self.table])


@in_place
def _touch(table: Int64Table, keys: UInt64s, vector: Int64s, before: Int64s) -> None:
    mask = np.uint64(len(table) - 1)
    for row in range(len(keys)):
        place = np.int64(keys[row] & mask)
        for source in range(len(vector)):
            before[source] = max(before[source], table[place, source])
    for row in range(len(keys)):
        place = np.int64(keys[row] & mask)
        for source in range(len(vector)):
            table[place, source] = max(table[place, source], vector[source])


@in_place
def raise_to(labels: Int64Table, places: Int64s, found: Int64s, most: Int64s) -> None:
    """Raise what was found to the greatest label at some places; that is `most` at most, so that
    one that has come so far needs no further look."""
    for row in range(len(places)):
        is_less = False
        for source in range(len(found)):
            found[source] = max(found[source], labels[places[row], source])
            is_less |= found[source] < most[source]
        if not is_less:
            return


@in_place
def label_new(labels: Int64Table, places: Int64s, vector: Int64s, most: Int64s) -> None:
    """Note the label of what is new at some places; `most` is the greatest of all."""
    for source in range(len(vector)):
        most[source] = max(most[source], vector[source])
    for place in places:
        for source in range(len(vector)):
            labels[place, source] = vector[source]


@in_place
def raise_at(labels: Int64Table, new: Int64s, places: Int64s, vector: Int64s, most: Int64s) -> None:
    """Raise the labels at some places, those of new ones from nothing; `most` is the greatest of
    all."""
    for source in range(len(vector)):
        most[source] = max(most[source], vector[source])
    for place in new:
        labels[place] = 0
    for place in places:
        for source in range(len(vector)):
            labels[place, source] = max(labels[place, source], vector[source])
