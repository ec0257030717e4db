"""Numbers as they are added up, and sums, averages and shapes from their totals, rounded once.

Integers and decimals are added as limbs of 32 bits, floats without rounding. A total of integers
that does not fit a BIGINT, or of decimals that does not fit its type, is an error. What two floats
cannot decide (see `piece_kernels`) is computed as fractions, in Python: that is one piece in many
billions, or one with integers beyond 2^53.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.by_rows.moment_kernels import GREATEST_POWERED, LEAST_POWERED, POWERS
from driftline.engine.by_rows.piece_kernels import GREATEST_ADDED
from driftline.engine.state.fingerprints import words
from driftline.engine.state.order_keys import DIGITS_OF_A_WORD, decimal_words, values_of_keys
from driftline.model.arrays import Floats, Int64s, Mask

_LIMB = 32
_LOW = np.int64(2**_LIMB - 1)
_EXACT = 2**53
"""Up to here every whole number is a float."""
_LEAST_FACTOR, _GREATEST_FACTOR = 1e-140, 1e130
"""The products of such floats are sums of two floats, and sums of such products finite."""


SUM_TOO_LARGE = "a sum of integers does not fit a BIGINT: cast its argument to DOUBLE or DECIMAL"


def is_number(kind: pa.DataType) -> bool:
    return bool(
        (pa.types.is_integer(kind) and kind != pa.uint64())
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
    )


def is_in_a_word(kind: pa.DataType) -> bool:
    """Whether the order keys of such numbers hold for ever, and tell what they are."""
    return is_number(kind) and (not pa.types.is_decimal(kind) or kind.precision <= DIGITS_OF_A_WORD)


def of_keys(keys: Int64s, missing: Mask, kind: pa.DataType) -> pa.Array:
    """The numbers that order keys stand for."""
    if pa.types.is_decimal(kind):
        return _decimal_array(np.stack([keys, keys >> 63], axis=1), missing, kind)
    return pa.array(values_of_keys(keys, kind), mask=missing).cast(kind)


class Numbers:
    """The values of an argument, one a member (a null is zero).

    `limbs`: of an integer, or of the units of a decimal, [member, limb], the last one with the
    sign; None for floats. `floats`: the same as floats; of a decimal, its units.
    """

    def __init__(self, column: pa.Array, valid: Mask) -> None:
        kind = column.type
        self.column = column
        self.is_decimal = bool(pa.types.is_decimal(kind))
        self.scale = kind.scale if self.is_decimal else 0
        self.limbs: Int64s | None = None
        if pa.types.is_floating(kind):
            self.floats = as_floats(column)
            return
        if self.is_decimal:
            halves = np.where(valid[:, None], decimal_words(column).view(np.int64), 0)
            columns = [halves[:, 0], halves[:, 1]]
            self.floats = _combined(halves)
        else:
            columns = [np.where(valid, words(column).view(np.int64), 0)]
            self.floats = columns[0].astype(np.float64)
        limbs: list[Int64s] = []
        for place, half in enumerate(columns, 1):
            low, high = half & _LOW, half >> _LIMB
            limbs += [low, high if place == len(columns) else high & _LOW]
        self.limbs = np.stack(limbs, axis=1)

    @cached_property
    def too_great(self) -> Mask:
        """The floats that are too great to be added up."""
        return np.isfinite(self.floats) & (np.abs(self.floats) >= GREATEST_ADDED)

    @cached_property
    def beyond_powers(self) -> Mask:
        """The numbers whose powers, or sums of these, would not be exact."""
        size = np.abs(self.floats)
        greatest = GREATEST_POWERED if self.limbs is None else _EXACT - 1
        outside = (size > greatest) | ((size < LEAST_POWERED) & (size > 0))
        return np.isfinite(size) & outside

    def exactly(self, members: Int64s) -> list[Fraction]:
        """Some values as fractions; of decimals, their units."""
        values, units = self.column.take(pa.array(members)).to_pylist(), 10**self.scale
        return [Fraction(value) * units for value in values]


class Factors:
    """The numbers of an argument whose products are added up: those of every pair, or a number and
    itself. Of a decimal these are its units: a product is `units` times too great (`scale`: that as
    two floats).

    `beyond`: of which the products, or sums of these, would not be exact.
    """

    def __init__(self, column: pa.Array, valid: Mask) -> None:
        self.is_square = not pa.types.is_struct(column.type)
        self.units, greatest = 1, _GREATEST_FACTOR
        if self.is_square:
            numbers = Numbers(column, valid)
            self.first = self.second = numbers.floats
            self.units = 10 ** (2 * numbers.scale)
            if numbers.limbs is not None:
                greatest = _EXACT - 1
        else:
            self.first, self.second = map(as_floats, column.flatten())
        rounded = float(self.units)
        self.scale = np.array([rounded, float(self.units - int(rounded))])
        self.beyond = np.zeros(len(column), np.bool_)
        for each in (self.first, self.second):
            size = np.abs(each)
            outside = (size > greatest) | ((size < _LEAST_FACTOR) & (size > 0))
            self.beyond |= valid & outside & self.is_finite()

    def is_finite(self) -> Mask:
        return np.isfinite(self.first) & np.isfinite(self.second)


def whole_numbers(column: pa.Array) -> Int64s:
    """Integers as words of 64 bits; a null is 0."""
    return column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]


def _combined(halves: Int64s) -> Floats:
    """Units of decimals as floats; exact where they fit 53 bits, past 2^53 where they do not."""
    low, high = np.ascontiguousarray(halves[:, 0]), halves[:, 1]
    great = high.astype(np.float64) * 2.0**64 + low.view(np.uint64).astype(np.float64)
    return np.where(high == low >> 63, low.astype(np.float64), great)


def as_floats(column: pa.Array) -> Floats:
    """The nearest float to every value; what a null gives is unspecified."""
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())  # a cast to float from there is rounded correctly
    filled = pc.fill_null(column, "0" if pa.types.is_string(column.type) else 0)
    if pa.types.is_integer(column.type):
        return filled.to_numpy().astype(np.float64)  # type: ignore[no-any-return]
    return filled.cast(pa.float64()).to_numpy() + 0.0  # type: ignore[no-any-return]


def sums_of_limbs(numbers: Numbers, limbs: Int64s, empty: Mask, kind: pa.DataType) -> pa.Array:
    """Sums from those of their limbs."""
    limbs = _carried(limbs)
    if numbers.is_decimal:
        return _decimals(limbs, empty, pa.decimal128(kind.precision, numbers.scale))
    top = limbs[:, 1]
    if ((top < -(2**31)) | (top >= 2**31)).any():
        raise OverflowError(SUM_TOO_LARGE)
    return pa.array((top << _LIMB) | limbs[:, 0], mask=empty)


def averages_of_limbs(
    numbers: Numbers, limbs: Int64s, counts: Int64s, kind: pa.DataType
) -> pa.Array:
    """Averages from the sums of limbs."""
    empty, divisors = counts == 0, np.maximum(counts, 1)
    limbs = _carried(limbs)
    totals, fits = _small(limbs)
    if not numbers.is_decimal:
        results = totals / divisors
        for piece in np.flatnonzero(~fits | (np.abs(totals) > _EXACT)):
            results[piece] = nearest(Fraction(_whole(limbs[piece]), int(divisors[piece])))
        return pa.array(results, mask=empty)
    shift = kind.scale - numbers.scale
    if shift < 0 or shift > 9:  # noqa: PLR2004 - keeps the product below within 64 bits
        fits = np.zeros(len(counts), np.bool_)
        shift_factor = 1
    else:
        shift_factor = 10**shift
    fits &= np.abs(totals) < 2**62 // (2 * shift_factor) - divisors
    doubled = 2 * np.abs(np.where(fits, totals, 0)) * shift_factor + divisors
    units = np.sign(totals) * (doubled // (2 * divisors))
    halves = np.stack([units, units >> 63], axis=1)
    for piece in np.flatnonzero(~fits):
        share = Fraction(_whole(limbs[piece]), int(divisors[piece])) * Fraction(10) ** shift
        halves[piece] = _halves(_half_up(share))
    return _decimal_array(halves, empty, kind)


def sums_of_powers(exact: list[Fraction]) -> list[Fraction]:
    """How many numbers there are, and the sums of their first four powers."""
    return [sum((each**power for each in exact), Fraction()) for power in range(POWERS + 1)]


def shape_of(sums: list[Fraction], power: int) -> tuple[float, float]:
    """Skewness or kurtosis from sums of powers; and 1 if the numbers do not vary, and else 0."""
    n, s1, s2, s3, s4 = sums
    spread = n * s2 - s1**2
    if spread == 0:
        return 0.0, 1.0
    if power == 3:  # noqa: PLR2004 - the third moment
        central = n**2 * s3 - 3 * n * s1 * s2 + 2 * s1**3
        root = _nearest_root(central**2 / spread**3)
        return (root if central >= 0 else -root), 0.0
    central = n**3 * s4 - 4 * n**2 * s1 * s3 - 3 * (n * s2) ** 2 + 12 * n * s1**2 * s2 - 6 * s1**4
    return nearest(central / spread**2), 0.0


def _nearest_root(exact: Fraction) -> float:
    """The nearest float to the root of a number."""
    # So many bits more than a float has; whether the root goes on after them says how to round.
    shift = max(0, 64 + (exact.denominator.bit_length() - exact.numerator.bit_length()) // 2)
    scaled, rest = divmod(exact.numerator << 2 * shift, exact.denominator)
    root = isqrt(scaled)
    goes_on = rest > 0 or root * root < scaled
    return nearest(Fraction(2 * root + goes_on, 1 << (shift + 1)))


def _carried(limbs: Int64s) -> Int64s:
    """Limbs in 32 bits each, but for the last."""
    for place in range(limbs.shape[1] - 1):
        limbs[:, place + 1] += limbs[:, place] >> _LIMB
        limbs[:, place] &= _LOW
    return limbs


def _small(limbs: Int64s) -> tuple[Int64s, Mask]:
    """The totals that fit 64 bits, and which do."""
    totals = (limbs[:, 1] << _LIMB) | limbs[:, 0]
    if limbs.shape[1] == 2:  # noqa: PLR2004 - integers
        return totals, (limbs[:, 1] >= -(2**31)) & (limbs[:, 1] < 2**31)
    sign = totals >> 63
    return totals, (limbs[:, 2] == (sign & _LOW)) & (limbs[:, 3] == sign)


def _whole(limbs: Int64s) -> int:
    return sum(int(limb) << (_LIMB * place) for place, limb in enumerate(limbs))


def _halves(units: int) -> tuple[int, int]:
    """The 128 bits of a number, as two signed words."""
    if not -(2**127) <= units < 2**127:
        raise OverflowError(f"the decimal {Decimal(units)} has more than 38 digits")
    low = units & (2**64 - 1)
    return low - 2**64 if low >= 2**63 else low, units >> 64


def _decimals(limbs: Int64s, empty: Mask, kind: pa.DataType) -> pa.Array:
    top = limbs[:, 3]
    if ((top < -(2**31)) | (top >= 2**31)).any():
        raise OverflowError(f"a sum of decimals does not fit {kind}: cast its argument to DOUBLE")
    halves = np.stack([(limbs[:, 1] << _LIMB) | limbs[:, 0], (top << _LIMB) | limbs[:, 2]], axis=1)
    return _decimal_array(halves, empty, kind)


def _decimal_array(halves: Int64s, empty: Mask, kind: pa.DataType) -> pa.Array:
    bitmap = pa.py_buffer(np.packbits(~empty, bitorder="little")) if empty.any() else None
    data = pa.py_buffer(np.ascontiguousarray(halves))
    array = pa.Array.from_buffers(kind, len(halves), [bitmap, data])
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise OverflowError(
            f"a sum or average of decimals does not fit {kind}: cast its argument to DOUBLE"
        ) from None
    return array


def _half_up(share: Fraction) -> int:
    rounded = (2 * abs(share.numerator) + share.denominator) // (2 * share.denominator)
    return rounded if share >= 0 else -rounded


def nearest(exact: Any) -> float:
    """The nearest float; infinite past the greatest one."""
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")
