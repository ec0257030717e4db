"""Sums of floats that do not drift: three floats that together carry about 160 bits.

Adding is exact as long as the values lie within some thirty orders of magnitude of each other, so
taking away what was added gives back what was there, however long that goes on. The total is
rounded once, when it is read.
"""

from __future__ import annotations

from driftline.model.arrays import Floats
from driftline.model.compiled import in_place, njit


@njit(inline="always")
def two_sum(a: float, b: float) -> tuple[float, float]:
    """a + b as the nearest float and the exact rest."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@njit(inline="always")
def two_product(a: float, b: float) -> tuple[float, float]:
    """a · b as the nearest float and the exact rest (which is lost near the ends of the range)."""
    product = a * b
    split_a, split_b = 134217729.0 * a, 134217729.0 * b
    high_a, high_b = split_a - (split_a - a), split_b - (split_b - b)
    low_a, low_b = a - high_a, b - high_b
    rest = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, rest


@njit(inline="always")
def add(sums: Floats, row: int, place: int, value: float) -> None:
    """Add a value to the sum in the three columns of a row from `place` on."""
    sums[row, place], rest = two_sum(sums[row, place], value)
    sums[row, place + 1], rest = two_sum(sums[row, place + 1], rest)
    sums[row, place + 2] += rest


@njit(inline="always")
def add_sums(sums: Floats, row: int, others: Floats, other: int, sign: float) -> None:
    """Add (sign 1) or take away (sign -1) all sums of a row of other sums."""
    for part in range(sums.shape[1]):
        if others[other, part] != 0.0:
            add(sums, row, part - part % 3, sign * others[other, part])


@njit(inline="always")
def total(sums: Floats, row: int, place: int) -> float:
    """The sum, rounded."""
    high, low = two_sum(sums[row, place], sums[row, place + 1])
    return float(high + (low + sums[row, place + 2]))


@in_place
def variance(sums: Floats, row: int, place: int, squares: int, count: int, degrees: int) -> float:
    """The variance of `count` values with their sum at `place` and the sum of their squares at
    `squares`, divided by `degrees`; in twice the precision of a float throughout."""
    if count == 1:
        return 0.0
    high, low = two_sum(sums[row, place], sums[row, place + 1])
    low += sums[row, place + 2]
    square, rest = two_product(high, high)
    rest += 2.0 * high * low
    quotient = square / count
    back, back_rest = two_product(quotient, float(count))
    quotient_rest = ((square - back) - back_rest + rest) / count
    all_high, all_low = two_sum(sums[row, squares], sums[row, squares + 1])
    all_low += sums[row, squares + 2]
    difference, difference_rest = two_sum(all_high, -quotient)
    spread = difference + (difference_rest + (all_low - quotient_rest))
    return float(max(spread, 0.0) / degrees)
