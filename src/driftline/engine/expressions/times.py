"""Times of the day: microseconds since midnight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.expressions import decimals
from driftline.engine.expressions.arithmetic import is_lenient, settled
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
from driftline.engine.expressions.datetime_patterns import (
    date_format,
    parse_by_pattern,
    tokens_of,
)
from driftline.engine.expressions.datetimes import UNIT_MICROS, truncated
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.functions.times import UNITS
from driftline.plan.temporal import DAY, SECOND
from driftline.plan.types import BIGINT, INTERVAL, TIME, TIMESTAMP_NTZ, is_decimal, is_float

_SIZES = {"seconds": SECOND, "millis": 1_000, "micros": 1}
_CLOCK_LETTERS = frozenset("HhKkmsSa")


def _checked(values: Numbers, call: Call, args: Sequence[Array]) -> Array:
    """Times of one day, after a check that they are."""
    bad = np.asarray((values < 0) | (values >= DAY), dtype=np.bool_)

    def error() -> EvaluationError:
        return EvaluationError(
            "DATETIME_FIELD_OUT_OF_BOUNDS",
            f"{call.brief()} is not a time of day, from 00:00:00 to 23:59:59.999999",
        )

    _, valid = settled(values, both_valid(*args), bad, call, error)
    return from_numbers(np.where(bad, 0, values).astype(np.int64), valid, TIME)


@kernel("make_time")
def _make_time(call: Call, args: Sequence[Value]) -> Array:
    hour, minute = (numbers(arg).astype(np.int64) for arg in args[:2])
    micros = decimals.unscaled(args[2])
    bad = (hour < 0) | (hour > 23) | (minute < 0) | (minute > 59)  # noqa: PLR2004 - of a clock
    bad = bad | (micros < 0) | (micros >= 60 * SECOND)
    return _checked(np.where(bad, DAY, (hour * 60 + minute) * 60 * SECOND + micros), call, args)


@kernel("time_from_seconds time_from_millis time_from_micros")
def _from(call: Call, args: Sequence[Value]) -> Array:
    value, size = args[0], _SIZES[call.function.removeprefix("time_from_")]
    if is_float(value.type):
        with np.errstate(all="ignore"):
            given = numbers(value).astype(np.float64) * size
        return _checked(np.where(np.isfinite(given), np.floor(given), -1), call, args)
    if is_decimal(value.type):
        return _checked(decimals.unscaled(value, True) * size // 10**value.type.scale, call, args)
    return _checked(numbers(value).astype(object) * size, call, args)


@kernel("time_to_seconds time_to_millis time_to_micros", total=True)
def _to(call: Call, args: Sequence[Value]) -> Array:
    micros, valid = numbers(args[0]), both_valid(args[0])
    if call.function == "time_to_seconds":
        return decimals.from_unscaled(micros, valid, call.kind)
    return from_numbers(micros // _SIZES[call.function.removeprefix("time_to_")], valid, BIGINT)


@kernel("time_as_moment", total=True)
def _as_moment(call: Call, args: Sequence[Value]) -> Array:
    return args[0].view(pa.int64()).view(TIMESTAMP_NTZ)


@kernel("moment_of moment_of_ntz", total=True)
def _moment_of(call: Call, args: Sequence[Value]) -> Array:
    days, micros = numbers(args[0]).astype(np.int64), numbers(args[1])
    return from_numbers(days * DAY + micros, both_valid(*args), call.kind)


@kernel("add_to_time subtract_to_time try_add_to_time try_subtract_to_time", total=is_lenient)
def _moved(call: Call, args: Sequence[Value]) -> Array:
    time, interval = (numbers(arg).astype(np.int64) for arg in args)
    near = np.clip(interval, -DAY, DAY)
    moved = time - near if "subtract" in call.function else time + near
    bad = (moved < 0) | (moved >= DAY)

    def error() -> EvaluationError:
        return EvaluationError("DATETIME_OVERFLOW", f"{call.brief()} is not on the same day")

    _, valid = settled(moved, both_valid(*args), bad, call, error)
    return from_numbers(np.where(bad, 0, moved), valid, TIME)


@kernel("subtract_times try_subtract_times", total=True)
def _between(call: Call, args: Sequence[Value]) -> Array:
    one, other = (numbers(arg) for arg in args)
    return from_numbers(one - other, both_valid(*args), INTERVAL)


def _by_unit(units: Array, values: Numbers, call: Call, whole: bool) -> Numbers:
    """The values in units, or with `whole` cut off to whole units."""
    result = np.zeros(len(values), np.int64)
    encoded = units.dictionary_encode()
    codes = np.where(valid_mask(units), numbers(encoded.indices), -1)
    for code, name in enumerate(encoded.dictionary.to_pylist()):
        if name.upper() not in UNITS:
            raise EvaluationError(
                "INVALID_PARAMETER_VALUE", f"{name!r} is not a unit of {call.function}"
            )
        size, rows = UNIT_MICROS[name.upper()], codes == code
        result[rows] = truncated(values[rows], size) * (size if whole else 1)
    return result


@kernel("time_trunc")
def _time_trunc(call: Call, args: Sequence[Value]) -> Array:
    found = _by_unit(args[0], numbers(args[1]), call, whole=True)
    return from_numbers(found, both_valid(*args), TIME)


@kernel("time_diff")
def _time_diff(call: Call, args: Sequence[Value]) -> Array:
    found = _by_unit(args[0], numbers(args[2]) - numbers(args[1]), call, whole=False)
    return from_numbers(found, both_valid(*args), BIGINT)


@kernel("time_format")
def _time_format(call: Call, args: Sequence[Value]) -> Array:
    for pattern in args[1].unique().to_pylist():
        _check_clock(pattern)
    return date_format(_as_moment(call, args[:1]), args[1])


def _check_clock(pattern: str | None) -> None:
    for token in tokens_of(pattern or ""):
        if token.letter and token.letter not in (*_CLOCK_LETTERS, "[", "]"):
            raise EvaluationError(
                "INVALID_PARAMETER_VALUE",
                f"{pattern!r} is not a pattern of a TIME, which has no {token.text}",
            )


@kernel("to_time try_to_time")
def _to_time(call: Call, args: Sequence[Value]) -> Array:
    def convert(text: str, pattern: str) -> Any:
        try:
            _check_clock(pattern)
            found = parse_by_pattern(text, pattern)
        except EvaluationError:
            if call.function == "to_time":
                raise
            return None
        if found is None and call.function == "to_time":
            raise EvaluationError(
                "CANNOT_PARSE_TIME",
                f"the text {text!r} does not fit the pattern {pattern!r}; use try_to_time to get "
                "NULL instead",
            )
        return found

    return per_distinct(convert, list(args), pa.int64()).view(TIME)
