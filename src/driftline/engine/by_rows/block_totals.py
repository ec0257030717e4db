"""Totals of blocks of the rows of a partition, in their order.

    members    ················ ················ ················ ······
    blocks     ├──────────────┤ ├──────────────┤ ├──────────────┤            level 0
               ├──────────────────────────────────────────────── …           level 1

What comes before a change counts for a running aggregate, or for a rank, as a whole: as the totals
of a few blocks, and the members that these leave out. A block of level n has `fan_out` of level
n - 1, and only blocks that are full are kept. A change moves all members after it: their blocks are
added up again when they are next needed. (A running function has another answer for each of these
rows anyway.)

Blocks follow from the members: they are no part of the state, and a restored operator adds them up
anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.additive.aggregates import SPREADS, Aggregate
from driftline.engine.by_rows import block_kernels
from driftline.engine.by_rows.block_kernels import (
    FIRST_END,
    LATEST_START,
    NEW_KEYS,
    PARTIALS,
    ROWS_IN,
    TOO_GREAT,
)
from driftline.engine.by_rows.exact_numbers import Factors, Numbers, is_in_a_word
from driftline.engine.by_rows.near_kernel import Blocks, Entries
from driftline.engine.by_rows.piece_kernels import GREATEST_ADDED
from driftline.engine.by_rows.prefix_values import (
    Different,
    DifferentBefore,
    Gaps,
    InOrder,
    InOrderBefore,
    Prefix,
    ranges,
)
from driftline.engine.by_rows.snapshot_kernel import COPIES, END, MEMBER_COLUMNS, PLACE, START
from driftline.engine.state.growing import grown
from driftline.engine.state.order_keys import order_keys, valid
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import RunArrays, Runs
from driftline.model.arrays import Floats, Int64s, Mask

FAN_OUT = 64
LEVELS = 3
PERCENTILES = ("median", "percentile", "percentile_disc")
_BLOCKS_AT_ONCE = 1024
"""So many blocks are added up at once, to bound the memory that takes."""
_LIMBS_OF_INTEGERS, _LIMBS_OF_DECIMALS = 2, 4
_SPECIAL = 3  # NaN, infinite, minus infinite
_SUMS_OF_PRODUCTS = 3  # of x, y and xy

NO_BLOCKS = Blocks(Runs(ROWS_IN + 1, 0).arrays, np.zeros(0, np.int64), FAN_OUT, LEVELS)


def has_total(aggregate: Aggregate, schema: pa.Schema) -> bool:
    """Whether an aggregate of some rows follows from those of parts of them, or from the values of
    parts."""
    if aggregate.function in ("min", "max") or _is_count_of_different(aggregate):
        return True
    if aggregate.function in PERCENTILES and not aggregate.distinct:
        return is_in_a_word(schema.field(aggregate.argument).type)
    return aggregate.function in ("count", "sum", "avg", *SPREADS) and not aggregate.distinct


def _is_count_of_different(aggregate: Aggregate) -> bool:
    return aggregate.function == "count" and aggregate.distinct


class _Operand:
    """Where the totals of an argument are: from `first` on its count and so many numbers, which are
    the limbs of its sum, or of floats how many are NaN or infinite; from `first_float` on the
    partial sums of floats. Where products are added up, one more number is how many values are not
    finite, and after the partial sums of floats come those of x, y (if it is not x) and xy."""

    def __init__(self, argument: str, kind: pa.DataType, functions: set[str]) -> None:
        self.argument = argument
        self.is_added = bool(functions & {"sum", "avg"})
        self.of_floats = self.is_added and bool(pa.types.is_floating(kind))
        self.extremes = [each == "max" for each in ("min", "max") if each in functions]
        self.first = self.first_float = 0
        self.numbers = 0
        if self.is_added:
            decimals = bool(pa.types.is_decimal(kind))
            self.numbers = _LIMBS_OF_DECIMALS if decimals else _LIMBS_OF_INTEGERS
        if self.of_floats:
            self.numbers = _SPECIAL
        self.has_products = bool(functions & SPREADS)
        self.ints = 1 + self.numbers + self.has_products
        self.floats = PARTIALS * (self.of_floats + _SUMS_OF_PRODUCTS * self.has_products)

    @property
    def first_product(self) -> int:
        return self.first_float + PARTIALS * self.of_floats

    @property
    def odd(self) -> int:
        """Where the number of values that are not finite is."""
        return self.first + 1 + self.numbers


@dataclass(frozen=True)
class Totals:
    """The totals of what comes before the rows of each slot that is looked at."""

    ints: Int64s
    floats: Floats
    extremes: dict[tuple[str, bool], pa.Array]
    operands: dict[str, _Operand]
    different: dict[str, DifferentBefore]
    in_order: dict[str, InOrderBefore]
    keys_before: DifferentBefore | None

    @property
    def rows(self) -> Int64s:
        return self.ints[:, ROWS_IN]

    @property
    def keys(self) -> Int64s:
        return self.ints[:, NEW_KEYS]

    def count(self, argument: str) -> Int64s:
        return self.ints[:, self.operands[argument].first]

    def numbers(self, argument: str) -> Int64s:
        """The limbs of a sum; of floats, how many are NaN, infinite, minus infinite."""
        operand = self.operands[argument]
        return self.ints[:, operand.first + 1 : operand.first + 1 + operand.numbers]

    def partials(self, argument: str) -> Floats:
        place = self.operands[argument].first_float
        return self.floats[:, place : place + PARTIALS]

    def products(self, argument: str) -> tuple[Floats, Int64s]:
        """The partial sums of x, y and xy; how many values there are, and how many that are not
        finite."""
        operand = self.operands[argument]
        place = operand.first_product
        partials = self.floats[:, place : place + PARTIALS * _SUMS_OF_PRODUCTS]
        return partials, self.ints[:, [operand.first, operand.odd]]


class BlockTotals:
    """`key_words`: so many words of a member are its order key, if keys are counted; or the columns
    of a key, if words do not tell keys apart."""

    def __init__(
        self,
        schema: pa.Schema,
        aggregates: list[Aggregate],
        key_words: int = 0,
        key_columns: list[str] | None = None,
    ) -> None:
        self.key_words, self.fan_out, self.levels = key_words, FAN_OUT, LEVELS
        functions: dict[str, set[str]] = {}
        for each in aggregates:
            if each.argument is not None:
                functions.setdefault(each.argument, set()).add(each.function)
        self.operands = [
            _Operand(name, schema.field(name).type, wanted) for name, wanted in functions.items()
        ]
        self.sums, floats = ROWS_IN + 1, 0
        for operand in self.operands:
            operand.first, operand.first_float = self.sums, floats
            self.sums += operand.ints
            floats += operand.floats
        self.extremes = [(each, greatest) for each in self.operands for greatest in each.extremes]
        self.runs = Runs(self.sums + len(self.extremes), floats)
        self.known = np.zeros(0, np.int64)  # by slot: blocks of the first so many members are right
        of_different = {each.argument for each in aggregates if _is_count_of_different(each)}
        of_ranks = {each.argument for each in aggregates if each.function in PERCENTILES}
        self.different = {name: Different([name]) for name in sorted(filter(None, of_different))}
        self.in_order = {name: InOrder([name]) for name in sorted(filter(None, of_ranks))}
        self.of_keys = Different(key_columns, with_nulls=True) if key_columns else None
        self.prefixes: list[Prefix] = [*self.different.values(), *self.in_order.values()]
        if self.of_keys is not None:
            self.prefixes.append(self.of_keys)

    @property
    def arrays(self) -> RunArrays:
        return self.runs.arrays

    @property
    def blocks(self) -> Blocks:
        return Blocks(self.arrays, self.known, self.fan_out, self.levels)

    def clear(self, slots: Int64s) -> None:
        """Forget the blocks of slots that are gone."""
        self.forget(slots, np.zeros(len(slots), np.int64))
        for level in range(self.levels):
            self.runs.clear(slots * self.levels + level)
        for prefix in self.prefixes:
            prefix.clear(slots)

    def forget(self, slots: Int64s, places: Int64s) -> None:
        """Note that the members of slots are others from some places on."""
        if len(slots):
            self.known = grown(self.known, int(slots.max()) + 1)
            self.known[slots] = np.minimum(self.known[slots], places)
            for prefix in self.prefixes:
                prefix.forget(slots, places)

    def bring_up(self, slots: Int64s, members: RunArrays, rows: RowStore) -> None:
        """Add up the blocks of some slots whose members have changed."""
        if len(slots) == 0:
            return
        self.known = grown(self.known, int(slots.max()) + 1)
        sizes, known = members.size[slots], self.known[slots]
        changed = known < sizes
        slots, sizes, known = slots[changed], sizes[changed], known[changed]
        self.known[slots] = sizes
        width = 1
        for level in range(self.levels):
            width *= self.fan_out
            before, now = known // width, sizes // width
            more = np.flatnonzero(now > before)
            if len(more) == 0:
                break
            runs, first, count = slots[more] * self.levels + level, before[more], now[more]
            self.runs.reserve(runs, count)
            below = ranges(first * self.fan_out, (count - first) * self.fan_out)
            lower = self.arrays.first[runs - 1] if level else members.first[slots[more]]
            of = np.repeat(lower, (count - first) * self.fan_out) + below
            to = np.repeat(self.arrays.first[runs], count - first) + ranges(first, count - first)
            for begin in range(0, len(to), _BLOCKS_AT_ONCE):
                part = slice(begin * self.fan_out, (begin + _BLOCKS_AT_ONCE) * self.fan_out)
                if level == 0:
                    made = self._of_members(of[part], below[part] == 0, members, rows)
                else:
                    bounds = np.arange(0, len(of[part]) + 1, self.fan_out)
                    made = self._of_blocks(of[part], bounds, rows)
                places = to[begin : begin + _BLOCKS_AT_ONCE]
                self.arrays.ints[places], self.arrays.floats[places] = made
            self.arrays.size[runs] = count

    def before(
        self, slots: Int64s, near: Entries, members: RunArrays, rows: RowStore
    ) -> Totals | None:
        """The totals of the blocks that count as a whole. None if one is too great to be kept."""
        ints, floats = self._of_blocks(near.blocks, near.block_bounds, rows)
        ints[:, NEW_KEYS] -= near.shared_keys
        if ints[:, TOO_GREAT].any():
            return None
        found = {}
        for column, (operand, greatest) in enumerate(self.extremes, self.sums):
            known = ints[:, column] >= 0
            values = rows.take_some(ints[known, column], [operand.argument]).column(0)
            indices = pa.array(np.cumsum(known) - 1, mask=~known)
            found[operand.argument, greatest] = values.take(indices)
        gaps = self._gaps(slots, near)
        for prefix in self.prefixes:
            prefix.bring_to(slots, gaps.ends, members, rows)
        return Totals(
            ints,
            floats,
            found,
            {each.argument: each for each in self.operands},
            {name: each.before(slots, gaps) for name, each in self.different.items()},
            {name: each.before(slots, gaps) for name, each in self.in_order.items()},
            None if self.of_keys is None else self.of_keys.before(slots, gaps),
        )

    def _gaps(self, slots: Int64s, near: Entries) -> Gaps:
        """What lies between the blocks of some slots."""
        number = np.repeat(np.arange(len(slots)), np.diff(near.block_bounds))
        start, stop = np.zeros_like(near.blocks), np.zeros_like(near.blocks)
        for level in range(self.levels if len(number) else 0):
            run = slots[number] * self.levels + level
            place = near.blocks - self.arrays.first[run]
            here = (place >= 0) & (place < self.arrays.size[run])
            width = self.fan_out ** (level + 1)
            start[here], stop[here] = width * place[here], width * (place[here] + 1)
        ends = np.zeros(len(slots), np.int64)
        np.maximum.at(ends, number, stop)
        done = np.append(0, stop[:-1])[: len(stop)]
        done[near.block_bounds[:-1][near.block_bounds[:-1] < len(done)]] = 0
        return Gaps(ends, number, done, start)

    def _of_members(
        self, member: Int64s, is_first: Mask, members: RunArrays, rows: RowStore
    ) -> tuple[Int64s, Floats]:
        """The totals of blocks of members."""
        of = members.ints[member]
        ints = np.zeros((len(of), self.sums), np.int64)
        floats = np.zeros((len(of), self.arrays.floats.shape[1]), np.float64)
        ints[:, LATEST_START], ints[:, FIRST_END], ints[:, ROWS_IN] = of[:, START], of[:, END], 1
        if self.key_words:
            words = slice(MEMBER_COLUMNS, MEMBER_COLUMNS + self.key_words)
            same = (of[:, words] == members.ints[member - 1, words]).all(axis=1)
            ints[:, NEW_KEYS] = is_first | ~same
        values = rows.take_some(of[:, PLACE], [each.argument for each in self.operands])
        for operand, column in zip(self.operands, values.columns, strict=True):
            _fill(ints, floats, operand, column)
        bounds = np.arange(0, len(of) + 1, self.fan_out)
        totals, sums = block_kernels.added_up(bounds, of[:, COPIES], ints, floats)
        places = [np.where(ints[:, each.first], of[:, PLACE], -1) for each, _ in self.extremes]
        return self._with_extremes(totals, bounds, places, rows), sums

    def _of_blocks(self, blocks: Int64s, bounds: Int64s, rows: RowStore) -> tuple[Int64s, Floats]:
        """The totals of blocks of blocks."""
        of = self.arrays.ints[blocks]
        once = np.ones(len(of), np.int64)
        totals, sums = block_kernels.added_up(
            bounds, once, of[:, : self.sums], self.arrays.floats[blocks]
        )
        places = [of[:, self.sums + number] for number in range(len(self.extremes))]
        return self._with_extremes(totals, bounds, places, rows), sums

    def _with_extremes(
        self, totals: Int64s, bounds: Int64s, places: list[Int64s], rows: RowStore
    ) -> Int64s:
        """Totals, and where the rows with the least and greatest values are; -1: there is none."""
        columns = [totals]
        for (operand, greatest), place in zip(self.extremes, places, strict=True):
            there = place >= 0
            keys = np.zeros(len(place), np.int64)
            keys[there] = order_keys(rows.take_some(place[there], [operand.argument]).column(0))
            best = block_kernels.extremes(bounds, there, keys, greatest)
            columns.append(np.where(best < 0, -1, np.append(place, -1)[best])[:, None])
        return np.concatenate(columns, axis=1)


def _fill(ints: Int64s, floats: Floats, operand: _Operand, column: pa.Array) -> None:
    """Write what an argument adds to the totals."""
    there = valid(column)
    ints[:, operand.first] = there
    if operand.has_products:
        _fill_products(ints, floats, operand, column, there)
    if not operand.is_added:
        return
    numbers, place = Numbers(column, there), operand.first + 1
    if not operand.of_floats:
        assert numbers.limbs is not None
        ints[:, place : place + operand.numbers] = numbers.limbs
        return
    value = numbers.floats
    finite = np.isfinite(value)
    special = (np.isnan(value), value == np.inf, value == -np.inf)
    for kind, each in enumerate(special, place):
        ints[:, kind] = there & each
    floats[:, operand.first_float] = np.where(there & finite, value, 0.0)
    ints[:, TOO_GREAT] |= there & finite & (np.abs(value) >= GREATEST_ADDED)


def _fill_products(
    ints: Int64s, floats: Floats, operand: _Operand, column: pa.Array, there: Mask
) -> None:
    factors = Factors(column, there)
    finite = there & factors.is_finite()
    ints[:, operand.odd] = there & ~finite
    ints[:, TOO_GREAT] |= factors.beyond
    finite &= ~factors.beyond
    first, second = (np.where(finite, each, 0.0) for each in (factors.first, factors.second))
    place = operand.first_product
    floats[:, place] = first
    if not factors.is_square:
        floats[:, place + PARTIALS] = second
    products, rests = block_kernels.products(first, second)
    floats[:, place + 2 * PARTIALS], floats[:, place + 2 * PARTIALS + 1] = products, rests
