"""Intervals of months, of type INTERVAL YEAR TO MONTH: what is computed with the number of months.

months(i)        the number of months of an interval
of_months(n)     the interval of so many months
micros(i), of_micros(n)     the same for INTERVAL DAY TO SECOND
"""

from __future__ import annotations

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Cast, Expression, Literal
from driftline.plan.functions.base import FUNCTIONS, Arguments, argument, cast_to, register
from driftline.plan.types import (
    BIGINT,
    DOUBLE,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    TIMESTAMP,
    TINYINT,
    VOID,
    is_integer,
    is_numeric,
)

_EPOCH = Call("timestamp_micros", (Literal(0, BIGINT),), TIMESTAMP)
_A_YEAR = Literal(12, INT)


def months(value: Expression) -> Expression:
    """The number of months of an interval."""
    if isinstance(value, Literal):
        return Literal(value.value, INT)
    if isinstance(value, Call) and value.function == "of_months":
        return value.args[0]
    return Call("months_of_interval", (value,), INT)


def of_months(number: Expression) -> Expression:
    """The interval of so many months."""
    if isinstance(number, Literal):
        return Literal(number.value, INTERVAL_MONTHS)
    return Call("of_months", (cast_to(number, INT),), INTERVAL_MONTHS)


def micros(value: Expression) -> Expression:
    """The number of microseconds of an interval of days and less."""
    since = Call("add_interval", (_EPOCH, value), TIMESTAMP)
    return Call("unix_micros", (since,), BIGINT)


def of_micros(number: Expression) -> Expression:
    """The interval of so many microseconds."""
    moment = Call("timestamp_micros", (cast_to(number, BIGINT),), TIMESTAMP)
    return Call("subtract_timestamps", (moment, _EPOCH), INTERVAL)


@register("months_of_interval", 1, 1)
def _months_of_interval(args: Arguments) -> Expression:
    return months(argument(args[0], INTERVAL_MONTHS, "months_of_interval", 1))


@register("make_ym_interval", 0, 2)
def _make_ym_interval(args: Arguments) -> Expression:
    years, more = (
        argument(args[place], INT, "make_ym_interval", place + 1)
        if place < len(args)
        else Literal(0, INT)
        for place in (0, 1)
    )
    whole = Call("multiply", (years, _A_YEAR), INT)
    return of_months(Call("add", (whole, more), INT))


def months_arithmetic(operator: str, left: Expression, right: Expression) -> Expression | None:
    """`left operator right` of intervals of months, or of one and a number; else None."""
    kinds = (left.type, right.type)
    if operator in ("add", "subtract") and set(kinds) <= {INTERVAL_MONTHS, VOID}:
        one, other = (months(cast_to(side, INTERVAL_MONTHS)) for side in (left, right))
        if (
            isinstance(one, Literal)
            and isinstance(other, Literal)
            and None
            not in (
                one.value,
                other.value,
            )
        ):
            total = one.value + other.value if operator == "add" else one.value - other.value
            return of_months(Literal(total, INT))
        return of_months(Call(operator, (one, other), INT))
    if operator == "integral_divide" and kinds == (INTERVAL_MONTHS, INTERVAL_MONTHS):
        both = tuple(cast_to(months(side), BIGINT) for side in (left, right))
        return Call("integral_divide", both, BIGINT)
    if operator == "multiply" and right.type == INTERVAL_MONTHS:
        left, right = right, left
    if operator not in ("multiply", "divide") or left.type != INTERVAL_MONTHS:
        return None
    if right.type in (STRING, VOID):
        right = cast_to(right, DOUBLE)
    if not is_numeric(right.type):
        return None
    if operator == "multiply" and is_integer(right.type):
        product = Call("multiply", (cast_to(months(left), BIGINT), cast_to(right, BIGINT)), BIGINT)
        return of_months(Cast(product, INT))
    from driftline.plan.functions.operators import arithmetic

    return of_months(Cast(FUNCTIONS["round"]((arithmetic(operator, months(left), right),)), INT))


def month_field(name: str, field: str, value: Expression) -> Expression:
    """EXTRACT(YEAR FROM interval) and EXTRACT(MONTH FROM interval)."""
    number = months(value)
    if name == "year":
        wide = tuple(cast_to(each, BIGINT) for each in (number, _A_YEAR))
        return Cast(Call("integral_divide", wide, BIGINT), INT)
    if name == "month":
        return Cast(Call("remainder", (number, _A_YEAR), INT), TINYINT)
    raise ExpressionError(f"{field} cannot be extracted from an INTERVAL YEAR TO MONTH")
