"""Functions of dates and times and their types. The session's time zone is UTC."""

from __future__ import annotations

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Cast, Expression, Literal
from driftline.plan.functions.base import (
    FUNCTIONS,
    Arguments,
    argument,
    cast_to,
    constant,
    define,
    register,
    wrong_argument,
)
from driftline.plan.functions.calendar import calendar_field
from driftline.plan.functions.collections import field
from driftline.plan.functions.months import month_field
from driftline.plan.functions.times import as_moment, moment_of
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    CALENDAR,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    SMALLINT,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    DataType,
    decimal,
    is_datetime,
    is_decimal,
    is_float,
    is_integer,
    is_numeric,
    is_struct,
    is_timestamp,
    type_name,
)

_TICK = Literal(1, INTERVAL)
DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"

_DATE_FIELDS = "year quarter month dayofyear dayofweek weekday weekofyear dayofweek_iso yearofweek"
for _name in _DATE_FIELDS.split():
    define(_name, [DATE], INT)
define("day dayofmonth", [DATE], INT)
define("last_day", [DATE], DATE)
define("next_day", [DATE, STRING], DATE)
define("date_from_unix_date", [INT], DATE)
define("add_months", [DATE, INT], DATE)
define("make_date", [INT, INT, INT], DATE)
define("dayname", [DATE], STRING)
define("monthname", [DATE], STRING)
define("from_utc_timestamp", [TIMESTAMP, STRING], TIMESTAMP)
define("to_utc_timestamp", [TIMESTAMP, STRING], TIMESTAMP)


@register("date_format", 2, 2)
def _date_format(args: Arguments) -> Expression:
    pattern = argument(args[1], STRING, "date_format", 2)
    if args[0].type == TIME:
        return Call("time_format", (args[0], pattern), STRING)
    return Call("date_format", (argument(args[0], TIMESTAMP, "date_format", 1), pattern), STRING)


def _since_1970(name: str, taken: DataType, result: DataType) -> None:
    @register(name, 1, 1)
    def build(args: Arguments) -> Expression:
        value = args[0]
        if value.type not in (taken, VOID) and not (
            taken == TIMESTAMP and is_timestamp(value.type)
        ):
            raise wrong_argument(name, 1, type_name(taken), value)
        return Call(name, (cast_to(value, taken),), result)


_since_1970("unix_date", DATE, INT)
for _name in ("unix_seconds", "unix_millis", "unix_micros"):
    _since_1970(_name, TIMESTAMP, BIGINT)


TRUNCATION_UNITS = {
    name: unit
    for unit, names in {
        "YEAR": "YEAR YYYY YY",
        "QUARTER": "QUARTER",
        "MONTH": "MONTH MON MM",
        "WEEK": "WEEK",
        "DAY": "DAY DD",
        "HOUR": "HOUR",
        "MINUTE": "MINUTE",
        "SECOND": "SECOND",
        "MILLISECOND": "MILLISECOND",
        "MICROSECOND": "MICROSECOND",
    }.items()
    for name in names.split()
}
"""The units of date_trunc."""

DATE_TRUNCATIONS = ("YEAR", "QUARTER", "MONTH", "WEEK")
"""The units of trunc, which truncates dates."""


@register("trunc", 2, 2)
def _trunc(args: Arguments) -> Expression:
    date, unit = argument(args[0], DATE, "trunc", 1), argument(args[1], STRING, "trunc", 2)
    if isinstance(unit, Literal) and _unit_of(unit) not in DATE_TRUNCATIONS:
        return Literal(None, DATE)  # not even a failing argument is looked at
    return Call("trunc", (date, unit), DATE)


@register("date_trunc", 2, 2)
def _date_trunc(args: Arguments) -> Expression:
    unit = argument(args[0], STRING, "date_trunc", 1)
    moment = argument(args[1], TIMESTAMP, "date_trunc", 2)
    if isinstance(unit, Literal) and _unit_of(unit) is None:
        return Literal(None, TIMESTAMP)
    return Call("date_trunc", (unit, moment), TIMESTAMP)


def _unit_of(unit: Literal) -> str | None:
    return TRUNCATION_UNITS.get(str(unit.value).upper())


def _clock_field(name: str) -> None:
    @register(name, 1, 1)
    def build(args: Arguments) -> Expression:
        return _clock(name, args[0], INT, name)


for _name in ("hour", "minute", "second"):
    _clock_field(_name)

_FIELDS = {
    "year": "YEAR Y YEARS YR YRS",
    "quarter": "QUARTER QTR",
    "month": "MONTH MON MONS MONTHS",
    "weekofyear": "WEEK W WEEKS",
    "day": "DAY D DAYS",
    "dayofweek": "DAYOFWEEK DOW",
    "dayofweek_iso": "DAYOFWEEK_ISO DOW_ISO",
    "dayofyear": "DOY",
    "yearofweek": "YEAROFWEEK",
    "hour": "HOUR H HOURS HR HRS",
    "minute": "MINUTE M MIN MINS MINUTES",
    "second_fraction": "SECOND S SEC SECONDS SECS",
}
_FUNCTION_OF_FIELD = {alias: name for name, names in _FIELDS.items() for alias in names.split()}
_INTERVAL_FIELDS = {"day": INT, "hour": TINYINT, "minute": TINYINT}


def extract(field: str, value: Expression) -> Expression:
    """`EXTRACT(field FROM value)`."""
    name = _FUNCTION_OF_FIELD.get(field.upper())
    if name is None:
        raise ExpressionError(f"{field} cannot be extracted from a date or time")
    if value.type == INTERVAL:
        return _extract_from_interval(name, field, value)
    if value.type == INTERVAL_MONTHS:
        return month_field(name, field, value)
    if value.type == CALENDAR:
        return calendar_field(name, field, value)
    if name in ("hour", "minute"):
        return _clock(name, value, INT)
    if name == "second_fraction":
        return _clock(name, value, decimal(8, 6))
    return Call(name, (argument(value, DATE, "extract", 1),), INT)


def _clock(name: str, value: Expression, kind: object, whose: str = "extract") -> Expression:
    if value.type == TIME:
        value = as_moment(value)
    elif not is_timestamp(value.type):
        value = argument(value, TIMESTAMP, whose, 1)
    return Call(name, (value,), kind)


def _extract_from_interval(name: str, field: str, value: Expression) -> Expression:
    if name == "second_fraction":
        return Call("interval_second", (value,), decimal(8, 6))
    if name not in _INTERVAL_FIELDS:
        raise ExpressionError(f"{field} cannot be extracted from an INTERVAL DAY TO SECOND")
    return Call(f"interval_{name}", (value,), _INTERVAL_FIELDS[name])


@register("date_part datepart", 2, 2)
def _date_part(args: Arguments) -> Expression:
    field = args[0]
    if not isinstance(field, Literal) or field.kind != STRING:
        raise ExpressionError(f"the field of date_part must be a constant, not {field.sql()}")
    return Literal(None, DOUBLE) if field.value is None else extract(field.value, args[1])


def _days(name: str) -> None:
    @register(name, 2, 2)
    def build(args: Arguments) -> Expression:
        date, days = argument(args[0], DATE, name, 1), args[1]
        if days.type not in (TINYINT, SMALLINT, INT, STRING, VOID):
            raise wrong_argument(name, 2, "INT", days)
        return Call(name, (date, cast_to(days, INT)), DATE)


_days("date_add")


@register("dateadd", 2, 2)
def _dateadd(args: Arguments) -> Expression:
    return FUNCTIONS["date_add"](args)


_days("date_sub")


@register("datediff date_diff", 2, 2)
def _datediff(args: Arguments) -> Expression:
    end, start = (argument(arg, DATE, "datediff", i) for i, arg in enumerate(args, start=1))
    return Call("datediff", (end, start), INT)


UNITS = {
    name: unit
    for unit, names in {
        "MICROSECOND": "MICROSECOND",
        "MILLISECOND": "MILLISECOND",
        "SECOND": "SECOND",
        "MINUTE": "MINUTE",
        "HOUR": "HOUR",
        "DAY": "DAY DAYOFYEAR",
        "WEEK": "WEEK",
        "MONTH": "MONTH",
        "QUARTER": "QUARTER",
        "YEAR": "YEAR",
    }.items()
    for name in names.split()
}
"""The units of timestampadd and timestampdiff."""


def timestamp_add(unit: str, amount: Expression, moment: Expression) -> Expression:
    """`timestampadd(unit, amount, moment)`."""
    moment = moment if is_timestamp(moment.type) else argument(moment, TIMESTAMP, "timestampadd", 3)
    amount = argument(amount, BIGINT, "timestampadd", 2)
    return Call("timestampadd", (Literal(unit, STRING), amount, moment), moment.type)


def timestamp_diff(unit: str, start: Expression, end: Expression) -> Expression:
    """`timestampdiff(unit, start, end)`."""
    typed = (
        argument(start, TIMESTAMP, "timestampdiff", 2),
        argument(end, TIMESTAMP, "timestampdiff", 3),
    )
    return Call("timestampdiff", (Literal(unit, STRING), *typed), BIGINT)


@register("months_between", 2, 3)
def _months_between(args: Arguments) -> Expression:
    later, earlier = (
        argument(a, TIMESTAMP, "months_between", i) for i, a in enumerate(args[:2], 1)
    )
    return Call("months_between", (later, earlier, *args[2:]), DOUBLE)


def _reads(name: str, aliases: str, kind: DataType) -> None:
    @register(f"{name} {aliases}", 1, 2)
    def build(args: Arguments) -> Expression:
        if len(args) == 1 or is_datetime(args[0].type):
            cast = cast_to(args[0], kind)
            if name.startswith("try_") and isinstance(cast, Cast):
                return Cast(cast.value, kind, lenient=True)
            return cast
        text, pattern = (argument(arg, STRING, name, i) for i, arg in enumerate(args, start=1))
        return Call(name, (text, pattern), kind)


_reads("to_date", "", DATE)
_reads("try_to_date", "", DATE)
_reads("to_timestamp", "to_timestamp_ltz", TIMESTAMP)
_reads("try_to_timestamp", "", TIMESTAMP)


@register("unix_timestamp to_unix_timestamp", 1, 2)
def _unix_timestamp(args: Arguments) -> Expression:
    value = args[0]
    if is_datetime(value.type):
        return Call("unix_timestamp", (cast_to(value, TIMESTAMP),), BIGINT)
    pattern = args[1] if len(args) > 1 else Literal(DEFAULT_FORMAT, STRING)
    text = argument(value, STRING, "unix_timestamp", 1)
    pattern = argument(pattern, STRING, "unix_timestamp", 2)
    return Call("unix_seconds", (Call("to_timestamp", (text, pattern), TIMESTAMP),), BIGINT)


@register("from_unixtime", 1, 2)
def _from_unixtime(args: Arguments) -> Expression:
    seconds = argument(args[0], BIGINT, "from_unixtime", 1)
    pattern = args[1] if len(args) > 1 else Literal(DEFAULT_FORMAT, STRING)
    return Call("from_unixtime", (seconds, argument(pattern, STRING, "from_unixtime", 2)), STRING)


@register("timestamp_seconds", 1, 1)
def _timestamp_seconds(args: Arguments) -> Expression:
    value = args[0]
    if not is_numeric(value.type) and value.type != VOID:
        raise wrong_argument("timestamp_seconds", 1, "number", value)
    if is_float(value.type) or is_decimal(value.type):
        return Call("timestamp_seconds", (value,), TIMESTAMP)
    return Call("timestamp_seconds", (cast_to(value, BIGINT),), TIMESTAMP)


def _of_whole(name: str) -> None:
    @register(name, 1, 1)
    def build(args: Arguments) -> Expression:
        if not is_integer(args[0].type) and args[0].type != VOID:
            raise wrong_argument(name, 1, "integer", args[0])
        return Call(name, (cast_to(args[0], BIGINT),), TIMESTAMP)


_of_whole("timestamp_millis")
_of_whole("timestamp_micros")
_DATE_TIME_ZONE = 3
_PARTS = [INT, INT, INT, INT, INT, decimal(16, 6)]
_MICROS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}


def _make_timestamp(name: str, function: str, kind: DataType, least: int = 2) -> None:
    """A moment of numbers, or of a DATE and a TIME, and with a zone of these as they are there."""

    @register(name, least, len(_PARTS) + (kind == TIMESTAMP))
    def build(args: Arguments) -> Expression:
        if len(args) <= _DATE_TIME_ZONE - (kind == TIMESTAMP_NTZ):
            return moment_of(args, name, kind)
        if len(args) < len(_PARTS):
            raise ExpressionError(
                f"{name} takes a DATE and a TIME, or {len(_PARTS)} numbers and more, "
                f"not {len(args)} arguments"
            )
        typed = tuple(
            argument(arg, wanted, function, place)
            for place, (arg, wanted) in enumerate(zip(args, _PARTS, strict=False), start=1)
        )
        moment: Expression = Call(function, typed, TIMESTAMP)
        if len(args) > len(_PARTS):
            zone = argument(args[-1], STRING, function, len(args))
            return Call("to_utc_timestamp", (moment, zone), TIMESTAMP)
        return moment if kind == TIMESTAMP else Cast(moment, kind)


_make_timestamp("make_timestamp", "make_timestamp", TIMESTAMP, 1)
_make_timestamp("make_timestamp_ltz", "make_timestamp", TIMESTAMP)
_make_timestamp("try_make_timestamp", "try_make_timestamp", TIMESTAMP, 1)
_make_timestamp("try_make_timestamp_ltz", "try_make_timestamp", TIMESTAMP)
_make_timestamp("make_timestamp_ntz", "make_timestamp", TIMESTAMP_NTZ)
_make_timestamp("try_make_timestamp_ntz", "try_make_timestamp", TIMESTAMP_NTZ)


@register("to_timestamp_ntz", 1, 2)
def _to_timestamp_ntz(args: Arguments) -> Expression:
    if len(args) == 1:
        return cast_to(args[0], TIMESTAMP_NTZ)
    return Cast(FUNCTIONS["to_timestamp"](args), TIMESTAMP_NTZ)


@register("convert_timezone", 2, 3)
def _convert_timezone(args: Arguments) -> Expression:
    *zones, moment = args
    typed = [
        argument(zone, STRING, "convert_timezone", place) for place, zone in enumerate(zones, 1)
    ]
    moved = cast_to(argument(moment, TIMESTAMP_NTZ, "convert_timezone", len(args)), TIMESTAMP)
    if len(typed) > 1:
        moved = Call("to_utc_timestamp", (moved, typed[0]), TIMESTAMP)
    return Cast(Call("from_utc_timestamp", (moved, typed[-1]), TIMESTAMP), TIMESTAMP_NTZ)


@register("make_dt_interval", 0, 4)
def _make_dt_interval(args: Arguments) -> Expression:
    total: Expression = Literal(0, INTERVAL)
    for place, (arg, micros) in enumerate(zip(args, _MICROS.values(), strict=False), start=1):
        number = argument(
            arg, INT if place < len(_MICROS) else decimal(18, 6), "make_dt_interval", place
        )
        part = Call("multiply_interval", (Literal(micros, INTERVAL), number), INTERVAL)
        total = Call("add", (total, part), INTERVAL)
    return total


@register("time_bucket", 2, 3)
def _time_bucket(args: Arguments) -> Expression:
    size = constant(args[0], "the size of time_bucket")
    if args[0].type not in (INTERVAL, INTERVAL_MONTHS) or size is None or size <= 0:
        raise ExpressionError("time_bucket takes an INTERVAL that is longer than 0")
    moment = argument(
        args[1], args[1].type if is_timestamp(args[1].type) else TIMESTAMP, "time_bucket", 2
    )
    origin = (
        argument(args[2], moment.type, "time_bucket", 3) if args[2:] else Literal(0, moment.type)
    )
    return Call("time_bucket", (args[0], moment, origin), moment.type)


def _casting(names: str, kind: object) -> None:
    @register(names, 1, 1)
    def build(args: Arguments) -> Expression:
        return cast_to(args[0], kind)


for _name, _kind in (
    ("boolean", BOOLEAN),
    ("tinyint", TINYINT),
    ("smallint", SMALLINT),
    ("int", INT),
    ("bigint", BIGINT),
    ("float", FLOAT),
    ("double", DOUBLE),
    ("decimal", decimal(10, 0)),
    ("string", STRING),
    ("binary", BINARY),
):
    _casting(_name, _kind)
_casting("date", DATE)
_casting("timestamp", TIMESTAMP)


@register("window_time", 1, 1)
def _window_time(args: Arguments) -> Expression:
    """The last moment in a window: a tick before its end."""
    kind = args[0].type
    if not is_struct(kind) or [part.name for part in kind] != ["start", "end"]:
        raise wrong_argument("window_time", 1, "window, as window(…) gives it", args[0])
    end = field(args[0], "end")
    if is_timestamp(end.type):
        return Call("subtract_interval", (end, _TICK), end.type)
    return Call("subtract", (end, Literal(1, end.type)), end.type)
