"""Rows that are held: an arrangement of the lifetimes of each key, with the rows themselves.

    entry  =  order … | START LOW HIGH END | COPIES | PLACE

An entry is a lifetime and how many copies of it there are. The lifetimes of a key are in the order
of what an operator puts in front of them, and then of their start; LOW and HIGH are the fingerprint
of the row, PLACE is where the row store has it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.state.arrangement import Shape, added_up, merge
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.row_runs import RowRuns
from driftline.engine.state.runs import RunArrays
from driftline.engine.state.slot_lists import by_slot
from driftline.engine.state.words import compare, sort
from driftline.kernels import compiled, in_place
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.time import INFINITY

LIFETIME_WORDS = 6
START, LOW, HIGH, END, COPIES, PLACE = range(-LIFETIME_WORDS, 0)
"""The words of an entry behind those of the operator's own order, counted from the end."""

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Merged:
    """Changes that have become part of what is held. Those of the n-th key are the first count[n]
    of `order` from begin[n] on, rows of `entries`: one for each lifetime that has changed, in
    order. `earliest`: from when on each key is affected. `strays`: how many lifetimes were
    retracted that are not there."""

    keys: Int64s
    begin: Int64s
    count: Int64s
    order: Int64s
    entries: Int64Table
    earliest: Int64s
    strays: int = 0

    def items(self) -> tuple[Int64s, Int64s]:
        """The rows of `entries` that have changed, and the number of the key of each."""
        number = np.repeat(np.arange(len(self.keys)), self.count)
        first = np.cumsum(self.count) - self.count
        return self.order[np.arange(len(number)) + (self.begin - first)[number]], number


NOTHING_MERGED = Merged(
    _NONE, _NONE, _NONE, _NONE, np.zeros((0, LIFETIME_WORDS), np.int64), _NONE
)  # fmt: skip


class HeldRows(RowRuns):
    """`order_words`: how many words an operator puts in front of a lifetime."""

    def __init__(self, schema: pa.Schema, order_words: int = 0) -> None:
        super().__init__(schema, order_words + LIFETIME_WORDS, START, END)

    def merge(
        self,
        keys: Int64s,
        used: int,
        order: list[Int64s],
        lifetimes: tuple[Int64s, Int64s, Int64s],
        columns: list[pa.Array],
    ) -> Merged:
        """Make changes part of what is held: the key of each (of so many that are `used`), the
        words of its order, its vs, ve and weight, and the columns of its row."""
        vs, ve, weight = lifetimes
        touched, counts, numbers = by_slot(keys, used)
        self.reserve(touched, self.sizes(touched) + counts)
        prints = fingerprints(columns, len(keys))
        low, high = prints.low.view(np.int64), prints.high.view(np.int64)
        places = self.places.take(len(keys))
        entries = np.stack([*order, vs, low, high, ve, weight, places], axis=1)
        begin = np.cumsum(counts) - counts
        earliest, freed = np.full(len(touched), INFINITY, np.int64), np.empty_like(places)
        gone, strays = _merge(
            touched, begin, counts, numbers, entries, self.arrays, earliest, freed
        )  # fmt: skip
        places = entries[:, PLACE]
        new = np.flatnonzero(places < 0)  # which have become entries
        self.free(freed[:gone])
        self.places.give_back(places[places >= 0])
        if columns:
            rows = [column.take(pa.array(new)) for column in columns]
            self.rows.put(~places[new], pa.RecordBatch.from_arrays(rows, schema=self.rows.schema))
        return Merged(touched, begin, counts, numbers, entries, earliest, strays)


@compiled
def _merge(
    keys: Int64s,
    begin: Int64s,
    counts: Int64s,
    order: Int64s,
    entries: Int64Table,
    held: RunArrays,
    earliest: Int64s,
    freed: Int64s,
) -> tuple[int, int]:
    """Merge the changes of each key; `counts` becomes how many lifetimes change. Returns how many
    places of rows are free again, and how many lifetimes were retracted that are not there."""
    most = 0
    for number in range(len(keys)):
        most = max(most, counts[number])
    numbers, at = np.empty(most, np.int64), np.empty(most, np.int64)
    words = entries.shape[1]
    shape = Shape(words + COPIES, words + PLACE, words + PLACE)
    reals, held_reals = entries.view(np.float64), held.ints.view(np.float64)
    gone, strays = 0, 0
    for number in range(len(keys)):
        mine = order[begin[number] : begin[number] + counts[number]]
        sort(entries, mine, len(mine), shape.order, at)
        count = added_up(entries, reals, mine, len(mine), shape)
        counts[number], earliest[number] = count, _first_affected(entries, mine, count)
        for change in range(count):
            numbers[change] = mine[change]
        more, lacking = merge(
            held, held_reals, keys[number], entries, reals, numbers, count, shape, at, freed[gone:]
        )
        gone, strays = gone + more, strays + lacking
    return gone, strays


@in_place
def _first_affected(entries: Int64Table, order: Int64s, count: int) -> int:
    """The earliest time that changes affect. Lifetimes of one row with one start, of which as many
    go as come, are affected only from the first end that changes."""
    earliest, place = INFINITY, 0
    while place < count:
        head = order[place]
        balance, first_end = 0, entries[head, END]
        while place < count and (
            compare(entries, order[place], entries, head, entries.shape[1] + END) == 0
        ):
            balance += entries[order[place], COPIES]
            place += 1
        earliest = min(earliest, first_end if balance == 0 else entries[head, START])
    return earliest
