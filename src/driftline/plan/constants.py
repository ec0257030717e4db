"""Constants in the syntax tree: texts, numbers with and without suffix, intervals, DATE '…'."""

from __future__ import annotations

import re

from sqlglot import exp

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Expression, Literal
from driftline.plan.literals import (
    decimal_literal,
    finite,
    fits,
    integer_literal,
    interval_literal,
    number_literal,
)
from driftline.plan.temporal import parse_date, parse_time, parse_timestamp
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    INT,
    INTERVAL,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    is_decimal,
    is_float,
    type_name,
    type_of,
)
from driftline.plan.used import uses


def literal(node: exp.Literal) -> Expression:
    """A text or a number."""
    if node.is_string:
        return Literal(node.this, STRING)
    return Literal(*number_literal(node.this))


def raw_text(node: exp.RawString) -> Expression:
    """`r'…'`."""
    return Literal(node.this, STRING)


def hex_string(node: exp.HexString) -> Expression:
    """`X'…'`."""
    digits = node.this
    if not re.fullmatch("[0-9a-fA-F]*", digits):
        raise ExpressionError(f"bytes are written in hexadecimal digits, not X'{digits}'")
    return Literal(bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits), BINARY)


def boolean(node: exp.Boolean) -> Expression:
    """TRUE or FALSE."""
    return Literal(bool(node.this), BOOLEAN)


def null(node: exp.Null) -> Expression:
    """NULL."""
    return Literal(None, VOID)


def interval(node: exp.Interval) -> Expression:
    """`INTERVAL '5' MINUTES` and `INTERVAL '1 2:03' DAY TO MINUTE`."""
    unit, amount, sign = node.args.get("unit"), node.this, ""
    if isinstance(amount, exp.Neg):
        uses(amount, "this")
        amount, sign = amount.this, "-"
    if unit is None and isinstance(amount, exp.Literal) and amount.is_string and not sign:
        uses(amount, "this", "is_string")
        return _several_units(amount.name)
    if unit is None:
        raise ExpressionError("an INTERVAL needs a unit, such as INTERVAL '5' MINUTES")
    if not isinstance(amount, exp.Literal):
        raise ExpressionError("the number of an INTERVAL must be a constant")
    uses(amount, "this", "is_string")
    if isinstance(unit, exp.IntervalSpan):
        uses(unit, "this", "expression")
        uses(unit.this, "this")
        uses(unit.expression, "this")
        return Literal(
            *interval_literal(_signed(sign, amount.name), unit.this.name, unit.expression.name)
        )
    uses(unit, "this")
    return Literal(*interval_literal(_signed(sign, amount.name), unit.name, None))


def _several_units(text: str) -> Expression:
    """`INTERVAL '1 hour 30 minutes'`."""
    words = text.split()
    if not words or len(words) % 2:
        raise ExpressionError("an INTERVAL needs a unit, such as INTERVAL '5' MINUTES")
    parts = [
        interval_literal(number, unit, None)
        for number, unit in zip(words[::2], words[1::2], strict=True)
    ]
    kinds, units = {part[1] for part in parts}, {part[2] for part in parts}
    if len(kinds) > 1:
        raise ExpressionError("months and days differ in length: add two INTERVALs one by one")
    total = sum(part[0] for part in parts)
    if not fits(total, BIGINT if kinds == {INTERVAL} else INT):
        raise ExpressionError(f"an interval of {text} is too long")
    return Literal(total, kinds.pop(), units.pop() if len(units) == 1 else None)


def _signed(sign: str, text: str) -> str:
    """A number with a sign before it: that of `- '-1'` is plus."""
    if not sign:
        return text
    return text.strip()[1:] if text.strip().startswith("-") else f"-{text.strip().lstrip('+')}"


def has_suffix(node: exp.Cast) -> bool:
    """Is it a number with a suffix, such as 10L, which the parser gives as a cast?"""
    literal, meta = node.this, node.this.meta
    if not isinstance(literal, exp.Literal):
        return False
    if literal.is_string:  # 1.5BD is given as a cast of a text that has no place
        return "line" not in meta and is_decimal(type_of(node.to))
    return "line" in meta and meta["end"] - meta["start"] + 1 != len(literal.this)


def suffixed_literal(text: str, kind: DataType) -> Expression:
    if is_decimal(kind):
        return Literal(*decimal_literal(text))
    if is_float(kind):
        return Literal(finite(text, kind), kind)
    return Literal(integer_literal(text, kind), kind)


def typed_literal(text: str, kind: DataType) -> Expression:
    value = None
    if kind == DATE:
        value = parse_date(text)
    elif kind == TIME:
        value = parse_time(text)
    elif kind in (TIMESTAMP, TIMESTAMP_NTZ):
        value = parse_timestamp(text, zoned=kind == TIMESTAMP)
    if value is None:
        raise ExpressionError(f"{text!r} is not a {type_name(kind)}")
    return Literal(value, kind)
