"""Functions of arrays, structs and maps and their types."""

from __future__ import annotations

import pyarrow as pa

from driftline.plan.coercion import common_type, common_type_of_all
from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import (
    Call,
    Column,
    Expression,
    FieldAccess,
    Lambda,
    Literal,
    Variable,
)
from driftline.plan.functions.base import (
    Arguments,
    argument,
    cast_to,
    constant,
    register,
    same_type,
    wrong_argument,
)
from driftline.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    INT,
    INTERVAL,
    INTERVAL_MONTHS,
    SMALLINT,
    STRING,
    TINYINT,
    VARIANT,
    VOID,
    DataType,
    is_array,
    is_decimal,
    is_integer,
    is_map,
    is_orderable,
    is_struct,
    is_timestamp,
    type_name,
)

IN_KEY_ORDER = "$in_key_order"


def in_key_order(value: Expression) -> Expression:
    """A value with the entries of its maps in the order of their keys: equal maps are the same."""
    return Call(IN_KEY_ORDER, (value,), value.type) if _has_map(value.type) else value


def _has_map(kind: DataType) -> bool:
    return is_map(kind) or any(_has_map(kind.field(i).type) for i in range(kind.num_fields))


@register("array", 0, None)
def array(args: Arguments) -> Expression:
    """The values as an ARRAY of their common type."""
    typed = same_type(args, "array")
    return Call("array", typed, pa.list_(typed[0].type if typed else VOID))


@register("map", 0, None)
def _map(args: Arguments) -> Expression:
    if len(args) % 2:
        raise ExpressionError("map takes keys and values in turn, so an even number of arguments")
    keys, values = same_type(args[::2], "map keys"), same_type(args[1::2], "map values")
    if not keys or keys[0].type == VOID:
        raise ExpressionError("map needs at least one key, and a key cannot be NULL")
    kind = pa.map_(keys[0].type, values[0].type)
    pairs = zip(keys, values, strict=True)
    return Call("map", tuple(side for pair in pairs for side in pair), kind)


def struct(names: list[str], values: Arguments) -> Expression:
    """The values as a STRUCT with these field names."""
    fields = [(name, value.type) for name, value in zip(names, values, strict=True)]
    kind = pa.struct(fields)
    pairs = zip(names, values, strict=True)
    args = tuple(side for name, value in pairs for side in (Literal(name, STRING), value))
    return Call("named_struct", args, kind)


@register("named_struct", 2, None)
def _named_struct(args: Arguments) -> Expression:
    if len(args) % 2:
        raise ExpressionError("named_struct takes names and values in turn, an even number")
    names = [str(constant(name, "the name of a struct field")) for name in args[::2]]
    return struct(names, args[1::2])


def field(value: Expression, name: str) -> Expression:
    """`value.name`: a field of a struct, the fields of an array of structs, or a map's value."""
    kind = value.type
    if kind == VARIANT:
        raise ExpressionError(f"write variant_get({value.brief()}, '$.{name}'): it is a VARIANT")
    if is_struct(kind):
        found = [i for i, part in enumerate(kind) if part.name.lower() == name.lower()]
        if len(found) == 1:
            if isinstance(value, Call) and value.function == "named_struct":
                return value.args[2 * found[0] + 1]
            return FieldAccess(value, found[0])
        if found:
            raise ExpressionError(f"the field {name} is there more than once in {value.brief()}")
        listed = ", ".join(part.name for part in kind)
        raise ExpressionError(f"there is no field {name} in {value.brief()}; it has {listed}")
    if is_map(kind) and kind.key_type == STRING:
        return item(value, Literal(name, STRING))
    if is_array(kind) and is_struct(kind.value_type):
        return _field_of_each(value, name)
    raise ExpressionError(f"{value.brief()} is a {type_name(kind)}: it has no field {name}")


def _field_of_each(value: Expression, name: str) -> Expression:
    """`structs.name`: the field of every struct in an array."""
    each = Variable("$each", value.type.value_type)
    part = field(each, name)
    return Call("transform", (value, Lambda((each,), part)), pa.list_(part.type))


def item(value: Expression, index: Expression) -> Expression:
    """`value[index]`: from 0 in an array, by key in a map; an index out of bounds is an error."""
    kind = value.type
    if is_array(kind):
        if index.type != VOID and not is_integer(index.type):
            raise wrong_argument("[ ]", 1, "integer", index)
        index = cast_to(index, INT) if index.type == VOID else index
        return Call("get_item", (value, index), kind.value_type)
    if is_map(kind):
        return _map_value("get_item", value, index)
    if is_struct(kind) and isinstance(index, Literal) and index.kind == STRING:
        return field(value, index.value)
    if kind == VARIANT:
        raise ExpressionError(f"write variant_get({value.brief()}, '$[0]'): it is a VARIANT")
    raise ExpressionError(f"{value.brief()} is a {type_name(kind)}: [ ] takes an ARRAY or a MAP")


def _map_value(name: str, value: Expression, key: Expression) -> Expression:
    kind = common_type(value.type.key_type, key.type, promote_strings=False)
    if kind is None:
        raise wrong_argument("[ ]", 1, type_name(value.type.key_type), key)
    container = cast_to(value, pa.map_(kind, value.type.item_type))
    return Call(name, (container, cast_to(key, kind)), value.type.item_type)


def _element_at(name: str) -> None:
    @register(name, 2, 2)
    def build(args: Arguments) -> Expression:
        value, index = args
        if is_map(value.type):
            return _map_value("get_item", value, index)
        _array_argument(value, name)
        if index.type not in (TINYINT, SMALLINT, INT, VOID):
            raise wrong_argument(name, 2, "INT", index)
        return Call(name, (value, cast_to(index, INT)), value.type.value_type)


_element_at("element_at")
_element_at("try_element_at")


@register("get", 2, 2)
def _get(args: Arguments) -> Expression:
    _array_argument(args[0], "get")
    index = argument(args[1], INT, "get", 2)
    return Call("get", (args[0], index), args[0].type.value_type)


def _array_argument(value: Expression, name: str, place: int = 1) -> DataType:
    if not is_array(value.type):
        raise wrong_argument(name, place, "ARRAY", value)
    return value.type.value_type


@register("size cardinality", 1, 1)
def _size(args: Arguments) -> Expression:
    if not (is_array(args[0].type) or is_map(args[0].type) or args[0].type == VOID):
        raise wrong_argument("size", 1, "ARRAY or MAP", args[0])
    return Call("size", args, INT) if args[0].type != VOID else Literal(None, INT)


@register("array_size", 1, 1)
def _array_size(args: Arguments) -> Expression:
    _array_argument(args[0], "array_size")
    return Call("size", args, INT)


def _with_element(name: str, args: Arguments) -> Arguments:
    """An array and a value, both of the type that the elements and the value have in common."""
    element = _array_argument(args[0], name)
    kind = common_type(element, args[1].type, promote_strings=False)
    if kind is None or args[1].type == VOID:
        raise wrong_argument(name, 2, type_name(element), args[1])
    return cast_to(args[0], pa.list_(kind)), cast_to(args[1], kind)


@register("array_contains", 2, 2)
def _array_contains(args: Arguments) -> Expression:
    return Call("array_contains", _with_element("array_contains", args), BOOLEAN)


@register("array_position", 2, 2)
def _array_position(args: Arguments) -> Expression:
    return Call("array_position", _with_element("array_position", args), BIGINT)


@register("sort_array", 1, 2)
def _sort_array(args: Arguments) -> Expression:
    element = _array_argument(args[0], "sort_array")
    if not is_orderable(element):
        raise ExpressionError(f"values of type {type_name(element)} cannot be sorted")
    ascending = args[1] if len(args) > 1 else Literal(True, BOOLEAN)
    constant(ascending, "the direction of sort_array")
    return Call(
        "sort_array", (args[0], argument(ascending, BOOLEAN, "sort_array", 2)), args[0].type
    )


def _extreme(name: str) -> None:
    @register(name, 1, 1)
    def build(args: Arguments) -> Expression:
        return Call(name, args, _array_argument(args[0], name))


_extreme("array_max")
_extreme("array_min")


def _same(name: str) -> None:
    @register(name, 1, 1)
    def build(args: Arguments) -> Expression:
        _array_argument(args[0], name)
        return Call(name, args, args[0].type)


_same("array_distinct")
_same("array_compact")


@register("array_join", 2, 3)
def _array_join(args: Arguments) -> Expression:
    strings = argument(args[0], pa.list_(STRING), "array_join", 1)
    rest = (argument(arg, STRING, "array_join", place) for place, arg in enumerate(args[1:], 2))
    return Call("array_join", (strings, *rest), STRING)


@register("slice", 3, 3)
def _slice(args: Arguments) -> Expression:
    _array_argument(args[0], "slice")
    start, length = argument(args[1], INT, "slice", 2), argument(args[2], INT, "slice", 3)
    return Call("slice", (args[0], start, length), args[0].type)


@register("sequence", 2, 3)
def _sequence(args: Arguments) -> Expression:
    first, last = same_type(args[:2], "sequence")
    kind = first.type
    if is_integer(kind):
        typed = same_type(args, "sequence")
        kind = typed[0].type
        if not is_integer(kind):
            raise wrong_argument("sequence", 3, "integer", args[2])
        return Call("sequence", typed, pa.list_(kind))
    if kind != DATE and not is_timestamp(kind):
        raise wrong_argument("sequence", 1, "integer, DATE or TIMESTAMP", args[0])
    for step in args[2:]:
        if step.type not in (INTERVAL, INTERVAL_MONTHS):
            raise ExpressionError(
                f"a sequence of dates or times goes by an INTERVAL, and {step.sql()} is none"
            )
    return Call("sequence", (first, last, *args[2:]), pa.list_(kind))


@register("flatten", 1, 1)
def _flatten(args: Arguments) -> Expression:
    inner = _array_argument(args[0], "flatten")
    if not is_array(inner):
        raise wrong_argument("flatten", 1, "ARRAY of ARRAY", args[0])
    return Call("flatten", args, inner)


@register("map_keys", 1, 1)
def _map_keys(args: Arguments) -> Expression:
    if not is_map(args[0].type):
        raise wrong_argument("map_keys", 1, "MAP", args[0])
    return Call("map_keys", args, pa.list_(args[0].type.key_type))


@register("map_values", 1, 1)
def _map_values(args: Arguments) -> Expression:
    if not is_map(args[0].type):
        raise wrong_argument("map_values", 1, "MAP", args[0])
    return Call("map_values", args, pa.list_(args[0].type.item_type))


def _growing(name: str) -> None:
    @register(name, 2, 2)
    def build(args: Arguments) -> Expression:
        element = _array_argument(args[0], name)
        kind = _item_type(element, args[1].type, name)
        return Call(
            name, (cast_to(args[0], pa.list_(kind)), cast_to(args[1], kind)), pa.list_(kind)
        )


def _item_type(element: DataType, other: DataType, name: str) -> DataType:
    """The type of an array's items when a value is put among them: decimals stay as they are."""
    kind = common_type(element, other, promote_strings=False)
    if kind is None or (is_decimal(kind) and not kind == element == other and other != VOID):
        raise ExpressionError(
            f"{name} takes an array and a value like its items, not {type_name(element)} and "
            f"{type_name(other)}"
        )
    return kind


_growing("array_append")
_growing("array_prepend")


@register("array_insert", 3, 3)
def _array_insert(args: Arguments) -> Expression:
    element = _array_argument(args[0], "array_insert")
    if args[1].type not in (TINYINT, SMALLINT, INT):
        raise wrong_argument("array_insert", 2, "INT", args[1])
    kind = _item_type(element, args[2].type, "array_insert")
    typed = (cast_to(args[0], pa.list_(kind)), cast_to(args[1], INT), cast_to(args[2], kind))
    return Call("array_insert", typed, pa.list_(kind))


@register("array_remove", 2, 2)
def _array_remove(args: Arguments) -> Expression:
    if args[1].type == VOID:
        return Literal(None, args[0].type)
    lists, value = _with_element("array_remove", args)
    return Call("array_remove", (lists, value), lists.type)


@register("array_repeat", 2, 2)
def _array_repeat(args: Arguments) -> Expression:
    count = argument(args[1], INT, "array_repeat", 2)
    return Call("array_repeat", (args[0], count), pa.list_(args[0].type))


def _of_two(name: str, result: DataType | None = None) -> None:
    @register(name, 2, 2)
    def build(args: Arguments) -> Expression:
        for place, each in enumerate(args, start=1):
            _array_argument(each, name, place)
        kind = common_type(args[0].type, args[1].type, promote_strings=False)
        if kind is None:
            listed = " and ".join(type_name(arg.type) for arg in args)
            raise ExpressionError(f"{name} takes two arrays of one type, not {listed}")
        typed = tuple(cast_to(arg, kind) for arg in args)
        return Call(name, typed, kind if result is None else result)


for _name in ("array_union", "array_intersect", "array_except"):
    _of_two(_name)
_of_two("arrays_overlap", BOOLEAN)


@register("array_sort", 1, 1)
def _array_sort(args: Arguments) -> Expression:
    element = _array_argument(args[0], "array_sort")
    if not is_orderable(element):
        raise ExpressionError(f"values of type {type_name(element)} cannot be sorted")
    return Call("array_sort", args, args[0].type)


@register("arrays_zip", 1, None)
def _arrays_zip(args: Arguments) -> Expression:
    fields = []
    for place, each in enumerate(args):
        element = _array_argument(each, "arrays_zip", place + 1)
        name = str(place)
        if isinstance(each, Column):
            name = each.name.split(".")[-1]
        elif isinstance(each, FieldAccess):
            name = each.value.type[each.index].name
        fields.append((name, element))
    return Call("arrays_zip", args, pa.list_(pa.struct(fields)))


def _map_argument(value: Expression, name: str, place: int = 1) -> DataType:
    if not is_map(value.type):
        raise wrong_argument(name, place, "MAP", value)
    return value.type


@register("map_entries", 1, 1)
def _map_entries(args: Arguments) -> Expression:
    kind = _map_argument(args[0], "map_entries")
    entry = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
    return Call("map_entries", args, pa.list_(entry))


@register("map_contains_key", 2, 2)
def _map_contains_key(args: Arguments) -> Expression:
    keys = Call("map_keys", args[:1], pa.list_(_map_argument(args[0], "map_contains_key").key_type))
    return _array_contains((keys, args[1]))


@register("map_concat", 1, None)
def _map_concat(args: Arguments) -> Expression:
    kinds = [_map_argument(each, "map_concat", place) for place, each in enumerate(args, start=1)]
    keys = common_type_of_all((kind.key_type for kind in kinds), False)
    items = common_type_of_all((kind.item_type for kind in kinds), False)
    if keys is None or items is None:
        raise ExpressionError("the maps of map_concat have no common type")
    kind = pa.map_(keys, items)
    return Call("map_concat", tuple(cast_to(arg, kind) for arg in args), kind)


@register("map_from_arrays", 2, 2)
def _map_from_arrays(args: Arguments) -> Expression:
    kinds = [_array_argument(each, "map_from_arrays", at) for at, each in enumerate(args, start=1)]
    return Call("map_from_arrays", args, pa.map_(*kinds))


@register("map_from_entries", 1, 1)
def _map_from_entries(args: Arguments) -> Expression:
    entry = _array_argument(args[0], "map_from_entries")
    if not is_struct(entry) or entry.num_fields != 2:  # noqa: PLR2004 - a key and a value
        raise wrong_argument("map_from_entries", 1, "ARRAY of pairs", args[0])
    return Call("map_from_entries", args, pa.map_(entry[0].type, entry[1].type))


@register("str_to_map", 1, 3)
def _str_to_map(args: Arguments) -> Expression:
    given = (*args, *(Literal(each, STRING) for each in ",:"[len(args) - 1 :]))
    typed = tuple(argument(each, STRING, "str_to_map", at) for at, each in enumerate(given, 1))
    return Call("str_to_map", typed, pa.map_(STRING, STRING))
