"""Small helpers between Arrow and NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.expansion import check_texts
from driftline.model.arrays import MONTHS, intervals, months_in

Array = Any
"""A pyarrow.Array."""
Scalar = Any
"""A pyarrow.Scalar."""
Value = Any
"""A pyarrow.Array, or a pyarrow.Scalar that stands for the same value in every row."""
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]


WORTH_A_LOOK = 1 << 27
"""Bytes up to which nothing is too large."""


def is_scalar(value: Value) -> bool:
    """Does it stand for the same value in every row?"""
    return isinstance(value, pa.Scalar)


def as_array(value: Value, length: int) -> Array:
    """The value with one entry for each row."""
    if not is_scalar(value):
        return value
    if not value.is_valid:
        return pa.nulls(length, value.type)
    if not pa.types.is_primitive(value.type):
        once = pa.repeat(value, 1)
        if once.nbytes * length > WORTH_A_LOOK:
            check_texts(f"a constant in each of {length:,} rows", once.nbytes * length)
    return pa.repeat(value, length)


def valid_mask(array: Array) -> Mask:
    """Where the array is not null."""
    if array.null_count == 0:
        return np.ones(len(array), dtype=np.bool_)
    return to_mask(array.is_valid())


def to_mask(array: Array) -> Mask:
    """A boolean array as NumPy; null is false."""
    if array.null_count:
        array = array.fill_null(False)
    mask: Mask = array.to_numpy(zero_copy_only=False)
    return mask


def is_counted_in_longs(kind: Any) -> bool:
    """Whether values are microseconds of something."""
    types = pa.types
    return bool(types.is_timestamp(kind) or types.is_duration(kind) or types.is_time64(kind))


def numbers(array: Array) -> Numbers:
    """The values of a number, date, time or interval array as NumPy; null is 0."""
    kind = array.type
    if pa.types.is_date32(kind):
        array = array.view(pa.int32())
    elif is_counted_in_longs(kind):
        array = array.view(pa.int64())
    elif kind == MONTHS:
        array = pa.array(months_in(array), mask=~valid_mask(array) if array.null_count else None)
    if array.null_count:
        array = array.fill_null(False if pa.types.is_boolean(kind) else 0)
    values: Numbers = array.to_numpy(zero_copy_only=False)
    return values


def from_numbers(values: Numbers, valid: Mask | None, kind: Any) -> Array:
    """An array of the given type from NumPy values, null where not valid."""
    mask = None if valid is None or valid.all() else ~valid
    if pa.types.is_date32(kind):
        return pa.array(values.astype(np.int32, copy=False), pa.int32(), mask=mask).view(kind)
    if kind == MONTHS:
        return intervals(values, mask)
    if is_counted_in_longs(kind):
        return pa.array(values.astype(np.int64, copy=False), pa.int64(), mask=mask).view(kind)
    return pa.array(values, kind, mask=mask)


def both_valid(*arrays: Array) -> Mask | None:
    """Where none of the arrays is null; None means everywhere."""
    found: Mask | None = None
    for array in arrays:
        if array.null_count:
            valid = valid_mask(array)
            found = valid if found is None else found & valid
    return found


def with_nulls(array: Array, missing: Mask) -> Array:
    """The array with null where the mask says so."""
    if not missing.any():
        return array
    return pc.if_else(pa.array(~missing), array, pa.scalar(None, array.type))


def scatter(values: Array, rows: Mask, length: int) -> Array:
    """An array of the given length that has the values in the masked rows and null elsewhere."""
    if len(values) == length:
        return values
    positions = np.cumsum(rows) - 1
    indices = pa.array(positions, pa.int64(), mask=~rows)
    return values.take(indices)


def per_distinct(function: Callable[..., Any], arrays: list[Array], kind: Any) -> Array:
    """The fallback where nothing vectorised exists: a Python function, called once for each
    distinct combination of values; null where any of them is null.
    """
    length = len(arrays[0])
    encoded = [array.dictionary_encode() for array in arrays]
    valid = both_valid(*arrays)
    codes = np.zeros(length, dtype=np.int64)
    for column in encoded:
        codes = codes * max(len(column.dictionary), 1) + numbers(column.indices)
    if valid is not None:
        codes[~valid] = -1
    distinct, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    chosen = [array.take(pa.array(first)).to_pylist() for array in arrays]
    results, size = [], 0
    for code, *values in zip(distinct.tolist(), *chosen, strict=True):
        result = None if code < 0 else function(*values)
        results.append(result)
        if isinstance(result, (str, bytes)):
            size += len(result)
            if size > WORTH_A_LOOK:
                check_texts(f"a function of {length:,} rows", size)
    made = pa.array(results, kind)
    if made.nbytes * length > WORTH_A_LOOK:
        sizes = 1 + made.nbytes / len(made)
        if pa.types.is_string(kind) or pa.types.is_binary(kind):
            sizes = numbers(pc.binary_length(made))[inverse].sum(dtype=np.float64) / length
        check_texts(f"a function of {length:,} rows", sizes * length)
    return made.take(pa.array(inverse))


def counted(kind: Any) -> Any:
    """The type with numbers for dates and times: Python's have years up to 9999 only."""
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return pa.int64()
    if pa.types.is_map(kind):
        return pa.map_(counted(kind.key_type), counted(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(counted(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(counted(field.type)) for field in kind])
    return kind


def plain_values(array: Array) -> list[Any]:
    """The values as Python objects, dates and times as numbers."""
    found: list[Any] = array.cast(counted(array.type)).to_pylist()
    return found
