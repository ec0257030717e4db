"""Order keys: 64-bit numbers that stand for values, in the order of these.

    key(x) < key(y)  ⇔  x comes before y          key(x) = key(y)  ⇔  x and y are the same value

by SQL's rule: -0.0 is 0.0, NaN is NaN and comes after every number; text goes by code points.
Values that fit a word have keys of their own; others are numbered in order, so that their keys
hold only within one array. What a null gets is unspecified.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from driftline.engine.state.fingerprints import words
from driftline.model.arrays import Int64s, Mask
from driftline.model.row import sort_key

DIGITS_OF_A_WORD = 18
_ALL_BUT_THE_SIGN = np.int64(2**63 - 1)
_SIGN = np.int64(-(2**63))


def _of_structs(array: pa.Array) -> Int64s:
    """Structs go by their fields, one after the other; a field that is null comes first."""
    keys: list[Int64s] = []
    for part in array.flatten():
        there = valid(part)
        keys += [there.astype(np.int64), np.where(there, order_keys(part), 0)]
    if not keys:
        return np.zeros(len(array), np.int64)
    order = np.lexsort(keys[::-1])
    changes = np.zeros(len(array), np.int64)
    for key in keys:
        changes[1:] |= key[order][1:] != key[order][:-1]
    numbers = np.empty(len(array), np.int64)
    numbers[order] = np.cumsum(changes)
    return numbers


def order_keys(array: pa.Array) -> Int64s:
    """The order key of every value.

    >>> order_keys(pa.array(["b", "a", "b"])).tolist()
    [1, 0, 1]
    >>> numbers = pa.array([float("nan"), -0.0, 0.0, -2.5])
    >>> np.argsort(order_keys(numbers), kind="stable").tolist()
    [3, 1, 2, 0]
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
        kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_floating(kind):
        bits = words(array).view(np.int64)
        return bits ^ ((bits >> 63) & _ALL_BUT_THE_SIGN)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
        whole = words(array).view(np.int64)
        return whole ^ _SIGN if kind == pa.uint64() else whole
    if pa.types.is_decimal(kind) and kind.precision <= DIGITS_OF_A_WORD:
        # Contiguous, as all others are: for strides kernels would be compiled once more.
        return np.ascontiguousarray(decimal_words(array)[:, 0]).view(np.int64)
    if pa.types.is_struct(kind):
        return _of_structs(array)
    if pa.types.is_nested(kind):
        return _numbered([sort_key(value) for value in array.to_pylist()])
    codes = array.dictionary_encode()
    if len(codes.dictionary) == 0:
        return np.zeros(len(array), np.int64)
    places = pc.sort_indices(codes.dictionary).to_numpy()
    ranks = np.empty(len(places), np.int64)
    ranks[places] = np.arange(len(places))
    numbers: Int64s = ranks[pc.fill_null(codes.indices, 0).to_numpy()]
    return numbers


def values_of_keys(keys: Int64s, kind: pa.DataType) -> NDArray[np.generic]:
    """The words that keys were made of, those of floats as floats; for types that fit a word.

    >>> values_of_keys(order_keys(pa.array([-2.5, 7.0])), pa.float64()).tolist()
    [-2.5, 7.0]
    """
    if pa.types.is_floating(kind):
        return np.where(keys < 0, keys ^ _ALL_BUT_THE_SIGN, keys).view(np.float64)
    return (keys ^ _SIGN).view(np.uint64) if kind == pa.uint64() else keys


def _numbered(keys: list[tuple[object, ...]]) -> Int64s:
    numbers = {key: number for number, key in enumerate(sorted(set(keys)))}
    return np.array([numbers[key] for key in keys], np.int64)


def valid(array: pa.Array) -> Mask:
    """Where the values are not null."""
    if array.null_count == 0:
        return np.ones(len(array), np.bool_)
    return array.is_valid().to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def decimal_words(array: pa.Array) -> NDArray[np.uint64]:
    """The units of a column of decimals: [value, low and high half of its 128 bits]."""
    array = array.cast(pa.decimal128(38, array.type.scale))
    raw = np.frombuffer(array.buffers()[1] or b"", np.uint64)
    return raw[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)
