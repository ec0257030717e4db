"""CAST and TRY_CAST among numbers, booleans, dates and times, and inside arrays and structs. Casts
from and to text are in `driftline.engine.expressions.text_casts`.

A cast that has no result for some row is an error; TRY_CAST gives null there.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions import decimals
from driftline.engine.expressions.arrays import (
    Array,
    Mask,
    both_valid,
    from_numbers,
    numbers,
    valid_mask,
    with_nulls,
)
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.text_casts import from_text, to_text
from driftline.plan.literals import INTEGER_BITS
from driftline.plan.temporal import DAY, SECOND
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    STRING,
    TIME,
    TIMESTAMP,
    VOID,
    is_array,
    is_decimal,
    is_float,
    is_integer,
    is_map,
    is_struct,
    is_timestamp,
    type_name,
)

_EXACT_DOUBLE = 1 << 53
_EXACT_POWER = 22
_EXACT_PRODUCT = 2.0**50
_NEAR_HALF = 1e-4
_ENOUGH_DIGITS = 400
_INT_DIGITS = 10
_MAX_DAYS = (1 << 63) // DAY


def cast_is_total(source: Any, target: Any) -> bool:
    """Does the cast have a result for every value?"""
    if source == target or source == VOID:
        return True
    if target == STRING:
        return not (is_array(source) or is_struct(source) or is_map(source))
    if target in (BOOLEAN, BINARY):
        return bool(source != STRING)
    if is_float(target):
        return bool(source != STRING)
    if is_integer(source) and is_integer(target):
        return INTEGER_BITS[target] >= INTEGER_BITS[source]
    if source == BOOLEAN and is_integer(target):
        return True
    return is_timestamp(source) and (is_timestamp(target) or target in (DATE, BIGINT))


def cast(array: Array, source: Any, target: Any, lenient: bool) -> Array:
    """The values as another type."""
    if source == target:
        return array
    if source == VOID:
        return pa.nulls(len(array), target)
    if array.null_count == len(array):
        return pa.nulls(len(array), target)
    result, bad = _cast(array, source, target, lenient)
    if bad is not None:
        bad = bad & valid_mask(array)
        if bad.any():
            if not lenient:
                raise _failure(array, bad, source, target)
            result = with_nulls(result, bad)
    return result


Result = tuple[Array, Mask | None]
"""The values, and the rows that have none."""


def _cast(array: Array, source: Any, target: Any, lenient: bool) -> Result:
    if source == STRING:
        return from_text(array, target)
    if target == STRING:
        return to_text(array, lambda part: cast(part, part.type, STRING, lenient)), None
    if is_array(source):
        return _cast_list(array, target, lenient), None
    if is_struct(source):
        return _cast_struct(array, target, lenient), None
    if is_map(source):
        return _cast_map(array, target, lenient), None
    for applies, convert in _RULES:
        if applies(source, target):
            return convert(array, source, target)
    raise TypeError(f"no cast from {type_name(source)} to {type_name(target)}")


def _failure(array: Array, bad: Mask, source: Any, target: Any) -> EvaluationError:
    first = array.filter(pa.array(bad)).slice(0, 1)
    shown = repr(first[0].as_py()) if source == STRING else cast(first, source, STRING, True)[0]
    names = f"{type_name(source)} cannot be cast to {type_name(target)}"
    if source == STRING or (is_float(source) and target == TIMESTAMP):
        text = f"the value {shown} of type {names}: it is malformed"
        return EvaluationError("CAST_INVALID_INPUT", f"{text}; use try_cast to get NULL instead")
    if is_decimal(target):
        text = f"{shown} cannot be represented as {type_name(target)}"
        return EvaluationError("NUMERIC_VALUE_OUT_OF_RANGE", text)
    text = f"the value {shown} of type {names}: it overflows"
    return EvaluationError("CAST_OVERFLOW", f"{text}; use try_cast to get NULL instead")


# Numbers


def _integer_to_integer(array: Array, source: Any, target: Any) -> Result:
    if INTEGER_BITS[target] >= INTEGER_BITS[source]:
        return pc.cast(array, target), None
    values = numbers(array)
    half = 1 << (INTEGER_BITS[target] - 1)
    bad = (values < -half) | (values >= half)
    narrow = values.astype(target.to_pandas_dtype())
    return from_numbers(narrow, both_valid(array), target), bad


def _float_to_integer(array: Array, source: Any, target: Any) -> Result:
    values = numbers(array)
    half = 2.0 ** (INTEGER_BITS[target] - 1)
    # As in Java: what is cut off towards zero must fit, and a DOUBLE of 2^63 just does for BIGINT.
    whole = np.trunc(values)
    upper = whole <= half if target == BIGINT else whole < half
    good = (whole >= -half) & upper
    clipped = np.where(good, whole, 0)
    if target == BIGINT:
        top = clipped >= half
        result = np.where(top, 0, clipped).astype(np.int64)
        result[top] = (1 << 63) - 1
    else:
        result = clipped.astype(target.to_pandas_dtype())
    return from_numbers(result, both_valid(array), target), ~good


def _number_to_float(array: Array, source: Any, target: Any) -> Result:
    if is_decimal(source):
        return _decimal_to_float(array, target), None
    if is_integer(source):
        return pc.cast(array, target, safe=False), None
    with np.errstate(over="ignore"):
        values = numbers(array).astype(target.to_pandas_dtype())
    return from_numbers(values, both_valid(array), target), None


def _decimal_to_float(array: Array, target: Any) -> Array:
    values = decimals.unscaled(array)
    scale = array.type.scale
    exact = values.dtype != object and scale <= _EXACT_POWER
    if exact and (len(values) == 0 or np.abs(values).max() < _EXACT_DOUBLE):
        floats = values.astype(np.float64) / 10.0**scale
    else:
        divisor = 10**scale
        floats = np.array([int(value) / divisor for value in values], dtype=np.float64)
    with np.errstate(over="ignore"):
        narrow = floats.astype(target.to_pandas_dtype())
    return from_numbers(narrow, both_valid(array), target)


def _integer_to_decimal(array: Array, source: Any, target: Any) -> Result:
    values = numbers(array).astype(np.int64)
    digits = decimals.LONG_DIGITS + 1 if source == BIGINT else _INT_DIGITS
    if digits + target.scale > decimals.LONG_DIGITS:
        values = decimals.widened(values)
    return _decimal(array, decimals.rescaled(values, 0, target.scale), target)


def _decimal_to_decimal(array: Array, source: Any, target: Any) -> Result:
    grows = target.scale - source.scale
    wide = source.precision + max(grows, 0) > decimals.LONG_DIGITS
    values = decimals.rescaled(decimals.unscaled(array, wide), source.scale, target.scale)
    return _decimal(array, values, target)


def _decimal(array: Array, values: Any, target: Any) -> Result:
    bad = decimals.too_large(values, target.precision)
    valid = both_valid(array)
    kept = valid if not bad.any() else (~bad if valid is None else valid & ~bad)
    return decimals.from_unscaled(values, kept, target), bad


def _float_to_decimal(array: Array, source: Any, target: Any) -> Result:
    """By the shortest decimal that names the number, as Java's BigDecimal.valueOf does. NaN and
    the infinities become null.
    """
    values = numbers(array).astype(np.float64)
    finite = np.isfinite(values)
    with np.errstate(all="ignore"):
        scaled = np.abs(values) * 10.0**target.scale
        distance = np.abs(scaled - np.floor(scaled) - 0.5)
    # Away from a half the product tells; near it the digits have to be looked at.
    quick = (scaled < _EXACT_PRODUCT) & (distance > _NEAR_HALF) & (target.scale <= _EXACT_POWER)
    rounded = np.where(quick, np.copysign(np.rint(np.where(quick, scaled, 0)), values), 0)
    unscaled = rounded.astype(np.int64)
    slow = np.flatnonzero(~quick & finite)
    if len(slow):
        unscaled = decimals.widened(unscaled)
        unscaled[slow] = [_unscaled(float(values[row]), target.scale) for row in slow]
    bad = decimals.too_large(unscaled, target.precision) & finite
    valid = valid_mask(array) & finite & ~bad
    return decimals.from_unscaled(unscaled, valid, target), bad


def _unscaled(value: float, scale: int) -> int:
    with localcontext() as context:
        context.prec = _ENOUGH_DIGITS
        return int(
            Decimal(repr(value)).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP).scaleb(scale)
        )


def _decimal_to_integer(array: Array, source: Any, target: Any) -> Result:
    values = decimals.unscaled(array)
    divisor = 10**source.scale
    if source.precision > decimals.LONG_DIGITS and target != BIGINT:
        # Spark goes by the nearest DOUBLE, in which 0.9…9 with many nines is 1.
        values, divisor = np.array([int(value / divisor) for value in values], dtype=object), 1
    whole = np.where(values < 0, -(-values // divisor), values // divisor)
    half = 1 << (INTEGER_BITS[target] - 1)
    bad = np.asarray((whole < -half) | (whole >= half), dtype=np.bool_)
    result = np.where(bad, 0, whole).astype(target.to_pandas_dtype())
    return from_numbers(result, both_valid(array), target), bad


def _number_to_boolean(array: Array, source: Any, target: Any) -> Result:
    values = decimals.unscaled(array) if is_decimal(source) else numbers(array)
    return from_numbers(np.asarray(values != 0, dtype=np.bool_), both_valid(array), target), None


def _boolean_to_number(array: Array, source: Any, target: Any) -> Result:
    values = numbers(array).astype(np.int8)
    if is_decimal(target):
        return _integer_to_decimal(pa.array(values, mask=~valid_mask(array)), pa.int8(), target)
    return from_numbers(values.astype(target.to_pandas_dtype()), both_valid(array), target), None


# Dates and times


def _between_datetimes(array: Array, source: Any, target: Any) -> Result:
    values = numbers(array).astype(np.int64)
    bad = None
    if source == DATE:
        bad = (values > _MAX_DAYS) | (values < -_MAX_DAYS)
        values = np.where(bad, 0, values) * DAY
    elif target == DATE:
        values = values // DAY
    return from_numbers(values, both_valid(array), target), bad


def _timestamp_to_number(array: Array, source: Any, target: Any) -> Result:
    micros = numbers(array)
    if is_integer(target):
        seconds = from_numbers(micros // SECOND, both_valid(array), BIGINT)
        return _integer_to_integer(seconds, BIGINT, target)
    if is_float(target):
        floats = micros / np.float64(SECOND)
        return from_numbers(
            floats.astype(target.to_pandas_dtype()), both_valid(array), target
        ), None
    values = decimals.rescaled(decimals.widened(micros), 6, target.scale)
    return _decimal(array, values, target)


def _timestamp_to_time(array: Array, source: Any, target: Any) -> Result:
    return from_numbers(numbers(array) % DAY, both_valid(array), target), None


def _number_to_timestamp(array: Array, source: Any, target: Any) -> Result:
    limit = 1 << 63
    if is_float(source):
        with np.errstate(over="ignore", invalid="ignore"):
            micros = numbers(array).astype(np.float64) * SECOND
        bad = ~(np.abs(micros) <= 2.0**63)
        top = micros == 2.0**63
        result = np.where(bad | top, 0, micros).astype(np.int64)
        result[top] = limit - 1
    elif is_decimal(source):
        exact = decimals.shortened(decimals.unscaled(array, True) * SECOND)
        divisor = 10**source.scale
        whole = np.where(exact < 0, -(-exact // divisor), exact // divisor)
        # As in Java: the low 64 bits of what does not fit.
        bad = np.zeros(len(whole), dtype=np.bool_)
        result = decimals.low_bits(whole)
    else:
        # As in Java's TimeUnit: what does not fit becomes the last possible time.
        seconds = numbers(array).astype(np.int64)
        bad = np.zeros(len(seconds), dtype=np.bool_)
        high, low = seconds > (limit - 1) // SECOND, seconds < -limit // SECOND + 1
        result = np.where(high | low, 0, seconds) * SECOND
        result[high], result[low] = limit - 1, -limit
    return from_numbers(result, both_valid(array), target), bad


# Nested values


def _cast_list(array: Array, target: Any, lenient: bool) -> Array:
    items = cast(array.flatten(), array.type.value_type, target.value_type, lenient)
    return list_like(array, items)


def list_like(array: Array, items: Array) -> Array:
    """Lists of the same lengths, and nulls in the same places, with other items."""
    offsets = np.concatenate([[0], np.cumsum(lengths_of(array))]).astype(np.int32)
    mask = None if array.null_count == 0 else pa.array(~valid_mask(array))
    return pa.ListArray.from_arrays(pa.array(offsets), items, mask=mask)


def _cast_struct(array: Array, target: Any, lenient: bool) -> Array:
    fields = [
        cast(pc.struct_field(array, [index]), array.type[index].type, target[index].type, lenient)
        for index in range(array.type.num_fields)
    ]
    mask = None if array.null_count == 0 else pa.array(~valid_mask(array))
    return pa.StructArray.from_arrays(fields, fields=list(target), mask=mask)


def _cast_map(array: Array, target: Any, lenient: bool) -> Array:
    offsets = array.offsets.to_numpy()
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    keys = cast(array.keys.slice(first, count), array.type.key_type, target.key_type, lenient)
    items = cast(array.items.slice(first, count), array.type.item_type, target.item_type, lenient)
    mask = None if array.null_count == 0 else pa.array(~valid_mask(array))
    return pa.MapArray.from_arrays(pa.array(offsets - first), keys, items, target, mask=mask)


def _datetime(kind: Any) -> bool:
    return bool(kind == DATE or is_timestamp(kind))


def _number(kind: Any) -> bool:
    return is_integer(kind) or is_float(kind) or is_decimal(kind)


_RULES: list[tuple[Callable[[Any, Any], bool], Callable[[Array, Any, Any], Result]]] = [
    (lambda s, t: is_integer(s) and is_integer(t), _integer_to_integer),
    (lambda s, t: is_float(s) and is_integer(t), _float_to_integer),
    (lambda s, t: _number(s) and is_float(t), _number_to_float),
    (lambda s, t: is_integer(s) and is_decimal(t), _integer_to_decimal),
    (lambda s, t: is_float(s) and is_decimal(t), _float_to_decimal),
    (lambda s, t: is_decimal(s) and is_decimal(t), _decimal_to_decimal),
    (lambda s, t: is_decimal(s) and is_integer(t), _decimal_to_integer),
    (lambda s, t: _number(s) and t == BOOLEAN, _number_to_boolean),
    (lambda s, t: s == BOOLEAN and _number(t), _boolean_to_number),
    (lambda s, t: _datetime(s) and _datetime(t), _between_datetimes),
    (lambda s, t: is_timestamp(s) and t == TIME, _timestamp_to_time),
    (lambda s, t: s in (TIMESTAMP, TIME) and _number(t), _timestamp_to_number),
    (lambda s, t: _number(s) and t == TIMESTAMP, _number_to_timestamp),
]
