"""Functions that take functions: transform, filter, exists, forall, aggregate, zip_with, those of
maps, and array_sort with a comparison.

What goes over a map is written with the functions over its keys and values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from driftline.plan.errors import ExpressionError
from driftline.plan.expressions import Call, Cast, Expression, FieldAccess, Lambda, Variable
from driftline.plan.functions.base import FUNCTIONS, wrong_argument
from driftline.plan.functions.operators import condition
from driftline.plan.types import INT, DataType, is_array, is_map, is_struct, type_name


@dataclass(frozen=True)
class Unbound:
    """A function as it is written, whose parameters have no types yet."""

    names: tuple[str, ...]
    bind: Callable[[tuple[DataType, ...]], Lambda]

    def of(self, function: str, *kinds: DataType) -> Lambda:
        """The function of values of these types; of so many as it takes parameters."""
        if len(self.names) != len(kinds):
            wanted = f"{len(kinds)} parameter" + ("" if len(kinds) == 1 else "s")
            raise ExpressionError(f"{function} takes a function of {wanted}: {self._shown()}")
        return self.bind(kinds)

    def of_item(self, function: str, kind: DataType) -> Lambda:
        """The function of an item, or of an item and its place from 0."""
        return self.of(function, *((kind, INT) if len(self.names) > 1 else (kind,)))

    def _shown(self) -> str:
        return f"({', '.join(self.names)}) -> …"


Argument = Expression | Unbound
Build = Callable[[str, tuple[Argument, ...]], Expression]


@dataclass(frozen=True)
class HigherOrder:
    """A function that takes functions: which of its arguments are, and how a call is built."""

    least: int
    most: int
    functions: tuple[int, ...]
    build: Build


HIGHER_ORDER: dict[str, HigherOrder] = {}


def _register(names: str, least: int, most: int, *functions: int) -> Callable[[Build], Build]:
    def add(build: Build) -> Build:
        for name in names.split():
            HIGHER_ORDER[name] = HigherOrder(least, most, functions, build)
        return build

    return add


def higher_order(name: str, args: tuple[Argument, ...]) -> Expression:
    """The typed call of a function that takes functions."""
    found = HIGHER_ORDER[name]
    if not found.least <= len(args) <= found.most:
        counts = str(found.least) if found.least == found.most else f"{found.least} to {found.most}"
        raise ExpressionError(f"{name} takes {counts} arguments, not {len(args)}")
    for place, arg in enumerate(args):
        if isinstance(arg, Unbound) != (place in found.functions):
            what = "a function, such as x -> x + 1" if place in found.functions else "a value"
            raise ExpressionError(f"argument {place + 1} of {name} is {what}")
    return found.build(name, args)


def _value(args: tuple[Argument, ...], place: int) -> Expression:
    value = args[place]
    assert isinstance(value, Expression)
    return value


def _function(args: tuple[Argument, ...], place: int) -> Unbound:
    function = args[place]
    assert isinstance(function, Unbound)
    return function


def _array(name: str, args: tuple[Argument, ...], place: int = 0) -> Expression:
    value = _value(args, place)
    if not is_array(value.type):
        raise wrong_argument(name, place + 1, "ARRAY", value)
    return value


def _map(name: str, args: tuple[Argument, ...], place: int = 0) -> Expression:
    value = _value(args, place)
    if not is_map(value.type):
        raise wrong_argument(name, place + 1, "MAP", value)
    return value


def _test(name: str, function: Lambda) -> Lambda:
    return Lambda(function.parameters, condition(function.body, f"the function of {name}"))


@_register("transform", 2, 2, 1)
def _transform(name: str, args: tuple[Argument, ...]) -> Expression:
    items = _array(name, args)
    function = _function(args, 1).of_item(name, items.type.value_type)
    return Call("transform", (items, function), pa.list_(function.type))


@_register("filter", 2, 2, 1)
def _filter(name: str, args: tuple[Argument, ...]) -> Expression:
    items = _array(name, args)
    function = _test(name, _function(args, 1).of_item(name, items.type.value_type))
    return Call("filter", (items, function), items.type)


@_register("exists forall", 2, 2, 1)
def _some_or_all(name: str, args: tuple[Argument, ...]) -> Expression:
    items = _array(name, args)
    function = _test(name, _function(args, 1).of(name, items.type.value_type))
    return Call(name, (items, function), pa.bool_())


@_register("zip_with", 3, 3, 2)
def _zip_with(name: str, args: tuple[Argument, ...]) -> Expression:
    sides = _array(name, args), _array(name, args, 1)
    function = _function(args, 2).of(name, *(side.type.value_type for side in sides))
    return Call("zip_with", (*sides, function), pa.list_(function.type))


def _differ_in_names(one: DataType, other: DataType) -> bool:
    """Whether two structs differ in nothing but the names of their fields."""
    if not is_struct(one) or not is_struct(other) or one == other:
        return False
    return [each.type for each in one] == [each.type for each in other]


@_register("aggregate reduce", 3, 4, 2, 3)
def _aggregate(name: str, args: tuple[Argument, ...]) -> Expression:
    items, start = _array(name, args), _value(args, 1)
    merge = _function(args, 2).of(name, start.type, items.type.value_type)
    if _differ_in_names(merge.type, start.type):
        merge = Lambda(merge.parameters, Cast(merge.body, start.type))
    if merge.type != start.type:
        raise ExpressionError(
            f"the function of {name} must be a {type_name(start.type)}, as its start is, and no "
            f"{type_name(merge.type)}: cast one of them"
        )
    if len(args) == HIGHER_ORDER[name].least:
        return Call("aggregate", (items, start, merge), start.type)
    finish = _function(args, 3).of(name, start.type)
    return Call("aggregate", (items, start, merge, finish), finish.type)


@_register("array_sort", 2, 2, 1)
def _array_sort(name: str, args: tuple[Argument, ...]) -> Expression:
    items = _array(name, args)
    kind = items.type.value_type
    function = _function(args, 1).of(name, kind, kind)
    if function.type != INT:
        raise ExpressionError(
            "the function of array_sort must be an INT, which is negative, 0 or positive: "
            f"{function.body.brief()}"
        )
    return Call("array_sort_by", (items, function), items.type)


def _keys_and_values(of: Expression) -> tuple[Expression, Expression]:
    return FUNCTIONS["map_keys"]((of,)), FUNCTIONS["map_values"]((of,))


@_register("transform_values transform_keys", 2, 2, 1)
def _transform_map(name: str, args: tuple[Argument, ...]) -> Expression:
    of = _map(name, args)
    keys, values = _keys_and_values(of)
    function = _function(args, 1).of(name, of.type.key_type, of.type.item_type)
    made = Call("zip_with", (keys, values, function), pa.list_(function.type))
    both = (keys, made) if name == "transform_values" else (made, values)
    return FUNCTIONS["map_from_arrays"](both)


def _replaced(body: Expression, meaning: dict[Variable, Expression]) -> Expression:
    return body.transform(
        lambda part: meaning.get(part, part) if isinstance(part, Variable) else part
    )


@_register("map_filter", 2, 2, 1)
def _map_filter(name: str, args: tuple[Argument, ...]) -> Expression:
    of = _map(name, args)
    entries = FUNCTIONS["map_entries"]((of,))
    function = _test(name, _function(args, 1).of(name, of.type.key_type, of.type.item_type))
    entry = Variable("$entry", entries.type.value_type)
    sides = (FieldAccess(entry, place) for place in range(2))
    body = _replaced(function.body, dict(zip(function.parameters, sides, strict=True)))
    kept = Call("filter", (entries, Lambda((entry,), body)), entries.type)
    return FUNCTIONS["map_from_entries"]((kept,))


@_register("map_zip_with", 3, 3, 2)
def _map_zip_with(name: str, args: tuple[Argument, ...]) -> Expression:
    sides = _map(name, args), _map(name, args, 1)
    keys = FUNCTIONS["array_union"](tuple(FUNCTIONS["map_keys"]((side,)) for side in sides))
    items = (side.type.item_type for side in sides)
    function = _function(args, 2).of(name, keys.type.value_type, *items)
    key, *values = function.parameters
    at_key = (FUNCTIONS["try_element_at"]((side, key)) for side in sides)
    body = _replaced(function.body, dict(zip(values, at_key, strict=True)))
    made = Call("transform", (keys, Lambda((key,), body)), pa.list_(body.type))
    return FUNCTIONS["map_from_arrays"]((keys, made))
