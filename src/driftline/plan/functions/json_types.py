"""from_json and schema_of_json: the types that texts of JSON are read as."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa

from driftline.plan.dialect import parse_data_type
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.functions.base import Arguments, argument, constant, register
from driftline.plan.functions.csv_types import READING, options
from driftline.plan.literals import fits
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    VOID,
    DataType,
    decimal,
    is_array,
    is_map,
    is_struct,
    quoted,
    type_name,
    type_of,
)

_UNREAD = (BINARY, INTERVAL, INTERVAL_MONTHS, VOID)


@register("from_json", 2, 3)
def _from_json(args: Arguments) -> Expression:
    text = argument(args[0], STRING, "from_json", 1)
    written = constant(args[1], "the type of from_json")
    if not isinstance(written, str):
        raise ExpressionError("the type of from_json is a text, such as 'a INT, b STRING'")
    kind = written_type(written)
    if not (is_struct(kind) or is_array(kind) or is_map(kind)):
        raise ExpressionError(f"from_json gives a STRUCT, ARRAY or MAP, and no {type_name(kind)}")
    _check(kind)
    for each in args[2:]:
        options(each, "from_json", (*READING, _LEADING_ZEROS))
    return Call("from_json", (text, Literal(written, STRING), *args[2:]), kind)


def written_type(text: str) -> DataType:
    """'ARRAY<INT>', 'STRUCT<a: INT>', or the fields of a struct alone: 'a INT, b STRING'."""
    for written in (text, f"STRUCT<{text}>"):
        try:
            kind = type_of(parse_data_type(written))
        except ExpressionError:
            if written == text:
                continue
            raise
        if is_array(kind) or is_map(kind) or is_struct(kind):  # not the TIME of 'time TIMESTAMP'
            return kind
    return kind


def _check(kind: DataType) -> None:
    if kind in _UNREAD or (is_map(kind) and kind.key_type != STRING):
        raise ExpressionError(f"from_json does not read a {type_name(kind)}")
    for place in range(kind.num_fields):
        _check(kind.field(place).type)


@register("schema_of_json", 1, 2)
def _schema_of_json(args: Arguments) -> Expression:
    text = constant(argument(args[0], STRING, "schema_of_json", 1), "the text of schema_of_json")
    for each in args[1:]:
        given = options(each, "schema_of_json", (_LEADING_ZEROS,))
        if text is not None and given[_LEADING_ZEROS.lower()].lower() == "true":
            text = without_leading_zeros(text)
    try:
        kind = _inferred(json.loads(text, strict=False)) if text is not None else VOID
    except (ValueError, RecursionError):
        raise ExpressionError(f"schema_of_json: this is not JSON: {text}") from None
    if kind == VOID:
        return Literal("STRING", STRING)
    return Literal(_ddl(kind), STRING)


_LEADING = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<![\w.])(-?)0+(?=\d)""", re.DOTALL)
_LEADING_ZEROS = "allowNumericLeadingZeros"


def without_leading_zeros(text: str) -> str:
    """A text of JSON whose numbers may begin with zeros, without these.

    >>> without_leading_zeros('[{"01":-007.5}]')
    '[{"01":-7.5}]'
    """
    return _LEADING.sub(lambda found: found[0] if found[1] is None else found[1], text)


def _inferred(value: Any) -> DataType:
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return BIGINT if fits(value, BIGINT) else decimal(len(str(abs(value))), 0)
    if isinstance(value, float):
        return DOUBLE
    if isinstance(value, str):
        return STRING
    if isinstance(value, list):
        kind = VOID
        for item in value:
            kind = _merged(kind, _inferred(item))
        return pa.list_(kind)
    if isinstance(value, dict):
        return pa.struct([(name, _inferred(value[name])) for name in sorted(value)])
    return VOID


def _merged(one: DataType, other: DataType) -> DataType:
    """The type that holds values of both, as Spark finds it."""
    if VOID in (one, other) or one == other:
        return other if one == VOID else one
    if {one, other} == {BIGINT, DOUBLE}:
        return DOUBLE
    if is_array(one) and is_array(other):
        return pa.list_(_merged(one.value_type, other.value_type))
    if is_struct(one) and is_struct(other):
        fields = {field.name: field.type for field in one}
        for field in other:
            fields[field.name] = _merged(fields.get(field.name, VOID), field.type)
        return pa.struct(sorted(fields.items()))
    return STRING


def _ddl(kind: DataType) -> str:
    """The type as Spark writes it; what is always null is a STRING."""
    if is_array(kind):
        return f"ARRAY<{_ddl(kind.value_type)}>"
    if is_struct(kind):
        return f"STRUCT<{', '.join(f'{quoted(f.name)}: {_ddl(f.type)}' for f in kind)}>"
    return "STRING" if kind == VOID else type_name(kind)
