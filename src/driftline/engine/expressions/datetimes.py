"""Arithmetic of dates and times. Times are microseconds since 1970, UTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions import decimals
from driftline.engine.expressions.arithmetic import is_lenient, settled
from driftline.engine.expressions.arrays import (
    Array,
    Mask,
    Numbers,
    Value,
    both_valid,
    from_numbers,
    numbers,
    valid_mask,
)
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.temporal import DAY, SECOND
from driftline.plan.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    is_decimal,
    is_float,
)

MONTHS_PER_YEAR = 12
_MORE_THAN_A_MONTH = 32  # days
_CYCLE = 400  # years after which the calendar repeats
_DAYS_PER_CYCLE = 146_097
_ARROWS_DAYS = 11_000_000  # about 30,000 years
DAYS_PER_WEEK = 7
THURSDAY = 3  # 1970-01-01, counted from Monday
UNIT_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": SECOND,
    "MINUTE": 60 * SECOND,
    "HOUR": 3600 * SECOND,
    "DAY": DAY,
    "WEEK": 7 * DAY,
}
UNIT_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAY_NAMES = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")

Integers = npt.NDArray[np.int64]
Years = Integers | int


def months_of(days: Numbers) -> Integers:
    """Months since January 1970."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def first_day(months: Numbers) -> Integers:
    """The days since 1970-01-01 of the first day of a month."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def plus_months(days: Numbers, months: Numbers) -> Integers:
    """Dates so many months later; the last day of the month where there is no such day."""
    start = months_of(days)
    day = days.astype(np.int64) - first_day(start)
    target = start + months
    length = first_day(target + 1) - first_day(target)
    return np.asarray(first_day(target) + np.minimum(day, length - 1), dtype=np.int64)


def days_and_clock(micros: Numbers) -> tuple[Integers, Integers]:
    """Days since 1970-01-01 and microseconds of the day."""
    days = micros // DAY
    return days, micros - days * DAY


def naive(array: Array) -> Array:
    """The same times without a zone: Arrow then looks up no zone."""
    return array.view(pa.timestamp("us")) if pa.types.is_timestamp(array.type) else array


def in_arrows_range(array: Array) -> tuple[Array, Years]:
    """Dates or times whose fields Arrow can tell, and the years that were taken off.

    Arrow counts years in 16 bits, Spark up to 294247. The calendar repeats every 400 years.
    """
    array = naive(array)
    values = numbers(array)
    unit = 1 if array.type == DATE else DAY
    limit = _ARROWS_DAYS * unit
    if not len(values) or (values.min() > -limit and values.max() < limit):
        return array, 0
    cycles = values // (_DAYS_PER_CYCLE * unit)
    moved = values - cycles * (_DAYS_PER_CYCLE * unit)
    return from_numbers(moved, both_valid(array), array.type), cycles.astype(np.int64) * _CYCLE


def year_of(array: Array, years: Years) -> Array:
    """The year of dates or times from which years were taken off."""
    found = pc.year(array)
    if isinstance(years, int):
        return found
    return from_numbers(numbers(found) + years, both_valid(found), pa.int64())


def truncated(values: Numbers, divisor: int) -> Integers:
    """values / divisor, cut off towards zero."""
    return np.asarray((values - np.fmod(values, divisor)) // divisor, dtype=np.int64)


# Arithmetic


@kernel("date_add date_sub try_date_add try_date_sub", total=True)
def _date_add(call: Call, args: Sequence[Value]) -> Array:
    date, days = (numbers(arg).astype(np.int64) for arg in args)
    moved = date + days if call.function.endswith("date_add") else date - days
    return from_numbers(moved.astype(np.int32), both_valid(*args), DATE)


@kernel("datediff", total=True)
def _datediff(call: Call, args: Sequence[Value]) -> Array:
    end, start = (numbers(arg) for arg in args)
    return from_numbers(end - start, both_valid(*args), INT)


def _overflow(call: Call) -> EvaluationError:
    return EvaluationError("DATETIME_OVERFLOW", f"{call.brief()} is outside of the range of times")


def _exact(values: Numbers, call: Call, args: Sequence[Array], kind: Any) -> Array:
    """Whole numbers as 64-bit values of the type, after a check that they fit."""
    limit = 1 << (31 if kind == DATE else 63)
    bad = np.asarray((values >= limit) | (values < -limit), dtype=np.bool_)
    values, valid = settled(values, both_valid(*args), bad, call, lambda: _overflow(call))
    return from_numbers(np.where(bad, 0, values).astype(np.int64), valid, kind)


def _sum(one: Numbers, other: Numbers) -> Numbers:
    """one + other, as Python integers where 64 bits might not do."""
    return one + other if _small(one, other) else one.astype(object) + other.astype(object)


def _difference(one: Numbers, other: Numbers) -> Numbers:
    """one - other, as Python integers where 64 bits might not do."""
    return one - other if _small(one, other) else one.astype(object) - other.astype(object)


def _small(*parts: Numbers) -> bool:
    safe = 1 << 62
    return all(len(part) == 0 or (part.max() < safe and part.min() > -safe) for part in parts)


@kernel("add_interval subtract_interval try_add_interval try_subtract_interval", total=is_lenient)
def _add_interval(call: Call, args: Sequence[Value]) -> Array:
    moments, intervals = (numbers(arg).astype(np.int64) for arg in args)
    if args[0].type == DATE:
        intervals = truncated(intervals, DAY)
    combine = _difference if "subtract" in call.function else _sum
    return _exact(combine(moments, intervals), call, args, call.kind)


_MONTHS_INTERVAL = "add_months_interval subtract_months_interval"


@kernel(f"add_months {_MONTHS_INTERVAL} try_add_months_interval try_subtract_months_interval")
def _add_months(call: Call, args: Sequence[Value]) -> Array:
    moments, months = (numbers(arg).astype(np.int64) for arg in args)
    if "subtract" in call.function:
        months = -months
    return _plus_months(call, args, moments, months, args[0].type == DATE)


def _plus_months(
    call: Call, args: Sequence[Array], moments: Integers, months: Integers, dates: bool
) -> Array:
    if dates:
        return _exact(plus_months(moments, months), call, args, call.kind)
    days, clock = days_and_clock(moments)
    later = plus_months(days, months)
    fits = np.abs(later) < (1 << 63) // DAY
    micros = np.where(fits, later, 0) * DAY + clock
    values, valid = settled(micros, both_valid(*args), ~fits, call, lambda: _overflow(call))
    return from_numbers(values, valid, call.kind)


@kernel("of_months", total=True)
def _of_months(call: Call, args: Sequence[Value]) -> Array:
    return from_numbers(numbers(args[0]), both_valid(args[0]), INTERVAL_MONTHS)


@kernel("calendar_interval", total=True)
def _calendar_interval(call: Call, args: Sequence[Value]) -> Array:
    valid = both_valid(*args)
    mask = None if valid is None else pa.array(~valid)
    return pa.StructArray.from_arrays(list(args), fields=list(call.kind), mask=mask)


@kernel("months_of_interval", total=True)
def _months_of_interval(call: Call, args: Sequence[Value]) -> Array:
    return from_numbers(numbers(args[0]), both_valid(args[0]), INT)


@kernel("subtract_dates try_subtract_dates", total=is_lenient)
def _subtract_dates(call: Call, args: Sequence[Value]) -> Array:
    one, other = (numbers(arg).astype(np.int64) for arg in args)
    days = one - other
    bad = np.abs(days) > (1 << 63) // DAY
    _, valid = settled(days, both_valid(*args), bad, call, lambda: _overflow(call))
    return from_numbers(np.where(bad, 0, days) * DAY, valid, INTERVAL)


@kernel("subtract_timestamps try_subtract_timestamps", total=is_lenient)
def _subtract_timestamps(call: Call, args: Sequence[Value]) -> Array:
    one, other = (numbers(arg) for arg in args)
    return _exact(_difference(one, other), call, args, INTERVAL)


@kernel("multiply_interval try_multiply_interval", total=is_lenient)
def _multiply_interval(call: Call, args: Sequence[Value]) -> Array:
    return _scaled(call, args, divide=False)


@kernel("divide_interval try_divide_interval", total=is_lenient)
def _divide_interval(call: Call, args: Sequence[Value]) -> Array:
    return _scaled(call, args, divide=True)


def _scaled(call: Call, args: Sequence[Array], divide: bool) -> Array:
    """Intervals times or over a number, rounded half up."""
    interval, factor = args
    micros = numbers(interval)
    values = decimals.unscaled(factor, True) if is_decimal(factor.type) else numbers(factor)
    valid = both_valid(*args)
    if divide:
        zero = np.asarray(values == 0, dtype=np.bool_)
        error = EvaluationError("INTERVAL_DIVIDED_BY_ZERO", f"division by zero in {call.brief()}")
        _, valid = settled(micros, valid, zero, call, lambda: error)
        values = np.where(zero, 1, values)
    if is_float(factor.type):
        with np.errstate(all="ignore"):
            exact = micros / values if divide else micros * values.astype(np.float64)
        bad = ~(np.abs(exact) < 2.0**63)
        whole = np.trunc(np.where(bad, 0, exact))
        away = np.abs(np.where(bad, 0, exact) - whole) >= 0.5  # noqa: PLR2004 - a half
        rounded = whole + np.where(away, np.sign(exact), 0)
        _, valid = settled(micros, valid, bad, call, lambda: _overflow(call))
        return from_numbers(rounded.astype(np.int64), valid, INTERVAL)
    scale = 10 ** (factor.type.scale if is_decimal(factor.type) else 0)
    wide, factors = micros.astype(object), values.astype(object)
    top, bottom = (wide * scale, factors) if divide else (wide * factors, scale)
    negative = np.where(bottom < 0, -1, 1) if divide else 1
    result = decimals.divided_half_up(top * negative, bottom * negative)
    if valid is not None:
        result = np.where(valid, result, 0)
    return _exact(result, call, [from_numbers(micros, valid, BIGINT)], INTERVAL)


# Units


@kernel("timestampadd")
def _timestampadd(call: Call, args: Sequence[Value]) -> Array:
    unit, amount, moments = args[0][0].as_py(), numbers(args[1]), numbers(args[2])
    if unit in UNIT_MONTHS:
        bad = np.abs(amount) > 1 << 31
        settled(amount, both_valid(*args), bad, call, lambda: _overflow(call))
        months = np.where(bad, 0, amount) * UNIT_MONTHS[unit]
        return _plus_months(call, args[1:], moments, months, dates=False)
    exact = amount.astype(object) * UNIT_MICROS[unit] + moments.astype(object)
    return _exact(exact, call, args, call.kind)


@kernel("timestampdiff")
def _timestampdiff(call: Call, args: Sequence[Value]) -> Array:
    unit, start, end = args[0][0].as_py(), numbers(args[1]), numbers(args[2])
    if unit in UNIT_MONTHS:
        months = truncated(_full_months(start, end), UNIT_MONTHS[unit])
        return from_numbers(months, both_valid(*args), BIGINT)
    difference = _exact(_difference(end, start), call, args, BIGINT)
    values = truncated(numbers(difference), UNIT_MICROS[unit])
    return from_numbers(values, both_valid(*args), BIGINT)


def _full_months(start: Integers, end: Integers) -> Integers:
    """Whole months from one time to another, cut off towards zero, as Java counts them: first the
    days are whole, then the months.
    """
    (start_days, start_clock), (end_days, end_clock) = days_and_clock(start), days_and_clock(end)
    end_days = end_days - ((end_days > start_days) & (end_clock < start_clock))
    end_days = end_days + ((end_days < start_days) & (end_clock > start_clock))
    packed = [
        months * _MORE_THAN_A_MONTH + days - first_day(months)
        for days, months in ((d, months_of(d)) for d in (start_days, end_days))
    ]
    return truncated(packed[1] - packed[0], _MORE_THAN_A_MONTH)


@kernel("months_between", total=True)
def _months_between(call: Call, args: Sequence[Value]) -> Array:
    one, other = (numbers(arg) for arg in args[:2])
    (days, clock), (other_days, other_clock) = days_and_clock(one), days_and_clock(other)
    month, other_month = months_of(days), months_of(other_days)
    day, other_day = days - first_day(month), other_days - first_day(other_month)
    last = first_day(month + 1) - 1 == days
    other_last = first_day(other_month + 1) - 1 == other_days
    whole = (month - other_month).astype(np.float64)
    seconds = (day - other_day) * 86_400 + clock // SECOND - other_clock // SECOND
    exact = whole + seconds / (31.0 * 86_400)
    rounds = len(args) < 3 or args[2][0].as_py()  # noqa: PLR2004 - the third says whether to round
    if rounds:
        exact = np.floor(exact * 1e8 + 0.5) / 1e8
    result = np.where((day == other_day) | (last & other_last), whole, exact)
    return from_numbers(result, both_valid(*args[:2]), DOUBLE)


# Making and taking apart


@kernel("make_date")
def _make_date(call: Call, args: Sequence[Value]) -> Array:
    year, month, day = (numbers(arg).astype(np.int64) for arg in args)
    days, bad = _civil(year, month, day)
    _, valid = settled(days, both_valid(*args), bad, call, lambda: _no_date(call))
    return from_numbers(np.where(bad, 0, days), valid, DATE)


def _no_date(call: Call) -> EvaluationError:
    return EvaluationError("DATETIME_FIELD_OUT_OF_BOUNDS", f"there is no such date: {call.brief()}")


def _civil(year: Integers, month: Integers, day: Integers) -> tuple[Integers, Mask]:
    bad = (month < 1) | (month > MONTHS_PER_YEAR) | (np.abs(year) > 999_999_999)  # noqa: PLR2004
    months = np.where(bad, 0, (year - 1970) * MONTHS_PER_YEAR + month - 1)
    start = first_day(months)
    bad = bad | (day < 1) | (day > first_day(months + 1) - start)
    return start + day - 1, bad


@kernel("make_timestamp try_make_timestamp", total=lambda call: call.function.startswith("try_"))
def _make_timestamp(call: Call, args: Sequence[Value]) -> Array:
    year, month, day, hour, minute = (numbers(arg).astype(np.int64) for arg in args[:5])
    micros = decimals.unscaled(args[5])
    days, bad = _civil(year, month, day)
    bad = bad | (hour < 0) | (hour > 23) | (minute < 0) | (minute > 59)  # noqa: PLR2004
    # 60 seconds are allowed and are the next minute; 60.5 are not.
    bad = bad | (micros < 0) | (micros > 60 * SECOND)
    total = days * DAY + (hour * 3600 + minute * 60) * SECOND + micros
    _, valid = settled(total, both_valid(*args), bad, call, lambda: _no_date(call))
    return from_numbers(np.where(bad, 0, total), valid, call.kind)


@kernel("last_day", total=True)
def _last_day(call: Call, args: Sequence[Value]) -> Array:
    return from_numbers(first_day(months_of(numbers(args[0])) + 1) - 1, both_valid(args[0]), DATE)


@kernel("next_day")
def _next_day(call: Call, args: Sequence[Value]) -> Array:
    dates, names = args
    encoded = names.dictionary_encode()
    table = np.array([_day_number(name) for name in encoded.dictionary.to_pylist()] or [0])
    wanted = table[numbers(encoded.indices)]
    valid = both_valid(*args)
    error = EvaluationError("ILLEGAL_DAY_OF_WEEK", f"there is no such day: {call.brief()}")
    settled(wanted, valid, wanted < 0, call, lambda: error)
    days = numbers(dates).astype(np.int64)
    ahead = (wanted - (days + THURSDAY)) % DAYS_PER_WEEK
    return from_numbers(days + np.where(ahead == 0, DAYS_PER_WEEK, ahead), valid, DATE)


def _day_number(name: str) -> int:
    """0 for Monday to 6 for Sunday, by two, three or all letters; -1 for anything else."""
    upper = name.upper().strip()
    for number, full in enumerate(_DAY_NAMES):
        if upper in (full, full[:2], full[:3]):
            return number
    return -1


@kernel("unix_date", total=True)
def _unix_date(call: Call, args: Sequence[Value]) -> Array:
    return args[0].view(pa.int32())


@kernel("date_from_unix_date", total=True)
def _date_from_unix_date(call: Call, args: Sequence[Value]) -> Array:
    return args[0].view(DATE)


@kernel("unix_seconds unix_millis unix_micros", total=True)
def _unix(call: Call, args: Sequence[Value]) -> Array:
    size = {"unix_seconds": SECOND, "unix_millis": 1_000, "unix_micros": 1}[call.function]
    return from_numbers(numbers(args[0]) // size, both_valid(args[0]), BIGINT)


@kernel("unix_timestamp", total=True)
def _unix_timestamp(call: Call, args: Sequence[Value]) -> Array:
    # Cut off towards zero, unlike unix_seconds: so it is in Spark.
    return from_numbers(truncated(numbers(args[0]), SECOND), both_valid(args[0]), BIGINT)


_MORE_THAN_LONG = 2.0**63


@kernel("timestamp_seconds timestamp_millis timestamp_micros")
def _from_unix(call: Call, args: Sequence[Value]) -> Array:
    value = args[0]
    size = {"timestamp_seconds": SECOND, "timestamp_millis": 1_000, "timestamp_micros": 1}[
        call.function
    ]
    if is_float(value.type):
        with np.errstate(all="ignore"):
            micros = numbers(value).astype(np.float64) * size
        finite = np.isfinite(numbers(value))
        high = finite & (micros >= _MORE_THAN_LONG)
        kept = np.maximum(np.where(finite & ~high, micros, 0), -_MORE_THAN_LONG).astype(np.int64)
        kept[high] = (1 << 63) - 1
        return from_numbers(kept, valid_mask(value) & finite, call.kind)
    if is_decimal(value.type):
        exact = decimals.unscaled(value, True) * size
        unit = 10**value.type.scale
        inexact = np.asarray(exact % unit != 0, dtype=np.bool_)
        settled(exact, both_valid(value), inexact, call, lambda: _overflow(call))
        return _exact(exact // unit, call, args, call.kind)
    return _exact(numbers(value).astype(object) * size, call, args, call.kind)


@kernel("time_bucket", total=True)
def _time_bucket(call: Call, args: Sequence[Value]) -> Array:
    size, moments, origin = (numbers(arg).astype(np.int64) for arg in args)
    if args[0].type == INTERVAL_MONTHS:
        return from_numbers(_month_bucket(size, moments, origin), both_valid(*args), call.kind)
    start = origin + (moments - origin) // np.where(size == 0, 1, size) * size
    return from_numbers(start, both_valid(*args), call.kind)


def _month_bucket(size: Integers, moments: Integers, origin: Integers) -> Integers:
    """When the bucket of so many months begins that a moment is in."""
    (first, clock), (days, _) = days_and_clock(origin), days_and_clock(moments)
    size = np.where(size == 0, 1, size)
    count = (months_of(days) - months_of(first)) // size
    start = plus_months(first, count * size) * DAY + clock
    before = plus_months(first, (count - 1) * size) * DAY + clock
    return np.asarray(np.where(start > moments, before, start), dtype=np.int64)
