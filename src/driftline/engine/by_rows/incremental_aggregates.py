"""Aggregates of pieces that are given as changes: the rows that come and go from each to the next.

    count, sum, avg               running totals; floats are added and taken away without rounding
    variances, covariances        running totals of products, in the same way
    skewness, kurtosis            running totals of powers, in the same way
    bit_and, bit_or, bit_xor      running counts of every bit
    mode                          running counts of every value
    of different values           from the values that come and go; first and last do not heed it
    min, max, median, percentiles by rank, in a tree of counts over the values in order
    first, last                   by rank, over (vs, value)
    a user's own with `remove`    `add` and `remove`

What is not here has to see all rows of a piece: array_agg, whose answer is these rows, and a user's
own aggregate without `remove`.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.by_rows import (
    change_kernels,
    counting_kernels,
    exact_numbers,
    moment_kernels,
    piece_kernels,
)
from driftline.engine.by_rows.counting_kernels import ALL_BITS, ODD_BITS, SOME_BITS
from driftline.engine.by_rows.exact_numbers import Factors, Numbers, nearest
from driftline.engine.by_rows.operands import Sums
from driftline.engine.by_rows.prefix_values import TIMES, WORD
from driftline.engine.state.order_keys import order_keys, valid
from driftline.model.arrays import Floats, Int64s, Mask
from driftline.model.row import Row
from driftline.plan.errors import PlanError
from driftline.plan.types import is_nested, type_name

if TYPE_CHECKING:
    from driftline.engine.by_rows.block_totals import Totals
    from driftline.engine.by_rows.pieces import ChangedPieces

_NO_SLOTS = np.zeros(0, np.int64)
_NO_PARTIALS, _NOTHING_SPECIAL = np.zeros((0, 0)), np.zeros((0, 3), np.int64)
_OF_ANY_COPY = ("min", "max", "first", "last")
"""These are the same of different values."""

MEDIAN = 0.5


def is_possible(aggregate: Aggregate) -> bool:
    """Whether an aggregate can be computed here."""
    function = aggregate.function
    if function == "user_defined":
        return hasattr(aggregate.definition, "remove")
    return function in _FUNCTIONS


@dataclass(frozen=True)
class Before:
    """What is in every piece of a slot besides its rows: the totals of each slot, and the slot of
    each piece, and of each row."""

    totals: Totals
    slot_of: Int64s
    slot_of_row: Int64s


def columns(
    pieces: ChangedPieces, aggregates: list[Aggregate], before: Before | None = None
) -> list[pa.Array] | None:
    """The aggregates of every piece; None where floats are too great to be added like this."""
    found: list[pa.Array] = []
    values: dict[tuple[str, str | None, bool], Values] = {}
    for aggregate in aggregates:
        if aggregate.argument is None:
            everyone = np.ones(len(pieces.vs), np.bool_)
            counts = change_kernels.counts(pieces.steps, everyone)
            if before is not None:
                counts += before.totals.rows[before.slot_of]
            found.append(pa.array(counts).cast(aggregate.type))
            continue
        is_distinct = aggregate.distinct and aggregate.function not in _OF_ANY_COPY
        key = (aggregate.argument, aggregate.only, is_distinct)
        if key not in values:
            values[key] = Values(pieces, *key, before)
        column = _FUNCTIONS[aggregate.function](values[key], aggregate)
        if column is None:
            return None
        found.append(column if column.type == aggregate.type else column.cast(aggregate.type))
    return found


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
        slot_of, partials, special = _NO_SLOTS, _NO_PARTIALS, _NOTHING_SPECIAL
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
            np.searchsorted(different, left_out), others.left_out[:, TIMES],
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


_Function = Callable[[Values, Aggregate], pa.Array | None]


def is_true(column: pa.Array) -> Mask:
    return column.fill_null(False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _count(values: Values, aggregate: Aggregate) -> pa.Array:
    return pa.array(values.counts())


def _sum(values: Values, aggregate: Aggregate) -> pa.Array | None:
    empty = values.counts() == 0
    if values.numbers.limbs is not None:
        limbs = values.limb_sums(values.numbers.limbs)
        return exact_numbers.sums_of_limbs(values.numbers, limbs, empty, aggregate.type)
    if _too_great(values):
        return None
    total, _, _ = values.float_sums()
    return pa.array(total, mask=empty)


def _avg(values: Values, aggregate: Aggregate) -> pa.Array | None:
    counts = values.counts()
    if values.numbers.limbs is not None:
        limbs = values.limb_sums(values.numbers.limbs)
        return exact_numbers.averages_of_limbs(values.numbers, limbs, counts, aggregate.type)
    if _too_great(values):
        return None
    _, high, low = values.float_sums()
    divisors = np.maximum(counts, 1).astype(np.float64)
    none_hard = np.zeros(len(counts), np.bool_)
    results, unsure = piece_kernels.quotients(high, low, divisors, none_hard)
    for piece in np.flatnonzero(unsure):
        total = sum(values.exactly(int(piece)), Fraction())
        results[piece] = nearest(total / int(counts[piece]))
    return pa.array(results, mask=counts == 0)


def _spread(degrees_lost: int, root: bool = False) -> _Function:
    """A variance or a covariance, or the root of that."""

    def column(values: Values, aggregate: Aggregate) -> pa.Array | None:
        factors = values.factors
        if (factors.beyond & values.wanted).any():
            return None
        counts = values.counts()
        high, low = values.spreads()
        results, unsure = piece_kernels.quotients_of_spreads(
            high, low, counts, degrees_lost, factors.scale
        )
        for piece in np.flatnonzero(unsure):
            count = int(counts[piece])
            divisor = count * (count - degrees_lost) * factors.units
            results[piece] = nearest(values.exact_spread(int(piece)) / divisor)
        return pa.array(np.sqrt(results) if root else results, mask=counts <= degrees_lost)

    return column


def _moment(power: int) -> _Function:
    """skewness (3) and kurtosis (4)."""

    def column(values: Values, aggregate: Aggregate) -> pa.Array | None:
        if (exact_numbers.beyond_powers(values.numbers) & values.wanted).any():
            return None
        found, flat = values.moments(power)
        results, unsure = moment_kernels.shapes(found, flat, power)
        for piece in np.flatnonzero(unsure):
            results[piece], _ = exact_numbers.shape_of(values.exact_powers(int(piece)), power)
        return pa.array(results, mask=flat == 1)

    return column


def _bits(how: int, together: Callable[[Int64s, Int64s], Int64s]) -> _Function:
    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        numbers = exact_numbers.whole_numbers(values.column)
        found = counting_kernels.bits(values.steps, values.wanted, numbers, how)
        if values.before is not None:
            others = values.before.totals.bits[values.argument, aggregate.function]
            found = together(found, others[values.before.slot_of])
        return pa.array(found, mask=values.counts() == 0)

    return column


def _mode(values: Values, aggregate: Aggregate) -> pa.Array:
    """The value that is there most often, of several the least; with a parameter the greatest."""
    greatest, column, size = aggregate.parameter is not None, values.column, len(values.column)
    others, slot_of, most = np.zeros(size, np.int64), _NO_SLOTS, _NO_SLOTS
    if values.before is not None:
        known = values.before.totals.frequent[values.argument, greatest]
        others = known.counts(column, values.before.slot_of_row)
        slot_of, most = values.before.slot_of, known.most
        column = pa.concat_arrays([column, known.values])
    keys = ~order_keys(column) if greatest else order_keys(column)
    different, group = np.unique(keys[:size], return_inverse=True)
    member = np.full(len(different) + 1, -1, np.int64)  # the last of no group
    member[group[values.wanted]] = np.flatnonzero(values.wanted)
    found, of_others = counting_kernels.modes(
        values.steps, values.wanted, group, different, others, slot_of, keys[size:], most
    )
    places = member[found]
    if values.before is not None:
        places = np.where(of_others, size + slot_of, places)
    return normal(column.take(pa.array(places, mask=places < 0)))


def normal(column: pa.Array) -> pa.Array:
    """0.0 for -0.0, which is the same value: which of both a group has does not matter."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.add(column, pa.scalar(0.0, column.type))


def _too_great(values: Values) -> bool:
    numbers = np.abs(values.numbers.floats[values.wanted])
    return bool((np.isfinite(numbers) & (numbers >= piece_kernels.GREATEST_ADDED)).any())


def _extreme(greatest: bool) -> _Function:
    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        counts = change_kernels.counts(values.steps, values.wanted)
        rank = counts - 1 if greatest else np.minimum(counts, 1) - 1
        found = values.of_rows_at([rank])[0]
        if values.before is None:
            return found
        other = values.before.totals.extremes[values.argument, greatest]
        return _more_extreme(found, other.take(pa.array(values.before.slot_of)), greatest)

    return column


def _more_extreme(one: pa.Array, other: pa.Array, greatest: bool) -> pa.Array:
    """The lesser or the greater of two values, place by place; a null is neither."""
    both = pa.concat_arrays([one, other])
    keys, there = order_keys(both), valid(both)
    mine, its = keys[: len(one)], keys[len(one) :]
    takes_other = there[len(one) :] & (
        ~there[: len(one)] | (its > mine if greatest else its < mine)
    )
    return both.take(pa.array(np.arange(len(one)) + len(one) * takes_other))


def _percentile(values: Values, aggregate: Aggregate) -> pa.Array:
    share = MEDIAN if aggregate.parameter is None else aggregate.parameter
    counts = values.counts()
    empty = counts == 0
    if empty.all():
        return pa.nulls(len(empty), pa.float64())
    place = share * np.maximum(counts - 1, 0)
    part = place - np.floor(place)
    ranks = [np.where(empty, -1, end(place)).astype(np.int64) for end in (np.floor, np.ceil)]
    lower, upper = values.at(ranks)
    keys = order_keys(pa.concat_arrays([lower, upper]))
    below, above = exact_numbers.as_floats(lower), exact_numbers.as_floats(upper)
    with np.errstate(invalid="ignore"):
        between = (1 - part) * below + part * above
    same = keys[: len(part)] == keys[len(part) :]
    return pa.array(np.where(same, below, between), mask=empty)


def _percentile_disc(values: Values, aggregate: Aggregate) -> pa.Array:
    counts = values.counts()
    rank = np.where(counts == 0, -1, rank_of_share(counts, aggregate.parameter))
    return values.at([rank])[0]


def rank_of_share(counts: Int64s, share: float | None) -> Int64s:
    """The place, from 0, of the least of so many values that is not less than a share of them."""
    assert share is not None
    place: Int64s = np.ceil(counts * share).astype(np.int64) - 1
    return np.maximum(place, 0)


def _by_time(last: bool) -> _Function:
    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        # By vs, then null before every value, then by value.
        keys = np.where(values.valid, values.order[0], 0)
        order = np.lexsort((keys, values.valid, values.vs))
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        counts = change_kernels.counts(values.steps, values.chosen)
        rank = counts - 1 if last else np.minimum(counts, 1) - 1
        found = change_kernels.at_ranks(
            values.steps, values.chosen, position, len(order), rank[None, :]
        )[0]
        return values.taken(np.where(found < 0, -1, order[found]))

    return column


def _user_defined(values: Values, aggregate: Aggregate) -> pa.Array:
    definition: Any = aggregate.definition
    items = values.column.to_pylist()
    if pa.types.is_nested(values.column.type):
        items = [Row(value=item)["value"] for item in items]  # as rows and tuples
    steps, copies = values.steps, np.where(values.wanted, values.steps.copies, 0).tolist()
    come, go = steps.come.tolist(), steps.go.tolist()
    come_bounds, go_bounds = steps.come_bounds.tolist(), steps.go_bounds.tolist()
    state, results = definition.initial(), []
    for piece, fresh in enumerate(steps.fresh.tolist()):
        if fresh:
            state = definition.initial()
        else:
            for number in go[go_bounds[piece] : go_bounds[piece + 1]]:
                for _ in range(copies[number]):
                    state = definition.remove(state, items[number])
        for number in come[come_bounds[piece] : come_bounds[piece + 1]]:
            for _ in range(copies[number]):
                state = definition.add(state, items[number])
        # A result that is the state itself must not change with it.
        result = definition.result(state)
        results.append(deepcopy(result) if is_nested(aggregate.type) else result)
    return results_of(results, aggregate)


def results_of(results: list[Any], aggregate: Aggregate) -> pa.Array:
    """What a user's aggregate gave, as a column of its declared type."""
    try:
        return pa.array(results, aggregate.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError):
        for value in results:
            try:
                pa.array([value], aggregate.type)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError):
                raise PlanError(
                    f"a user-defined aggregate gave {value!r}, which is no "
                    f"{type_name(aggregate.type)}"
                ) from None
        raise


_FUNCTIONS: dict[str, _Function] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _extreme(greatest=False),
    "max": _extreme(greatest=True),
    "variance": _spread(1),
    "variance_pop": _spread(0),
    "stddev": _spread(1, root=True),
    "stddev_pop": _spread(0, root=True),
    "covar_samp": _spread(1),
    "covar_pop": _spread(0),
    "skewness": _moment(3),
    "kurtosis": _moment(4),
    "bit_and": _bits(ALL_BITS, np.bitwise_and),
    "bit_or": _bits(SOME_BITS, np.bitwise_or),
    "bit_xor": _bits(ODD_BITS, np.bitwise_xor),
    "mode": _mode,
    "median": _percentile,
    "percentile": _percentile,
    "percentile_disc": _percentile_disc,
    "first": _by_time(last=False),
    "last": _by_time(last=True),
    "user_defined": _user_defined,
}
