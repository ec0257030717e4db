"""Maps put together, of which a key is there once, and arrays with more or fewer items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions import expansion
from driftline.engine.expressions.arrays import (
    Array,
    Value,
    both_valid,
    counted,
    numbers,
    plain_values,
    valid_mask,
)
from driftline.engine.expressions.collections import equal_items, map_lists, sort_nested
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.java_patterns import per_text
from driftline.engine.expressions.lists import (
    any_per_row,
    concat_lists,
    items_of,
    keep_items,
    list_starts,
    lists_from,
    rows_of_items,
    sorted_items,
)
from driftline.engine.expressions.patterns import split_text
from driftline.engine.expressions.registry import kernel
from driftline.engine.expressions.sets import distinct_lists
from driftline.engine.state.order_keys import order_keys
from driftline.plan.expressions import Call
from driftline.plan.functions.collections import IN_KEY_ORDER
from driftline.plan.types import is_nested

_BYTES_OF_AN_ITEM = 24


def _maps(call: Call, keys: Array, values: Array) -> Array:
    """Maps of lists of keys and of values, which have the same lengths and nulls."""
    inside = items_of(keys)
    if inside.null_count:
        raise EvaluationError("NULL_MAP_KEY", "the key of a map cannot be null")
    if (lengths_of(distinct_lists(keys)) != lengths_of(keys)).any():
        raise EvaluationError("DUPLICATED_MAP_KEY", f"{call.brief()} has a key twice")
    offsets = np.concatenate([[0], np.cumsum(lengths_of(keys))]).astype(np.int32)
    mask = None if keys.null_count == 0 else pa.array(~valid_mask(keys))
    return pa.MapArray.from_arrays(
        pa.array(offsets), inside, items_of(values), type=call.kind, mask=mask
    )


def _there(lists: Array, valid: Any) -> Array:
    """The lists, null where something else is."""
    if valid is None:
        return lists
    return lists.take(pa.array(np.arange(len(lists)), mask=~valid))


@kernel(IN_KEY_ORDER, total=True)
def _in_key_order(call: Call, args: Sequence[Value]) -> Array:
    return _ordered(args[0])


def _ordered(array: Array) -> Array:
    """The values with the entries of all maps in them in the order of the keys."""
    kind = array.type
    mask = None if array.null_count == 0 else pa.array(~valid_mask(array))
    if pa.types.is_map(kind):
        lists, others = map_lists(array)
        keys, values = (_ordered(items_of(each)) for each in (lists, others))
        order = pa.array(np.lexsort((order_keys(keys), rows_of_items(lists))))
        offsets = np.concatenate([[0], np.cumsum(lengths_of(lists))]).astype(np.int32)
        return pa.MapArray.from_arrays(
            pa.array(offsets), keys.take(order), values.take(order), type=kind, mask=mask
        )
    if pa.types.is_list(kind):
        items = _ordered(items_of(array))
        return lists_from(items, lengths_of(array), valid_mask(array), kind)
    if pa.types.is_struct(kind):
        fields = [_ordered(each) for each in array.flatten()]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=mask)
    return array


@kernel("map_concat")
def _map_concat(call: Call, args: Sequence[Value]) -> Array:
    sides = [map_lists(arg) for arg in args]
    keys = concat_lists([key for key, _ in sides], pa.list_(call.kind.key_type))
    values = concat_lists([value for _, value in sides], pa.list_(call.kind.item_type))
    return _maps(call, keys, values)


@kernel("map_from_arrays")
def _map_from_arrays(call: Call, args: Sequence[Value]) -> Array:
    valid = both_valid(*args)
    keys, values = (_there(arg, valid) for arg in args)
    if (lengths_of(keys) != lengths_of(values)).any():
        raise EvaluationError(
            "INVALID_PARAMETER_VALUE", "map_from_arrays takes as many keys as values"
        )
    return _maps(call, keys, values)


@kernel("map_from_entries")
def _map_from_entries(call: Call, args: Sequence[Value]) -> Array:
    missing = any_per_row(rows_of_items(args[0]), ~valid_mask(items_of(args[0])), len(args[0]))
    entries = _there(args[0], valid_mask(args[0]) & ~missing)
    sides = (pc.struct_field(items_of(entries), [place]) for place in range(2))
    valid = both_valid(entries)
    keys, values = (
        lists_from(side, lengths_of(entries), valid, pa.list_(side.type)) for side in sides
    )
    return _maps(call, keys, values)


@kernel("map_entries", total=True)
def _map_entries(call: Call, args: Sequence[Value]) -> Array:
    keys, values = map_lists(args[0])
    fields = list(call.kind.value_type)
    entries = pa.StructArray.from_arrays([items_of(keys), items_of(values)], fields=fields)
    return lists_from(entries, lengths_of(keys), both_valid(args[0]), call.kind)


@kernel("str_to_map")
def _str_to_map(call: Call, args: Sequence[Value]) -> Array:
    def split(text: str, pairs: str, sides: str) -> list[tuple[str, str | None]]:
        found: dict[str, str | None] = {}
        if not pairs or not sides:
            raise EvaluationError("INVALID_PARAMETER_VALUE", "str_to_map: a separator is empty")
        for part in split_text(text, pairs, -1):
            key, *rest = split_text(part, sides, 2)
            if key in found:
                raise EvaluationError("DUPLICATED_MAP_KEY", f"str_to_map: {key!r} is there twice")
            found[key] = rest[0] if rest else None
        return list(found.items())

    return per_text(call.function, split, list(args), call.kind)


@kernel("array_append array_prepend", strict=False)
def _array_append(call: Call, args: Sequence[Value]) -> Array:
    lists, value = args
    single = lists_from(value, np.ones(len(lists), np.int64), None, call.kind)
    pair = [lists, single] if call.function == "array_append" else [single, lists]
    return concat_lists(pair, call.kind)


@kernel("array_insert", strict=False)
def _array_insert(call: Call, args: Sequence[Value]) -> Array:
    rows = zip(*map(plain_values, args), strict=True)
    made = [_inserted(items, place, value) for items, place, value in rows]
    return pa.array(made, counted(call.kind)).cast(call.kind)


def _inserted(items: list[Any] | None, place: int | None, value: Any) -> list[Any] | None:
    if items is None or place is None:
        return None
    if place == 0:
        raise EvaluationError(
            "INVALID_INDEX_OF_ZERO", "array_insert counts from 1, or -1 backwards"
        )
    expansion.check("array_insert", abs(place) * _BYTES_OF_AN_ITEM, "take a smaller place")
    if place > 0:
        filled = items + [None] * (place - 1 - len(items))
        return [*filled[: place - 1], value, *filled[place - 1 :]]
    after = len(items) + 1 + place
    if after >= 0:
        return [*items[:after], value, *items[after:]]
    return [value, *[None] * (-after), *items]


@kernel("array_remove", total=True)
def _array_remove(call: Call, args: Sequence[Value]) -> Array:
    valid = both_valid(*args)
    lists = _there(args[0], valid)
    _, same = equal_items(lists, args[1])
    return keep_items(lists, ~same)


@kernel("array_repeat", strict=False)
def _array_repeat(call: Call, args: Sequence[Value]) -> Array:
    counts = np.maximum(numbers(args[1]).astype(np.int64), 0)
    made = int(counts.sum())
    one = max(_BYTES_OF_AN_ITEM, args[0].nbytes // max(len(counts), 1))
    what = f"{call.brief()} makes {made:,} items of {len(counts):,} rows"
    expansion.check(what, made * one, "repeat it less often")
    if not is_nested(args[0].type) and one > _BYTES_OF_AN_ITEM:
        expansion.check_texts(call.brief(), made * one)
    rows = np.repeat(np.arange(len(counts)), counts)
    return lists_from(args[0].take(pa.array(rows)), counts, both_valid(args[1]), call.kind)


@kernel("array_sort", total=True)
def _array_sort(call: Call, args: Sequence[Value]) -> Array:
    lists = args[0]
    there = valid_mask(items_of(lists))
    rows = rows_of_items(lists)
    present = keep_items(lists, there)
    if is_nested(lists.type.value_type):
        items = items_of(sort_nested(present, ascending=True))
    else:
        items = sorted_items(present, True)
    nulls = np.bincount(rows[~there], minlength=len(lists))
    missing = lists_from(pa.nulls(int(nulls.sum()), lists.type.value_type), nulls, None, call.kind)
    ordered = lists_from(items, lengths_of(present), both_valid(present), call.kind)
    return concat_lists([ordered, missing], call.kind)


@kernel("arrays_zip", total=True)
def _arrays_zip(call: Call, args: Sequence[Value]) -> Array:
    valid = both_valid(*args)
    lists = [_there(arg, valid) for arg in args]
    lengths = np.max([lengths_of(each) for each in lists], axis=0)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    parts = []
    for each in lists:
        inside = within < lengths_of(each)[rows]
        places = list_starts(each)[rows] + within
        parts.append(
            items_of(each).take(pa.array(np.where(inside, places, 0), pa.int64(), mask=~inside))
        )
    fields = list(call.kind.value_type)
    entries = pa.StructArray.from_arrays(parts, fields=fields)
    return lists_from(entries, lengths, valid, call.kind)
