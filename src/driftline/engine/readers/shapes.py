"""The parts of structs by their names: a value of another shape in the shape of a type.

A struct that is read from outside says which of its fields is which by name, in any order and case:
{"y": 1, "x": 2} is the STRUCT<x, y> with x = 2. A field that is not there is null, one that the
type does not have is left out. (A cast, which goes by position, comes after that.)
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.model.arrays import list_lengths, to_arrow
from driftline.plan.types import is_array, is_struct


def shaped(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column with the fields of a type, as far as both have structs.

    >>> rows = pa.chunked_array([[{"Y": 1, "x": 2}, None]])
    >>> shaped(rows, pa.struct([("x", pa.int8()), ("y", pa.int8()), ("z", pa.int8())])).to_pylist()
    [{'x': 2, 'y': 1, 'z': None}, None]
    """
    if fits(column.type, kind):
        return column
    parts = [_shaped(part, kind) for part in column.chunks]
    return pa.chunked_array(parts) if parts else pa.chunked_array([], type=kind)


def fits(have: pa.DataType, kind: pa.DataType) -> bool:
    """Are the fields of all structs the same, in the same order?"""
    if is_array(have) and is_array(kind):
        return fits(have.value_type, kind.value_type)
    if is_struct(have) and is_struct(kind):
        return [each.name for each in have] == [each.name for each in kind] and all(
            fits(one.type, other.type) for one, other in zip(have, kind, strict=True)
        )
    return True


def _shaped(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_array(array.type) and is_array(kind):
        items = _shaped(array.flatten(), kind.value_type)
        offsets = np.concatenate([[0], np.cumsum(list_lengths(array))]).astype(np.int32)
        return pa.ListArray.from_arrays(
            to_arrow(offsets), items, pa.list_(items.type), mask=array.is_null()
        )
    if is_struct(array.type) and is_struct(kind):
        have = {
            each.name.lower(): part for each, part in zip(array.type, array.flatten(), strict=True)
        }
        parts = [
            _shaped(have[each.name.lower()], each.type)
            if each.name.lower() in have
            else pa.nulls(len(array), each.type)
            for each in kind
        ]
        fields = [pa.field(each.name, part.type) for each, part in zip(kind, parts, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    return array
