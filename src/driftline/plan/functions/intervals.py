"""Arithmetic with dates, timestamps and intervals."""

from __future__ import annotations

from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.functions.base import cast_to
from driftline.plan.functions.calendar import calendar_arithmetic
from driftline.plan.functions.months import micros, months_arithmetic
from driftline.plan.types import (
    BIGINT,
    CALENDAR,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TINYINT,
    VOID,
    is_datetime,
    is_numeric,
    is_timestamp,
)

_DAYS = (TINYINT, SMALLINT, INT)
_OF_TIME = (INTERVAL, INTERVAL_MONTHS, TIME, CALENDAR)


def datetime_arithmetic(
    operator: str, left: Expression, right: Expression, lenient: bool
) -> Expression | None:
    """`left operator right` if dates, times or intervals are part of it, else None."""
    kinds = (left.type, right.type)
    if not any(is_datetime(kind) or kind in _OF_TIME for kind in kinds):
        return None
    found = _by_operator(operator, left, right)
    if found is not None and lenient and isinstance(found, Call):
        found = Call(f"try_{found.function}", found.args, found.kind)
    return found


def _by_operator(operator: str, left: Expression, right: Expression) -> Expression | None:
    if CALENDAR in (left.type, right.type):
        return calendar_arithmetic(operator, left, right)
    if INTERVAL_MONTHS in (left.type, right.type):
        found = months_arithmetic(operator, left, right)
        if found is not None:
            return found
    if operator == "integral_divide" and left.type == right.type == INTERVAL:
        return Call(operator, (micros(left), micros(right)), BIGINT)
    if TIME in (left.type, right.type):
        return _of_day(operator, left, right)
    if operator == "add":
        if is_datetime(left.type):
            return _shifted("add", left, right)
        if is_datetime(right.type):
            return _shifted("add", right, left)
        return _text_shifted("add", left, right) or _intervals("add", left, right)
    if operator == "subtract":
        if is_datetime(left.type) or is_datetime(right.type):
            return _difference(left, right) or _shifted("subtract", left, right)
        return _text_shifted("subtract", left, right) or _intervals("subtract", left, right)
    if operator == "multiply":
        if right.type == INTERVAL:
            left, right = right, left
        return _scaled("multiply_interval", left, right)
    if operator == "divide":
        return _scaled("divide_interval", left, right)
    return None


def _of_day(operator: str, left: Expression, right: Expression) -> Expression | None:
    """Arithmetic of a TIME, which stays on its day."""
    if operator == "add" and right.type == TIME:
        left, right = right, left
    if operator not in ("add", "subtract") or left.type not in (TIME, STRING, VOID):
        return None
    if right.type == INTERVAL and left.type == TIME:
        return Call(f"{operator}_to_time", (left, right), TIME)
    if operator == "subtract" and right.type in (TIME, STRING, VOID):
        return Call("subtract_times", (cast_to(left, TIME), cast_to(right, TIME)), INTERVAL)
    return None


def _shifted(operator: str, moment: Expression, shift: Expression) -> Expression | None:
    if not is_datetime(moment.type):
        return None
    if shift.type == INTERVAL_MONTHS:
        return Call(f"{operator}_months_interval", (moment, shift), moment.type)
    if shift.type == INTERVAL:
        if moment.type == DATE and not is_day_interval(shift):
            moment = cast_to(moment, TIMESTAMP)
        return Call(f"{operator}_interval", (moment, shift), moment.type)
    if shift.type == VOID:
        return Literal(None, TIMESTAMP)
    if moment.type == DATE and shift.type in _DAYS:
        days = cast_to(shift, INT)
        return Call("date_add" if operator == "add" else "date_sub", (moment, days), DATE)
    return None


def _text_shifted(operator: str, moment: Expression, shift: Expression) -> Expression | None:
    """A STRING plus an interval is a STRING again."""
    if moment.type != STRING or shift.type not in (INTERVAL, INTERVAL_MONTHS):
        return None
    shifted = _shifted(operator, cast_to(moment, TIMESTAMP), shift)
    return None if shifted is None else cast_to(shifted, STRING)


def _difference(left: Expression, right: Expression) -> Expression | None:
    if left.type == STRING:
        left = cast_to(left, right.type)
    if right.type == STRING and is_datetime(left.type):
        right = cast_to(right, left.type)
    if left.type == DATE and right.type == DATE:
        return Call("subtract_dates", (left, right), INTERVAL)
    if is_datetime(left.type) and is_datetime(right.type):
        kind = left.type if is_timestamp(left.type) else right.type
        return Call("subtract_timestamps", (cast_to(left, kind), cast_to(right, kind)), INTERVAL)
    return None


def _intervals(operator: str, left: Expression, right: Expression) -> Expression | None:
    left, right = (cast_to(side, INTERVAL) if side.type == VOID else side for side in (left, right))
    if left.type == right.type == INTERVAL:
        return Call(operator, (left, right), INTERVAL)
    return None


def _scaled(operator: str, interval: Expression, factor: Expression) -> Expression | None:
    if interval.type != INTERVAL or not (is_numeric(factor.type) or factor.type in (STRING, VOID)):
        return None
    if not is_numeric(factor.type):
        factor = cast_to(factor, DOUBLE)
    return Call(operator, (interval, factor), INTERVAL)


def is_day_interval(value: Expression) -> bool:
    """Was it written in days, so that a DATE plus it is a DATE?"""
    if isinstance(value, Literal):
        return value.unit == "DAY"
    if isinstance(value, Call):
        if value.function == "subtract_dates":
            return True
        same_unit = value.function in ("add", "subtract", "negate")
        return same_unit and all(is_day_interval(arg) for arg in value.args)
    return False
