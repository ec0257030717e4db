"""Sums of floats that do not drift: three floats that together carry about 160 bits.

Adding is exact as long as the values lie within some thirty orders of magnitude of each other, so
taking away what was added gives back what was there, however long that goes on. The total is
rounded once, when it is read.

Numbers from `GREAT` on (`GREAT_SQUARED`, where they are squared), whose sums would leave the range
of floats, are added up apart, in units of `UNIT`. A total past the greatest float is infinite, and
finite again when what made it so has gone.
"""

from __future__ import annotations

from driftline.kernels import in_place, inlined
from driftline.model.arrays import Floats, FloatTable

GREAT, GREAT_SQUARED = 2.0**960, 2.0**480
"""Lesser numbers, and the squares of lesser numbers, can be added up 2^63 times."""
UNIT, _TO_UNITS = 2.0**544, 2.0**-544
"""Great numbers squared in this unit lie between 2^-128 and 2^960, and are exact."""
_NOISE = 2.0**-98
"""What twice the precision of a float does not tell from nothing."""


@inlined
def two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b as the nearest float and the exact rest."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@inlined
def two_product(a: float, b: float) -> tuple[float, float]:
    """a · b as the nearest float and the exact rest (which is lost near the ends of the range)."""
    product = a * b
    split_a, split_b = 134217729.0 * a, 134217729.0 * b
    high_a, high_b = split_a - (split_a - a), split_b - (split_b - b)
    low_a, low_b = a - high_a, b - high_b
    rest = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, rest


@inlined
def add(sums: FloatTable, row: int, place: int, value: float) -> None:
    """Add a value to the sum in the three columns of a row from `place` on."""
    sums[row, place], rest = two_sum(sums[row, place], value)
    sums[row, place + 1], rest = two_sum(sums[row, place + 1], rest)
    sums[row, place + 2] += rest


@inlined
def total(sums: FloatTable, row: int, place: int) -> float:
    """The sum, rounded."""
    high, low = two_sum(sums[row, place], sums[row, place + 1])
    return float(high + (low + sums[row, place + 2]))


@inlined
def add_great(sums: Floats, row: int, place: int, value: float, sign: float, square: bool) -> None:
    """Add a great number, or its square, to the sum of such at `place`."""
    value *= _TO_UNITS
    if square:
        value, low = two_product(value, value)
        add(sums, row, place, sign * low)
    add(sums, row, place, sign * value)


@inlined
def total_with_great(sums: FloatTable, row: int, place: int, great: int) -> float:
    """The sum at `place` and that of great numbers at `great`, rounded."""
    if total(sums, row, great) == 0.0:
        return total(sums, row, place)
    high, low = two_sum(sums[row, great], sums[row, great + 1])
    rest = total(sums, row, place) * _TO_UNITS
    return float(high + (low + (sums[row, great + 2] + rest))) * UNIT


@in_place
def variance(
    sums: FloatTable, row: int, place: int, squares: int, count: int, degrees: int
) -> float:
    """The variance of `count` values with their sum at `place` and the sum of their squares at
    `squares`, divided by `degrees`; in twice the precision of a float throughout."""
    if count == 1:
        return 0.0
    high, low = _high_and_low(sums, row, place)
    all_high, all_low = _high_and_low(sums, row, squares)
    return _spread(high, low, all_high, all_low, count) / degrees


@in_place
def variance_with_great(
    sums: FloatTable, row: int, place: int, squares: int, great: int, count: int, degrees: int
) -> float:
    """The same, where the sums of great numbers lie `great` columns behind the others."""
    if total(sums, row, great + squares) == 0.0:
        return float(variance(sums, row, place, squares, count, degrees))
    if count == 1:
        return 0.0
    high, low = _high_and_low(sums, row, great + place)
    lesser, lesser_low = _high_and_low(sums, row, place)
    high, rest = two_sum(high, lesser * _TO_UNITS)
    low += rest + lesser_low * _TO_UNITS
    all_high, all_low = _high_and_low(sums, row, great + squares)
    all_high, rest = two_sum(all_high, total(sums, row, squares) * _TO_UNITS * _TO_UNITS)
    spread = _spread(high, low, all_high, all_low + rest, count)
    if spread < all_high * _NOISE:
        return 0.0
    return spread / degrees * UNIT * UNIT


@inlined
def _high_and_low(sums: FloatTable, row: int, place: int) -> tuple[float, float]:
    """A sum as two floats."""
    high, low = two_sum(sums[row, place], sums[row, place + 1])
    return high, low + sums[row, place + 2]


@inlined
def _spread(high: float, low: float, all_high: float, all_low: float, count: int) -> float:
    """The sum of squares (all_high, all_low) less the square of the sum (high, low) / count."""
    square, rest = two_product(high, high)
    rest += 2.0 * high * low
    quotient = square / count
    back, back_rest = two_product(quotient, float(count))
    quotient_rest = ((square - back) - back_rest + rest) / count
    difference, difference_rest = two_sum(all_high, -quotient)
    spread = difference + (difference_rest + (all_low - quotient_rest))
    return float(max(spread, 0.0))
