"""Skewness and kurtosis from sums of powers, without rounding before the end.

With S_p = Σ x^p over n values, and the central sums

    K2 = n S2 - S1²
    K3 = n² S3 - 3 n S1 S2 + 2 S1³
    L4 = n³ S4 - 4 n² S1 S3 - 3 n² S2² + 12 n S1² S2 - 6 S1⁴

skewness is K3 / √K2³, and kurtosis L4 / K2². Each sum is kept as floats that do not overlap (see
`change_kernels.add_exactly`), and so is every product here, so that nothing is lost where these
cancel.
"""

from __future__ import annotations

import numpy as np

from driftline.engine.by_rows.change_kernels import MOST_PARTIALS, Steps, add_exactly, take_up
from driftline.engine.by_rows.piece_kernels import DOUBT, rounded
from driftline.engine.state.exact_floats import two_product, two_sum
from driftline.kernels import compiled, in_place
from driftline.model.arrays import FloatCube, Floats, FloatTable, Int64s, Int64Table, Mask

POWERS = 4
TERMS = 2 ** (POWERS - 1)
"""The fourth power of a float is the sum of so many."""
LEAST_POWERED, GREATEST_POWERED = 1e-45, 1e45
"""Of such numbers all these products are exact, and sums of them finite."""
_LEAST_RESULT = 1e-250
NOTHING_BEFORE = (
    np.zeros(0, np.int64), np.zeros((0, 0)), np.zeros(POWERS + 1, np.int64),
    np.zeros((0, 2), np.int64),
)  # fmt: skip
"""That nothing is added to the pieces of slots: see `moments`."""


@in_place
def _times(one: Floats, size: int, other: Floats, other_size: int, into: Floats) -> int:
    """The product of two sums; returns how many floats it is."""
    made = 0
    for a in one[:size]:
        for b in other[:other_size]:
            product, rest = two_product(a, b)
            made = add_exactly(into, made, product)
            made = add_exactly(into, made, rest)
    return made


@in_place
def _add_times(into: Floats, made: int, one: Floats, size: int, factor: float) -> int:
    """Add a multiple of a sum to another; returns how many floats it is."""
    for a in one[:size]:
        product, rest = two_product(a, factor)
        made = add_exactly(into, made, product)
        made = add_exactly(into, made, rest)
    return made


@in_place
def _powers(number: float, found: FloatTable) -> None:
    """The first four powers of a number: of the p-th found[p - 1], 2^(p - 1) floats."""
    found[0, 0] = number
    for power in range(1, POWERS):
        for term in range(1 << (power - 1)):
            product, rest = two_product(found[power - 1, term], number)
            found[power, 2 * term], found[power, 2 * term + 1] = product, rest


@compiled
def powers(numbers: Floats) -> FloatCube:
    """The first four powers of each number [number, power, term]."""
    found = np.zeros((len(numbers), POWERS, TERMS))
    for number in range(len(numbers)):
        _powers(numbers[number], found[number])
    return found


@compiled
def _central(
    sums: FloatTable, sizes: Int64s, count: float, power: int, work: FloatTable, into: Floats
) -> int:
    """K3 or L4 from the sums of powers; returns how many floats it is."""
    s1, s2, s3, s4 = sums[0], sums[1], sums[2], sums[3]
    product, square, part, whole = work[0], work[1], work[2], work[3]
    squared = _times(s1, sizes[0], s1, sizes[0], square)
    if power == 3:  # noqa: PLR2004 - n (n S3 - 3 S1 S2) + 2 S1³
        size = _add_times(part, 0, s3, sizes[2], count)
        more = _times(s1, sizes[0], s2, sizes[1], product)
        size = _add_times(part, size, product, more, -3.0)
        made = _add_times(into, 0, part, size, count)
        more = _times(s1, sizes[0], square, squared, product)
        return _add_times(into, made, product, more, 2.0)
    # n (n (n S4 - 4 S1 S3 - 3 S2²) + 12 S1² S2) - 6 S1⁴
    size = _add_times(part, 0, s4, sizes[3], count)
    more = _times(s1, sizes[0], s3, sizes[2], product)
    size = _add_times(part, size, product, more, -4.0)
    more = _times(s2, sizes[1], s2, sizes[1], product)
    size = _add_times(part, size, product, more, -3.0)
    wide = _add_times(whole, 0, part, size, count)
    more = _times(square, squared, s2, sizes[1], product)
    wide = _add_times(whole, wide, product, more, 12.0)
    made = _add_times(into, 0, whole, wide, count)
    more = _times(square, squared, square, squared, product)
    return _add_times(into, made, product, more, -6.0)


@compiled
def moments(
    changes: Steps,
    wanted: Mask,
    numbers: Floats,
    power: int,
    slot_of: Int64s,
    before: FloatTable,
    bounds: Int64s,
    counts_before: Int64Table,
) -> tuple[FloatTable, Floats]:
    """K3 or L4 and K2 of the wanted members of each piece, each as two floats [piece, 4]; and of
    each piece whether K2 is 0 (1.0), or a number is not finite (NaN). To the pieces of each slot
    something else is added (`slot_of` is empty: to none): the sums of powers, of which that of p is
    before[slot, bounds[p - 1]] …, how many members these are of, and how many not finite."""
    pieces = len(changes.fresh)
    found, flat = np.zeros((pieces, 4)), np.zeros(pieces)
    sums, sizes = np.empty((POWERS, MOST_PARTIALS)), np.zeros(POWERS, np.int64)
    work, total = np.empty((4, MOST_PARTIALS)), np.empty(MOST_PARTIALS)
    terms = np.empty((POWERS, TERMS))
    count, odd = 0, 0
    for piece in range(pieces):
        if changes.fresh[piece]:
            sizes[:] = 0
            count, odd = 0, 0
            if len(slot_of):
                slot = slot_of[piece]
                for place in range(POWERS):
                    own = before[slot, bounds[place] : bounds[place + 1]]
                    sizes[place] = take_up(sums[place], own)
                count, odd = counts_before[slot, 0], counts_before[slot, 1]
        for sign in (-1, 1):
            if sign < 0 and changes.fresh[piece]:
                continue  # those of another slot
            edges = changes.go_bounds if sign < 0 else changes.come_bounds
            which = changes.go if sign < 0 else changes.come
            for place in range(edges[piece], edges[piece + 1]):
                number = which[place]
                if not wanted[number]:
                    continue
                copies = changes.copies[number]
                count += sign * copies
                if not np.isfinite(numbers[number]):
                    odd += sign * copies
                    continue
                _powers(numbers[number], terms)
                for each in range(power):
                    for term in terms[each, : 1 << each]:
                        for _ in range(copies if term != 0.0 else 0):
                            sizes[each] = add_exactly(sums[each], sizes[each], sign * term)
        if odd > 0:
            flat[piece] = np.nan
            continue
        size = _add_times(total, 0, sums[1], sizes[1], float(count))
        more = _times(sums[0], sizes[0], sums[0], sizes[0], work[0])
        size = _add_times(total, size, work[0], more, -1.0)
        if size == 0:
            flat[piece] = 1.0
            continue
        _, found[piece, 2], found[piece, 3] = rounded(total, size)
        size = _central(sums, sizes, float(count), power, work, total)
        if size > 0:
            _, found[piece, 0], found[piece, 1] = rounded(total, size)
    return found, flat


@in_place
def _product(high: float, low: float, other: float, other_low: float) -> tuple[float, float]:
    """The product of two numbers of two floats each."""
    product, rest = two_product(high, other)
    return two_sum(product, rest + (high * other_low + low * other))


@compiled
def shapes(found: FloatTable, flat: Floats, power: int) -> tuple[Floats, Mask]:
    """Skewness (power 3) or kurtosis (4) of each piece, rounded once, and whether that is in
    doubt; what it is where K2 is 0 is unspecified."""
    results, unsure = np.zeros(len(found)), np.zeros(len(found), np.bool_)
    for piece in range(len(found)):
        high, low, spread, rest = found[piece]
        if np.isnan(flat[piece]):
            results[piece] = np.nan
        if flat[piece] != 0.0 or high == 0.0:
            continue
        other, other_rest = spread, rest
        if power == 3:  # noqa: PLR2004 - by K2 and its root
            other = np.sqrt(spread)
            product, product_rest = two_product(other, other)
            other_rest = ((spread - product) - product_rest + rest) / (2.0 * other)
        divisor, divisor_rest = _product(spread, rest, other, other_rest)
        quotient = high / divisor
        product, product_rest = two_product(quotient, divisor)
        more = ((high - product) - product_rest + (low - quotient * divisor_rest)) / divisor
        results[piece] = quotient + more
        doubt = abs(more) * DOUBT
        unsure[piece] = (
            quotient + (more - doubt) != quotient + (more + doubt)
            or abs(results[piece]) < _LEAST_RESULT
        )
    return results, unsure
