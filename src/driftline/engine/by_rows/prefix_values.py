"""The values of the first rows of a partition, in their order.

    members    ················ ················ ················ ······
    prefix     ├────────────────────────────────────────────────┤

What comes before a change counts as a whole for a running count of different values, a running
percentile, a running mode and a DENSE_RANK by text, too; but these do not follow from those of
blocks. So the values of all members up to some place are kept: how many of each there are
(`Different`, with the totals of these values, `DifferentSums`, or `Frequent`, with the value that
is there most often), or the values in order (`OrderedPrefixValues`). To go to another place
costs the members in between, and a change takes away what comes after it. Members up to there that
are in no block which counts as a whole (see `near_kernel`) are left out when that is asked for.

The values follow from the members: they are no part of the state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows import block_kernels, counting_kernels
from driftline.engine.by_rows.operands import Operand, Sums, TotalsLayout
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.growing import grown
from driftline.engine.state.held_rows import COPIES, PLACE
from driftline.engine.state.order_keys import order_keys, valid
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import RunArrays, Runs
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Floats, Int64s, Mask

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


@dataclass(frozen=True)
class _Added:
    """Members that were added: where each is in the stack; of each slot the first of them, and how
    many were there before; and their columns, and where these are."""

    at: Int64s
    first: Int64s
    sizes: Int64s
    columns: list[pa.Array]
    places: Int64s


class PrefixValues(ABC):
    """`columns`: those that make a value; `with_nulls`: whether a null is a value."""

    width = TIMES + 1

    def __init__(self, columns: list[str], with_nulls: bool = False) -> None:
        self.columns, self.with_nulls = columns, with_nulls
        self.stack = Runs(self.width)  # by slot: the values of its first members

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
        at = ranges(self.stack.arrays.first[slots] + sizes, count)
        self.stack.arrays.ints[at, : TIMES + 1] = values
        self.stack.arrays.size[slots] = sizes + count
        added = _Added(at, np.cumsum(count) - count, sizes, columns, of[:, PLACE])
        self._add(slot_of, values, added, rows)

    def _left_out(self, slots: Int64s, gaps: Gaps, with_rest: bool = True) -> tuple[Int64s, Int64s]:
        """What does not count of the values of some slots, and the numbers of these. `with_rest`:
        also of what comes after those that count."""
        sizes = self.stack.sizes(slots) if with_rest else gaps.ends
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
    def _add(self, slot_of: Int64s, values: Int64s, added: _Added, rows: RowStore) -> None: ...

    @abstractmethod
    def _take_away(self, slot_of: Int64s, values: Int64s) -> None: ...


class Different(PrefixValues):
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
        self._appear(slot_of[new[first]], found[new[first]], columns, new[first])
        return found

    def _appear(
        self, slot_of: Int64s, words: Int64s, columns: list[pa.Array], rows: Int64s
    ) -> None:
        """Values of slots are there, as they are in some rows of columns."""

    def _vanish(self, slot_of: Int64s, words: Int64s) -> None:
        """Values of slots are not there any more."""

    def _add(self, slot_of: Int64s, values: Int64s, added: _Added, rows: RowStore) -> None:
        self.members = grown(self.members, self.values.used)
        np.add.at(self.members, values[values[:, TIMES] > 0, WORD], 1)

    def _take_away(self, slot_of: Int64s, values: Int64s) -> None:
        there = values[:, TIMES] > 0
        taken, first, count = np.unique(values[there, WORD], return_index=True, return_counts=True)
        self.members[taken] -= count
        gone = self.members[taken] == 0
        np.subtract.at(self.number, slot_of[there][first[gone]], 1)
        self._vanish(slot_of[there][first[gone]], taken[gone])
        self.values.remove(taken[gone])

    def before(self, slots: Int64s, gaps: Gaps) -> DifferentBefore:
        """The values of members of some slots that count as a whole."""
        self.number = grown(self.number, int(slots.max(initial=-1)) + 1)
        number = self.number[slots]
        of, values = self._left_out(slots, gaps)
        taken, first, count = np.unique(values[:, WORD], return_index=True, return_counts=True)
        gone = self.members[taken] == count
        np.subtract.at(number, of[first[gone]], 1)
        return DifferentBefore(self, slots, number, taken[gone], of[first[gone]])


@dataclass(frozen=True)
class DifferentBefore:
    """How many different values there are in each of some slots, and which."""

    prefix: Different
    slots: Int64s
    number: Int64s
    not_there: Int64s  # values that are left out,
    not_there_of: Int64s  # and the numbers of their slots

    def has(self, columns: list[pa.Array], number: Int64s) -> Mask:
        """Whether each value is among those of the slot with a number."""
        prints = fingerprints(columns, len(number)).with_numbers(self.slots[number])
        found = self.prefix.values.find(prints)
        return (found >= 0) & ~np.isin(found, self.not_there)


class DifferentSums(Different):
    """The totals of the different values, too."""

    def __init__(self, operand: Operand) -> None:
        super().__init__([operand.argument])
        self.operand, self.layout = operand, TotalsLayout([operand])
        self.of_values = self._nothing()
        self.of_slots = self._nothing()

    def _nothing(self) -> tuple[Int64s, Floats]:
        return np.zeros((0, self.layout.ints), np.int64), np.zeros((0, self.layout.floats))

    def _appear(
        self, slot_of: Int64s, words: Int64s, columns: list[pa.Array], rows: Int64s
    ) -> None:
        column = columns[0].take(pa.array(rows))
        self.of_values = _with_room(self.of_values, self.values.used)
        for held, new in zip(
            self.of_values, self.layout.of_values([column], len(rows)), strict=True
        ):
            held[words] = new
        self._change(slot_of, words, 1)

    def _vanish(self, slot_of: Int64s, words: Int64s) -> None:
        self._change(slot_of, words, -1)

    def _change(self, slot_of: Int64s, words: Int64s, sign: int) -> None:
        self.of_slots = _with_room(self.of_slots, int(slot_of.max(initial=-1)) + 1)
        self._add_to(self.of_slots, slot_of, words, sign)

    def _add_to(self, totals: tuple[Int64s, Floats], to: Int64s, words: Int64s, sign: int) -> None:
        ints, floats = self.of_values
        block_kernels.add_to(*totals, to, ints[words], floats[words], sign, self.layout.bounds)

    def clear(self, slots: Int64s) -> None:
        super().clear(slots)
        for held in self.of_slots:
            held[slots[slots < len(held)]] = 0

    def sums(self, before: DifferentBefore) -> Sums:
        """The totals of values that count as a whole."""
        self.of_slots = _with_room(self.of_slots, int(before.slots.max(initial=-1)) + 1)
        ints, floats = self.of_slots
        totals = ints[before.slots], floats[before.slots]
        self._add_to(totals, before.not_there_of, before.not_there, -1)
        return Sums(self.operand, *totals)


def _with_room(totals: tuple[Int64s, Floats], needed: int) -> tuple[Int64s, Floats]:
    ints, floats = totals
    return grown(ints, needed), grown(floats, needed)


class Frequent(Different):
    """The value that is there most often, too: of several the least, or the greatest. Of the first
    n members the n-th knows it: where it is, and how often."""

    BEST, BEST_WORD, MOST = range(TIMES + 1, TIMES + 4)
    width = MOST + 1

    def __init__(self, column: str, greatest: bool) -> None:
        super().__init__([column])
        self.greatest = greatest
        self.copies = np.zeros(0, np.int64)  # by value

    def _add(self, slot_of: Int64s, values: Int64s, added: _Added, rows: RowStore) -> None:
        super()._add(slot_of, values, added, rows)
        ints, started = self.stack.arrays.ints, added.sizes > 0
        started[started] = ints[added.at[added.first[started]] - 1, self.MOST] > 0
        last = ints[added.at[added.first[started]] - 1]
        known = rows.take_some(last[:, self.BEST], self.columns).column(0)
        keys = self.keys(pa.concat_arrays([added.columns[0], known]))
        best = np.zeros(len(added.first), np.int64)
        most = np.zeros(len(added.first), np.int64)
        best[started] = len(added.at) + np.arange(len(last))
        most[started] = last[:, self.MOST]
        self.copies = grown(self.copies, self.values.used)
        number = np.repeat(np.arange(len(best)), np.diff(np.append(added.first, len(added.at))))
        words, times = values[:, WORD].copy(), values[:, TIMES].copy()
        found, counts = counting_kernels.running_modes(
            number, words, times, keys, self.copies, best, most
        )
        ints[added.at, self.BEST] = np.append(added.places, last[:, self.BEST])[found]
        ints[added.at, self.BEST_WORD] = np.append(words, last[:, self.BEST_WORD])[found]
        ints[added.at, self.MOST] = counts

    def _take_away(self, slot_of: Int64s, values: Int64s) -> None:
        there = values[values[:, TIMES] > 0]
        np.subtract.at(self.copies, there[:, WORD], there[:, TIMES])
        super()._take_away(slot_of, values)

    def keys(self, column: pa.Array) -> Int64s:
        """Keys of which the least is the one that is wanted."""
        return ~order_keys(column) if self.greatest else order_keys(column)

    def most_frequent(
        self, slots: Int64s, gaps: Gaps, members: RunArrays, rows: RowStore
    ) -> FrequentBefore:
        """The value that most members which count as a whole have."""
        arrays, some = self.stack.arrays, gaps.ends > 0
        most = np.zeros(len(slots), np.int64)
        best = np.full(len(slots), -1, np.int64)
        last = arrays.ints[arrays.first[slots[some]] + gaps.ends[some] - 1]
        most[some], best[some] = last[:, self.MOST], last[:, self.BEST]
        of, gone = self._left_out(slots, gaps, with_rest=False)
        words = np.full(len(slots), -1, np.int64)
        words[some] = last[:, self.BEST_WORD]
        for number in np.unique(of[gone[:, WORD] == words[of]]):
            best[number], most[number] = self._counted(slots, gaps, number, members, rows)
        there = most > 0
        values = rows.take_some(best[there], self.columns).column(0)
        values = values.take(pa.array(np.cumsum(there) - 1, mask=~there))
        _, gone = self._left_out(slots, gaps)
        left, number = np.unique(gone[:, WORD], return_inverse=True)
        times = np.zeros(len(left), np.int64)
        np.add.at(times, number, gone[:, TIMES])
        return FrequentBefore(self, slots, values, most, left, times)

    def _counted(
        self, slots: Int64s, gaps: Gaps, number: int, members: RunArrays, rows: RowStore
    ) -> tuple[int, int]:
        """The same of a slot some of whose members with that value do not count: all others are
        counted. Where it is, and how often it is there."""
        counts = np.ones(gaps.ends[number], np.bool_)
        for gap in np.flatnonzero(gaps.number == number):
            counts[gaps.start[gap] : gaps.stop[gap]] = False
        first = self.stack.arrays.first[slots[number]]
        values = self.stack.arrays.ints[first : first + len(counts)]
        at = np.flatnonzero(counts & (values[:, TIMES] > 0))
        if len(at) == 0:
            return -1, 0
        _, member, value = np.unique(values[at, WORD], return_index=True, return_inverse=True)
        times = np.bincount(value, values[at, TIMES]).astype(np.int64)
        places = members.ints[members.first[slots[number]] + at[member], PLACE]
        places = places[times == times.max()]
        keys = self.keys(rows.take_some(places, self.columns).column(0))
        return int(places[np.argmin(keys)]), int(times.max())


@dataclass(frozen=True)
class FrequentBefore:
    """The value that is there most often in each of some slots, and how often; of `left_out` values
    so many times do not count."""

    prefix: Frequent
    slots: Int64s
    values: pa.Array
    most: Int64s
    left_out: Int64s
    times: Int64s

    def counts(self, column: pa.Array, number: Int64s) -> Int64s:
        """How often each value is there in the slot with a number."""
        prints = fingerprints([column], len(number)).with_numbers(self.slots[number])
        found = self.prefix.values.find(prints)
        counts = np.where(found >= 0, np.append(self.prefix.copies, 0)[found], 0)
        if len(self.left_out):
            place = np.minimum(np.searchsorted(self.left_out, found), len(self.left_out) - 1)
            counts -= np.where(self.left_out[place] == found, self.times[place], 0)
        return counts


class OrderedPrefixValues(PrefixValues):
    """The values in order, for types that fit a word; a word is an order key."""

    def __init__(self, columns: list[str]) -> None:
        super().__init__(columns)
        self.sorted = Runs(1)

    def _words(self, columns: list[pa.Array], slot_of: Int64s, there: Mask) -> Int64s:
        return order_keys(columns[0])

    def _add(self, slot_of: Int64s, values: Int64s, added: _Added, rows: RowStore) -> None:
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
