"""The values of an argument of aggregates in pieces, and the totals of them that aggregates follow
from.

Pieces are given with all their rows (`Pieces`), or by the rows that come and go from one to the
next (`ChangedPieces`). All rows of a piece are rows that come to a fresh one, so that sums have one
way; values by rank are found by sorting each piece, or in a tree of counts that changes go through.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.by_rows import (
    change_kernels,
    counting_kernels,
    exact_numbers,
    moment_kernels,
    piece_kernels,
)
from driftline.engine.by_rows.change_kernels import Steps
from driftline.engine.by_rows.exact_numbers import Factors, Numbers
from driftline.engine.by_rows.operands import Sums
from driftline.engine.by_rows.prefix_values import TIMES, WORD
from driftline.engine.state.order_keys import order_keys, valid
from driftline.model.arrays import Floats, Int64s, Mask

if TYPE_CHECKING:
    from driftline.engine.by_rows.block_totals import Totals

_NO_SLOTS = np.zeros(0, np.int64)
_NO_PARTIALS, _NOTHING_SPECIAL = np.zeros((0, 0)), np.zeros((0, 3), np.int64)


class MustSeeAllRows(Exception):
    """What is asked for does not follow from the rows that come and go."""


@dataclass(frozen=True)
class Before:
    """What is in every piece of a slot besides its rows: the totals of each slot, and the slot of
    each piece, and of each row."""

    totals: Totals
    slot_of: Int64s
    slot_of_row: Int64s


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces, and the rows alive in each: those of piece p are members[offsets[p]] …
    members[offsets[p + 1] - 1], one for every copy, each a number of a row in `rows` and `vs`."""

    offsets: Int64s
    members: Int64s
    rows: pa.RecordBatch
    vs: Int64s

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def sizes(self, before: Before | None = None) -> Int64s:
        """How many rows are in each."""
        return np.diff(self.offsets)

    def values(
        self, argument: str, only: str | None, is_distinct: bool, before: Before | None
    ) -> ListedValues:
        """The values of an argument; where `only` names a column, of the rows for which it is
        true."""
        return ListedValues(self, argument, only, is_distinct)


@dataclass(frozen=True, slots=True)
class ChangedPieces:
    """Pieces, and the rows that come and go in each: numbers of rows in `rows` and `vs`."""

    steps: Steps
    rows: pa.RecordBatch
    vs: Int64s

    def __len__(self) -> int:
        return len(self.steps.fresh)

    def sizes(self, before: Before | None) -> Int64s:
        """How many rows are in each, with those before."""
        sizes = change_kernels.counts(self.steps, np.ones(len(self.vs), np.bool_))
        return sizes if before is None else sizes + before.totals.rows[before.slot_of]

    def values(
        self, argument: str, only: str | None, is_distinct: bool, before: Before | None
    ) -> Values:
        return Values(self, argument, only, is_distinct, before)


class Values:
    """The values of one argument in pieces that are given by what comes and goes. `chosen`: the
    rows that count at all, `wanted`: those of them that are not null. Where values are distinct,
    `steps` are those of different ones, without those that come before."""

    def __init__(
        self,
        pieces: Pieces | ChangedPieces,
        argument: str,
        only: str | None,
        is_distinct: bool,
        before: Before | None,
    ) -> None:
        self.vs, self.argument, self.before = pieces.vs, argument, before
        self.column = pieces.rows.column(argument)
        self.valid = valid(self.column)
        self.chosen = np.ones(len(self.vs), np.bool_)
        if only is not None:
            self.chosen = pieces.rows.column(only).fill_null(False).to_numpy(zero_copy_only=False)
        self.wanted = self.valid & self.chosen
        self.is_distinct = is_distinct
        self.steps = self._steps(pieces)

    def _steps(self, pieces: Pieces | ChangedPieces) -> Steps:
        assert isinstance(pieces, ChangedPieces)
        if not self.is_distinct:
            return pieces.steps
        if self.before is not None:
            others = self.before.totals.different[self.argument]
            self.wanted &= ~others.has([self.column], self.before.slot_of_row)
        _, group, member = self.order
        return change_kernels.different(pieces.steps, self.wanted, group, len(member))

    @property
    def steps_in_order(self) -> Steps:
        """What comes and goes, in an order that is determined."""
        return self.steps

    @property
    def sums(self) -> Sums:
        """The totals of what comes before."""
        assert self.before is not None
        return self.before.totals.sums[self.argument, self.is_distinct]

    @cached_property
    def keys(self) -> Int64s:
        """What stands for the values in their order."""
        return order_keys(self.column)

    @cached_property
    def order(self) -> tuple[Int64s, Int64s, Int64s]:
        """The keys of the values; the number of each among these in order; and a member of each
        that is not null."""
        different, group = np.unique(self.keys, return_inverse=True)
        member = np.full(len(different), -1, np.int64)
        member[group[self.valid]] = np.flatnonzero(self.valid)
        return self.keys, group, member

    @cached_property
    def numbers(self) -> Numbers:
        """The values as numbers to add up."""
        return Numbers(self.column, self.valid)

    @cached_property
    def factors(self) -> Factors:
        return Factors(self.column, self.valid)

    @cached_property
    def counts(self) -> Int64s:
        """How many values are in each piece."""
        counts = change_kernels.counts(self.steps, self.wanted)
        if self.before is None:
            return counts
        totals = self.before.totals
        others = totals.different[self.argument].number if self.is_distinct else self.sums.count
        return counts + others[self.before.slot_of]

    def has(self, beyond: Mask) -> Mask:
        """The pieces with values that cannot be added up as others are. Of what comes and goes none
        may be such."""
        if (beyond & self.wanted).any():
            raise MustSeeAllRows
        return np.zeros(len(self.steps.fresh), np.bool_)

    def limb_sums(self, limbs: Int64s) -> Int64s:
        sums = change_kernels.limb_sums(self.steps, self.wanted, limbs)
        if self.before is not None:
            sums += self.sums.numbers[self.before.slot_of]
        return sums

    @cached_property
    def float_sums(self) -> tuple[Floats, Floats, Floats]:
        """See `change_kernels.float_sums`; without those that are too great."""
        slot_of, partials, special = _NO_SLOTS, _NO_PARTIALS, _NOTHING_SPECIAL
        if self.before is not None:
            slot_of = self.before.slot_of
            partials, special = self.sums.partials, self.sums.numbers
        wanted = self.wanted & ~self.numbers.too_great
        return change_kernels.float_sums(
            self.steps, wanted, self.numbers.floats, slot_of, partials, special
        )

    @cached_property
    def spreads(self) -> tuple[Floats, Floats]:
        """n · Σ xy - Σ x · Σ y of each piece, as two floats; without those that are too great."""
        slot_of, partials, counts = change_kernels.NOTHING_BEFORE
        if self.before is not None:
            slot_of, partials, counts = self.before.slot_of, self.sums.products, self.sums.counts
        factors = self.factors
        return change_kernels.spreads(
            self.steps, self.wanted & ~factors.beyond, factors.first, factors.second,
            factors.is_square, slot_of, partials, counts,
        )  # fmt: skip

    def moments(self, power: int) -> tuple[Floats, Floats]:
        """See `moment_kernels.moments`; without numbers that are too great."""
        before = moment_kernels.NOTHING_BEFORE
        if self.before is not None:
            sums = self.sums
            before = self.before.slot_of, sums.floats, sums.operand.powers, sums.counts
        wanted = self.wanted & ~self.numbers.beyond_powers
        return moment_kernels.moments(self.steps, wanted, self.numbers.floats, power, *before)

    def bits(self, how: int) -> Int64s:
        """See `counting_kernels.bits`."""
        numbers = exact_numbers.whole_numbers(self.column)
        return counting_kernels.bits(self.steps, self.wanted, numbers, how)

    def members_of(self, piece: int) -> Int64s:
        """The members of a piece that are wanted, one for every copy."""
        return change_kernels.members_of(self.steps, self.wanted, piece)

    def exactly(self, piece: int) -> list[Fraction]:
        """Numbers with the sum of a piece; of decimals, their units."""
        found = self.numbers.exactly(self.members_of(piece))
        if self.before is not None:
            partials = self.sums.partials[self.before.slot_of[piece]]
            found += [Fraction(each) for each in partials.tolist()]
        return found

    def exact_spread(self, piece: int) -> Fraction:
        """n · Σ xy - Σ x · Σ y of a piece."""
        members, factors = self.members_of(piece), self.factors
        if factors.is_square:
            one = other = self.numbers.exactly(members)
        else:
            one, other = (
                [Fraction(each) for each in side[members].tolist()]
                for side in (factors.first, factors.second)
            )
        sums = [sum(each, Fraction()) for each in (one, other, map(mul, one, other))]
        count = len(members)
        if self.before is not None:
            slot = self.before.slot_of[piece]
            for place, part in enumerate(np.split(self.sums.products[slot], len(sums))):
                sums[place] += sum(map(Fraction, part.tolist()), Fraction())
            count += int(self.sums.count[slot])
            if factors.is_square:
                sums[1] = sums[0]
        return count * sums[2] - sums[0] * sums[1]

    def exact_powers(self, piece: int) -> list[Fraction]:
        """How many numbers a piece has, and the sums of their first four powers."""
        sums = exact_numbers.sums_of_powers(self.numbers.exactly(self.members_of(piece)))
        if self.before is not None:
            slot, edges = self.before.slot_of[piece], self.sums.operand.powers.tolist()
            sums[0] += int(self.sums.count[slot])
            for power, edge in enumerate(edges[1:], 1):
                part = self.sums.floats[slot, edges[power - 1] : edge]
                sums[power] += sum(map(Fraction, part.tolist()), Fraction())
        return sums

    def at(self, ranks: list[Int64s]) -> list[pa.Array]:
        """The values at some ranks among those of each piece; null for the rank -1."""
        if self.before is None:
            return self._of_rows_at(ranks)
        others = self.before.totals.in_order[self.argument]
        left_out = others.left_out[:, WORD]
        different = np.unique(np.concatenate([self.keys, left_out]))
        found = change_kernels.keys_at_ranks(
            self.steps, self.wanted, different, np.searchsorted(different, self.keys),
            np.stack(ranks), self.before.slot_of, others.slots, others.sorted, others.bounds,
            np.searchsorted(different, left_out), np.ascontiguousarray(others.left_out[:, TIMES]),
        )  # fmt: skip
        kind = self.column.type
        both = zip(found, ranks, strict=True)
        return [exact_numbers.of_keys(each, rank < 0, kind) for each, rank in both]

    def _of_rows_at(self, ranks: list[Int64s]) -> list[pa.Array]:
        """The same among the rows of each piece."""
        _, group, member = self.order
        found = change_kernels.at_ranks(
            self.steps, self.wanted, group, len(member), np.stack(ranks)
        )
        return [self.taken(np.where(row < 0, -1, member[row])) for row in found]

    def extreme(self, greatest: bool) -> pa.Array:
        """The least or the greatest value of each piece."""
        counts = change_kernels.counts(self.steps, self.wanted)
        rank = counts - 1 if greatest else np.minimum(counts, 1) - 1
        found = self._of_rows_at([rank])[0]
        if self.before is None:
            return found
        other = self.before.totals.extremes[self.argument, greatest]
        return _more_extreme(found, other.take(pa.array(self.before.slot_of)), greatest)

    def by_time(self, last: bool) -> pa.Array:
        """The value of the first or last row of each piece: by vs, then null before every value,
        then by value."""
        order = np.lexsort((np.where(self.valid, self.keys, 0), self.valid, self.vs))
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        counts = change_kernels.counts(self.steps, self.chosen)
        rank = counts - 1 if last else np.minimum(counts, 1) - 1
        found = change_kernels.at_ranks(
            self.steps, self.chosen, position, len(order), rank[None, :]
        )[0]
        return self.taken(np.where(found < 0, -1, order[found]))

    def mode(self, greatest: bool) -> pa.Array:
        """The value that is there most often, of several the least, or the greatest."""
        column, size = self.column, len(self.column)
        others, slot_of, most = np.zeros(size, np.int64), _NO_SLOTS, _NO_SLOTS
        if self.before is not None:
            known = self.before.totals.frequent[self.argument, greatest]
            others = known.counts(column, self.before.slot_of_row)
            slot_of, most = self.before.slot_of, known.most
            column = pa.concat_arrays([column, known.values])
        keys = ~order_keys(column) if greatest else order_keys(column)
        different, group = np.unique(keys[:size], return_inverse=True)
        member = np.full(len(different) + 1, -1, np.int64)  # the last of no group
        member[group[self.wanted]] = np.flatnonzero(self.wanted)
        found, of_others = counting_kernels.modes(
            self.steps, self.wanted, group, different, others, slot_of, keys[size:], most
        )
        places = member[found]
        if self.before is not None:
            places = np.where(of_others, size + slot_of, places)
        return _normal(column.take(pa.array(places, mask=places < 0)))

    def taken(self, members: Int64s) -> pa.Array:
        """The values of some members; null for -1."""
        return self.column.take(pa.array(members, mask=members < 0))


class ListedValues(Values):
    """The values of one argument in pieces of which all rows are given. `listed`: the pieces
    without rows that are not chosen; `offsets`, `members`: without nulls, too, and without copies
    where values are distinct."""

    def __init__(self, pieces: Pieces, argument: str, only: str | None, is_distinct: bool) -> None:
        super().__init__(pieces, argument, only, is_distinct, None)

    def _steps(self, pieces: Pieces | ChangedPieces) -> Steps:
        assert isinstance(pieces, Pieces)
        offsets, members = self.listed = _without(pieces.offsets, pieces.members, self.chosen)
        offsets, members = _without(offsets, members, self.wanted)
        if self.is_distinct:
            offsets, members = piece_kernels.distinct(offsets, members, self.keys, self.vs)
        self.offsets, self.members = offsets, members
        return change_kernels.of_members(offsets, members, len(self.column))

    @cached_property
    def arranged(self) -> Int64s:
        """The members of each piece, from the least value to the greatest."""
        if self.is_distinct:
            return self.members
        return piece_kernels.arranged(self.offsets, self.members, self.keys)

    @property
    def in_time(self) -> Int64s:
        """The members of each piece, by vs and then by value."""
        return piece_kernels.arranged_in_time(self.offsets, self.members, self.vs, self.keys)

    @property
    def steps_in_order(self) -> Steps:
        return change_kernels.of_members(self.offsets, self.arranged, len(self.column))

    @cached_property
    def counts(self) -> Int64s:
        return np.diff(self.offsets)

    def has(self, beyond: Mask) -> Mask:
        if not beyond.any():
            return np.zeros(len(self.counts), np.bool_)
        marks = np.concatenate([np.zeros(1, np.int64), np.cumsum(beyond[self.members])])
        return marks[self.offsets[1:]] > marks[self.offsets[:-1]]

    @cached_property
    def float_sums(self) -> tuple[Floats, Floats, Floats]:
        if self.numbers.too_great.any():
            return super().float_sums
        return piece_kernels.float_sums(self.offsets, self.members, self.numbers.floats)

    @cached_property
    def spreads(self) -> tuple[Floats, Floats]:
        if self.factors.beyond.any() or not self.factors.is_square:
            return super().spreads
        return piece_kernels.squares(self.offsets, self.members, self.factors.first)

    def members_of(self, piece: int) -> Int64s:
        return self.members[self.offsets[piece] : self.offsets[piece + 1]]

    def at(self, ranks: list[Int64s]) -> list[pa.Array]:
        first, arranged = self.offsets[:-1], np.append(self.arranged, -1)
        return [self.taken(arranged[np.where(rank < 0, -1, first + rank)]) for rank in ranks]

    def extreme(self, greatest: bool) -> pa.Array:
        at_once = np.zeros(len(self.keys), np.int64)
        sign = -1 if greatest else 1
        found = piece_kernels.extreme(
            self.offsets, self.members, at_once, self.valid, self.keys, sign
        )
        return _normal(self.taken(found))

    def by_time(self, last: bool) -> pa.Array:
        sign = -1 if last else 1
        return self.taken(piece_kernels.extreme(*self.listed, self.vs, self.valid, self.keys, sign))

    def mode(self, greatest: bool) -> pa.Array:
        offsets, members = self.offsets, self.arranged
        if greatest:
            offsets, members = len(members) - offsets[::-1], members[::-1]
        found = piece_kernels.most_frequent(
            np.ascontiguousarray(offsets), np.ascontiguousarray(members), self.keys
        )
        return _normal(self.taken(found[::-1] if greatest else found))


def _without(offsets: Int64s, members: Int64s, kept: Mask) -> tuple[Int64s, Int64s]:
    """Pieces with some of their members alone."""
    return (offsets, members) if kept.all() else piece_kernels.present(offsets, members, kept)


def _more_extreme(one: pa.Array, other: pa.Array, greatest: bool) -> pa.Array:
    """The lesser or the greater of two values, place by place; a null is neither."""
    both = pa.concat_arrays([one, other])
    keys, there = order_keys(both), valid(both)
    mine, its = keys[: len(one)], keys[len(one) :]
    takes_other = there[len(one) :] & (
        ~there[: len(one)] | (its > mine if greatest else its < mine)
    )
    return both.take(pa.array(np.arange(len(one)) + len(one) * takes_other))


def _normal(column: pa.Array) -> pa.Array:
    """0.0 for -0.0, which is the same value: which of both a group has does not matter."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.add(column, pa.scalar(0.0, column.type))
