"""Functions of VARIANT, a value of any shape, and casts from and to it."""

from __future__ import annotations

import pyarrow as pa

from driftline.plan.dialect import parse_data_type
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Expression, Literal
from driftline.plan.functions.base import (
    Arguments,
    argument,
    cast_to,
    constant,
    define,
    register,
    wrong_argument,
)
from driftline.plan.types import (
    BOOLEAN,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    STRING,
    TIME,
    VARIANT,
    VOID,
    DataType,
    is_array,
    is_map,
    is_struct,
    type_name,
    type_of,
)

ENTRIES = pa.list_(pa.struct([("pos", INT), ("key", STRING), ("value", VARIANT)]))
_WHOLE = Literal("$", STRING)
_NOT_HELD = (INTERVAL, INTERVAL_MONTHS, TIME)

define("parse_json", [STRING], VARIANT)
define("try_parse_json", [STRING], VARIANT)


def variant(value: Expression, name: str, place: int = 1) -> Expression:
    """The value if it is a VARIANT, or null."""
    if value.type not in (VARIANT, VOID):
        raise wrong_argument(name, place, "VARIANT", value)
    return cast_to(value, VARIANT)


def cast_variant(value: Expression, kind: DataType, lenient: bool) -> Expression:
    """A cast from or to VARIANT."""
    if kind == VARIANT:
        return _as_variant(value, "CAST")
    _check_read(kind)
    return Call("try_variant_get" if lenient else "variant_get", (value, _WHOLE), kind)


def _as_variant(value: Expression, name: str) -> Expression:
    kind = value.type
    inner = kind
    while is_array(inner):
        inner = inner.value_type
    if kind in (VARIANT, VOID):
        return cast_to(value, VARIANT)
    if (is_struct(inner) and inner != VARIANT) or is_map(inner) or inner in _NOT_HELD:
        hint = "; to_variant_object makes one of it" if is_struct(inner) or is_map(inner) else ""
        raise ExpressionError(f"{name}: a {type_name(kind)} cannot be cast to VARIANT{hint}")
    return Call("to_variant", (value,), VARIANT)


def _check_read(kind: DataType) -> None:
    if kind in _NOT_HELD or kind == VOID or (is_map(kind) and kind.key_type != STRING):
        raise ExpressionError(f"a VARIANT cannot be cast to {type_name(kind)}")
    if kind != VARIANT:
        for place in range(kind.num_fields):
            _check_read(kind.field(place).type)


def _get(name: str) -> None:
    @register(name, 2, 3)
    def build(args: Arguments) -> Expression:
        kind = VARIANT
        if args[2:]:
            written = constant(args[2], f"the type of {name}")
            if not isinstance(written, str):
                raise ExpressionError(f"the type of {name} is a text, such as 'INT'")
            kind = type_of(parse_data_type(written))
            _check_read(kind)
        return Call(name, (variant(args[0], name), argument(args[1], STRING, name, 2)), kind)


_get("variant_get")
_get("try_variant_get")


@register("to_variant_object", 1, 1)
def _to_variant_object(args: Arguments) -> Expression:
    kind = args[0].type
    if not (is_struct(kind) or is_array(kind) or is_map(kind)) or kind == VARIANT:
        raise wrong_argument("to_variant_object", 1, "STRUCT, ARRAY or MAP", args[0])
    _check_held(kind)
    return Call("to_variant_object", args, VARIANT)


def _check_held(kind: DataType) -> None:
    if kind in _NOT_HELD or (is_map(kind) and kind.key_type != STRING):
        raise ExpressionError(f"a {type_name(kind)} cannot be in a VARIANT")
    for place in range(kind.num_fields if kind != VARIANT else 0):
        _check_held(kind.field(place).type)


def _of_one(name: str, kind: DataType) -> None:
    @register(name, 1, 1)
    def build(args: Arguments) -> Expression:
        return Call(name, (variant(args[0], name),), kind)


_of_one("is_variant_null", BOOLEAN)
_of_one("is_valid_variant", BOOLEAN)
_of_one("schema_of_variant", STRING)
_of_one("$variant_entries", ENTRIES)


def _change(name: str) -> None:
    """A VARIANT, a path, and a new value; variant_set also takes whether it may be created."""
    can_create = name.endswith("variant_set")

    @register(name, 3, 4 if can_create else 3)
    def build(args: Arguments) -> Expression:
        given = [variant(args[0], name), argument(args[1], STRING, name, 2)]
        given.append(_as_variant(args[2], name))
        if can_create:
            creates = argument(args[3], BOOLEAN, name, 4) if args[3:] else Literal(True, BOOLEAN)
            given.append(creates)
        return Call(name, tuple(given), VARIANT)


for _name in ("variant_insert", "variant_set", "variant_array_append"):
    _change(_name)
    _change(f"try_{_name}")


@register("variant_delete", 2, None)
def _delete(args: Arguments) -> Expression:
    name = "variant_delete"
    paths = (argument(each, STRING, name, place) for place, each in enumerate(args[1:], start=2))
    return Call(name, (variant(args[0], name), *paths), VARIANT)


@register("variant_strip_nulls", 1, 2)
def _strip_nulls(args: Arguments) -> Expression:
    name = "variant_strip_nulls"
    from_arrays = argument(args[1], BOOLEAN, name, 2) if args[1:] else Literal(True, BOOLEAN)
    return Call(name, (variant(args[0], name), from_arrays), VARIANT)
