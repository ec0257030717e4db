"""The values of the first rows of a partition, in their order.

    members    ················ ················ ················ ······
    prefix     ├────────────────────────────────────────────────┤

What comes before a change counts as a whole for a running count of different values, a running
percentile and a DENSE_RANK by text, too; but these do not follow from those of blocks. So the
values of all members up to some place are kept: how many of each there are (`Different`), or the
values in order (`InOrder`). To go to another place costs the members in between, and a change takes
away what comes after it. Members up to there that are in no block which counts as a whole (see
`near_kernel`) are left out when that is asked for.

The values follow from the members: they are no part of the state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows import block_kernels
from driftline.engine.by_rows.snapshot_kernel import COPIES, PLACE
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.growing import grown
from driftline.engine.state.order_keys import order_keys, valid
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import RunArrays, Runs
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Int64s, Mask

WORD, TIMES = range(2)
"""Of a member: what stands for its value, and how many copies of it count (0: it is null)."""


@dataclass(frozen=True)
class Gaps:
    """The members of some slots that count as a whole are the first `ends`, but for these places
    [start, stop) of the slot with a number."""

    ends: Int64s
    number: Int64s
    start: Int64s
    stop: Int64s


class Prefix(ABC):
    """`columns`: those that make a value; `with_nulls`: whether a null is a value."""

    def __init__(self, columns: list[str], with_nulls: bool = False) -> None:
        self.columns, self.with_nulls = columns, with_nulls
        self.stack = Runs(TIMES + 1, 0)  # by slot: the values of its first members

    def forget(self, slots: Int64s, places: Int64s) -> None:
        """Take away what comes from some places on."""
        sizes = self.stack.sizes(slots)
        count = np.maximum(sizes - places, 0)
        if not count.any():
            return
        more = count > 0
        slots, places, count = slots[more], places[more], count[more]
        at = ranges(self.stack.arrays.first[slots] + places, count)
        self._take_away(np.repeat(slots, count), self.stack.arrays.ints[at])
        self.stack.arrays.size[slots] = places

    def clear(self, slots: Int64s) -> None:
        """Forget slots that are gone."""
        self.forget(slots, np.zeros(len(slots), np.int64))
        self.stack.clear(slots)

    def bring_to(self, slots: Int64s, ends: Int64s, members: RunArrays, rows: RowStore) -> None:
        """Add the values of members up to some places."""
        sizes = self.stack.sizes(slots)
        count = np.maximum(ends - sizes, 0)
        if not count.any():
            return
        more = count > 0
        slots, sizes, count = slots[more], sizes[more], count[more]
        self.stack.reserve(slots, sizes + count)
        of = members.ints[ranges(members.first[slots] + sizes, count)]
        columns = rows.take_some(of[:, PLACE], self.columns).columns
        slot_of = np.repeat(slots, count)
        there = self._there(columns, len(of))
        values = np.stack([self._words(columns, slot_of, there), of[:, COPIES] * there], axis=1)
        self.stack.arrays.ints[ranges(self.stack.arrays.first[slots] + sizes, count)] = values
        self.stack.arrays.size[slots] = sizes + count
        self._add(slot_of, values)

    def _left_out(self, slots: Int64s, gaps: Gaps) -> tuple[Int64s, Int64s]:
        """What does not count of the values of some slots, and the numbers of these."""
        sizes = self.stack.sizes(slots)
        number = np.concatenate([gaps.number, np.arange(len(slots))])
        start = np.concatenate([gaps.start, gaps.ends])
        count = np.maximum(np.concatenate([gaps.stop, sizes]) - start, 0)
        some = count > 0
        number, start, count = number[some], start[some], count[some]
        values = self.stack.arrays.ints[
            ranges(self.stack.arrays.first[slots[number]] + start, count)
        ]
        number = np.repeat(number, count)
        there = values[:, TIMES] > 0
        return number[there], values[there]

    def _there(self, columns: list[pa.Array], length: int) -> Mask:
        there = np.ones(length, np.bool_)
        if not self.with_nulls:
            for column in columns:
                there &= valid(column)
        return there

    @abstractmethod
    def _words(self, columns: list[pa.Array], slot_of: Int64s, there: Mask) -> Int64s:
        """What stands for values of slots."""

    @abstractmethod
    def _add(self, slot_of: Int64s, values: Int64s) -> None: ...

    @abstractmethod
    def _take_away(self, slot_of: Int64s, values: Int64s) -> None: ...


class Different(Prefix):
    """How many members have each value; a word is the number of a value of a slot."""

    def __init__(self, columns: list[str], with_nulls: bool = False) -> None:
        super().__init__(columns, with_nulls)
        self.values = Slots()  # of a slot, by their fingerprints
        self.members = np.zeros(0, np.int64)  # by value
        self.number = np.zeros(0, np.int64)  # of different values, by slot

    def _words(self, columns: list[pa.Array], slot_of: Int64s, there: Mask) -> Int64s:
        prints = fingerprints(columns, len(slot_of)).with_numbers(slot_of)
        found, new = np.full(len(slot_of), -1, np.int64), np.flatnonzero(there)
        found[there], first = self.values.find_or_add(prints.take(new))
        self.number = grown(self.number, int(slot_of.max()) + 1)
        np.add.at(self.number, slot_of[new[first]], 1)
        return found

    def _add(self, slot_of: Int64s, values: Int64s) -> None:
        self.members = grown(self.members, self.values.used)
        np.add.at(self.members, values[values[:, TIMES] > 0, WORD], 1)

    def _take_away(self, slot_of: Int64s, values: Int64s) -> None:
        there = values[:, TIMES] > 0
        taken, first, count = np.unique(values[there, WORD], return_index=True, return_counts=True)
        self.members[taken] -= count
        gone = self.members[taken] == 0
        np.subtract.at(self.number, slot_of[there][first[gone]], 1)
        self.values.remove(taken[gone])

    def before(self, slots: Int64s, gaps: Gaps) -> DifferentBefore:
        """The values of members of some slots that count as a whole."""
        self.number = grown(self.number, int(slots.max(initial=-1)) + 1)
        number = self.number[slots]
        of, values = self._left_out(slots, gaps)
        taken, first, count = np.unique(values[:, WORD], return_index=True, return_counts=True)
        gone = self.members[taken] == count
        np.subtract.at(number, of[first[gone]], 1)
        return DifferentBefore(self, slots, number, taken[gone])


@dataclass(frozen=True)
class DifferentBefore:
    """How many different values there are in each of some slots, and which."""

    prefix: Different
    slots: Int64s
    number: Int64s
    not_there: Int64s

    def has(self, columns: list[pa.Array], number: Int64s) -> Mask:
        """Whether each value is among those of the slot with a number."""
        prints = fingerprints(columns, len(number)).with_numbers(self.slots[number])
        found = self.prefix.values.find(prints)
        return (found >= 0) & ~np.isin(found, self.not_there)


class InOrder(Prefix):
    """The values in order, for types that fit a word; a word is an order key."""

    def __init__(self, columns: list[str]) -> None:
        super().__init__(columns)
        self.sorted = Runs(1, 0)

    def _words(self, columns: list[pa.Array], slot_of: Int64s, there: Mask) -> Int64s:
        return order_keys(columns[0])

    def _add(self, slot_of: Int64s, values: Int64s) -> None:
        slots, bounds, keys = _by_slot(slot_of, values)
        self.sorted.reserve(slots, self.sorted.sizes(slots) + np.diff(bounds))
        block_kernels.put_in(slots, bounds, keys, self.sorted.arrays)

    def _take_away(self, slot_of: Int64s, values: Int64s) -> None:
        block_kernels.take_out(*_by_slot(slot_of, values), self.sorted.arrays)

    def clear(self, slots: Int64s) -> None:
        super().clear(slots)
        self.sorted.clear(slots)

    def before(self, slots: Int64s, gaps: Gaps) -> InOrderBefore:
        """The values of members of some slots that count as a whole."""
        self.sorted.make_slots(int(slots.max(initial=-1)) + 1)
        number, values = self._left_out(slots, gaps)
        order = np.argsort(number, kind="stable")
        bounds = np.searchsorted(number[order], np.arange(len(slots) + 1))
        return InOrderBefore(self.sorted.arrays, slots, bounds, values[order])


@dataclass(frozen=True)
class InOrderBefore:
    """The values of some slots in order; those of the n-th without left_out[bounds[n]] … ."""

    sorted: RunArrays
    slots: Int64s
    bounds: Int64s
    left_out: Int64s


def _by_slot(slot_of: Int64s, values: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """The keys of each slot in order, one for every copy: the slots, where the keys of each begin,
    and the keys."""
    keys = np.repeat(values[:, WORD], values[:, TIMES])
    of = np.repeat(slot_of, values[:, TIMES])
    order = np.lexsort((keys, of))
    slots, first = np.unique(of[order], return_index=True)
    return slots, np.append(first, len(of)), keys[order]


def ranges(first: Int64s, count: Int64s) -> Int64s:
    """first[0], first[0] + 1, …, count[0] of them, and so on."""
    before = np.cumsum(count) - count
    places: Int64s = np.arange(int(count.sum())) + np.repeat(first - before, count)
    return places
