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
from fractions import Fraction
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
from driftline.engine.by_rows.changed_values import NO_SLOTS, Before, Values
from driftline.engine.by_rows.counting_kernels import ALL_BITS, ODD_BITS, SOME_BITS
from driftline.engine.by_rows.exact_numbers import nearest
from driftline.engine.state.order_keys import order_keys, valid
from driftline.model.arrays import Int64s
from driftline.model.row import Row
from driftline.plan.errors import PlanError
from driftline.plan.types import is_nested, type_name

if TYPE_CHECKING:
    from driftline.engine.by_rows.pieces import ChangedPieces

_OF_ANY_COPY = ("min", "max", "first", "last")
"""These are the same of different values."""

_Function = Callable[[Values, Aggregate], pa.Array | None]

MEDIAN = 0.5


def is_possible(aggregate: Aggregate) -> bool:
    """Whether an aggregate can be computed here."""
    function = aggregate.function
    if function == "user_defined":
        return hasattr(aggregate.definition, "remove")
    return function in _FUNCTIONS


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
    others, slot_of, most = np.zeros(size, np.int64), NO_SLOTS, NO_SLOTS
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
