"""Aggregates of the rows of pieces.

An aggregate is a function of a few totals of the values of its argument: how many there are, exact
sums of them, of their products or powers, counts of bits, the value at a rank. `piece_values` has
these totals, of pieces whose rows are all given, and of pieces that are given by the rows that come
and go, with or without other rows before them; what an aggregate makes of them is here.

    count, sum, avg               sums; integers and decimals in limbs, floats without rounding
    variances, covariances        sums of products
    skewness, kurtosis            sums of powers
    bit_and, bit_or, bit_xor      counts of every bit
    mode                          counts of every value
    min, max, median, percentiles values by rank
    first, last                   values by rank in the order of time; equal vs go by value
    array_agg                     all values, in the order of time and then of value
    a user's own                  `add`, and `remove` where rows go

`distinct` leaves of equal values the one with the least vs; min, max, first and last do not heed
it. Results are rounded once: what two floats cannot decide is computed as fractions, in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from math import isinf
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.by_rows import exact_numbers, moment_kernels, piece_kernels
from driftline.engine.by_rows.counting_kernels import ALL_BITS, ODD_BITS, SOME_BITS
from driftline.engine.by_rows.exact_numbers import nearest
from driftline.engine.by_rows.piece_values import (
    Before,
    ChangedPieces,
    ListedValues,
    MustSeeAllRows,
    Pieces,
    Values,
)
from driftline.engine.state.order_keys import order_keys
from driftline.model.arrays import Int64s
from driftline.model.row import Row
from driftline.plan.errors import PlanError
from driftline.plan.types import is_nested, type_name

_Function = Callable[[Values, Aggregate], pa.Array]

_OF_ANY_COPY = ("min", "max", "first", "last")
"""These are the same of different values."""

MEDIAN = 0.5


def goes_by_changes(aggregate: Aggregate) -> bool:
    """Whether an aggregate follows from the rows that come and go. array_agg, whose answer is all
    rows, and a user's own without `remove` do not."""
    if aggregate.function == "user_defined":
        return hasattr(aggregate.definition, "remove")
    return aggregate.function != "array_agg"


def changed_columns(
    pieces: ChangedPieces, aggregates: list[Aggregate], before: Before | None = None
) -> list[pa.Array] | None:
    """The aggregates of every piece; None where numbers are too great to be added and taken away
    again."""
    try:
        return columns(pieces, aggregates, before)
    except MustSeeAllRows:
        return None


def columns(
    pieces: Pieces | ChangedPieces, aggregates: list[Aggregate], before: Before | None = None
) -> list[pa.Array]:
    """The aggregates of every piece."""
    found: list[pa.Array] = []
    values: dict[tuple[str, str | None, bool], Values] = {}
    for aggregate in aggregates:
        if aggregate.argument is None:
            column = pa.array(pieces.sizes(before))
        else:
            is_distinct = aggregate.distinct and aggregate.function not in _OF_ANY_COPY
            key = (aggregate.argument, aggregate.only, is_distinct)
            if key not in values:
                values[key] = pieces.values(*key, before)
            column = FUNCTIONS[aggregate.function](values[key], aggregate)
        found.append(column if column.type == aggregate.type else column.cast(aggregate.type))
    return found


def _count(values: Values, aggregate: Aggregate) -> pa.Array:
    return pa.array(values.counts)


def _sum(values: Values, aggregate: Aggregate) -> pa.Array:
    empty = values.counts == 0
    if values.numbers.limbs is not None:
        limbs = values.limb_sums(values.numbers.limbs)
        return exact_numbers.sums_of_limbs(values.numbers, limbs, empty, aggregate.type)
    total, high, _ = values.float_sums
    total = total.copy()
    for piece in np.flatnonzero(values.has(values.numbers.too_great) & np.isfinite(high)).tolist():
        total[piece] = nearest(sum(values.exactly(piece), Fraction()))
    return pa.array(total, mask=empty)


def _avg(values: Values, aggregate: Aggregate) -> pa.Array:
    counts = values.counts
    if values.numbers.limbs is not None:
        limbs = values.limb_sums(values.numbers.limbs)
        return exact_numbers.averages_of_limbs(values.numbers, limbs, counts, aggregate.type)
    _, high, low = values.float_sums
    hard = values.has(values.numbers.too_great) & np.isfinite(high)
    divisors = np.maximum(counts, 1).astype(np.float64)
    results, unsure = piece_kernels.quotients(high, low, divisors)
    for piece in np.flatnonzero(unsure | hard).tolist():
        total = sum(values.exactly(piece), Fraction())
        rounded = nearest(total)  # infinite: so is the average
        results[piece] = rounded if isinf(rounded) else nearest(total / int(counts[piece]))
    return pa.array(results, mask=counts == 0)


def _spread(degrees_lost: int, root: bool = False) -> _Function:
    """A variance or a covariance, or the root of that."""

    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        counts, factors = values.counts, values.factors
        high, low = values.spreads
        results, unsure = piece_kernels.quotients_of_spreads(
            high, low, counts, degrees_lost, factors.scale
        )
        unsure |= values.has(factors.beyond) & ~np.isnan(high)
        for piece in np.flatnonzero(unsure & (counts > degrees_lost)).tolist():
            count = int(counts[piece])
            divisor = count * (count - degrees_lost) * factors.units
            results[piece] = nearest(values.exact_spread(piece) / divisor)
        return pa.array(np.sqrt(results) if root else results, mask=counts <= degrees_lost)

    return column


def _moment(power: int) -> _Function:
    """skewness (3) and kurtosis (4): null where the values do not vary, NaN where one is not
    finite."""

    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        found, flat = values.moments(power)
        results, unsure = moment_kernels.shapes(found, flat, power)
        unsure |= values.has(values.numbers.beyond_powers) & ~np.isnan(flat)
        for piece in np.flatnonzero(unsure).tolist():
            sums = values.exact_powers(piece)
            results[piece], flat[piece] = exact_numbers.shape_of(sums, power)
        return pa.array(results, mask=flat == 1)

    return column


def _bits(how: int, together: Callable[[Int64s, Int64s], Int64s]) -> _Function:
    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        found = values.bits(how)
        if values.before is not None:
            others = values.before.totals.bits[values.argument, aggregate.function]
            found = together(found, others[values.before.slot_of])
        return pa.array(found, mask=values.counts == 0)

    return column


def _mode(values: Values, aggregate: Aggregate) -> pa.Array:
    """The value that is there most often, of several the least; with a parameter the greatest."""
    return values.mode(aggregate.parameter is not None)


def _extreme(greatest: bool) -> _Function:
    return lambda values, aggregate: values.extreme(greatest)


def _by_time(last: bool) -> _Function:
    return lambda values, aggregate: values.by_time(last)


def _percentile(values: Values, aggregate: Aggregate) -> pa.Array:
    share = MEDIAN if aggregate.parameter is None else aggregate.parameter
    empty = values.counts == 0
    if empty.all():
        return pa.nulls(len(empty), pa.float64())
    place = share * np.maximum(values.counts - 1, 0)
    part = place - np.floor(place)
    ranks = [np.where(empty, -1, end(place)).astype(np.int64) for end in (np.floor, np.ceil)]
    lower, upper = values.at(ranks)
    keys = order_keys(pa.concat_arrays([lower, upper]))
    below, above = exact_numbers.as_floats(lower), exact_numbers.as_floats(upper)
    with np.errstate(invalid="ignore"):
        between = (1 - part) * below + part * above
    same = keys[: len(part)] == keys[len(part) :]
    return pa.array(np.where(same, below, between), mask=empty)


def _percentile_disc(descending: bool) -> _Function:
    """The least value that is not less than a share of all; descending, from the greatest on."""

    def column(values: Values, aggregate: Aggregate) -> pa.Array:
        assert aggregate.parameter is not None
        counts = values.counts
        rank = np.maximum(np.ceil(counts * aggregate.parameter).astype(np.int64) - 1, 0)
        rank = counts - 1 - rank if descending else rank
        return values.at([np.where(counts == 0, -1, rank)])[0]

    return column


def _array_agg(values: Values, aggregate: Aggregate) -> pa.Array:
    assert isinstance(values, ListedValues)
    offsets = pa.array(values.offsets, pa.int32())
    return pa.ListArray.from_arrays(offsets, values.taken(values.in_time))


def _user_defined(values: Values, aggregate: Aggregate) -> pa.Array:
    """By Python, in the order of the values, or as they come and go."""
    definition: Any = aggregate.definition
    items = values.column.to_pylist()
    if pa.types.is_nested(values.column.type):
        items = [Row(value=item)["value"] for item in items]  # as rows and tuples
    steps = values.steps_in_order
    copies = np.where(values.wanted, steps.copies, 0).tolist()
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
    return _results_of(results, aggregate)


def _results_of(results: list[Any], aggregate: Aggregate) -> pa.Array:
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


FUNCTIONS: dict[str, _Function] = {
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
    "percentile_disc": _percentile_disc(descending=False),
    "percentile_disc_desc": _percentile_disc(descending=True),
    "first": _by_time(last=False),
    "last": _by_time(last=True),
    "array_agg": _array_agg,
    "user_defined": _user_defined,
}
