"""Mathematical functions. Logarithms of what has none are null; rounding is half up (`round`) or
half even (`bround`) on the decimal that names the number, so round(1.005D, 2) is 1.01.

The transcendental functions are NumPy's; Java's may differ in the last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions import decimals
from driftline.engine.expressions.arithmetic import decimal_result, overflow, settled
from driftline.engine.expressions.arrays import (
    Array,
    Numbers,
    Value,
    both_valid,
    from_numbers,
    numbers,
    per_distinct,
    valid_mask,
)
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import (
    BIGINT,
    BINARY,
    DOUBLE,
    FLOAT,
    STRING,
    TINYINT,
    is_decimal,
    is_float,
    type_name,
)


def _cube_root(values: Numbers) -> Numbers:
    """NumPy's, made exact for cubes of whole numbers."""
    root = np.cbrt(values)
    whole = np.rint(root)
    return np.where(whole * whole * whole == values, whole, root)


_DOUBLE_FUNCTIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "sqrt": np.sqrt,
    "cbrt": _cube_root,
    "exp": np.exp,
    "expm1": np.expm1,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "cot": lambda x: 1.0 / np.tan(x),
    "sec": lambda x: 1.0 / np.cos(x),
    "csc": lambda x: 1.0 / np.sin(x),
    "degrees": lambda x: x * (180.0 / math.pi),
    "radians": lambda x: x * (math.pi / 180.0),
    "rint": np.rint,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
}
_LOGARITHMS: dict[str, tuple[Callable[[Numbers], Numbers], float]] = {
    "ln": (np.log, 0.0),
    "log10": (np.log10, 0.0),
    "log2": (np.log2, 0.0),
    "log1p": (np.log1p, -1.0),
}
_MOST_BUCKETS = 2**63 - 1
_LARGEST_FACTORIAL = 20
_QUICK_DIGITS = 15
_QUICK_LIMIT = 2.0**50
_NEAR_HALF = 1e-4


@kernel(" ".join(_DOUBLE_FUNCTIONS), total=True)
def _of_double(call: Call, args: Sequence[Value]) -> Array:
    with np.errstate(all="ignore"):
        values = _DOUBLE_FUNCTIONS[call.function](numbers(args[0]))
    return from_numbers(values, both_valid(args[0]), DOUBLE)


@kernel(" ".join(_LOGARITHMS), total=True)
def _logarithm(call: Call, args: Sequence[Value]) -> Array:
    function, asymptote = _LOGARITHMS[call.function]
    values = numbers(args[0])
    defined = ~(values <= asymptote) & valid_mask(args[0])
    with np.errstate(all="ignore"):
        return from_numbers(function(values), defined, DOUBLE)


@kernel("log", total=True)
def _log(call: Call, args: Sequence[Value]) -> Array:
    base, values = (numbers(arg) for arg in args)
    defined = ~(values <= 0) & ~(base <= 0) & valid_mask(args[0]) & valid_mask(args[1])
    with np.errstate(all="ignore"):
        return from_numbers(np.log(values) / np.log(base), defined, DOUBLE)


@kernel("power", total=True)
def _power(call: Call, args: Sequence[Value]) -> Array:
    base, exponent = (numbers(arg) for arg in args)
    with np.errstate(all="ignore"):
        values = np.power(base, exponent)
    # Where C says 1, Java says NaN.
    undefined = np.isnan(exponent) | (np.isinf(exponent) & (np.abs(base) == 1))
    return from_numbers(np.where(undefined, np.nan, values), both_valid(*args), DOUBLE)


@kernel("atan2 hypot", total=True)
def _of_two(call: Call, args: Sequence[Value]) -> Array:
    function = np.arctan2 if call.function == "atan2" else np.hypot
    one, other = (numbers(arg) for arg in args)
    if call.function == "atan2":  # Spark adds 0.0, which turns -0.0 into 0.0
        one, other = one + 0.0, other + 0.0
    return from_numbers(function(one, other), both_valid(*args), DOUBLE)


@kernel("pi e", total=True, strict=False)
def _constant(call: Call, args: Sequence[Value]) -> Array:
    return pa.repeat(pa.scalar(math.pi if call.function == "pi" else math.e), len(args[0]))


@kernel("sign", total=True)
def _sign(call: Call, args: Sequence[Value]) -> Array:
    values = numbers(args[0]).astype(np.float64)
    return from_numbers(np.where(values == 0, values, np.sign(values)), both_valid(args[0]), DOUBLE)


@kernel("factorial", total=True)
def _factorial(call: Call, args: Sequence[Value]) -> Array:
    table = np.array([math.factorial(n) for n in range(_LARGEST_FACTORIAL + 1)], dtype=np.int64)
    values = numbers(args[0])
    defined = (values >= 0) & (values <= _LARGEST_FACTORIAL)
    results = table[np.where(defined, values, 0)]
    return from_numbers(results, defined & valid_mask(args[0]), BIGINT)


@kernel("hex", total=True)
def _hex(call: Call, args: Sequence[Value]) -> Array:
    value = args[0]
    if value.type == BIGINT:
        return per_distinct(lambda number: f"{number & (1 << 64) - 1:X}", [value], STRING)
    return per_distinct(lambda data: data.hex().upper(), [pc.cast(value, BINARY)], STRING)


@kernel("bin", total=True)
def _bin(call: Call, args: Sequence[Value]) -> Array:
    return per_distinct(lambda number: f"{number & (1 << 64) - 1:b}", [args[0]], STRING)


@kernel("unhex", total=True)
def _unhex(call: Call, args: Sequence[Value]) -> Array:
    def convert(text: str) -> bytes | None:
        try:
            return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text)
        except ValueError:
            return None

    return per_distinct(convert, [args[0]], BINARY)


# Rounding


@kernel("ceil floor")
def _towards(call: Call, args: Sequence[Value]) -> Array:
    value = args[0]
    up = call.function == "ceil"
    if is_decimal(value.type):
        whole = _towards_digit(decimals.unscaled(value), 10**value.type.scale, up)
        return decimal_result(whole, both_valid(value), call)
    with np.errstate(invalid="ignore"):
        rounded = (np.ceil if up else np.floor)(numbers(value))
    bad = (rounded >= 2.0**63) | (rounded < -(2.0**63))
    settled(rounded, both_valid(value), bad, call, lambda: overflow(call))
    whole = np.where(np.isfinite(rounded) & ~bad, rounded, 0).astype(np.int64)
    return from_numbers(whole, both_valid(value), BIGINT)


def _towards_digit(values: Numbers, divisor: int, up: bool) -> Numbers:
    return -(-values // divisor) if up else values // divisor


_FARTHEST = 400
"""No number has a digit that is farther from the point."""


def _near(scale: int) -> int:
    return max(-_FARTHEST, min(scale, _FARTHEST))


@kernel("round_ceil round_floor")
def _towards_scale(call: Call, args: Sequence[Value]) -> Array:
    value, scale = args[0], _near(args[1][0].as_py())
    up = call.function == "round_ceil"
    values = decimals.unscaled(value, True)
    if scale < value.type.scale:
        lost = value.type.scale - scale
        values = _towards_digit(values, 10**lost, up) * 10 ** (max(scale, 0) - scale)
    return decimal_result(values, both_valid(value), call)


@kernel("round bround", total=lambda call: is_float(call.kind))
def _round(call: Call, args: Sequence[Value]) -> Array:
    value, scale = args[0], _near(args[1][0].as_py())
    even = call.function == "bround"
    if is_float(value.type):
        return _round_floats(value, scale, even)
    if is_decimal(value.type):
        rounded = _round_at(decimals.unscaled(value, True), value.type.scale - scale, even)
        rounded = rounded * 10 ** (max(scale, 0) - min(scale, value.type.scale))
        if scale > value.type.scale:
            rounded = decimals.unscaled(value, True)
        return decimal_result(rounded, both_valid(value), call)
    if scale >= 0:
        return value
    exact = _round_at(numbers(value).astype(object), -scale, even) * 10**-scale
    half = 1 << (call.kind.bit_width - 1)
    bad = np.asarray((exact < -half) | (exact >= half), dtype=np.bool_)
    settled(exact, both_valid(value), bad, call, lambda: overflow(call))
    return from_numbers(np.where(bad, 0, exact).astype(np.int64), both_valid(value), call.kind)


def _round_at(values: Numbers, lost: int, even: bool) -> Numbers:
    """Integers without their last digits, rounded."""
    if lost <= 0:
        return values
    rounded = decimals.divided_half_up(values, 10**lost)
    if even:
        tie = np.abs(values * 2) % (2 * 10**lost) == 10**lost
        towards_zero = np.where(values < 0, -(-values // 10**lost), values // 10**lost)
        rounded = np.where(tie & (rounded % 2 != 0), towards_zero, rounded)
    return rounded


def _round_floats(value: Array, scale: int, even: bool) -> Array:
    values = numbers(value).astype(np.float64)
    with np.errstate(all="ignore"):
        scaled = np.abs(values) * 10.0 ** min(max(scale, 0), _QUICK_DIGITS)
        distance = np.abs(scaled - np.floor(scaled) - 0.5)
        quick = (scaled < _QUICK_LIMIT) & (distance > _NEAR_HALF) & (scale >= 0)
        quick &= scale <= _QUICK_DIGITS
        result = np.copysign(np.rint(scaled) / 10.0 ** min(max(scale, 0), _QUICK_DIGITS), values)
    slow = ~quick & np.isfinite(values)
    if slow.any():
        exact = per_distinct(lambda x: _round_one(x, scale, even), [pa.array(values[slow])], DOUBLE)
        result[slow] = exact.to_numpy()
    result = np.where(np.isfinite(values), result + 0.0, values)
    kind: Any = np.float32 if value.type == FLOAT else np.float64
    return from_numbers(result.astype(kind), both_valid(value), value.type)


def _round_one(value: float, scale: int, even: bool) -> float:
    with localcontext() as context:
        context.prec = 800
        exact = Decimal(repr(value))
        if -int(exact.as_tuple().exponent) <= scale:
            return value
        mode = ROUND_HALF_EVEN if even else ROUND_HALF_UP
        return float(exact.quantize(Decimal(1).scaleb(-scale), mode)) + 0.0


@kernel("bit_get")
def _bit_get(call: Call, args: Sequence[Value]) -> Array:
    value, place = numbers(args[0]), numbers(args[1])
    valid = both_valid(*args)
    outside = (place < 0) | (place >= args[0].type.bit_width)
    wrong = EvaluationError(
        "INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE",
        f"{call.brief()}: the bits of {type_name(args[0].type)} are 0 to "
        f"{args[0].type.bit_width - 1}",
    )
    settled(place, valid, outside, call, lambda: wrong)
    bits = (value.astype(np.int64) >> np.where(outside, 0, place)) & 1
    return from_numbers(bits.astype(np.int8), valid, TINYINT)


@kernel("width_bucket")
def _width_bucket(call: Call, args: Sequence[Value]) -> Array:
    value, low, high = (numbers(arg) for arg in args[:3])
    count = numbers(args[3])
    fine = (count > 0) & (count < _MOST_BUCKETS) & (low != high) & np.isfinite(low)
    fine &= np.isfinite(high) & ~np.isnan(value)
    fine &= valid_mask(args[0]) & valid_mask(args[1]) & valid_mask(args[2]) & valid_mask(args[3])
    first, last = np.minimum(low, high), np.maximum(low, high)
    with np.errstate(all="ignore"):
        upwards = np.floor(count * (value - first) / (last - first)) + 1
        downwards = np.floor(count * (last - value) / (last - first)) + 1
    below = np.where(low < high, value < low, value > low)
    above = np.where(low < high, value >= high, value <= high)
    within = fine & ~below & ~above
    bucket = np.where(within, np.where(low < high, upwards, downwards), 0).astype(np.int64)
    bucket = np.where(above, count + 1, np.where(below, 0, bucket))
    return from_numbers(bucket, fine, BIGINT)
