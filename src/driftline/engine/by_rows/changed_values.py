"""The values of an argument of aggregates in pieces that are given as changes, and what comes
before all of their rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows import change_kernels, exact_numbers, moment_kernels
from driftline.engine.by_rows.exact_numbers import Factors, Numbers
from driftline.engine.by_rows.operands import Sums
from driftline.engine.by_rows.prefix_values import TIMES, WORD
from driftline.engine.state.order_keys import order_keys, valid
from driftline.model.arrays import Floats, Int64s, Mask

if TYPE_CHECKING:
    from driftline.engine.by_rows.block_totals import Totals
    from driftline.engine.by_rows.pieces import ChangedPieces

NO_SLOTS = np.zeros(0, np.int64)
_NO_PARTIALS, _NOTHING_SPECIAL = np.zeros((0, 0)), np.zeros((0, 3), np.int64)


@dataclass(frozen=True)
class Before:
    """What is in every piece of a slot besides its rows: the totals of each slot, and the slot of
    each piece, and of each row."""

    totals: Totals
    slot_of: Int64s
    slot_of_row: Int64s


class Values:
    """The values of one argument: `wanted` says which members count (those not null). Where they
    are distinct, `steps` are those of different values, without those that come before."""

    def __init__(
        self,
        pieces: ChangedPieces,
        argument: str,
        only: str | None,
        is_distinct: bool,
        before: Before | None,
    ) -> None:
        self.steps, self.vs = pieces.steps, pieces.vs
        self.argument, self.before = argument, before
        self.column = pieces.rows.column(argument)
        self.valid = valid(self.column)
        self.chosen = np.ones(len(self.vs), np.bool_)
        if only is not None:
            self.chosen = is_true(pieces.rows.column(only))
        self.wanted = self.valid & self.chosen
        self._order: tuple[Int64s, Int64s, Int64s] | None = None
        self._numbers: Numbers | None = None
        self._factors: Factors | None = None
        self.is_distinct = is_distinct
        if is_distinct:
            if before is not None:
                others = before.totals.different[argument]
                self.wanted &= ~others.has([self.column], before.slot_of_row)
            _, group, member = self.order
            self.steps = change_kernels.different(self.steps, self.wanted, group, len(member))

    @property
    def sums(self) -> Sums:
        """The totals of what comes before."""
        assert self.before is not None
        return self.before.totals.sums[self.argument, self.is_distinct]

    @property
    def order(self) -> tuple[Int64s, Int64s, Int64s]:
        """The keys of the values; the number of each among these in order; and a member of each
        that is not null."""
        if self._order is None:
            keys = order_keys(self.column)
            different, group = np.unique(keys, return_inverse=True)
            member = np.full(len(different), -1, np.int64)
            member[group[self.valid]] = np.flatnonzero(self.valid)
            self._order = keys, group, member
        return self._order

    @property
    def numbers(self) -> Numbers:
        if self._numbers is None:
            self._numbers = Numbers(self.column, self.valid)
        return self._numbers

    @property
    def factors(self) -> Factors:
        if self._factors is None:
            self._factors = Factors(self.column, self.valid)
        return self._factors

    def counts(self) -> Int64s:
        counts = change_kernels.counts(self.steps, self.wanted)
        if self.before is None:
            return counts
        totals = self.before.totals
        others = totals.different[self.argument].number if self.is_distinct else self.sums.count
        return counts + others[self.before.slot_of]

    def limb_sums(self, limbs: Int64s) -> Int64s:
        sums = change_kernels.limb_sums(self.steps, self.wanted, limbs)
        if self.before is not None:
            sums += self.sums.numbers[self.before.slot_of]
        return sums

    def float_sums(self) -> tuple[Floats, Floats, Floats]:
        slot_of, partials, special = NO_SLOTS, _NO_PARTIALS, _NOTHING_SPECIAL
        if self.before is not None:
            slot_of = self.before.slot_of
            partials, special = self.sums.partials, self.sums.numbers
        return change_kernels.float_sums(
            self.steps, self.wanted, self.numbers.floats, slot_of, partials, special
        )

    def exactly(self, piece: int) -> list[Fraction]:
        """Numbers with the sum of a piece."""
        found = self.numbers.exactly(change_kernels.members_of(self.steps, self.wanted, piece))
        if self.before is not None:
            partials = self.sums.partials[self.before.slot_of[piece]]
            found += [Fraction(each) for each in partials.tolist()]
        return found

    def spreads(self) -> tuple[Floats, Floats]:
        """n · Σ xy - Σ x · Σ y of each piece, as two floats."""
        slot_of, partials, counts = change_kernels.NOTHING_BEFORE
        if self.before is not None:
            slot_of, partials, counts = self.before.slot_of, self.sums.products, self.sums.counts
        factors = self.factors
        return change_kernels.spreads(
            self.steps, self.wanted, factors.first, factors.second, factors.is_square, slot_of,
            partials, counts,
        )  # fmt: skip

    def exact_spread(self, piece: int) -> Fraction:
        """The same of one piece, exactly."""
        members = change_kernels.members_of(self.steps, self.wanted, piece)
        sides = [self.factors.first[members], self.factors.second[members]]
        one, other = ([Fraction(each) for each in side.tolist()] for side in sides)
        sums = [sum(each, Fraction()) for each in (one, other, map(mul, one, other))]
        count = len(members)
        if self.before is not None:
            slot = self.before.slot_of[piece]
            for place, part in enumerate(np.split(self.sums.products[slot], len(sums))):
                sums[place] += sum(map(Fraction, part.tolist()), Fraction())
            count += int(self.sums.count[slot])
            if self.factors.is_square:
                sums[1] = sums[0]
        return count * sums[2] - sums[0] * sums[1]

    def moments(self, power: int) -> tuple[Floats, Floats]:
        """See `moment_kernels.moments`."""
        before = moment_kernels.NOTHING_BEFORE
        if self.before is not None:
            sums = self.sums
            before = self.before.slot_of, sums.floats, sums.operand.powers, sums.counts
        return moment_kernels.moments(self.steps, self.wanted, self.numbers.floats, power, *before)

    def exact_powers(self, piece: int) -> list[Fraction]:
        """See `exact_numbers.sums_of_powers`."""
        members = change_kernels.members_of(self.steps, self.wanted, piece)
        sums = exact_numbers.sums_of_powers(
            [Fraction(each) for each in self.numbers.floats[members].tolist()]
        )
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
            return self.of_rows_at(ranks)
        others = self.before.totals.in_order[self.argument]
        keys, left_out = order_keys(self.column), others.left_out[:, WORD]
        different = np.unique(np.concatenate([keys, left_out]))
        found = change_kernels.keys_at_ranks(
            self.steps, self.wanted, different, np.searchsorted(different, keys), np.stack(ranks),
            self.before.slot_of, others.slots, others.sorted, others.bounds,
            np.searchsorted(different, left_out), np.ascontiguousarray(others.left_out[:, TIMES]),
        )  # fmt: skip
        kind = self.column.type
        both = zip(found, ranks, strict=True)
        return [exact_numbers.of_keys(each, rank < 0, kind) for each, rank in both]

    def of_rows_at(self, ranks: list[Int64s]) -> list[pa.Array]:
        """The same among the rows of each piece."""
        _, group, member = self.order
        found = change_kernels.at_ranks(
            self.steps, self.wanted, group, len(member), np.stack(ranks)
        )
        return [self.taken(np.where(row < 0, -1, member[row])) for row in found]

    def taken(self, members: Int64s) -> pa.Array:
        return self.column.take(pa.array(members, mask=members < 0))


def is_true(column: pa.Array) -> Mask:
    return column.fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
