"""NumPy arrays as Arrow arrays and back, without a copy where none is needed.

Arrow's own `pa.array` and `to_numpy` look at every array for what pandas may have made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.kernels.signatures import FROZEN

T = TypeVar("T")

Int8s = NDArray[np.int8]
Int64s = NDArray[np.int64]
UInt64s = NDArray[np.uint64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
ByteArray = NDArray[np.uint8]

Int8Table = Annotated[NDArray[np.int8], 2]
Int64Table = Annotated[NDArray[np.int64], 2]
FloatTable = Annotated[NDArray[np.float64], 2]
MaskTable = Annotated[NDArray[np.bool_], 2]
Int64Cube = Annotated[NDArray[np.int64], 3]
FloatCube = Annotated[NDArray[np.float64], 3]
"""Tables have rows and columns, cubes have one dimension more."""

Bytes = Annotated[NDArray[np.uint8], FROZEN]
FrozenInt64s = Annotated[NDArray[np.int64], FROZEN]
FrozenUInt64s = Annotated[NDArray[np.uint64], FROZEN]
FrozenFloats = Annotated[NDArray[np.float64], FROZEN]
"""What a kernel only reads, so that it takes Arrow's memory, which is read only, as it is."""


def to_arrow(values: NDArray[Any]) -> pa.Array:
    """An Arrow array of numbers or booleans.

    >>> to_arrow(np.array([True, False])).to_pylist()
    [True, False]
    """
    if values.dtype == np.bool_:
        return to_arrow(values.view(np.uint8)).cast(pa.bool_())
    kind = pa.from_numpy_dtype(values.dtype)
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [None, data])


_MOST_SCHEMAS = 1024


def once_for_each(make: Callable[[pa.Schema], T]) -> Callable[[pa.Schema], T]:
    """A function of a schema that keeps what it has made: by the identity of the schema, which is
    kept for that, as its hash takes longer to compute than a small batch.

    >>> names = once_for_each(lambda schema: list(schema.names))
    >>> schema = pa.schema([("a", pa.int64())])
    >>> names(schema) is names(schema)
    True
    """
    made: dict[int, tuple[pa.Schema, T]] = {}

    @wraps(make)
    def kept(schema: pa.Schema) -> T:
        found = made.get(id(schema))
        if found is None:
            if len(made) >= _MOST_SCHEMAS:
                made.clear()
            found = made[id(schema)] = schema, make(schema)
        return found[1]

    return kept


def without_columns(rows: int) -> pa.RecordBatch:
    """So many rows that have no columns.

    >>> without_columns(3).num_rows
    3
    """
    return pa.RecordBatch.from_struct_array(pa.Array.from_buffers(pa.struct([]), rows, [None]))


def rows_at(rows: pa.RecordBatch, places: Int64s) -> pa.RecordBatch:
    """The rows at some places, also if they have no columns. Those that lie side by side are not
    copied, unless they are few of many, which would be kept in memory with them.

    >>> rows = pa.RecordBatch.from_pydict({"a": [1, 2, 3]})
    >>> rows_at(rows, np.array([0, 1, 2])) is rows
    True
    >>> rows_at(rows, np.array([2, 1, 1])).column("a").to_pylist()
    [3, 2, 2]
    """
    count = len(places)
    if rows.num_columns == 0:
        return without_columns(count)
    is_run = 2 * count >= max(len(rows), 1) and places[-1] - places[0] + 1 == count
    if not is_run or not (count == 1 or (np.diff(places) == 1).all()):
        return rows.take(to_arrow(places))
    return rows if count == len(rows) else rows.slice(int(places[0]), count)


def to_numpy(array: pa.Array) -> NDArray[Any]:
    """The numbers or booleans of an Arrow array that has no nulls; read only.

    >>> to_numpy(pa.array([1.5, 2.0])).tolist()
    [1.5, 2.0]
    """
    if array.null_count:
        raise ValueError("an array with nulls has no NumPy form")
    if pa.types.is_boolean(array.type):
        return to_numpy(array.cast(pa.uint8())).view(np.bool_)
    if not len(array):
        return np.empty(0, array.type.to_pandas_dtype())
    return np.from_dlpack(array)


def stored(array: pa.Array) -> NDArray[Any]:
    """The numbers of an Arrow array as they are stored: anything may stand where it is null."""
    if not array.null_count:
        return to_numpy(array)
    data = array.buffers()[1]
    values = np.frombuffer(data, array.type.to_pandas_dtype())
    return values[array.offset : array.offset + len(array)]


MONTHS = pa.month_day_nano_interval()
"""Intervals of months, of which days and nanoseconds are 0."""
_MONTHS_ITEM = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])


def months_in(array: pa.Array) -> NDArray[np.int32]:
    """How many months intervals have; where there is none, it is unspecified.

    >>> months_in(intervals(np.array([14, -3]))).tolist()
    [14, -3]
    """
    held = np.frombuffer(array.buffers()[1], _MONTHS_ITEM)
    return held[array.offset : array.offset + len(array)]["months"].astype(np.int32)


def intervals(months: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Intervals of so many months, null where they are missing."""
    held = np.zeros(len(months), _MONTHS_ITEM)
    held["months"] = months
    valid = None if missing is None else pa.array(~missing).buffers()[1]
    return pa.Array.from_buffers(MONTHS, len(months), [valid, pa.py_buffer(held)])


def list_lengths(array: pa.Array) -> NDArray[np.int64]:
    """How many items each list has; none where it is null."""
    lengths = np.diff(to_numpy(array.offsets)).astype(np.int64)
    lengths[to_numpy(array.is_null())] = 0
    return lengths


def text_scalar(text: str | None) -> pa.Scalar:
    """A text, or no text, as Arrow's compute functions take it.

    >>> text_scalar("∞"), text_scalar(None)
    (<pyarrow.LargeStringScalar: '∞'>, <pyarrow.LargeStringScalar: None>)
    """
    if text is None:
        return pa.nulls(1, pa.large_string())[0]
    data = text.encode()
    offsets = pa.py_buffer(np.array([0, len(data)], np.int64))
    return pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, pa.py_buffer(data)])[0]


def repeated(text: str, count: int) -> pa.Array:
    """The same text so many times."""
    return pa.repeat(text_scalar(text), count)


def without_empty_parts(table: pa.Table) -> pa.Table:
    """The table without parts that have no rows: Arrow's writer of CSV repeats what it has written
    before for each of them.

    >>> table = pa.table({"x": pa.chunked_array([[], [1]], pa.int64())})
    >>> without_empty_parts(table).column("x").num_chunks
    1
    """
    parts = [part for part in table.to_batches() if part.num_rows]
    return pa.Table.from_batches(parts, table.schema)
