"""Operators: arithmetic, comparison and logic, and their types."""

from __future__ import annotations

from driftline.plan.coercion import (
    common_type,
    decimal_for,
    decimal_result,
    promoted_string,
    wider_decimal,
)
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Case, Expression, Literal
from driftline.plan.functions.base import (
    Arguments,
    argument,
    cast_to,
    decimal_of_literal,
    numeric_argument,
    register,
    same_type,
    wrong_argument,
)
from driftline.plan.functions.calendar import negated
from driftline.plan.functions.intervals import datetime_arithmetic
from driftline.plan.functions.months import months, of_months
from driftline.plan.types import (
    BIGINT,
    BOOLEAN,
    CALENDAR,
    DOUBLE,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    VOID,
    DataType,
    is_array,
    is_decimal,
    is_float,
    is_integer,
    is_numeric,
    is_orderable,
    is_struct,
    type_name,
)
from driftline.plan.written_calls import OPERATORS


def arithmetic(operator: str, left: Expression, right: Expression) -> Expression:
    """`left operator right`; the operator is a canonical name: add, subtract, multiply, divide,
    remainder, integral_divide, pmod or one of their try_ forms.
    """
    plain = operator.removeprefix("try_")
    special = datetime_arithmetic(plain, left, right, lenient=operator != plain)
    if special is not None:
        return special
    left, right = _numbers(plain, left, right)
    if plain == "integral_divide":
        return _integral_divide(left, right)
    if plain == "divide" and not (is_decimal(left.type) or is_decimal(right.type)):
        return Call(operator, (cast_to(left, DOUBLE), cast_to(right, DOUBLE)), DOUBLE)
    if is_float(left.type) or is_float(right.type):
        return Call(operator, same_type((left, right), f"{operator}"), _common(left, right))
    if is_decimal(left.type) or is_decimal(right.type):
        left, right = _as_decimal(left), _as_decimal(right)
        sign = "%" if plain in ("remainder", "pmod") else OPERATORS[plain]
        return Call(operator, (left, right), decimal_result(sign, left.type, right.type))
    left, right = same_type((left, right), operator)
    return Call(operator, (left, right), left.type)


def _common(left: Expression, right: Expression) -> DataType:
    return common_type(left.type, right.type)


def _numbers(operator: str, left: Expression, right: Expression) -> Arguments:
    """Both operands as numbers: a STRING follows the other operand, NULL too."""
    if left.type == VOID and right.type == VOID:
        return cast_to(left, DOUBLE), cast_to(right, DOUBLE)
    if STRING in (left.type, right.type) and left.type != right.type:
        other = right.type if left.type == STRING else left.type
        kind = promoted_string(other) if other != VOID else DOUBLE
        if kind is not None and is_numeric(kind):
            left, right = (
                cast_to(side, kind) if side.type in (STRING, VOID) else side
                for side in (left, right)
            )
    if left.type == VOID:
        left = cast_to(left, right.type)
    if right.type == VOID:
        right = cast_to(right, left.type)
    if not (is_numeric(left.type) and is_numeric(right.type)):
        raise _cannot(OPERATORS.get(operator, operator), left, right)
    return left, right


def _cannot(operator: str, left: Expression, right: Expression) -> ExpressionError:
    return ExpressionError(
        f"{operator} cannot take {type_name(left.type)} and {type_name(right.type)}: "
        f"{left.brief()} {operator} {right.brief()}"
    )


def _as_decimal(value: Expression) -> Expression:
    return cast_to(value, _decimal_type(value))


def _decimal_type(value: Expression) -> DataType:
    return decimal_of_literal(value) or decimal_for(value.type)


def _integral_divide(left: Expression, right: Expression) -> Expression:
    if is_integer(left.type) and is_integer(right.type):
        return Call("integral_divide", (cast_to(left, BIGINT), cast_to(right, BIGINT)), BIGINT)
    if is_float(left.type) or is_float(right.type):
        raise _cannot("DIV", left, right)
    return Call("integral_divide", (_as_decimal(left), _as_decimal(right)), BIGINT)


def negate(value: Expression) -> Expression:
    """`- value`."""
    if value.type == INTERVAL:
        return Call("negate", (value,), INTERVAL)
    if value.type == CALENDAR:
        return negated(value)
    if value.type == INTERVAL_MONTHS:
        return of_months(Call("negate", (months(value),), INT))
    value = numeric_argument(value, "-")
    return Call("negate", (value,), value.type)


def compare(operator: str, left: Expression, right: Expression) -> Expression:
    """`left operator right`; the operator is equal, not_equal, less, less_equal, greater,
    greater_equal or null_safe_equal.
    """
    left, right = comparable(OPERATORS[operator], left, right)
    if left.type == INTERVAL_MONTHS:
        left, right = months(left), months(right)
    if not is_orderable(left.type):
        raise ExpressionError(f"values of type {type_name(left.type)} cannot be compared")
    return Call(operator, (left, right), BOOLEAN)


def comparable(what: str, left: Expression, right: Expression) -> Arguments:
    """Both operands with the type in which they are compared."""
    if left.type == right.type or _same_but_for_names(left.type, right.type):
        return left, right
    if STRING in (left.type, right.type):
        kind = promoted_string(right.type if left.type == STRING else left.type)
        kind = STRING if VOID in (left.type, right.type) else kind
    elif is_decimal(left.type) != is_decimal(right.type) and _exact(left) and _exact(right):
        kind = wider_decimal(_decimal_type(left), _decimal_type(right))
    else:
        kind = common_type(left.type, right.type, promote_strings=False)
    if kind is None:
        raise ExpressionError(
            f"{type_name(left.type)} and {type_name(right.type)} cannot be compared: "
            f"{left.brief()} {what} {right.brief()}"
        )
    return cast_to(left, kind), cast_to(right, kind)


def _same_but_for_names(left: DataType, right: DataType) -> bool:
    """Structs compare by position: other names of the same types do not matter."""
    if left == right:
        return True
    if is_array(left) and is_array(right):
        return _same_but_for_names(left.value_type, right.value_type)
    if not (is_struct(left) and is_struct(right)) or left.num_fields != right.num_fields:
        return False
    pairs = zip(left, right, strict=True)
    return all(_same_but_for_names(one.type, other.type) for one, other in pairs)


def _exact(value: Expression) -> bool:
    return is_decimal(value.type) or is_integer(value.type)


def condition(value: Expression, what: str) -> Expression:
    """The value as a condition: a BOOLEAN, or NULL."""
    if value.type not in (BOOLEAN, VOID):
        raise ExpressionError(
            f"{what} must be a condition: {value.brief()} has the type {type_name(value.type)}"
        )
    return cast_to(value, BOOLEAN)


def logical(operator: str, *operands: Expression) -> Expression:
    """`and`, `or` or `not`."""
    typed = tuple(
        argument(operand, BOOLEAN, operator.upper(), place)
        for place, operand in enumerate(operands, start=1)
    )
    return Call(operator, typed, BOOLEAN)


def is_in(value: Expression, items: Arguments) -> Expression:
    """`value IN (items)`."""
    typed = same_type((value, *items), "IN")
    if typed[0].type == INTERVAL_MONTHS:
        typed = tuple(map(months, typed))
    return Call("in", typed, BOOLEAN)


def case(branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression) -> Expression:
    """CASE, with conditions checked and all values of one type."""
    values = same_type((*(value for _, value in branches), otherwise), "CASE")
    conditions = (condition(when, "WHEN") for when, _ in branches)
    return Case(tuple(zip(conditions, values[:-1], strict=True)), values[-1], values[0].type)


NULL = Literal(None, VOID)


def _two(operator: str) -> None:
    @register(operator, 2, 2)
    def build(args: Arguments) -> Expression:
        return arithmetic(operator, *args)


for _name in ("try_add", "try_subtract", "try_multiply", "try_divide"):
    _two(_name)


@register("mod", 2, 2)
def _mod(args: Arguments) -> Expression:
    return arithmetic("remainder", *args)


@register("try_mod", 2, 2)
def _try_mod(args: Arguments) -> Expression:
    return arithmetic("try_remainder", *args)


@register("pmod", 2, 2)
def _pmod(args: Arguments) -> Expression:
    return arithmetic("pmod", *args)


@register("negative", 1, 1)
def _negative(args: Arguments) -> Expression:
    return negate(args[0])


@register("positive", 1, 1)
def _positive(args: Arguments) -> Expression:
    value = args[0]
    return value if value.type == INTERVAL else numeric_argument(value, "+")


def bitwise(operator: str, left: Expression, right: Expression) -> Expression:
    """`left & right` and its like."""
    left, right = _numbers(operator, left, right)
    if not (is_integer(left.type) and is_integer(right.type)):
        raise _cannot(OPERATORS[operator], left, right)
    left, right = same_type((left, right), operator)
    return Call(operator, (left, right), left.type)


@register("bitwise_not", 1, 1)
def bitwise_not(args: Arguments) -> Expression:
    """`~ value`."""
    value = args[0] if args[0].type != VOID else cast_to(args[0], INT)
    if not is_integer(value.type):
        raise wrong_argument("~", 1, "integer", value)
    return Call("bitwise_not", (value,), value.type)


def _shift(operator: str) -> None:
    @register(operator, 2, 2)
    def build(args: Arguments) -> Expression:
        value = args[0]
        if value.type != BIGINT:
            value = argument(value, INT, operator, 1)
        return Call(operator, (value, argument(args[1], INT, operator, 2)), value.type)


for _name in ("shiftleft", "shiftright", "shiftrightunsigned"):
    _shift(_name)


@register("isnull", 1, 1)
def is_null(args: Arguments) -> Expression:
    """`value IS NULL`."""
    return Call("is_null", args, BOOLEAN)


@register("isnotnull", 1, 1)
def is_not_null(args: Arguments) -> Expression:
    """`value IS NOT NULL`."""
    return Call("not", (is_null(args),), BOOLEAN)


@register("equal_null", 2, 2)
def _equal_null(args: Arguments) -> Expression:
    return compare("null_safe_equal", *args)
