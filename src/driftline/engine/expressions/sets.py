"""Arrays as sets: which of their items are equal.

NaN equals NaN, null equals null, and 0.0 equals -0.0, for which 0.0 is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import (
    Array,
    Mask,
    Value,
    both_valid,
    from_numbers,
    numbers,
    plain_values,
    valid_mask,
)
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.lists import (
    any_per_row,
    concat_lists,
    items_of,
    keep_items,
    lists_from,
    rows_of_items,
)
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import BOOLEAN, STRING, is_nested

Codes = npt.NDArray[np.int64]
_MISSING = -1


def _normal(lists: Array) -> Array:
    """The lists with 0.0 for -0.0."""
    if not pa.types.is_floating(lists.type.value_type):
        return lists
    items = pc.add(items_of(lists), pa.scalar(0.0, lists.type.value_type))
    return lists_from(items, lengths_of(lists), both_valid(lists), lists.type)


def _codes(items: Array) -> Codes:
    """A number for each item, the same for equal ones."""
    if is_nested(items.type):
        items = pa.array([_text(item) for item in plain_values(items)], STRING)
    codes = numbers(items.dictionary_encode().indices).astype(np.int64)
    return np.where(valid_mask(items), codes, _MISSING)


def _text(item: Any) -> str | None:
    """A nested value as a text that equal ones share."""
    return None if item is None else repr(item).replace("-0.0,", "0.0,")


def distinct_lists(lists: Array) -> Array:
    """The lists, each item once; of equal ones the first."""
    lists = _normal(lists)
    rows, codes = rows_of_items(lists), _codes(items_of(lists))
    _, first = np.unique(np.stack([rows, codes]), axis=1, return_index=True)
    keep = np.zeros(len(rows), dtype=np.bool_)
    keep[first] = True
    return keep_items(lists, keep)


def _members(lists: Array, others: Array) -> Mask:
    """Which items of lists are also in the other list of the same row."""
    codes = _codes(pa.concat_arrays([items_of(lists), items_of(others)]))
    codes -= _MISSING
    width = int(codes.max(initial=0)) + 1
    rows = np.concatenate([rows_of_items(lists), rows_of_items(others)])
    keys = rows * width + codes
    count = len(items_of(lists))
    return np.isin(keys[:count], keys[count:])


def _both(args: Sequence[Value]) -> tuple[Array, Array]:
    """Two lists, null where one of them is."""
    one, other = (_normal(arg) for arg in args)
    valid = both_valid(one, other)
    if valid is None:
        return one, other
    places = pa.array(np.arange(len(one)), mask=~valid)
    return one.take(places), other.take(places)


@kernel("array_distinct", total=True)
def _array_distinct(call: Call, args: Sequence[Value]) -> Array:
    return distinct_lists(args[0])


@kernel("array_union", total=True)
def _array_union(call: Call, args: Sequence[Value]) -> Array:
    return distinct_lists(concat_lists([_normal(arg) for arg in args], call.kind))


@kernel("array_intersect array_except", total=True)
def _array_intersect(call: Call, args: Sequence[Value]) -> Array:
    one, other = _both(args)
    shared = _members(one, other)
    return distinct_lists(
        keep_items(one, shared if call.function == "array_intersect" else ~shared)
    )


@kernel("arrays_overlap", total=True)
def _arrays_overlap(call: Call, args: Sequence[Value]) -> Array:
    one, other = _both(args)
    rows, length = rows_of_items(one), len(one)
    found = any_per_row(rows, _members(one, other) & valid_mask(items_of(one)), length)
    nulls = [any_per_row(rows_of_items(x), ~valid_mask(items_of(x)), length) for x in (one, other)]
    filled = (lengths_of(one) > 0) & (lengths_of(other) > 0)
    unknown = ~found & filled & (nulls[0] | nulls[1])
    return from_numbers(found, valid_mask(one) & ~unknown, BOOLEAN)
