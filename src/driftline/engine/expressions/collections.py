"""Functions of arrays, structs and maps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import (
    Array,
    Value,
    both_valid,
    from_numbers,
    numbers,
    to_mask,
    valid_mask,
)
from driftline.engine.expressions.comparison import compare_values, lengths_of, order_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.expressions.lists import (
    any_per_row,
    first_per_row,
    items_of,
    keep_items,
    list_starts,
    lists_from,
    pick,
    rows_of_items,
    sorted_items,
)
from driftline.engine.expressions.registry import kernel
from driftline.engine.state.order_keys import order_keys
from driftline.plan.expressions import Call, Literal
from driftline.plan.types import BIGINT, BOOLEAN, is_integer, is_map, is_nested


@kernel("array", total=True, strict=False)
def _array(call: Call, args: Sequence[Value]) -> Array:
    length, width = len(args[0]), len(call.args)
    if width == 0:
        return lists_from(pa.nulls(0), np.zeros(length, dtype=np.int64), None, call.kind)
    order = np.arange(length)[:, None] + np.arange(width)[None, :] * length
    items = pa.concat_arrays(list(args)).take(pa.array(order.ravel()))
    return lists_from(items, np.full(length, width), None, call.kind)


@kernel("named_struct", total=True, strict=False)
def _named_struct(call: Call, args: Sequence[Value]) -> Array:
    return pa.StructArray.from_arrays(list(args[1::2]), fields=list(call.kind))


@kernel("map", strict=False)
def _map(call: Call, args: Sequence[Value]) -> Array:
    length, width = len(args[0]), len(call.args) // 2
    keys = list(args[::2]) if width else []
    if any(key.null_count for key in keys):
        raise EvaluationError("NULL_MAP_KEY", "the key of a map cannot be null")
    for place, key in enumerate(keys):
        for other in keys[:place]:
            if to_mask(compare_values("equal", key, other, key.type)).any():
                raise EvaluationError("DUPLICATED_MAP_KEY", f"{call.brief()} has a key twice")
    order = (np.arange(length)[:, None] + np.arange(width)[None, :] * length).ravel()
    offsets = pa.array(np.arange(length + 1) * width, pa.int32())
    parts = [
        pa.concat_arrays(list(args[side::2])).take(pa.array(order)) if width else pa.nulls(0)
        for side in (0, 1)
    ]
    return pa.MapArray.from_arrays(offsets, *parts, type=call.kind)


def map_lists(array: Array) -> tuple[Array, Array]:
    """The keys and the values of maps, as lists."""
    mask = None if array.null_count == 0 else pa.array(~valid_mask(array))
    offsets = array.offsets
    return (
        pa.ListArray.from_arrays(offsets, array.keys, mask=mask),
        pa.ListArray.from_arrays(offsets, array.items, mask=mask),
    )


@kernel("map_keys map_values", total=True)
def _map_side(call: Call, args: Sequence[Value]) -> Array:
    keys, values = map_lists(args[0])
    return keys if call.function == "map_keys" else values


@kernel("size", total=True)
def _size(call: Call, args: Sequence[Value]) -> Array:
    lists = map_lists(args[0])[0] if is_map(args[0].type) else args[0]
    return pc.list_value_length(lists)


def _out_of_bounds(index: int, length: int, name: str, condition: str) -> EvaluationError:
    return EvaluationError(
        condition,
        f"the index {index} is out of bounds: the array has {length} elements; "
        f"use {name}() to get NULL instead",
    )


@kernel("get_item get", total=lambda call: call.function == "get" or is_map(call.args[0].type))
def _get_item(call: Call, args: Sequence[Value]) -> Array:
    if is_map(args[0].type):
        return _map_value(*args)
    lists, index = args[0], numbers(args[1])
    lengths = lengths_of(lists)
    valid = valid_mask(lists) & valid_mask(args[1])
    outside = ((index < 0) | (index >= lengths)) & valid
    if outside.any() and call.function == "get_item":
        row = np.flatnonzero(outside)[0]
        raise _out_of_bounds(index[row], lengths[row], "get", "INVALID_ARRAY_INDEX")
    return pick(lists, index, valid & ~outside)


@kernel("element_at try_element_at", total=lambda call: call.function.startswith("try_"))
def _element_at(call: Call, args: Sequence[Value]) -> Array:
    lists, index = args[0], numbers(args[1]).astype(np.int64)
    lengths = lengths_of(lists)
    valid = valid_mask(lists) & valid_mask(args[1])
    if ((index == 0) & valid).any():
        raise EvaluationError("INVALID_INDEX_OF_ZERO", "element_at counts from 1, or -1 backwards")
    outside = (np.abs(index) > lengths) & valid
    if outside.any() and call.function == "element_at":
        row = np.flatnonzero(outside)[0]
        condition = "INVALID_ARRAY_INDEX_IN_ELEMENT_AT"
        raise _out_of_bounds(index[row], lengths[row], "try_element_at", condition)
    return pick(lists, np.where(index > 0, index - 1, lengths + index), valid & ~outside)


def _map_value(maps: Array, key: Array) -> Array:
    keys, values = map_lists(maps)
    rows = rows_of_items(keys)
    wanted = key.take(pa.array(rows))
    same = to_mask(compare_values("equal", items_of(keys), wanted, key.type))
    place = first_per_row(rows, same, len(maps))
    found = (place >= 0) & valid_mask(key)
    return items_of(values).take(pa.array(np.where(found, place, 0), pa.int64(), mask=~found))


def equal_items(lists: Array, value: Array) -> tuple[Any, Any]:
    """For each item its row, and whether it equals the row's value."""
    rows = rows_of_items(lists)
    wanted = value.take(pa.array(rows))
    return rows, to_mask(compare_values("equal", items_of(lists), wanted, value.type))


@kernel("array_contains", total=True)
def _array_contains(call: Call, args: Sequence[Value]) -> Array:
    lists, value = args
    rows, same = equal_items(lists, value)
    found = any_per_row(rows, same, len(lists))
    unknown = any_per_row(rows, ~valid_mask(items_of(lists)), len(lists)) & ~found
    valid = valid_mask(lists) & valid_mask(value) & ~unknown
    return from_numbers(found, valid, BOOLEAN)


@kernel("array_position", total=True)
def _array_position(call: Call, args: Sequence[Value]) -> Array:
    lists, value = args
    rows, same = equal_items(lists, value)
    place = first_per_row(rows, same, len(lists))
    position = np.where(place < 0, 0, place - list_starts(lists) + 1)
    return from_numbers(position, both_valid(lists, value), BIGINT)


@kernel("sort_array", total=True)
def _sort_array(call: Call, args: Sequence[Value]) -> Array:
    direction = call.args[1]
    ascending = bool(direction.value) if isinstance(direction, Literal) else True
    lists = args[0]
    if is_nested(lists.type.value_type):
        return sort_nested(lists, ascending)
    items = sorted_items(lists, ascending)
    return lists_from(items, lengths_of(lists), both_valid(lists), call.kind)


def sort_nested(lists: Array, ascending: bool) -> Array:
    """Lists of arrays or structs, by counting for each item the items of its row before it."""
    rows, items, lengths = rows_of_items(lists), items_of(lists), lengths_of(lists)
    starts = list_starts(lists)
    pairs = np.repeat(np.arange(len(rows)), lengths[rows])
    within = np.arange(len(pairs)) - np.repeat(
        np.cumsum(lengths[rows]) - lengths[rows], lengths[rows]
    )
    others = starts[rows[pairs]] + within
    order = order_of(items.take(pa.array(others)), items.take(pa.array(pairs))).astype(np.int64)
    order = order if ascending else -order
    before = (order < 0) | ((order == 0) & (others < pairs))
    rank = np.bincount(pairs[before], minlength=len(rows))
    target = np.empty(len(rows), dtype=np.int64)
    target[starts[rows] + rank] = np.arange(len(rows))
    return lists_from(items.take(pa.array(target)), lengths, both_valid(lists), lists.type)


@kernel("values_in_order", total=True)
def _values_in_order(call: Call, args: Sequence[Value]) -> Array:
    """The last fields of lists of structs, in the order of the others: ascending (a) or descending
    (d), in capitals with nulls last when ascending, and first when descending."""
    lists, directions = args[0], call.args[1]
    assert isinstance(directions, Literal)
    *by, values = items_of(lists).flatten()
    keys = [rows_of_items(lists)]
    for part, direction in zip(by, directions.value, strict=True):
        there = valid_mask(part)
        key = np.where(there, order_keys(part), 0)
        first = there if direction in "aD" else ~there
        keys += [first.astype(np.int64), ~key if direction in "dD" else key]
    order = np.lexsort(keys[::-1])
    return lists_from(values.take(pa.array(order)), lengths_of(lists), both_valid(lists), call.kind)


@kernel("array_max array_min", total=True)
def _array_extreme(call: Call, args: Sequence[Value]) -> Array:
    lists = keep_items(args[0], valid_mask(items_of(args[0])))
    lengths = lengths_of(lists)
    if is_nested(call.kind):
        lists = sort_nested(lists, ascending=True)
    else:
        lists = lists_from(sorted_items(lists, True), lengths, both_valid(lists), lists.type)
    index = lengths - 1 if call.function == "array_max" else np.zeros_like(lengths)
    return pick(lists, index, lengths > 0)


@kernel("array_compact", total=True)
def _array_compact(call: Call, args: Sequence[Value]) -> Array:
    return keep_items(args[0], valid_mask(items_of(args[0])))


@kernel("array_join", total=True)
def _array_join(call: Call, args: Sequence[Value]) -> Array:
    lists, separator = args[0], args[1]
    items = items_of(lists)
    if len(args) > 2:  # noqa: PLR2004 - the third is what stands for null
        filling = args[2].take(pa.array(rows_of_items(lists)))
        lists = lists_from(
            pc.coalesce(items, filling), lengths_of(lists), both_valid(lists), lists.type
        )
    else:
        lists = keep_items(lists, valid_mask(items))
    return pc.binary_join(lists, separator)


@kernel("slice")
def _slice(call: Call, args: Sequence[Value]) -> Array:
    lists, start, count = args[0], numbers(args[1]), numbers(args[2])
    valid = both_valid(*args)
    rows_valid = np.ones(len(lists), dtype=np.bool_) if valid is None else valid
    if ((start == 0) & rows_valid).any() or ((count < 0) & rows_valid).any():
        raise EvaluationError(
            "INVALID_PARAMETER_VALUE", "slice counts from 1 and takes no negative length"
        )
    lengths = lengths_of(lists)
    first = np.where(start > 0, start - 1, lengths + start)
    rows = rows_of_items(lists)
    within = np.arange(len(rows)) - list_starts(lists)[rows]
    last = first.astype(np.int64) + count
    keep = (within >= first[rows]) & (within < last[rows]) & (first[rows] >= 0) & rows_valid[rows]
    counts = np.bincount(rows[keep], minlength=len(lists))
    return lists_from(items_of(lists).filter(pa.array(keep)), counts, valid, call.kind)


@kernel("flatten", total=True)
def _flatten(call: Call, args: Sequence[Value]) -> Array:
    outer = args[0]
    inner = items_of(outer)
    rows = rows_of_items(outer)
    missing = any_per_row(rows, ~valid_mask(inner), len(outer))
    valid = valid_mask(outer) & ~missing
    lengths = lengths_of(inner)
    totals = np.bincount(rows, weights=lengths, minlength=len(outer)).astype(np.int64)
    keep = valid[np.repeat(rows, lengths)]
    items = items_of(inner).filter(pa.array(keep))
    return lists_from(items, np.where(valid, totals, 0), valid, call.kind)


@kernel("histogram", total=True)
def _histogram(call: Call, args: Sequence[Value]) -> Array:
    """Of ordered values the centres of bins and how many are in each: the two that are next to each
    other become one until there are no more than wanted."""
    kind, whole = call.kind, is_integer(call.kind.value_type.field(0).type)
    most = int(args[1][0].as_py())

    def bins(values: list[Any]) -> list[dict[str, Any]]:
        found: list[list[float]] = []
        for value in values:
            if found and found[-1][0] == value:
                found[-1][1] += 1
                continue
            found.append([float(value), 1.0])
            if len(found) > most:
                gaps = [after[0] - before[0] for before, after in itertools.pairwise(found)]
                place = gaps.index(min(gaps))
                (x, n), (y, m) = found[place], found.pop(place + 1)
                found[place] = [x * (n / (n + m)) + y * (m / (n + m)), n + m]
        return [{"x": int(x) if whole else x, "y": n} for x, n in found]

    listed = args[0].to_pylist()
    made = [
        None if values is None else bins([v for v in values if v is not None]) for values in listed
    ]
    inner = pa.list_(pa.struct([("x", pa.int64() if whole else pa.float64()), ("y", pa.float64())]))
    return pa.array(made, inner).cast(kind)
