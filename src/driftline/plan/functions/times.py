"""Times of the day, of type TIME: microseconds since midnight."""

from __future__ import annotations

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Cast, Expression, Literal
from driftline.plan.functions.base import (
    Arguments,
    argument,
    cast_to,
    define,
    register,
    wrong_argument,
)
from driftline.plan.types import (
    BIGINT,
    DATE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    decimal,
    is_integer,
    is_numeric,
)

UNITS = ("HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
"""The units of time_diff and time_trunc."""

define("make_time", [INT, INT, decimal(16, 6)], TIME)
define("time_to_seconds", [TIME], decimal(14, 6))
define("time_to_millis", [TIME], BIGINT)
define("time_to_micros", [TIME], BIGINT)


def as_moment(value: Expression) -> Expression:
    """A TIME as that time of 1970-01-01, whose fields are its own."""
    return Call("time_as_moment", (value,), TIMESTAMP_NTZ)


def _of_number(name: str, whole: bool) -> None:
    @register(name, 1, 1)
    def build(args: Arguments) -> Expression:
        value = args[0]
        fits = is_integer(value.type) if whole else is_numeric(value.type)
        if not fits and value.type != VOID:
            raise wrong_argument(name, 1, "integer" if whole else "number", value)
        if is_integer(value.type) or value.type == VOID:
            value = cast_to(value, BIGINT)
        return Call(name, (value,), TIME)


_of_number("time_from_seconds", whole=False)
_of_number("time_from_millis", whole=True)
_of_number("time_from_micros", whole=True)


def _unit(value: Expression, name: str) -> Expression:
    unit = argument(value, STRING, name, 1)
    if isinstance(unit, Literal) and unit.value is not None and unit.value.upper() not in UNITS:
        raise ExpressionError(f"{unit.value!r} is not a unit of {name}: it takes {_LISTED}")
    return unit


_LISTED = ", ".join(UNITS)


@register("time_trunc", 2, 2)
def _time_trunc(args: Arguments) -> Expression:
    unit = _unit(args[0], "time_trunc")
    return Call("time_trunc", (unit, argument(args[1], TIME, "time_trunc", 2)), TIME)


@register("time_diff", 3, 3)
def _time_diff(args: Arguments) -> Expression:
    unit = _unit(args[0], "time_diff")
    start, end = (argument(arg, TIME, "time_diff", place) for place, arg in enumerate(args[1:], 2))
    return Call("time_diff", (unit, start, end), BIGINT)


def _reads(name: str) -> None:
    @register(name, 1, 2)
    def build(args: Arguments) -> Expression:
        text, *pattern = (argument(arg, STRING, name, place) for place, arg in enumerate(args, 1))
        if pattern:
            return Call(name, (text, pattern[0]), TIME)
        return Cast(text, TIME, lenient=name.startswith("try_"))


_reads("to_time")
_reads("try_to_time")


@register("time", 1, 1)
def _time(args: Arguments) -> Expression:
    return cast_to(args[0], TIME)


def moment_of(args: Arguments, name: str, kind: DataType) -> Expression:
    """make_timestamp(date, time, zone): a day and a time of it, in UTC or as they are there."""
    if args[0].type not in (DATE, VOID):
        raise wrong_argument(name, 1, "DATE", args[0])
    time: Expression = Literal(0, TIME)
    if args[1:]:
        if args[1].type not in (TIME, VOID):
            raise wrong_argument(name, 2, "TIME", args[1])
        time = cast_to(args[1], TIME)
    function = "moment_of" if kind == TIMESTAMP else "moment_of_ntz"
    moment: Expression = Call(function, (cast_to(args[0], DATE), time), kind)
    if args[2:]:
        zone = argument(args[2], STRING, name, 3)
        return Call("to_utc_timestamp", (moment, zone), TIMESTAMP)
    return moment
