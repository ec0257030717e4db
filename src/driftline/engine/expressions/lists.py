"""Lists taken apart and put together again, without touching rows one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import Array, Mask, both_valid, valid_mask
from driftline.engine.expressions.comparison import lengths_of, starts_of

Positions = npt.NDArray[np.int64]


def rows_of_items(array: Array) -> Positions:
    """For each item of the flattened lists, the row it belongs to."""
    return np.repeat(np.arange(len(array)), lengths_of(array))


def items_of(array: Array) -> Array:
    """The items of all lists, one after the other; null lists have none."""
    return array.flatten()


def lists_from(items: Array, lengths: Positions, valid: Mask | None, kind: Any) -> Array:
    """Lists of these lengths over the items."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    mask = None if valid is None or valid.all() else pa.array(~valid)
    if items.type != kind.value_type:
        items = items.cast(kind.value_type)
    made = pa.ListArray.from_arrays(pa.array(offsets), items, mask=mask)
    return made if made.type == kind else made.cast(kind)


def concat_lists(arrays: list[Array], kind: Any) -> Array:
    """The lists of each row, one after the other; null if one of them is."""
    valid = both_valid(*arrays)
    lengths = [lengths_of(array) for array in arrays]
    rows = np.concatenate(
        [np.repeat(np.arange(len(a)), n) for a, n in zip(arrays, lengths, strict=True)]
    )
    order = np.argsort(rows, kind="stable")
    items = pa.concat_arrays([items_of(array) for array in arrays]).take(pa.array(order))
    total = np.sum(lengths, axis=0)
    if valid is not None:
        items = items.filter(pa.array(valid[rows[order]]))
        total = np.where(valid, total, 0)
    return lists_from(items, total, valid, kind)


def reverse_lists(array: Array) -> Array:
    """Each list backwards."""
    lengths = lengths_of(array)
    rows = rows_of_items(array)
    ends = np.cumsum(lengths)
    within = np.arange(len(rows)) - (ends - lengths)[rows]
    items = items_of(array).take(pa.array(ends[rows] - 1 - within))
    return lists_from(items, lengths, both_valid(array), array.type)


def sorted_items(array: Array, ascending: bool) -> Array:
    """The items of all lists, sorted within each list: nulls first if ascending, else last."""
    items = items_of(array)
    direction = "ascending" if ascending else "descending"
    columns: dict[str, Any] = {"row": pa.array(rows_of_items(array))}
    columns["present"] = items.is_valid()
    keys = [("row", "ascending"), ("present", direction)]
    if pa.types.is_floating(items.type):
        columns["nan"] = pc.fill_null(pc.is_nan(items), False)
        keys.append(("nan", direction))
        zeros = pc.equal(items, 0.0)
        items_key = pc.if_else(pc.fill_null(zeros, False), 0.0, items)
        columns["item"] = pc.if_else(columns["nan"], 0.0, items_key)
    else:
        columns["item"] = items
    keys.append(("item", direction))
    return items.take(pc.sort_indices(pa.table(columns), sort_keys=keys))


def pick(array: Array, index: Positions, valid: Mask) -> Array:
    """The item at an index, counted from 0, of each list; null where not valid."""
    positions = starts_of(array) + np.where(valid, index, 0)
    return array.values.take(pa.array(positions, pa.int64(), mask=~valid))


def keep_items(array: Array, keep: Mask) -> Array:
    """The lists with only some of their items."""
    counts = np.bincount(rows_of_items(array)[keep], minlength=len(array))
    items = items_of(array).filter(pa.array(keep))
    return lists_from(items, counts, both_valid(array), array.type)


def any_per_row(rows: Positions, flags: Mask, length: int) -> Mask:
    """For each row, whether a flag is set for one of its items."""
    found = np.zeros(length, dtype=np.bool_)
    found[rows[flags]] = True
    return found


def first_per_row(rows: Positions, flags: Mask, length: int) -> Positions:
    """For each row, the place of its first item with a flag among all items, or -1."""
    found = np.full(length, -1, dtype=np.int64)
    places = np.flatnonzero(flags)
    first_rows, first = np.unique(rows[places], return_index=True)
    found[first_rows] = places[first]
    return found


def list_starts(array: Array) -> Positions:
    """Where the items of each list begin among the flattened items."""
    lengths = lengths_of(array)
    return np.cumsum(lengths) - lengths


def missing_rows(array: Array) -> Mask:
    """Where a list is null."""
    return ~valid_mask(array)
