"""Rows as integers: equal rows get equal codes, so kernels compare a row by one number.

Equality is that of `driftline.model.row`: null is null, NaN is NaN, 0.0 is -0.0. With
`ordered=True` the codes also sort as the rows do: column by column in the order of the columns'
names, null first, NaN after every number, arrays item by item, structs field by field.

No Python runs per row. A flat column is coded by its dictionary; a struct by the codes of its
fields; a list by viewing the codes of its items as one binary value. Codes of several columns are
joined as the digits of one number, counted anew before they would overflow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.kernels import compiled
from driftline.model.arrays import FrozenInt64s, Int64s, list_lengths, stored, to_numpy

_LARGEST_PRODUCT = 2**62
_CODE_BYTES = 8
_MIX, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def row_codes(table: pa.Table, length: int, *, ordered: bool = False) -> Int64s:
    """A code for each of the `length` rows of the table (a table without columns has no length).

    >>> table = pa.table({"a": [1.0, None, -0.0, 0.0, None]})
    >>> row_codes(table, 5, ordered=True).tolist()
    [2, 0, 1, 1, 0]
    """
    names = sorted(table.column_names) if ordered else table.column_names
    columns = [_one_array(table.column(name)) for name in names]
    return _joined([_codes(column, ordered) for column in columns], length, ordered)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    joined = column.combine_chunks()
    return pa.concat_arrays(joined.chunks) if isinstance(joined, pa.ChunkedArray) else joined


def _codes(array: pa.Array, ordered: bool) -> Int64s:
    """Codes from 0 for the values of one array; null has a code as well, the least one."""
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int64)
    if pa.types.is_struct(kind):
        return _struct_codes(array, ordered)
    if pa.types.is_map(kind):
        return _codes(array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field]))), ordered)
    if pa.types.is_fixed_size_list(kind):
        return _codes(array.cast(pa.large_list(kind.value_type)), ordered)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _list_codes(array, ordered)
    if pa.types.is_dictionary(kind):
        return _codes(array.dictionary_decode(), ordered)
    if isinstance(array, pa.ExtensionArray):
        return _codes(array.storage, ordered)
    if pa.types.is_boolean(kind):
        return _with_nulls(stored(array.cast(pa.int8())).astype(np.int64), array)
    if pa.types.is_floating(kind):
        return _float_codes(array, ordered)
    if pa.types.is_signed_integer(kind):
        values = stored(array).astype(np.int64, copy=False)
        return _with_nulls(_numbered(values, ordered), array)
    return _dictionary_codes(array, ordered)


def _float_codes(array: pa.Array, ordered: bool) -> Int64s:
    values = stored(array.cast(pa.float64())) + 0.0  # -0.0 becomes 0.0
    values[np.isnan(values)] = np.nan  # one NaN of the many
    bits = values.view(np.int64)
    # Read as integers, positive floats sort as they should (NaN last) and negative ones backwards.
    sortable = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits) if ordered else bits
    return _with_nulls(_numbered(sortable, ordered), array)


def _dictionary_codes(array: pa.Array, ordered: bool) -> Int64s:
    encoded = array.dictionary_encode()
    codes: Int64s = stored(encoded.indices).astype(np.int64)
    if ordered and len(encoded.dictionary):
        ranks = np.empty(len(encoded.dictionary), np.int64)
        ranks[to_numpy(pc.sort_indices(encoded.dictionary))] = np.arange(len(ranks))
        codes = ranks[np.clip(codes, 0, len(ranks) - 1)]  # anything may stand for a null
    return _with_nulls(codes, array)


def _struct_codes(array: pa.Array, ordered: bool) -> Int64s:
    # flatten() hands the struct's own nulls down to its fields
    codes = _joined([_codes(part, ordered) for part in array.flatten()], len(array), ordered)
    return _with_nulls(codes, array)


def _list_codes(array: pa.Array, ordered: bool) -> Int64s:
    offsets = np.zeros(len(array) + 1, np.int64)
    np.cumsum(list_lengths(array), out=offsets[1:])
    items = _codes(array.flatten(), ordered)
    # Big-endian, so that the bytes of two lists compare as the lists of codes do.
    binary = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(array),
        [None, pa.py_buffer(offsets * _CODE_BYTES), pa.py_buffer(items.astype(">i8"))],
    )
    return _with_nulls(_dictionary_codes(binary, ordered), array)


def _with_nulls(codes: Int64s, array: pa.Array) -> Int64s:
    """Codes from 0, where 0 is null and the others have moved up by one."""
    if array.null_count == 0:
        return codes
    present = to_numpy(array.is_valid())
    return np.where(present, codes + 1, 0)


def _numbered(values: Int64s, ordered: bool) -> Int64s:
    """The distinct values numbered from 0, in their order if asked."""
    if ordered:
        return np.unique(values, return_inverse=True)[1].astype(np.int64, copy=False)
    return _numbered_by_arrival(values)


@compiled
def _numbered_by_arrival(values: FrozenInt64s) -> Int64s:
    """Numbers by first appearance, with a hash table of open addressing."""
    slots = 16
    while slots < 2 * len(values):
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.full(slots, -1, np.int32)  # slot to number
    distinct = np.empty(len(values), np.int64)
    codes = np.empty(len(values), np.int64)
    count = 0
    for i in range(len(values)):
        mixed = np.uint64(values[i]) * _MIX
        slot = (mixed ^ (mixed >> _SHIFT)) & mask
        while table[slot] >= 0 and distinct[table[slot]] != values[i]:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = count
            distinct[count] = values[i]
            count += 1
        codes[i] = table[slot]
    return codes


def _joined(columns: Sequence[Int64s], length: int, ordered: bool) -> Int64s:
    """One code for each combination of the columns' codes, the first column deciding most."""
    if not columns or not length:
        return np.zeros(length, np.int64)
    joined, size = columns[0], int(columns[0].max()) + 1
    for codes in columns[1:]:
        digits = int(codes.max()) + 1
        if size * digits > _LARGEST_PRODUCT:
            joined = _numbered(joined, ordered)
            size = int(joined.max()) + 1
        joined, size = joined * digits + codes, size * digits
    return joined if size <= length else _numbered(joined, ordered)
