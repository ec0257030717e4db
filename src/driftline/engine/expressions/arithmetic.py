"""Arithmetic. Overflow and division by zero are errors; the try_ forms give null instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions import decimals
from driftline.engine.expressions.arrays import (
    Array,
    Mask,
    Numbers,
    Value,
    as_array,
    both_valid,
    from_numbers,
    is_scalar,
    numbers,
    to_mask,
)
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import BIGINT, INTERVAL, MAX_PRECISION, is_decimal, is_float, type_name

_CHECKED = {
    "add": pc.add_checked,
    "subtract": pc.subtract_checked,
    "multiply": pc.multiply_checked,
}
_UNCHECKED = {"add": pc.add, "subtract": pc.subtract, "multiply": pc.multiply}


def _arrow_sum(left: Any, right: Any) -> tuple[int, int]:
    scale = max(left.scale, right.scale)
    return max(left.precision - left.scale, right.precision - right.scale) + 1 + scale, scale


_ARROW_DECIMALS: dict[str, Callable[[Any, Any], tuple[int, int]]] = {
    "add": _arrow_sum,
    "subtract": _arrow_sum,
    "multiply": lambda left, right: (
        left.precision + right.precision + 1,
        left.scale + right.scale,
    ),
}
"""The precision and scale that Arrow gives to results; Spark's differ only beyond 38 digits."""


def _never_fails(call: Call) -> bool:
    return is_float(call.kind) or is_lenient(call)


def is_lenient(call: Call) -> bool:
    """Does the call give null where it would fail?"""
    return call.function.startswith("try_")


def overflow(call: Call) -> EvaluationError:
    """The error of a result that its type cannot hold."""
    name = call.function.removeprefix("try_")
    hint = f"; use try_{name} to get NULL instead" if name in _CHECKED else ""
    message = f"{call.brief()} overflows {type_name(call.kind)}{hint}"
    return EvaluationError("ARITHMETIC_OVERFLOW", message)


def zero_divisor(call: Call) -> EvaluationError:
    """The error of a division by zero."""
    modulo = "remainder" in call.function or call.function == "pmod"
    name, condition = (
        ("try_mod", "REMAINDER_BY_ZERO") if modulo else ("try_divide", "DIVIDE_BY_ZERO")
    )
    what = "remainder" if modulo else "division"
    hint = f"use {name} to get NULL instead"
    return EvaluationError(condition, f"{what} by zero in {call.brief()}; {hint}")


def settled(
    values: Numbers, valid: Mask | None, bad: Mask, call: Call, error: Callable[[], Exception]
) -> tuple[Numbers, Mask | None]:
    """Values and validity after the bad rows have raised the error, or become null."""
    if valid is not None:
        bad = bad & valid
    if not bad.any():
        return values, valid
    if not is_lenient(call):
        raise error()
    return values, ~bad if valid is None else valid & ~bad


@kernel("add subtract multiply try_add try_subtract try_multiply", scalars=True, total=_never_fails)
def _plus(call: Call, args: Sequence[Value]) -> Array:
    left, right = args
    name = call.function.removeprefix("try_")
    if is_float(call.kind):
        return _UNCHECKED[name](left, right)
    if is_decimal(call.kind):
        if _ARROW_DECIMALS[name](left.type, right.type) == (call.kind.precision, call.kind.scale):
            return _UNCHECKED[name](left, right)  # exact, and cannot overflow
        return _decimal_plus(call, name, _arrays(args))
    if call.kind == INTERVAL:
        left, right = (as_array(a, _length(args)).view(pa.int64()) for a in args)
    try:
        result = _CHECKED[name](left, right)
    except pa.ArrowInvalid:
        if not is_lenient(call):
            raise overflow(call) from None
        result = _null_where_overflowing(name, _arrays((left, right)), call)
    return result.view(INTERVAL) if call.kind == INTERVAL else result


def _length(args: Sequence[Value]) -> int:
    return next(len(arg) for arg in args if not is_scalar(arg))


def _arrays(args: Sequence[Value]) -> list[Array]:
    length = _length(args)
    return [as_array(arg, length) for arg in args]


def _null_where_overflowing(name: str, args: list[Array], call: Call) -> Array:
    one, other = (numbers(arg).astype(object) for arg in args)
    operation = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}[name]
    exact = operation(one, other)
    kind = pa.int64() if call.kind == INTERVAL else call.kind
    half = 1 << (kind.bit_width - 1)
    fits = np.asarray((exact >= -half) & (exact < half), dtype=np.bool_)
    valid = both_valid(*args)
    kept = fits if valid is None else fits & valid
    return from_numbers(np.where(kept, exact, 0).astype(np.int64), kept, kind)


def _decimal_plus(call: Call, name: str, args: list[Array]) -> Array:
    if name == "multiply":
        values = decimals.multiply(args[0], args[1], call.kind)
    else:
        values = decimals.add(args[0], args[1], call.kind, 1 if name == "add" else -1)
    return decimal_result(values, both_valid(*args), call)


def decimal_result(values: Numbers, valid: Mask | None, call: Call) -> Array:
    """A decimal array, after a check that its type can hold the values."""
    bad = decimals.too_large(values, call.kind.precision)
    values, valid = settled(values, valid, bad, call, lambda: out_of_range(call))
    return decimals.from_unscaled(values, valid, call.kind)


def out_of_range(call: Call) -> EvaluationError:
    """The error of a decimal with too many digits."""
    message = f"{call.brief()} cannot be represented as {type_name(call.kind)}"
    return EvaluationError("NUMERIC_VALUE_OUT_OF_RANGE", message)


@kernel("divide try_divide", scalars=True, total=is_lenient, right_first=True)
def _divide(call: Call, args: Sequence[Value]) -> Array:
    left, right = args
    if is_decimal(call.kind):
        return _decimal_divide(call, _arrays(args))
    zero = pc.equal(right, 0.0)
    if is_scalar(zero):
        if zero.as_py() and left.null_count < len(left):
            if not is_lenient(call):
                raise zero_divisor(call)
            return pa.nulls(len(left), call.kind)
    elif pc.any(zero).as_py():
        bad = to_mask(zero)
        valid = both_valid(*_arrays(args))
        _, valid = settled(bad, valid, bad, call, lambda: zero_divisor(call))
        if valid is not None:
            right = pc.if_else(pa.array(valid), right, pa.scalar(None, right.type))
    return pc.divide(left, right)


def _decimal_divide(call: Call, args: list[Array]) -> Array:
    values = decimals.divide(args[0], args[1], call.kind)
    bad = np.asarray(decimals.unscaled(args[1]) == 0, dtype=np.bool_)
    values, valid = settled(values, both_valid(*args), bad, call, lambda: zero_divisor(call))
    return decimal_result(values, valid, call)


@kernel("remainder pmod try_remainder", total=is_lenient, right_first=True)
def _remainder(call: Call, args: Sequence[Value]) -> Array:
    positive = call.function == "pmod"
    valid = both_valid(*args)
    if is_decimal(call.kind):
        values = decimals.remainder(args[0], args[1], call.kind, positive)
        zero = np.asarray(decimals.unscaled(args[1]) == 0, dtype=np.bool_)
    else:
        one, other = (numbers(arg) for arg in args)
        zero = other == 0
        other = np.where(zero, 1, other).astype(other.dtype)
        values = _remainder_of(one, other, positive)
    values, valid = settled(values, valid, zero, call, lambda: zero_divisor(call))
    if is_decimal(call.kind):
        return decimal_result(values, valid, call)
    return from_numbers(values.astype(call.kind.to_pandas_dtype(), copy=False), valid, call.kind)


def _remainder_of(one: Numbers, other: Numbers, positive: bool) -> Numbers:
    with np.errstate(invalid="ignore", over="ignore"):
        result: Numbers = np.fmod(one, other)
        if not positive:
            return result
        narrow = result.dtype.itemsize < 4 and result.dtype.kind == "i"  # noqa: PLR2004 - bytes
        shifted = result.astype(np.int32) + other if narrow else result + other
        return np.where(result < 0, np.fmod(shifted, other), result)


@kernel("integral_divide", right_first=True)
def _integral_divide(call: Call, args: Sequence[Value]) -> Array:
    valid = both_valid(*args)
    if is_decimal(args[0].type):
        zero = np.asarray(decimals.unscaled(args[1]) == 0, dtype=np.bool_)
        settled(zero, valid, zero, call, lambda: zero_divisor(call))
        values = decimals.integral_divide(*args)
        # What does not fit keeps its low 64 bits: so it is in Spark, for decimals only.
        bad = decimals.too_large(values, MAX_PRECISION)
        values = decimals.low_bits(np.where(zero, 0, values))
    else:
        one, other = (numbers(arg) for arg in args)
        zero = other == 0
        settled(zero, valid, zero, call, lambda: zero_divisor(call))
        other = np.where(zero, 1, other)
        bad = (one == -(1 << 63)) & (other == -1)
        other = np.where(bad, 1, other)
        # NumPy rounds down, SQL cuts off towards zero.
        values = (one - np.fmod(one, other)) // other
    settled(values, valid, bad, call, lambda: overflow(call))
    return from_numbers(np.where(bad, 0, values).astype(np.int64), valid, BIGINT)


@kernel("negate", total=_never_fails)
def _negate(call: Call, args: Sequence[Value]) -> Array:
    return _checked_unary(call, args[0], pc.negate_checked, np.negative)


@kernel("abs", total=_never_fails)
def _abs(call: Call, args: Sequence[Value]) -> Array:
    return _checked_unary(call, args[0], pc.abs_checked, np.abs)


def _checked_unary(call: Call, value: Array, arrow: Any, numpy: Any) -> Array:
    if is_decimal(call.kind):
        before = decimals.unscaled(value)
        values = numpy(before)
        if call.kind.precision > decimals.NEGATION_DIGITS:
            values = np.where(values == before, before, decimals.negated(before))
        return decimal_result(values, both_valid(value), call)
    interval = call.kind == INTERVAL
    try:
        result = arrow(value.view(pa.int64()) if interval else value)
    except pa.ArrowInvalid:
        raise overflow(call) from None
    return result.view(INTERVAL) if interval else result


@kernel("bitwise_and bitwise_or bitwise_xor", total=True)
def _bitwise(call: Call, args: Sequence[Value]) -> Array:
    arrow = {
        "bitwise_and": pc.bit_wise_and,
        "bitwise_or": pc.bit_wise_or,
        "bitwise_xor": pc.bit_wise_xor,
    }
    return arrow[call.function](*args)


@kernel("bitwise_not", total=True)
def _bitwise_not(call: Call, args: Sequence[Value]) -> Array:
    return pc.bit_wise_not(args[0])


@kernel("shiftleft shiftright shiftrightunsigned", total=True)
def _shift(call: Call, args: Sequence[Value]) -> Array:
    value, places = (numbers(arg) for arg in args)
    places = (places & (value.dtype.itemsize * 8 - 1)).astype(value.dtype)
    if call.function == "shiftleft":
        result = np.left_shift(value, places)
    elif call.function == "shiftright":
        result = np.right_shift(value, places)
    else:
        unsigned = np.uint32 if value.dtype.itemsize == 4 else np.uint64  # noqa: PLR2004 - bytes
        result = (value.view(unsigned) >> places.view(unsigned)).view(value.dtype)
    return from_numbers(result, both_valid(*args), call.kind)


@kernel("bit_count", total=True)
def _bit_count(call: Call, args: Sequence[Value]) -> Array:
    counts = np.bitwise_count(numbers(args[0]).view(np.uint64)).astype(np.int32)
    return from_numbers(counts, both_valid(args[0]), call.kind)
