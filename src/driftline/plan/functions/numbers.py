"""to_number and to_char: numbers by a format, and times and bytes as texts."""

from __future__ import annotations

from driftline.plan.coercion import decimal_for
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.functions.base import (
    FUNCTIONS,
    Arguments,
    argument,
    cast_to,
    constant,
    numeric_argument,
    register,
)
from driftline.plan.number_formats import number_format
from driftline.plan.types import BINARY, DATE, STRING, VOID, decimal, is_timestamp

_BYTES = {
    "base64": lambda value: FUNCTIONS["base64"]((value,)),
    "hex": lambda value: FUNCTIONS["hex"]((value,)),
    "utf-8": lambda value: FUNCTIONS["decode"]((value, Literal("UTF-8", STRING))),
}


def _of_texts(name: str) -> None:
    @register(name, 2, 2)
    def build(args: Arguments) -> Expression:
        text, written = argument(args[0], STRING, name, 1), _written(args[1], name)
        found = number_format(written)
        kind = decimal(found.whole_digits + found.digits_after, found.digits_after)
        return Call(name, (text, Literal(written, STRING)), kind)


_of_texts("to_number")
_of_texts("try_to_number")


@register("to_char to_varchar", 2, 2)
def _to_char(args: Arguments) -> Expression:
    value, kind = args[0], args[0].type
    if kind == DATE or is_timestamp(kind):
        return FUNCTIONS["date_format"](args)
    written = _written(args[1], "to_char")
    if kind == BINARY:
        made = _BYTES.get(written.lower())
        if made is None:
            raise ExpressionError(
                f"to_char writes bytes as {', '.join(_BYTES)}, not as {written!r}"
            )
        return made(value)
    if kind == VOID:
        return Literal(None, STRING)
    value = numeric_argument(value, "to_char")
    number_format(written)
    exact = cast_to(value, decimal_for(value.type))
    return Call("number_to_char", (exact, Literal(written, STRING)), STRING)


def _written(value: Expression, name: str) -> str:
    found = constant(value, f"the format of {name}")
    if not isinstance(found, str):
        raise ExpressionError(f"the format of {name} is a text, such as '99,990.00'")
    return found
