"""The types of values of VARIANT: of one, and of all of a group."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

from driftline.engine.expressions.arrays import Array, Value
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.lists import items_of, list_starts
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.variants.access import nodes, scalar
from driftline.plan.coercion import decimal_for, tightest_common_type
from driftline.plan.expressions import Call
from driftline.plan.types import (
    BIGINT,
    DOUBLE,
    MAX_PRECISION,
    STRING,
    VARIANT,
    VOID,
    decimal,
    is_array,
    is_decimal,
    is_struct,
    quoted,
    type_name,
)


@kernel("schema_of_variant", total=True)
def _schema(call: Call, args: Sequence[Value]) -> Array:
    return pa.array(
        [None if node is None else _text(_kind(node.value())) for node in nodes(args[0])], STRING
    )


@kernel("schema_of_variant_agg", total=True)
def _schema_of_all(call: Call, args: Sequence[Value]) -> Array:
    kinds = [VOID if node is None else _kind(node.value()) for node in nodes(items_of(args[0]))]
    bounds = zip(list_starts(args[0]).tolist(), lengths_of(args[0]).tolist(), strict=True)
    return pa.array([_text(_common(kinds[start : start + size])) for start, size in bounds], STRING)


def _kind(value: Any) -> Any:
    """The type of a value; an object is a struct of its fields in the order of their names."""
    if value is None:
        return VOID
    if isinstance(value, dict):
        return pa.struct([(name, _kind(value[name])) for name in sorted(value)])
    if isinstance(value, list):
        return pa.list_(_common(map(_kind, value)))
    return scalar(value)[0]


def _common(kinds: Iterable[Any]) -> Any:
    return reduce(_merged, kinds, VOID)


def _merged(one: Any, other: Any) -> Any:
    """The type that holds values of both: VARIANT if there is no other."""
    if VOID in (one, other) or one == other:
        return other if one == VOID else one
    if VARIANT in (one, other):
        return VARIANT
    if is_array(one) and is_array(other):
        return pa.list_(_merged(one.value_type, other.value_type))
    if is_struct(one) and is_struct(other):
        fields = {field.name: field.type for field in one}
        for field in other:
            fields[field.name] = _merged(fields.get(field.name, VOID), field.type)
        return pa.struct(sorted(fields.items()))
    if is_decimal(one) or is_decimal(other):
        if DOUBLE in (one, other):
            return DOUBLE
        if all(is_decimal(each) or each == BIGINT for each in (one, other)):
            first, second = decimal_for(one), decimal_for(other)
            scale = max(first.scale, second.scale)
            whole = max(first.precision - first.scale, second.precision - second.scale)
            return decimal(whole + scale, scale) if whole + scale <= MAX_PRECISION else DOUBLE
    return tightest_common_type(one, other) or VARIANT


def _text(kind: Any) -> str:
    if kind == VARIANT:
        return "VARIANT"
    if is_struct(kind):
        return f"OBJECT<{', '.join(f'{quoted(f.name)}: {_text(f.type)}' for f in kind)}>"
    if is_array(kind):
        return f"ARRAY<{_text(kind.value_type)}>"
    return type_name(kind)
