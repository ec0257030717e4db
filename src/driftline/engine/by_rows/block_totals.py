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

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.additive.aggregates import MOMENTS, SPREADS, Aggregate
from driftline.engine.by_rows import block_kernels
from driftline.engine.by_rows.block_kernels import (
    FIRST_END,
    LATEST_START,
    NEW_KEYS,
    ROWS_IN,
    TOO_GREAT,
)
from driftline.engine.by_rows.counting_kernels import ALL_BITS, ODD_BITS, SOME_BITS
from driftline.engine.by_rows.exact_numbers import is_in_a_word, whole_numbers
from driftline.engine.by_rows.near_kernel import Blocks, NearEntries
from driftline.engine.by_rows.operands import Operand, Sums, TotalsLayout
from driftline.engine.by_rows.prefix_values import (
    Different,
    DifferentBefore,
    DifferentSums,
    Frequent,
    FrequentBefore,
    Gaps,
    InOrderBefore,
    OrderedPrefixValues,
    PrefixValues,
    ranges,
)
from driftline.engine.state.growing import grown
from driftline.engine.state.held_rows import COPIES, END, PLACE, START
from driftline.engine.state.order_keys import order_keys
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import RunArrays, Runs
from driftline.model.arrays import Floats, Int64s, Mask

FAN_OUT = 64
LEVELS = 3
PERCENTILES = ("median", "percentile", "percentile_disc")
BITS = {"bit_and": ALL_BITS, "bit_or": SOME_BITS, "bit_xor": ODD_BITS}
_ADDED = {"count", "sum", "avg", *SPREADS, *MOMENTS}
_BLOCKS_AT_ONCE = 1024
"""So many blocks are added up at once, to bound the memory that takes."""

NO_BLOCKS = Blocks(Runs(ROWS_IN + 1).arrays, np.zeros(0, np.int64), FAN_OUT, LEVELS)


def has_total(aggregate: Aggregate, schema: pa.Schema) -> bool:
    """Whether an aggregate of some rows follows from those of parts of them, or from the values of
    parts."""
    function = aggregate.function
    if function in ("min", "max") or function in _ADDED:
        return True
    if function in PERCENTILES and not aggregate.distinct:
        return is_in_a_word(schema.field(aggregate.argument).type)
    return (function in BITS or function == "mode") and not aggregate.distinct


@dataclass(frozen=True)
class Totals:
    """The totals of what comes before the rows of each slot that is looked at. `sums`: by argument,
    and whether it is of different values; `extremes`: by argument, and whether it is the greatest;
    `bits`: by argument and function; `frequent`: by argument, and whether it is the greatest of
    several."""

    ints: Int64s
    sums: dict[tuple[str, bool], Sums]
    extremes: dict[tuple[str, bool], pa.Array]
    bits: dict[tuple[str, str], Int64s]
    different: dict[str, DifferentBefore]
    in_order: dict[str, InOrderBefore]
    frequent: dict[tuple[str, bool], FrequentBefore]
    keys_before: DifferentBefore | None

    @property
    def rows(self) -> Int64s:
        return self.ints[:, ROWS_IN]

    @property
    def keys(self) -> Int64s:
        return self.ints[:, NEW_KEYS]


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
        functions: dict[tuple[str, bool], set[str]] = {}
        for each in aggregates:
            if each.argument is not None:
                is_different = each.distinct and each.function in _ADDED
                functions.setdefault((each.argument, is_different), set()).add(each.function)
        operands = {
            (name, different): Operand(name, schema.field(name).type, wanted)
            for (name, different), wanted in functions.items()
        }
        plain = [name for name, different in functions if not different]
        self.layout = TotalsLayout([operands[name, False] for name in plain])
        self.extremes = self._those_of(plain, functions, ("min", "max"))
        self.bits = self._those_of(plain, functions, BITS)
        self.floats = self._first_bits + len(self.bits)  # the first of a block's words that is one
        self.runs = Runs(self.floats + self.layout.floats)
        self.known = np.zeros(0, np.int64)  # by slot: blocks of the first so many members are right
        of_ranks = {each.argument for each in aggregates if each.function in PERCENTILES}
        self.different = {
            name: Different([name]) if functions[name, True] == {"count"}
            else DifferentSums(operands[name, True])
            for name, is_different in functions if is_different
        }  # fmt: skip
        self.in_order = {
            name: OrderedPrefixValues([name]) for name in sorted(filter(None, of_ranks))
        }
        self.frequent = {
            (each.argument, each.parameter is not None): Frequent(
                each.argument, each.parameter is not None
            )
            for each in aggregates
            if each.function == "mode" and each.argument is not None
        }
        self.of_keys = Different(key_columns, with_nulls=True) if key_columns else None
        self.prefixes: list[PrefixValues] = [
            *self.different.values(), *self.in_order.values(), *self.frequent.values(),
        ]  # fmt: skip
        if self.of_keys is not None:
            self.prefixes.append(self.of_keys)

    def _those_of(
        self, names: list[str], functions: dict[tuple[str, bool], set[str]], wanted: Iterable[str]
    ) -> list[tuple[Operand, str]]:
        """The operands of some functions, and these."""
        return [
            (operand, function)
            for operand, name in zip(self.layout.operands, names, strict=True)
            for function in wanted
            if function in functions[name, False]
        ]

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
                self.arrays.ints[places, : self.floats] = made[0]
                self.arrays.ints[places, self.floats :] = made[1].view(np.int64)
            self.arrays.size[runs] = count

    def before(
        self, slots: Int64s, near: NearEntries, members: RunArrays, rows: RowStore
    ) -> Totals | None:
        """The totals of the blocks that count as a whole. None if one is too great to be kept."""
        ints, floats = self._of_blocks(near.blocks, near.block_bounds, rows)
        ints[:, NEW_KEYS] -= near.shared_keys
        if ints[:, TOO_GREAT].any():
            return None
        extremes = {}
        for column, (operand, function) in enumerate(self.extremes, self.layout.ints):
            known = ints[:, column] >= 0
            values = rows.take_some(ints[known, column], [operand.argument]).column(0)
            indices = pa.array(np.cumsum(known) - 1, mask=~known)
            extremes[operand.argument, function == "max"] = values.take(indices)
        gaps = self._gaps(slots, near)
        for prefix in self.prefixes:
            prefix.bring_to(slots, gaps.ends, members, rows)
        different = {name: each.before(slots, gaps) for name, each in self.different.items()}
        sums = {
            (name, True): each.sums(different[name])
            for name, each in self.different.items()
            if isinstance(each, DifferentSums)
        }
        if any(each.ints[:, TOO_GREAT].any() for each in sums.values()):
            return None
        sums |= {(each.argument, False): Sums(each, ints, floats) for each in self.layout.operands}
        return Totals(
            ints,
            sums,
            extremes,
            {
                (operand.argument, function): ints[:, column]
                for column, (operand, function) in enumerate(self.bits, self._first_bits)
            },
            different,
            {name: each.before(slots, gaps) for name, each in self.in_order.items()},
            {
                key: each.most_frequent(slots, gaps, members, rows)
                for key, each in self.frequent.items()
            },
            None if self.of_keys is None else self.of_keys.before(slots, gaps),
        )

    @property
    def _first_bits(self) -> int:
        return self.layout.ints + len(self.extremes)

    def _gaps(self, slots: Int64s, near: NearEntries) -> Gaps:
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
        of, names = members.ints[member], [each.argument for each in self.layout.operands]
        values = rows.take_some(of[:, PLACE], names)
        ints, floats = self.layout.of_values(values.columns, len(of))
        ints[:, LATEST_START], ints[:, FIRST_END], ints[:, ROWS_IN] = of[:, START], of[:, END], 1
        if self.key_words:
            words = slice(0, self.key_words)
            same = (of[:, words] == members.ints[member - 1, words]).all(axis=1)
            ints[:, NEW_KEYS] = is_first | ~same
        bounds = np.arange(0, len(of) + 1, self.fan_out)
        copies = of[:, COPIES].copy()
        totals, sums = block_kernels.added_up(bounds, copies, ints, floats, self.layout.bounds)
        more = [np.where(ints[:, each.first], of[:, PLACE], -1) for each, _ in self.extremes]
        for operand, function in self.bits:
            more.append(whole_numbers(values.column(operand.argument)))
            if function == "bit_and":
                more[-1][ints[:, operand.first] == 0] = -1
        return self._with_more(totals, bounds, copies, more, rows), sums

    def _of_blocks(self, blocks: Int64s, bounds: Int64s, rows: RowStore) -> tuple[Int64s, Floats]:
        """The totals of blocks of blocks."""
        of = self.arrays.ints[blocks]
        once = np.ones(len(of), np.int64)
        ints = of[:, : self.layout.ints].copy()
        floats: Floats = of[:, self.floats :].copy().view(np.float64)
        totals, sums = block_kernels.added_up(bounds, once, ints, floats, self.layout.bounds)
        more = [of[:, column].copy() for column in range(self.layout.ints, self.floats)]
        return self._with_more(totals, bounds, once, more, rows), sums

    def _with_more(
        self, totals: Int64s, bounds: Int64s, copies: Int64s, more: list[Int64s], rows: RowStore
    ) -> Int64s:
        """Totals, and where the rows with the least and greatest values are; -1: there is none; and
        the bits of values."""
        columns = [totals]
        for (operand, function), place in zip(self.extremes, more, strict=False):
            there = place >= 0
            keys = np.zeros(len(place), np.int64)
            keys[there] = order_keys(rows.take_some(place[there], [operand.argument]).column(0))
            best = block_kernels.extremes(bounds, there, keys, function == "max")
            columns.append(np.where(best < 0, -1, np.append(place, -1)[best])[:, None])
        for (_, function), each in zip(self.bits, more[len(self.extremes) :], strict=True):
            found = block_kernels.bits(bounds, copies, each, BITS[function])
            columns.append(found[:, None])
        return np.concatenate(columns, axis=1)
