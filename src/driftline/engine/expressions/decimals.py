"""Decimals as their unscaled integers: 64-bit where those are known to fit, otherwise Python
integers in NumPy arrays. Rounding is half up, away from zero.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Mask, Numbers, valid_mask

LONG_DIGITS = 18
"""So many digits always fit into 64 bits."""
_WORD = 64
_WORD_MASK = (1 << _WORD) - 1
_WORKING_DIGITS = 39
"""Spark computes products with so many significant digits and quotients with so many after the
point before it rounds to the result."""

_MOST_WHOLE_DIGITS = 800
"""More than any number has before the point."""

NEGATION_DIGITS = 34
"""Spark negates decimals with so many significant digits."""


def rounded_to(number: Decimal, places: int, rounding: str) -> Decimal:
    """A number with so many places, however many these are.

    >>> rounded_to(Decimal("1.25"), 1, "ROUND_HALF_UP")
    Decimal('1.3')
    """
    wide = Context(prec=places + _MOST_WHOLE_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX)
    return number.quantize(Decimal((0, (1,), -places)), rounding, wide)


def unscaled(array: Array, wide: bool = False) -> Numbers:
    """The unscaled integers of a decimal array, 0 for null; `wide` asks for Python integers."""
    if len(array) == 0:
        return np.zeros(0, dtype=object if wide else np.int64)
    words = np.frombuffer(array.buffers()[1], dtype=np.uint64)
    words = words[2 * array.offset : 2 * (array.offset + len(array))]
    low = words[::2]
    if array.type.precision <= LONG_DIGITS:
        values: Numbers = low.view(np.int64).copy()
    else:
        high = words[1::2].view(np.int64)
        values = high.astype(object) * (1 << _WORD) + low.astype(object)
    if array.null_count:
        values[~valid_mask(array)] = 0
    if wide and values.dtype != object:
        values = values.astype(object)
    return values


def from_unscaled(values: Numbers, valid: Mask | None, kind: Any) -> Array:
    """A decimal array from unscaled integers that fit its precision."""
    words = np.empty((len(values), 2), dtype=np.uint64)
    if valid is not None:
        values = np.where(valid, values, 0)
    if values.dtype == object:
        words[:, 0] = (values & _WORD_MASK).astype(np.uint64)
        words[:, 1] = ((values >> _WORD) & _WORD_MASK).astype(np.uint64)
    else:
        values = values.astype(np.int64, copy=False)
        words[:, 0] = values.view(np.uint64)
        words[:, 1] = (values >> (_WORD - 1)).view(np.uint64)
    validity = None
    if valid is not None and not valid.all():
        validity = pa.array(valid).buffers()[1]
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(words)])


def too_large(values: Numbers, precision: int) -> Mask:
    """Which integers have more digits than the precision."""
    if values.dtype != object and precision > LONG_DIGITS:
        return np.zeros(len(values), dtype=np.bool_)
    limit = 10**precision
    return np.asarray((values >= limit) | (values <= -limit), dtype=np.bool_)


def divided_half_up(values: Numbers, divisor: Any) -> Numbers:
    """values / divisor, rounded half away from zero; the divisor is positive."""
    negative = values < 0
    magnitude = np.where(negative, -values, values)
    quotient = magnitude // divisor
    remainder = magnitude - quotient * divisor
    quotient = quotient + (remainder >= divisor - remainder)
    return np.asarray(np.where(negative, -quotient, quotient))


def rescaled(values: Numbers, scale: int, target: int) -> Numbers:
    """Unscaled integers at another scale; digits that are lost are rounded half up. The caller
    sees to it that the result fits: `widened` if need be.
    """
    if target >= scale:
        return values * 10 ** (target - scale) if target > scale else values
    return divided_half_up(values, 10 ** (scale - target))


def widened(values: Numbers) -> Numbers:
    """Python integers, which do not overflow."""
    return values if values.dtype == object else values.astype(object)


def add(left: Array, right: Array, kind: Any, sign: int) -> Numbers:
    """left + sign · right, at the scale of the result."""
    scale = max(left.type.scale, right.type.scale)
    digits = 1 + scale + max(a.type.precision - a.type.scale for a in (left, right))
    wide = digits > LONG_DIGITS
    one = rescaled(unscaled(left, wide), left.type.scale, scale)
    other = rescaled(unscaled(right, wide), right.type.scale, scale)
    return rescaled(one + sign * other, scale, kind.scale)


def multiply(left: Array, right: Array, kind: Any) -> Numbers:
    """left · right, at the scale of the result."""
    wide = left.type.precision + right.type.precision > LONG_DIGITS
    product = unscaled(left, wide) * unscaled(right, wide)
    scale = left.type.scale + right.type.scale
    if left.type.precision + right.type.precision <= _WORKING_DIGITS:
        return rescaled(product, scale, kind.scale)
    return _working_precision(product, scale, kind.scale)


def _working_precision(product: Numbers, scale: int, target: int) -> Numbers:
    """Products rounded first to the working digits and then to the scale."""
    result = rescaled(product, scale, target)
    large = np.flatnonzero(too_large(product, _WORKING_DIGITS))
    for row in large:
        value = int(product[row])
        excess = len(str(abs(value))) - _WORKING_DIGITS
        shortened = divided_half_up(np.array([value], dtype=object), 10**excess)
        result[row] = rescaled(shortened * 10**excess, scale, target)[0]
    return result


def divide(left: Array, right: Array, kind: Any) -> Numbers:
    """left / right where right is not zero (elsewhere anything), at the scale of the result."""
    shift = kind.scale + right.type.scale - left.type.scale
    narrow = left.type.precision + max(shift, 0) <= LONG_DIGITS and shift >= 0
    if narrow and right.type.precision <= LONG_DIGITS:
        # The distance from a half is far above the working digits: one rounding is enough.
        return _quotient(unscaled(left) * 10**shift, unscaled(right))
    working = max(_WORKING_DIGITS, kind.scale)
    shift = working + right.type.scale - left.type.scale
    numerator = unscaled(left, True) * 10 ** max(shift, 0)
    denominator = unscaled(right, True) * 10 ** max(-shift, 0)
    return rescaled(_quotient(numerator, denominator), working, kind.scale)


def _quotient(numerator: Numbers, denominator: Numbers) -> Numbers:
    negative = (numerator < 0) ^ (denominator < 0)
    divisor = np.where(denominator == 0, 1, np.where(denominator < 0, -denominator, denominator))
    magnitude = divided_half_up(np.where(numerator < 0, -numerator, numerator), divisor)
    return np.where(negative, -magnitude, magnitude)


def remainder(left: Array, right: Array, kind: Any, positive: bool) -> Numbers:
    """left % right with the sign of left, or (pmod) never negative for a positive right."""
    scale = max(left.type.scale, right.type.scale)
    wide = scale + max(a.type.precision - a.type.scale for a in (left, right)) > LONG_DIGITS
    one = rescaled(unscaled(left, wide), left.type.scale, scale)
    other = rescaled(unscaled(right, wide), right.type.scale, scale)
    result = _truncated_remainder(one, other)
    if positive:
        result = np.where(result < 0, _truncated_remainder(result + other, other), result)
    return rescaled(result, scale, kind.scale)


def _truncated_remainder(one: Numbers, other: Numbers) -> Numbers:
    divisor = np.where(other == 0, 1, np.where(other < 0, -other, other))
    result = np.where(one < 0, -one, one) % divisor
    return np.where(one < 0, -result, result)


def integral_divide(left: Array, right: Array) -> Numbers:
    """left DIV right, cut off towards zero, where right is not zero (elsewhere anything)."""
    scale = max(left.type.scale, right.type.scale)
    one = rescaled(unscaled(left, True), left.type.scale, scale)
    other = rescaled(unscaled(right, True), right.type.scale, scale)
    divisor = np.where(other == 0, 1, np.where(other < 0, -other, other))
    magnitude = np.where(one < 0, -one, one) // divisor
    return np.where((one < 0) ^ (other < 0), -magnitude, magnitude)


def negated(values: Numbers) -> Numbers:
    """-values, as Spark negates large decimals."""
    return shortened(-values)


def shortened(values: Numbers) -> Numbers:
    """The values with 34 significant digits, rounded half to even: what Scala's BigDecimal keeps
    of a product or a negation.
    """
    for row in np.flatnonzero(too_large(values, NEGATION_DIGITS)):
        value = int(values[row])
        unit = 10 ** (len(str(abs(value))) - NEGATION_DIGITS)
        quotient, rest = divmod(abs(value), unit)
        quotient += 2 * rest > unit or (2 * rest == unit and quotient % 2 == 1)
        values[row] = (quotient if value > 0 else -quotient) * unit
    return values


def low_bits(values: Numbers) -> Numbers:
    """The low 64 bits of Python integers, as Java's longValue gives them."""
    half = 1 << (_WORD - 1)
    return ((values + half) % (2 * half) - half).astype(np.int64)
