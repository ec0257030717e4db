"""Mathematical functions and their types."""

from __future__ import annotations

from driftline.plan.coercion import bounded, decimal_for
from driftline.plan.expressions import Call, Case, Cast, Expression, Literal
from driftline.plan.functions.base import (
    Arguments,
    argument,
    call,
    cast_to,
    constant,
    define,
    numeric_argument,
    register,
    wrong_argument,
)
from driftline.plan.functions.months import micros, months, of_months
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    TINYINT,
    VOID,
    DataType,
    is_decimal,
    is_integer,
    is_numeric,
)

_OF_DOUBLE = (
    "sqrt cbrt exp expm1 ln log10 log2 log1p sin cos tan asin acos atan sinh cosh tanh cot sec csc "
    "degrees radians rint asinh acosh atanh"
)
for _name in _OF_DOUBLE.split():
    define(_name, [DOUBLE], DOUBLE)
define("power pow", [DOUBLE, DOUBLE], DOUBLE)
define("atan2", [DOUBLE, DOUBLE], DOUBLE)
define("hypot", [DOUBLE, DOUBLE], DOUBLE)
define("pi", [], DOUBLE)
define("e", [], DOUBLE)
define("factorial", [INT], BIGINT)
define("bin", [BIGINT], STRING)
define("unhex", [STRING], BINARY)


@register("width_bucket", 4, 4)
def _width_bucket(args: Arguments) -> Expression:
    kinds = {arg.type for arg in args[:3]} - {VOID}
    if len(kinds) == 1 and kinds <= {INTERVAL, INTERVAL_MONTHS}:
        count = micros if INTERVAL in kinds else months
        given = (count(cast_to(arg, *kinds)) for arg in args[:3])
        args = (*given, args[3])
    *values, buckets = args
    typed = [argument(arg, DOUBLE, "width_bucket", place) for place, arg in enumerate(values, 1)]
    return Call("width_bucket", (*typed, argument(buckets, BIGINT, "width_bucket", 4)), BIGINT)


@register("bit_get getbit", 2, 2)
def _bit_get(args: Arguments) -> Expression:
    if not is_integer(args[0].type):
        raise wrong_argument("bit_get", 1, "integer", args[0])
    return Call("bit_get", (args[0], argument(args[1], INT, "bit_get", 2)), TINYINT)


@register("log", 1, 2)
def _log(args: Arguments) -> Expression:
    typed = tuple(argument(arg, DOUBLE, "log", place) for place, arg in enumerate(args, start=1))
    return Call("ln" if len(typed) == 1 else "log", typed, DOUBLE)


@register("hex", 1, 1)
def _hex(args: Arguments) -> Expression:
    value = args[0]
    kind = value.type if value.type in (STRING, BINARY) else BIGINT
    return Call("hex", (argument(value, kind, "hex", 1),), STRING)


@register("abs", 1, 1)
def _abs(args: Arguments) -> Expression:
    if args[0].type == INTERVAL_MONTHS:
        return of_months(Call("abs", (months(args[0]),), INT))
    value = args[0] if args[0].type == INTERVAL else numeric_argument(args[0], "abs")
    return Call("abs", (value,), value.type)


@register("sign signum", 1, 1)
def _sign(args: Arguments) -> Expression:
    value = months(args[0]) if args[0].type == INTERVAL_MONTHS else args[0]
    if value.type == INTERVAL:
        return Call("sign", (value,), DOUBLE)
    return Call("sign", (argument(value, DOUBLE, "sign", 1),), DOUBLE)


def rounded_decimal(kind: DataType, scale: int) -> DataType:
    """The type of a DECIMAL that was rounded to this many digits after the point."""
    whole_digits = kind.precision - kind.scale + 1
    if scale < 0:
        return bounded(max(whole_digits, 1 - scale), 0)
    kept = min(kind.scale, scale)
    return bounded(whole_digits + kept, kept)


def _rounding(name: str) -> None:
    @register(name, 1, 2)
    def build(args: Arguments) -> Expression:
        value = numeric_argument(args[0], name)
        digits = argument(args[1], INT, name, 2) if len(args) > 1 else Literal(0, INT)
        scale = constant(digits, f"the number of digits of {name}")
        if scale is None:
            return Literal(None, value.type)
        kind = rounded_decimal(value.type, scale) if is_decimal(value.type) else value.type
        return Call(name, (value, Literal(scale, INT)), kind)


_rounding("round")
_rounding("bround")


def _towards(name: str, aliases: str) -> None:
    @register(f"{name} {aliases}", 1, 2)
    def build(args: Arguments) -> Expression:
        value = args[0]
        if len(args) > 1:
            return _towards_digit(name, numeric_argument(value, name), args[1])
        if not is_numeric(value.type):
            value = argument(value, DOUBLE, name, 1)
        if is_integer(value.type):
            return value if value.type == BIGINT else Cast(value, BIGINT)
        if value.type == FLOAT:
            value = cast_to(value, DOUBLE)
        return call(name, (value,), _whole_type(value.type))


def _whole_type(kind: DataType) -> DataType:
    if not is_decimal(kind):
        return BIGINT
    return kind if kind.scale == 0 else bounded(kind.precision - kind.scale + 1, 0)


def _towards_digit(name: str, value: Expression, digits: Expression) -> Expression:
    scale = constant(argument(digits, INT, name, 2), f"the number of digits of {name}")
    value = cast_to(value, decimal_for(value.type))
    kind = rounded_decimal(value.type, scale)
    return Call(f"round_{name}", (value, Literal(scale, INT)), kind)


_towards("ceil", "ceiling")
_towards("floor", "")


@register("isnan", 1, 1)
def _isnan(args: Arguments) -> Expression:
    value = args[0] if args[0].type == FLOAT else argument(args[0], DOUBLE, "isnan", 1)
    return Call("isnan", (value,), BOOLEAN)


@register("nanvl", 2, 2)
def _nanvl(args: Arguments) -> Expression:
    kind = FLOAT if all(arg.type in (FLOAT, VOID) for arg in args) else DOUBLE
    typed = tuple(argument(arg, kind, "nanvl", place) for place, arg in enumerate(args, start=1))
    return Case(((Call("isnan", typed[:1], BOOLEAN), typed[1]),), typed[0], kind)


@register("bit_count", 1, 1)
def _bit_count(args: Arguments) -> Expression:
    if not is_integer(args[0].type) and args[0].type != BOOLEAN:
        raise wrong_argument("bit_count", 1, "integer", args[0])
    value = args[0]
    value = cast_to(value, INT) if value.type == BOOLEAN else value
    return Call("bit_count", (cast_to(value, BIGINT),), INT)


_BITS_OF_A_BITMAP = Literal(8 * 4096, BIGINT)


@register("bitmap_bit_position", 1, 1)
def _bitmap_bit_position(args: Arguments) -> Expression:
    value = argument(args[0], BIGINT, "bitmap_bit_position", 1)
    one, zero = Literal(1, BIGINT), Literal(0, BIGINT)
    before = Call("subtract", (value, one), BIGINT)
    above = Call("remainder", (before, _BITS_OF_A_BITMAP), BIGINT)
    below = Call("remainder", (Call("negate", (value,), BIGINT), _BITS_OF_A_BITMAP), BIGINT)
    return Case(((Call("greater", (value, zero), BOOLEAN), above),), below, BIGINT)


@register("bitmap_bucket_number", 1, 1)
def _bitmap_bucket_number(args: Arguments) -> Expression:
    value = argument(args[0], BIGINT, "bitmap_bucket_number", 1)
    one, zero = Literal(1, BIGINT), Literal(0, BIGINT)
    before = Call("subtract", (value, one), BIGINT)
    whole = Call("integral_divide", (before, _BITS_OF_A_BITMAP), BIGINT)
    above = Call("add", (whole, one), BIGINT)
    below = Call("integral_divide", (value, _BITS_OF_A_BITMAP), BIGINT)
    return Case(((Call("greater", (value, zero), BOOLEAN), above),), below, BIGINT)
