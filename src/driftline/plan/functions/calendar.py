"""make_interval: intervals of months, days and less at once, which Spark calls INTERVAL.

Their parts are counted apart, since no month has a certain number of days, so that none is longer
than another. They are computed with part by part, and added to a moment in that order.
"""

from __future__ import annotations

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Case, Cast, Expression, FieldAccess, Literal
from driftline.plan.functions.base import Arguments, argument, cast_to, register
from driftline.plan.functions.months import micros, month_field, of_micros, of_months
from driftline.plan.types import (
    BIGINT,
    BOOLEAN,
    CALENDAR,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    STRING,
    TIMESTAMP,
    VOID,
    DataType,
    decimal,
    is_datetime,
    is_numeric,
)

_HOUR, _MINUTE, _SECOND = 3_600_000_000, 60_000_000, 1_000_000
_DAY = 24 * _HOUR
_KINDS = (*[INT] * 6, decimal(18, 6))
_PARTS = (INT, INT, INTERVAL)
_LARGEST = 7


def _register(name: str, lenient: str) -> None:
    def computed(function: str, args: Arguments, kind: DataType) -> Expression:
        return Call(lenient + function, args, kind)

    def total(first: Expression, factor: int, second: Expression) -> Expression:
        whole = computed("multiply", (first, Literal(factor, INT)), INT)
        return computed("add", (whole, second), INT)

    @register(name, 0, _LARGEST)
    def build(args: Arguments) -> Expression:
        given = [argument(arg, _KINDS[at], name, at + 1) for at, arg in enumerate(args)]
        given += [cast_to(Literal(0, INT), kind) for kind in _KINDS[len(given) :]]
        years, months, weeks, days, *clock = given
        time: Expression = Literal(0, INTERVAL)
        for unit, number in zip((_HOUR, _MINUTE, _SECOND), clock, strict=True):
            part = computed("multiply_interval", (Literal(unit, INTERVAL), number), INTERVAL)
            time = computed("add", (time, part), INTERVAL)
        return _made(total(years, 12, months), total(weeks, 7, days), time)


_register("make_interval", "")
_register("try_make_interval", "try_")


def _made(*parts: Expression) -> Expression:
    return Call("calendar_interval", parts, CALENDAR)


def _parts(value: Expression) -> list[Expression]:
    return [FieldAccess(value, place) for place in range(len(_PARTS))]


def negated(value: Expression) -> Expression:
    """`- value`."""
    kinds = zip(_parts(value), _PARTS, strict=True)
    return _made(*(Call("negate", (part,), kind) for part, kind in kinds))


def calendar_arithmetic(operator: str, left: Expression, right: Expression) -> Expression | None:
    """`left operator right` if an interval of make_interval is part of it, else None."""
    if operator in ("add", "subtract"):
        if operator == "add" and left.type == CALENDAR and right.type != CALENDAR:
            left, right = right, left
        if right.type != CALENDAR:
            return None
        if left.type in (CALENDAR, VOID):
            both = zip(_parts(cast_to(left, CALENDAR)), _parts(right), _PARTS, strict=True)
            return _made(*(Call(operator, (one, other), kind) for one, other, kind in both))
        return _shifted(left, right if operator == "add" else negated(right))
    if operator == "multiply" and right.type == CALENDAR:
        left, right = right, left
    if operator not in ("multiply", "divide") or left.type != CALENDAR:
        return None
    if not is_numeric(right.type) and right.type not in (STRING, VOID):
        return None
    factor = cast_to(right, DOUBLE)
    months, days, clock = _parts(left)
    scaled = [
        Call(operator, (cast_to(part, DOUBLE), factor), DOUBLE)
        for part in (months, days, micros(clock))
    ]
    whole = Cast(scaled[1], INT)
    rest = Call("subtract", (scaled[1], cast_to(whole, DOUBLE)), DOUBLE)
    of_days = Call("multiply", (rest, Literal(float(_DAY), DOUBLE)), DOUBLE)
    time = Call("round", (Call("add", (scaled[2], of_days), DOUBLE), Literal(0, INT)), DOUBLE)
    return _made(Cast(scaled[0], INT), whole, of_micros(Cast(time, BIGINT)))


def _shifted(moment: Expression, shift: Expression) -> Expression | None:
    if moment.type == STRING:
        shifted = _shifted(cast_to(moment, TIMESTAMP), shift)
        return None if shifted is None else cast_to(shifted, STRING)
    if not is_datetime(moment.type):
        return None
    months, days, clock = _parts(shift)
    kind = moment.type
    later: Expression = Call("add_months_interval", (moment, of_months(months)), kind)
    if kind == DATE:
        whole = Call("equal", (clock, Literal(0, INTERVAL)), BOOLEAN)
        said = Literal(
            "an INTERVAL with hours or less cannot be added to a DATE: cast it to TIMESTAMP", STRING
        )
        error = Cast(Call("raise_error", (said,), VOID), DATE)
        summed = Call("date_add", (later, days), DATE)
        known = Call("is_null", (shift,), BOOLEAN)
        return Case(((known, Literal(None, DATE)), (whole, summed)), error, DATE)
    of_days = Call("multiply_interval", (Literal(_DAY, INTERVAL), days), INTERVAL)
    later = Call("add_interval", (later, of_days), kind)
    return Call("add_interval", (later, clock), kind)


def calendar_field(name: str, field: str, value: Expression) -> Expression:
    """EXTRACT(field FROM interval)."""
    months, days, clock = _parts(value)
    if name in ("year", "month"):
        return month_field(name, field, of_months(months))
    if name == "day":
        return days
    if name == "second_fraction":
        return Call("interval_second", (clock,), decimal(8, 6))
    if name in ("hour", "minute"):
        from driftline.plan.functions.dates import extract

        return extract(field, clock)
    raise ExpressionError(f"{field} cannot be extracted from an INTERVAL")
