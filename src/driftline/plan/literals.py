"""Constants: reading them from SQL text, and writing them as SQL text."""

from __future__ import annotations

import re
import sys
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from driftline.plan.errors import ExpressionError
from driftline.plan.temporal import DAY, EPOCH, format_time, format_timestamp_sql
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    MAX_PRECISION,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    DataType,
    decimal,
    is_decimal,
    type_name,
)

_GREATEST = {FLOAT: Decimal("3.4028234663852886e38"), DOUBLE: Decimal(repr(sys.float_info.max))}
_GREATEST_EXPONENT = 2**31 - 1
_DIGITS = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
INTEGER_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
_SUFFIXES = {TINYINT: "Y", SMALLINT: "S", INT: "", BIGINT: "L"}

_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": DAY,
    "WEEK": 7 * DAY,
}
_MONTHS = {"MONTH": 1, "YEAR": 12}
_DAY_TIME = ("DAY", "HOUR", "MINUTE", "SECOND")
_SEPARATED = re.compile(r"[\s:]+")


def number_literal(text: str) -> tuple[Any, DataType]:
    """Value and type of a number without suffix: INT, BIGINT or DECIMAL, DOUBLE with an exponent.

    >>> number_literal("5"), number_literal("1e0"), number_literal("1.50")[0]
    ((5, DataType(int32)), (1.0, DataType(double)), Decimal('1.50'))
    """
    if "e" in text.lower():
        return finite(text, DOUBLE), DOUBLE
    if "." in text or len(text.lstrip("-0")) > MAX_PRECISION:
        return decimal_literal(text)
    value = int(text)
    for kind in (INT, BIGINT):
        if fits(value, kind):
            return value, kind
    return decimal_literal(text)


def finite(text: str, kind: DataType) -> float:
    """A number that is written with digits, which is refused if its type does not reach so far.

    >>> finite("1e400", DOUBLE)
    Traceback (most recent call last):
    driftline.plan.errors.ExpressionError: 1e400 is outside of the range of a DOUBLE
    """
    try:
        exact = Decimal(text)
    except InvalidOperation:
        raise ExpressionError(f"{text} is not a number: digits are missing after the e") from None
    if exact.copy_abs() > _GREATEST[kind] or abs(exact.adjusted()) > _GREATEST_EXPONENT:
        raise ExpressionError(f"{text} is outside of the range of a {type_name(kind)}")
    return float(text)


def decimal_literal(text: str) -> tuple[Decimal, DataType]:
    """Value and type of a decimal: exactly as many digits as are written."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ExpressionError(f"{text!r} is not a number") from None
    digits = value.as_tuple()
    exponent = int(digits.exponent)
    if value and value.adjusted() >= MAX_PRECISION:
        raise ExpressionError(f"{text} has more than the {MAX_PRECISION} digits of a DECIMAL")
    if exponent > 0:  # 1.5e3 is 1500
        value = Decimal(int(value))
        exponent = 0
    if value == 0:
        value = abs(value)  # there is no -0.0 among decimals
    precision = max(len(value.as_tuple().digits), -exponent, 1)
    if precision > MAX_PRECISION:
        raise ExpressionError(f"{text} has more than the {MAX_PRECISION} digits of a DECIMAL")
    return value, decimal(precision, -exponent)


def integer_literal(text: str, kind: DataType) -> int:
    """Value of a number with the suffix Y, S or L.

    >>> integer_literal("128", TINYINT)
    Traceback (most recent call last):
    driftline.plan.errors.ExpressionError: 128Y is outside of the range of a TINYINT
    """
    written = f"{text}{_SUFFIXES[kind]}"
    if not text.lstrip("-").isdigit():
        raise ExpressionError(
            f"{written} is not a whole number, which the suffix {_SUFFIXES[kind]} makes it: leave "
            "the suffix out, or take D for a DOUBLE"
        )
    if len(text.lstrip("-0")) > MAX_PRECISION or not fits(int(text), kind):
        raise ExpressionError(f"{written} is outside of the range of a {type_name(kind)}")
    return int(text)


def fits(value: int, kind: DataType) -> bool:
    """Is the number within an integer type?

    >>> fits(127, TINYINT), fits(128, TINYINT)
    (True, False)
    """
    half = 1 << (INTEGER_BITS[kind] - 1)
    return -half <= value < half


def interval_literal(text: str, unit: str, last: str | None) -> tuple[int, DataType, str | None]:
    """Value, type and unit of an interval: `'5' MINUTE`, or `'1 2:03:04' DAY TO SECOND`.

    >>> interval_literal("5", "MINUTES", None)
    (300000000, DurationType(duration[us]), None)
    """
    first = _unit(unit)
    if last is not None:
        return _interval_span(text, first, _unit(last))
    if _DIGITS.fullmatch(text.strip()) is None:
        raise ExpressionError(f"{text!r} is not a number of {unit.lower()}")
    amount = Decimal(text.strip())
    if first in _MONTHS:
        return _whole(amount * _MONTHS[first], text, unit), INTERVAL_MONTHS, None
    if first != "SECOND" and amount != amount.to_integral_value():
        raise ExpressionError(f"an interval of {text} {unit.lower()} is not a whole number")
    micros = int(amount * _MICROS[first])
    if not fits(micros, BIGINT):
        raise ExpressionError(f"an interval of {text} {unit.lower()} is too long")
    return micros, INTERVAL, "DAY" if first in ("DAY", "WEEK") else None


def _unit(name: str) -> str:
    unit = name.upper()
    unit = unit[:-1] if unit.endswith("S") else unit
    if unit not in _MICROS and unit not in _MONTHS:
        raise ExpressionError(f"{name} is not a unit of time")
    return unit


def _whole(amount: Decimal, text: str, unit: str) -> int:
    if amount != amount.to_integral_value():
        raise ExpressionError(f"an interval of {text} {unit.lower()} is not a whole number")
    return int(amount)


def _interval_span(text: str, first: str, last: str) -> tuple[int, DataType, str | None]:
    wrong = ExpressionError(f"{text!r} is not an interval {first} TO {last}")
    sign, body = (-1, text.strip()[1:]) if text.strip().startswith("-") else (1, text.strip())
    if first == "YEAR" and last == "MONTH":
        match = re.fullmatch(r"\+?(\d+)-(\d+)", body)
        if match is None:
            raise wrong
        return sign * (12 * int(match[1]) + int(match[2])), INTERVAL_MONTHS, None
    if first not in _DAY_TIME or last not in _DAY_TIME:
        raise wrong
    units = _DAY_TIME[_DAY_TIME.index(first) : _DAY_TIME.index(last) + 1]
    parts = _SEPARATED.split(body.lstrip("+"))
    if len(parts) != len(units):
        raise wrong
    try:
        total = sum(Decimal(part) * _MICROS[unit] for part, unit in zip(parts, units, strict=True))
    except InvalidOperation:
        raise wrong from None
    return sign * int(total), INTERVAL, None


def literal_sql(value: Any, kind: DataType, unit: str | None = None) -> str:
    """A constant as SQL text.

    >>> literal_sql(10, BIGINT), literal_sql(19844, DATE), literal_sql("it's", STRING)
    ('10L', "DATE '2024-05-01'", "'it\\\\'s'")
    """
    if value is None:
        return "NULL" if kind == VOID else f"CAST(NULL AS {type_name(kind)})"
    if kind in _SUFFIXES:
        return f"{value}{_SUFFIXES[kind]}"
    if kind in (FLOAT, DOUBLE):
        return _float_sql(value, kind)
    if is_decimal(kind):
        text = f"{value:f}BD"
        natural = decimal_literal(f"{value:f}")[1]
        return text if natural == kind else f"CAST({text} AS {type_name(kind)})"
    if kind == STRING:
        return text_sql(value)
    return _other_sql(value, kind, unit)


def _float_sql(value: float, kind: DataType) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return f"CAST('{value}' AS {type_name(kind)})"
    return f"{value!r}{'F' if kind == FLOAT else 'D'}"


def text_sql(text: str) -> str:
    """A text as an SQL literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def _other_sql(value: Any, kind: DataType, unit: str | None) -> str:
    if kind == BOOLEAN:
        return "TRUE" if value else "FALSE"
    if kind == BINARY:
        return f"X'{value.hex().upper()}'"
    if kind == DATE:
        return f"DATE '{EPOCH + timedelta(days=value):%Y-%m-%d}'"
    if kind == TIME:
        return f"TIME '{format_time(value)}'"
    if kind in (TIMESTAMP, TIMESTAMP_NTZ):
        return f"{type_name(kind)} '{format_timestamp_sql(value)}'"
    if kind == INTERVAL_MONTHS:
        return f"INTERVAL '{value}' MONTH"
    if kind == INTERVAL and unit == "DAY":
        return f"INTERVAL '{value // DAY}' DAY"
    if kind == INTERVAL:
        sign, micros = ("-" if value < 0 else ""), abs(value)
        return f"INTERVAL '{sign}{micros // 1_000_000}.{micros % 1_000_000:06d}' SECOND"
    raise ExpressionError(f"a constant of type {type_name(kind)} cannot be written as SQL")


def date_value(day: date) -> int:
    """The days since 1970-01-01."""
    return (day - EPOCH).days
