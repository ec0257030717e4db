"""Fingerprints: 128 bits that stand for a row, or for some columns of it.

    fingerprint(r) = fingerprint(s)  ⇔  r and s are the same row by SQL's grouping rule
                                        (null is null, NaN is NaN, 0.0 is -0.0)

The direction from right to left always holds. The other holds but for a chance of about n² / 2^128
among n different rows, which is less than that of an undetected memory error. Fingerprints are
the same in every process and on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from driftline.kernels import compiled, inlined
from driftline.model.arrays import (
    MONTHS,
    Bytes,
    Floats,
    FrozenFloats,
    FrozenUInt64s,
    Int64s,
    UInt64s,
    months_in,
)

_SEEDS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_NULL = np.uint64(0x5851F42D4C957F2D)


class Fingerprints:
    """Two arrays of 64 bits, one entry a row."""

    __slots__ = ("high", "low")

    def __init__(self, low: UInt64s, high: UInt64s) -> None:
        self.low = low
        self.high = high

    def __len__(self) -> int:
        return len(self.low)

    def take(self, rows: Int64s) -> Fingerprints:
        """Those of some rows."""
        return Fingerprints(self.low[rows], self.high[rows])

    def with_numbers(self, *numbers: Int64s) -> Fingerprints:
        """The fingerprints of the rows with some numbers added to each."""
        result = Fingerprints(self.low.copy(), self.high.copy())
        for column in numbers:
            _join_words(result.low, result.high, np.ascontiguousarray(column).view(np.uint64))
        return result


def fingerprints(columns: list[pa.Array], length: int) -> Fingerprints:
    """The fingerprint of every row made of these columns.

    >>> prints = fingerprints([pa.array(["a", "b", "a", None])], 4)
    >>> bool(prints.low[0] == prints.low[2]), bool(prints.low[0] == prints.low[1])
    (True, False)
    """
    result = None
    for column in columns:
        if result is None and _is_plain(column):
            result = Fingerprints(*_first_words(words(column)))
            continue
        if result is None:
            result = _seeds(length)
        if _is_plain(column):
            _join_words(result.low, result.high, words(column))
        else:
            result = _joined(result, _of_array(column))
    return _seeds(length) if result is None else result


def _seeds(length: int) -> Fingerprints:
    return Fingerprints(
        np.full(length, _SEEDS[0], np.uint64), np.full(length, _SEEDS[1], np.uint64)
    )


def _is_plain(array: pa.Array) -> bool:
    """Whether a column is words without nulls, for which there is a short way."""
    kind = array.type
    is_words = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    return bool(is_words) and isinstance(array, pa.Array) and array.null_count == 0


def _of_array(array: pa.Array) -> Fingerprints:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if pa.types.is_null(kind):
        return _of_words(np.full(len(array), _NULL, np.uint64))
    if pa.types.is_dictionary(kind):
        values = _of_array(array.dictionary)
        codes = pc.fill_null(array.indices, 0).to_numpy()
        result = Fingerprints(values.low[codes], values.high[codes])
    elif pa.types.is_struct(kind):
        fields = [pc.struct_field(array, [place]) for place in range(kind.num_fields)]
        result = fingerprints(fields, len(array))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        result = _of_lists(array)
    elif pa.types.is_fixed_size_list(kind):
        result = _of_lists(array.cast(pa.large_list(kind.value_type)))
    elif is_bytes(kind):
        result = _of_bytes(array)
    elif pa.types.is_decimal(kind):
        result = _of_decimals(array)
    else:
        result = _of_words(words(array))
    return _with_nulls(result, array)


def words(array: pa.Array) -> UInt64s:
    """A column of fixed width as 64-bit words; what nulls give is unspecified."""
    kind = array.type
    if pa.types.is_floating(kind):
        numbers = _filled(array).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return _canonical(numbers).view(np.uint64)
    if pa.types.is_boolean(kind):
        return np.asarray(_filled(array).to_numpy(zero_copy_only=False), np.uint64)
    if kind == MONTHS:
        return months_in(array).astype(np.int64).view(np.uint64)
    if not pa.types.is_integer(kind):
        array = array.view(pa.int64() if kind.bit_width == 64 else pa.int32())  # noqa: PLR2004
    return np.asarray(_filled(array).to_numpy(zero_copy_only=False), np.int64).view(np.uint64)


def _filled(array: pa.Array) -> pa.Array:
    if array.null_count == 0:
        return array
    return pc.fill_null(array, False if pa.types.is_boolean(array.type) else 0)


def is_bytes(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _of_words(column: UInt64s) -> Fingerprints:
    low, high = _hash_words(column)
    return Fingerprints(low, high)


def _of_bytes(array: pa.Array) -> Fingerprints:
    offsets, data = string_buffers(array)
    low, high = _hash_bytes(offsets, data)
    return Fingerprints(low, high)


def string_buffers(array: pa.Array) -> tuple[Int64s, NDArray[np.uint8]]:
    """Where each text or binary value starts (and the last one ends), and all the bytes."""
    large = array.type in (pa.large_string(), pa.large_binary())
    _, offset_buffer, data_buffer = array.buffers()
    width = np.int64 if large else np.int32
    offsets = np.frombuffer(offset_buffer, width)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer or b"", np.uint8)
    return offsets.astype(np.int64), data


def _of_decimals(array: pa.Array) -> Fingerprints:
    array = array.cast(pa.decimal128(38, array.type.scale))
    raw = np.frombuffer(array.buffers()[1], np.uint64)
    halves = raw[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)
    return _joined(_of_words(halves[:, 0].copy()), _of_words(halves[:, 1].copy()))


def _of_lists(array: pa.Array) -> Fingerprints:
    offsets = array.offsets.to_numpy().astype(np.int64)
    values = array.values if not pa.types.is_map(array.type) else _map_entries(array)
    items = _of_array(values)
    low, high = _fold(offsets, items.low, items.high)
    return Fingerprints(low, high)


def _map_entries(array: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])


def _with_nulls(prints: Fingerprints, array: pa.Array) -> Fingerprints:
    if array.null_count == 0:
        return prints
    null = array.is_null().to_numpy(zero_copy_only=False)
    return Fingerprints(np.where(null, _NULL, prints.low), np.where(null, ~_NULL, prints.high))


def _joined(left: Fingerprints, right: Fingerprints) -> Fingerprints:
    low, high = _join(left.low, left.high, right.low, right.high)
    return Fingerprints(low, high)


@compiled
def _canonical(numbers: FrozenFloats) -> Floats:
    """Floats with one NaN and one zero."""
    result = np.empty(len(numbers), np.float64)
    for row in range(len(numbers)):
        result[row] = np.nan if np.isnan(numbers[row]) else numbers[row] + 0.0
    return result


@inlined
def _mix(word: np.uint64) -> np.uint64:
    """A bijection of 64 bits in which every bit of the input moves half of the output's."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def _hash_words(column: FrozenUInt64s) -> tuple[UInt64s, UInt64s]:
    low, high = np.empty_like(column), np.empty_like(column)
    for row in range(len(column)):
        low[row] = _mix(column[row] + np.uint64(0x9E3779B97F4A7C15))
        high[row] = _mix(column[row] ^ np.uint64(0xC2B2AE3D27D4EB4F))
    return low, high


@compiled
def _hash_bytes(offsets: Int64s, data: Bytes) -> tuple[UInt64s, UInt64s]:
    rows = len(offsets) - 1
    low, high = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
    for row in range(rows):
        length = np.uint64(offsets[row + 1] - offsets[row])
        one = _mix(length + np.uint64(0x9E3779B97F4A7C15))
        two = _mix(length ^ np.uint64(0xC2B2AE3D27D4EB4F))
        word, filled = np.uint64(0), 0
        for place in range(offsets[row], offsets[row + 1]):
            word |= np.uint64(data[place]) << np.uint64(8 * filled)
            filled += 1
            if filled == 8:  # noqa: PLR2004 - the bytes of a word
                one = _mix(one * np.uint64(0xD6E8FEB86659FD93) + word)
                two = _mix((two ^ word) * np.uint64(0xFF51AFD7ED558CCD))
                word, filled = np.uint64(0), 0
        if filled:
            one = _mix(one * np.uint64(0xD6E8FEB86659FD93) + word)
            two = _mix((two ^ word) * np.uint64(0xFF51AFD7ED558CCD))
        low[row], high[row] = one, two
    return low, high


@compiled
def _join(
    low: UInt64s, high: UInt64s, next_low: UInt64s, next_high: UInt64s
) -> tuple[UInt64s, UInt64s]:
    one, two = np.empty_like(low), np.empty_like(low)
    for row in range(len(low)):
        one[row] = _mix(low[row] * np.uint64(0xD6E8FEB86659FD93) + next_low[row])
        two[row] = _mix((high[row] * np.uint64(0xFF51AFD7ED558CCD)) ^ next_high[row])
    return one, two


@compiled
def _first_words(column: FrozenUInt64s) -> tuple[UInt64s, UInt64s]:
    """What `_join` makes of the seeds and the hashes of a column of words."""
    one, two = np.empty_like(column), np.empty_like(column)
    start, other = (
        _SEEDS[0] * np.uint64(0xD6E8FEB86659FD93),
        _SEEDS[1] * np.uint64(0xFF51AFD7ED558CCD),
    )
    for row in range(len(column)):
        one[row] = _mix(start + _mix(column[row] + np.uint64(0x9E3779B97F4A7C15)))
        two[row] = _mix(other ^ _mix(column[row] ^ np.uint64(0xC2B2AE3D27D4EB4F)))
    return one, two


@compiled
def _join_words(low: UInt64s, high: UInt64s, column: FrozenUInt64s) -> None:
    """What `_join` makes of fingerprints and the hashes of a column of words, in their place."""
    for row in range(len(low)):
        next_low = _mix(column[row] + np.uint64(0x9E3779B97F4A7C15))
        next_high = _mix(column[row] ^ np.uint64(0xC2B2AE3D27D4EB4F))
        low[row] = _mix(low[row] * np.uint64(0xD6E8FEB86659FD93) + next_low)
        high[row] = _mix((high[row] * np.uint64(0xFF51AFD7ED558CCD)) ^ next_high)


@compiled
def _fold(offsets: Int64s, item_low: UInt64s, item_high: UInt64s) -> tuple[UInt64s, UInt64s]:
    rows = len(offsets) - 1
    low, high = np.empty(rows, np.uint64), np.empty(rows, np.uint64)
    for row in range(rows):
        length = np.uint64(offsets[row + 1] - offsets[row])
        one = _mix(length + np.uint64(0x9E3779B97F4A7C15))
        two = _mix(length ^ np.uint64(0xC2B2AE3D27D4EB4F))
        for place in range(offsets[row], offsets[row + 1]):
            one = _mix(one * np.uint64(0xD6E8FEB86659FD93) + item_low[place])
            two = _mix((two * np.uint64(0xFF51AFD7ED558CCD)) ^ item_high[place])
        low[row], high[row] = one, two
    return low, high
