"""Constants that are written as arithmetic: `LIMIT 2 * 5`, `percentile(x, 1 - 0.05)`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Any

from driftline.plan.expressions import Call, Cast, Expression, Literal
from driftline.plan.literals import fits
from driftline.plan.types import DataType, is_decimal, is_float, is_integer

_DIGITS = 76
"""As many as a product of two decimals may have."""

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}


def folded(value: Expression) -> Expression:
    """The constant that arithmetic on constants is; any other expression as it is.

    >>> from driftline.plan.resolver import parse_expression
    >>> from driftline.plan.types import Schema
    >>> folded(parse_expression("2 * 5 - 1", Schema(()))).sql()
    '9'
    """
    found = _number(value)
    return value if found is None else Literal(found, value.type)


def _number(value: Expression) -> Any:
    """The number that an expression is; None if it is none, or not one that is constant."""
    if isinstance(value, Literal):
        number = value.value
        return None if isinstance(number, bool) else _fitting(number, value.type)
    if isinstance(value, Cast):
        number = _number(value.value)
        return None if number is None else _fitting(number, value.type)
    if not isinstance(value, Call):
        return None
    numbers = [_number(arg) for arg in value.args]
    if None in numbers:
        return None
    try:
        return _fitting(_computed(value.function, numbers), value.type)
    except (ArithmeticError, InvalidOperation, TypeError):
        return None


def _computed(function: str, numbers: list[Any]) -> Any:
    if function == "negate":
        return -numbers[0]
    if len(numbers) != 2:  # noqa: PLR2004 - no operator, such as array(0.5, 0.9, 1.0)
        return None
    one, other = numbers
    if function in _OPERATIONS:
        exact = isinstance(one, Decimal)
        return _OPERATIONS[function](one, other) if not exact else _decimal(function, one, other)
    if function == "divide":
        return _decimal(function, one, other) if isinstance(one, Decimal) else one / other
    if function == "integral_divide":
        return int(Decimal(one) / Decimal(other))
    return None


def _decimal(function: str, one: Decimal, other: Decimal) -> Decimal:
    found: Decimal = getattr(Context(prec=_DIGITS), function)(one, other)
    return found


def _fitting(number: Any, kind: DataType) -> Any:
    """The number as one of a type; None if it is not."""
    if number is None:
        return None
    if is_float(kind):
        return float(number)
    if is_integer(kind):
        whole = int(number)
        return whole if fits(whole, kind) else None
    if is_decimal(kind):
        exact = Decimal(number).quantize(
            Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP, Context(prec=_DIGITS)
        )
        return exact if len(exact.as_tuple().digits) <= kind.precision else None
    return None
