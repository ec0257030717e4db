"""Comparison, with Spark's order: NaN equals NaN and is greater than all other numbers, 0.0 equals
-0.0, texts compare by their bytes. Arrays compare element by element and then by length, structs
field by field; within them null equals null and comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.arrays import (
    Array,
    Value,
    as_array,
    both_valid,
    is_scalar,
    to_mask,
    valid_mask,
)
from driftline.engine.expressions.registry import kernel
from driftline.plan.expressions import Call
from driftline.plan.types import is_array, is_float, is_nested, is_struct

Order = npt.NDArray[np.int8]
"""-1, 0 or 1 for each row."""

_ARROW = {
    "equal": pc.equal,
    "not_equal": pc.not_equal,
    "less": pc.less,
    "less_equal": pc.less_equal,
    "greater": pc.greater,
    "greater_equal": pc.greater_equal,
}
_FROM_ORDER: dict[str, Callable[[Order], Any]] = {
    "equal": lambda order: order == 0,
    "not_equal": lambda order: order != 0,
    "less": lambda order: order < 0,
    "less_equal": lambda order: order <= 0,
    "greater": lambda order: order > 0,
    "greater_equal": lambda order: order >= 0,
}
_MIRRORED = {
    "equal": "equal",
    "not_equal": "not_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}


@kernel(" ".join(_ARROW), scalars=True, total=True)
def _compare(call: Call, args: Sequence[Value]) -> Array:
    left, right = args
    return compare_values(call.function, left, right, call.args[0].type)


@kernel("null_safe_equal", scalars=True, total=True, strict=False)
def _null_safe_equal(call: Call, args: Sequence[Value]) -> Array:
    left, right = args
    same = compare_values("equal", left, right, call.args[0].type)
    both_null = pc.and_(pc.is_null(left), pc.is_null(right))
    return pc.or_(pc.fill_null(same, False), both_null)


@kernel("is_null", total=True, strict=False)
def _is_null(call: Call, args: Sequence[Value]) -> Array:
    return pc.is_null(args[0])


@kernel("not", total=True)
def _not(call: Call, args: Sequence[Value]) -> Array:
    return pc.invert(args[0])


@kernel("isnan", total=True, strict=False)
def _isnan(call: Call, args: Sequence[Value]) -> Array:
    return pc.fill_null(pc.is_nan(args[0]), False)


def compare_values(operator: str, left: Value, right: Value, kind: Any) -> Array:
    """`left operator right` for two values of one type, of which at least one is an array."""
    if is_float(kind):
        return _compare_floats(operator, left, right)
    if is_nested(kind):
        length = len(right) if is_scalar(left) else len(left)
        left, right = as_array(left, length), as_array(right, length)
        result = _FROM_ORDER[operator](order_of(left, right))
        valid = both_valid(left, right)
        return pa.array(result, mask=None if valid is None else ~valid)
    if pa.types.is_null(kind):
        return pa.nulls(len(right) if is_scalar(left) else len(left), pa.bool_())
    return _ARROW[operator](left, right)


def _compare_floats(operator: str, left: Value, right: Value) -> Array:
    if is_scalar(left):
        return _compare_floats(_MIRRORED[operator], right, left)
    if is_scalar(right) and right.is_valid and right.as_py() == right.as_py():
        # With a constant that is a number, only "greater" has to be told about NaN.
        if operator == "greater":
            return pc.invert(pc.less_equal(left, right))
        if operator == "greater_equal":
            return pc.invert(pc.less(left, right))
        return _ARROW[operator](left, right)
    plain = _ARROW[operator](left, right)
    left_nan, right_nan = pc.is_nan(left), pc.is_nan(right)
    if not pc.any(left_nan).as_py() and not (
        right_nan.as_py() if is_scalar(right) else pc.any(right_nan).as_py()
    ):
        return plain
    if operator in ("equal", "greater_equal", "less_equal"):
        plain = pc.or_(plain, pc.and_(left_nan, right_nan))
    if operator == "not_equal":
        return pc.and_(plain, pc.invert(pc.and_(left_nan, right_nan)))
    if operator in ("greater", "greater_equal"):
        return pc.or_(plain, pc.and_(left_nan, pc.invert(right_nan)))
    if operator in ("less", "less_equal"):
        return pc.or_(plain, pc.and_(right_nan, pc.invert(left_nan)))
    return plain


def order_of(left: Array, right: Array) -> Order:
    """How each pair of values is ordered; null equals null and comes first."""
    kind = left.type
    if is_struct(kind):
        order = np.zeros(len(left), dtype=np.int8)
        for index in range(kind.num_fields):
            field = order_of(pc.struct_field(left, [index]), pc.struct_field(right, [index]))
            order = np.where(order == 0, field, order)
    elif is_array(kind):
        order = _order_of_lists(left, right)
    elif pa.types.is_null(kind):
        order = np.zeros(len(left), dtype=np.int8)
    else:
        less = to_mask(compare_values("less", left, right, kind))
        greater = to_mask(compare_values("greater", left, right, kind))
        order = greater.astype(np.int8) - less.astype(np.int8)
    left_valid, right_valid = valid_mask(left), valid_mask(right)
    both = left_valid & right_valid
    missing = left_valid.astype(np.int8) - right_valid.astype(np.int8)
    return np.where(both, order, missing).astype(np.int8)


def _order_of_lists(left: Array, right: Array) -> Order:
    left_length = lengths_of(left)
    right_length = lengths_of(right)
    shared = np.minimum(left_length, right_length)
    rows = np.repeat(np.arange(len(left)), shared)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(shared) - shared, shared)
    left_items = left.values.take(pa.array(starts_of(left)[rows] + within))
    right_items = right.values.take(pa.array(starts_of(right)[rows] + within))
    items = order_of(left_items, right_items)
    order: Order = np.sign(left_length - right_length).astype(np.int8)
    different = np.flatnonzero(items)
    first_rows, first = np.unique(rows[different], return_index=True)
    order[first_rows] = items[different[first]]
    return order


def lengths_of(array: Array) -> npt.NDArray[np.int64]:
    """The lengths of lists; 0 for null."""
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    return np.asarray(lengths.to_numpy(zero_copy_only=False), dtype=np.int64)


def starts_of(array: Array) -> npt.NDArray[np.int64]:
    """Where each list starts in `array.values`."""
    return np.asarray(array.offsets.to_numpy(zero_copy_only=False)[:-1], dtype=np.int64)
