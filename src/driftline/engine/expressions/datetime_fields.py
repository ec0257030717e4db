"""The fields of dates, times and intervals, and truncation to a unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from driftline.engine.expressions import decimals
from driftline.engine.expressions.arrays import (
    Array,
    Numbers,
    Value,
    both_valid,
    from_numbers,
    numbers,
    valid_mask,
)
from driftline.engine.expressions.datetimes import (
    DAYS_PER_WEEK,
    THURSDAY,
    UNIT_MICROS,
    UNIT_MONTHS,
    first_day,
    in_arrows_range,
    months_of,
    truncated,
    year_of,
)
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.functions.dates import DATE_TRUNCATIONS, TRUNCATION_UNITS
from driftline.plan.temporal import DAY, SECOND
from driftline.plan.types import DATE, INT, INTERVAL

_FIELDS: dict[str, Callable[[Array], Array]] = {
    "year": pc.year,
    "quarter": pc.quarter,
    "month": pc.month,
    "day": pc.day,
    "dayofyear": pc.day_of_year,
    "dayofweek": lambda dates: pc.day_of_week(dates, count_from_zero=False, week_start=7),
    "dayofweek_iso": lambda dates: pc.day_of_week(dates, count_from_zero=False, week_start=1),
    "weekday": lambda dates: pc.day_of_week(dates, count_from_zero=True, week_start=1),
    "weekofyear": pc.iso_week,
    "yearofweek": pc.iso_year,
    "hour": pc.hour,
    "minute": pc.minute,
    "second": pc.second,
}


@kernel(" ".join(_FIELDS), total=True)
def _field(call: Call, args: Sequence[Value]) -> Array:
    moments, years = in_arrows_range(args[0])
    if call.function == "year":
        return pc.cast(year_of(moments, years), INT)
    fields = pc.cast(_FIELDS[call.function](moments), INT)
    if call.function == "yearofweek" and not isinstance(years, int):
        return from_numbers((numbers(fields) + years).astype(np.int32), both_valid(fields), INT)
    return fields


@kernel("second_fraction interval_second", total=True)
def _second_fraction(call: Call, args: Sequence[Value]) -> Array:
    micros = numbers(args[0])
    # Of an interval the sign is kept, of a time there is none.
    rest = np.fmod(micros, 60 * SECOND) if args[0].type == INTERVAL else micros % (60 * SECOND)
    return decimals.from_unscaled(rest, both_valid(args[0]), call.kind)


@kernel("interval_day interval_hour interval_minute", total=True)
def _interval_field(call: Call, args: Sequence[Value]) -> Array:
    unit, limit = {
        "interval_day": (DAY, 1 << 62),
        "interval_hour": (3600 * SECOND, 24),
        "interval_minute": (60 * SECOND, 60),
    }[call.function]
    values = np.fmod(truncated(numbers(args[0]), unit), limit)
    return from_numbers(values.astype(call.kind.to_pandas_dtype()), both_valid(args[0]), call.kind)


# Truncation


@kernel("date_trunc", total=True)
def _date_trunc(call: Call, args: Sequence[Value]) -> Array:
    units, moments = args
    return _by_unit(units, moments, _truncate_micros, tuple(TRUNCATION_UNITS.values()), call.kind)


@kernel("trunc", total=True)
def _trunc(call: Call, args: Sequence[Value]) -> Array:
    dates, units = args
    return _by_unit(units, dates, _truncate_days, DATE_TRUNCATIONS, DATE)


def _by_unit(
    units: Array,
    moments: Array,
    truncate: Callable[[Numbers, str], Numbers],
    allowed: tuple[str, ...],
    kind: Any,
) -> Array:
    """Truncation to a unit that may differ from row to row; null for what is no unit."""
    values = numbers(moments)
    result = np.zeros(len(values), dtype=np.int64)
    valid = np.zeros(len(values), dtype=np.bool_)
    encoded = units.dictionary_encode()
    codes = np.where(valid_mask(units), numbers(encoded.indices), -1)
    for code, name in enumerate(encoded.dictionary.to_pylist()):
        unit = TRUNCATION_UNITS.get(name.upper())
        if unit is not None and unit in allowed:
            rows = codes == code
            result[rows] = truncate(values[rows], unit)
            valid |= rows
    return from_numbers(result, valid & valid_mask(moments), kind)


def _truncate_micros(micros: Numbers, unit: str) -> Numbers:
    if unit in UNIT_MICROS and unit != "WEEK":
        size = UNIT_MICROS[unit]
        return np.asarray(micros // size * size)
    return _truncate_days(micros // DAY, unit) * DAY


def _truncate_days(days: Numbers, unit: str) -> Numbers:
    days = days.astype(np.int64)
    if unit == "WEEK":
        return np.asarray(days - (days + THURSDAY) % DAYS_PER_WEEK)
    size = UNIT_MONTHS[unit]
    return first_day(months_of(days) // size * size)
