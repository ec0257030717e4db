"""A store of rows in numbered places: columns that grow, are overwritten and are gathered.

Values of fixed width lie in NumPy arrays; text and bytes in one heap of bytes, which is packed
again when more than half of it is garbage; nested values as Python objects, which is slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.state.fingerprints import is_bytes, string_buffers
from driftline.engine.state.growing import grown
from driftline.engine.state.order_keys import valid
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.kernels import compiled
from driftline.model.arrays import Bytes, Int64s, Mask, without_columns

_SMALLEST_HEAP = 1 << 16


class _Column(Protocol):
    valid: NDArray[np.generic]

    def put(self, places: Int64s, values: pa.Array) -> None: ...

    def take(self, places: Int64s) -> pa.Array: ...

    def forget(self, places: Int64s) -> None: ...

    @property
    def nbytes(self) -> int: ...


class RowStore:
    """Rows of one schema, each in a place that its user chooses (a slot)."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.columns = [_column(field.type) for field in schema]

    def put(self, places: Int64s, rows: pa.RecordBatch) -> None:
        """Write rows to places; what was there is overwritten."""
        for column, values in zip(self.columns, rows.columns, strict=True):
            column.put(places, values)

    def take(self, places: Int64s) -> pa.RecordBatch:
        """The rows at some places."""
        if not self.columns:
            return without_columns(len(places))
        return pa.RecordBatch.from_arrays(
            [column.take(places) for column in self.columns], schema=self.schema
        )

    def take_some(self, places: Int64s, names: Sequence[str]) -> pa.RecordBatch:
        """Some columns of the rows at some places."""
        if not names:
            return without_columns(len(places))
        columns = [self.columns[self.schema.get_field_index(name)].take(places) for name in names]
        return pa.RecordBatch.from_arrays(columns, names=list(names))

    def there(self, name: str) -> Mask:
        """By place, whether a column is not null."""
        found: Mask = self.columns[self.schema.get_field_index(name)].valid.view(np.bool_)
        return found

    def forget(self, places: Int64s) -> None:
        """Note that the rows at some places are no longer needed."""
        for column in self.columns:
            column.forget(places)

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns)

    def make_slots(self, count: int) -> None:
        """Nothing: there is room for a row where it is put."""

    def clear(self, slots: Int64s) -> None:
        self.forget(slots)

    def snapshot(self, slots: Int64s, name: str) -> dict[str, NDArray[np.generic]]:
        return {name: rows_to_bytes(self.take(slots))}

    def restore(self, slots: Int64s, arrays: dict[str, NDArray[np.generic]], name: str) -> None:
        self.put(slots, rows_from_bytes(arrays[name]))


def _column(kind: pa.DataType) -> _Column:
    if is_bytes(kind):
        return _BytesColumn(kind)
    if pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_dictionary(kind):
        return _ObjectColumn(kind)
    return _FixedColumn(kind)


def _bitmap(valid: NDArray[np.generic]) -> pa.Buffer | None:
    return (
        None
        if valid.all()
        else pa.py_buffer(np.packbits(valid.astype(np.bool_), bitorder="little"))
    )


class _FixedColumn:
    """`data`: the raw value in each place; `valid`: whether it is not null."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.is_bool = pa.types.is_boolean(kind)
        width = 1 if self.is_bool else kind.bit_width // 8
        words = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
        shape = (0,) if width in words else (0, width // 8)
        self.data: NDArray[np.generic] = np.zeros(shape, words.get(width, np.uint64))
        self.valid: NDArray[np.generic] = np.zeros(0, np.bool_)

    def put(self, places: Int64s, values: pa.Array) -> None:
        if len(places) == 0:
            return
        needed = int(places.max()) + 1
        self.data, self.valid = grown(self.data, needed), grown(self.valid, needed)
        self.data[places] = self._raw(values)
        self.valid[places] = valid(values)

    def _raw(self, values: pa.Array) -> NDArray[np.generic]:
        if self.is_bool:
            return values.fill_null(False).to_numpy(zero_copy_only=False).astype(np.uint8)  # type: ignore[no-any-return]
        raw = np.frombuffer(values.buffers()[1], self.data.dtype)
        raw = raw.reshape(-1, *self.data.shape[1:])
        return raw[values.offset : values.offset + len(values)]

    def take(self, places: Int64s) -> pa.Array:
        data, valid = self.data[places], self.valid[places]
        if self.is_bool:
            buffer = pa.py_buffer(np.packbits(data.astype(np.bool_), bitorder="little"))
        else:
            buffer = pa.py_buffer(np.ascontiguousarray(data))
        return pa.Array.from_buffers(self.kind, len(places), [_bitmap(valid), buffer])

    def forget(self, places: Int64s) -> None:
        pass

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + self.valid.nbytes


class _BytesColumn:
    """`start`, `length`: where the value of each place lies in `heap`; `used`: the heap's filled
    part, `garbage`: how much of that is no longer needed."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.large = kind in (pa.large_string(), pa.large_binary())
        self.start: NDArray[np.generic] = np.zeros(0, np.int64)
        self.length: NDArray[np.generic] = np.zeros(0, np.int64)
        self.valid: NDArray[np.generic] = np.zeros(0, np.bool_)
        self.heap: Bytes = np.zeros(_SMALLEST_HEAP, np.uint8)
        self.used = 0
        self.garbage = 0

    def put(self, places: Int64s, values: pa.Array) -> None:
        if len(places) == 0:
            return
        needed = int(places.max()) + 1
        self.start, self.length = grown(self.start, needed), grown(self.length, needed)
        self.valid = grown(self.valid, needed)
        self.forget(places)
        offsets, data = string_buffers(values)
        first, last = int(offsets[0]), int(offsets[-1])
        self._make_room(last - first)
        self.heap[self.used : self.used + last - first] = data[first:last]
        self.start[places] = offsets[:-1] - first + self.used
        self.length[places] = np.diff(offsets)
        self.valid[places] = valid(values)
        self.used += last - first

    def take(self, places: Int64s) -> pa.Array:
        length = self.length[places].astype(np.int64)
        offsets = np.zeros(len(places) + 1, np.int64)
        np.cumsum(length, out=offsets[1:])
        data = _gathered(self.heap, self.start[places].astype(np.int64), length, offsets)
        wide = offsets if self.large else offsets.astype(np.int32)
        return pa.Array.from_buffers(
            self.kind,
            len(places),
            [_bitmap(self.valid[places]), pa.py_buffer(wide), pa.py_buffer(data)],
        )

    def forget(self, places: Int64s) -> None:
        self.garbage += int(self.length[places].sum())
        self.length[places] = 0

    def _make_room(self, more: int) -> None:
        if self.used + more <= len(self.heap):
            return
        if 2 * self.garbage > self.used:
            length = self.length.astype(np.int64)
            offsets = np.zeros(len(length) + 1, np.int64)
            np.cumsum(length, out=offsets[1:])
            packed = _gathered(self.heap, self.start.astype(np.int64), length, offsets)
            self.start = offsets[:-1].copy()
            self.used, self.garbage = len(packed), 0
            self.heap = np.zeros(max(_SMALLEST_HEAP, 2 * (self.used + more)), np.uint8)
            self.heap[: self.used] = packed
        elif self.used + more > len(self.heap):
            self.heap = grown(self.heap, self.used + more)

    @property
    def nbytes(self) -> int:
        return self.start.nbytes + self.length.nbytes + self.valid.nbytes + self.heap.nbytes


class _ObjectColumn:
    """`values`: a Python object in each place; `valid`: whether it is not null."""

    def __init__(self, kind: pa.DataType) -> None:
        self.kind = kind
        self.values: NDArray[np.object_] = np.empty(0, np.object_)
        self.valid: NDArray[np.generic] = np.zeros(0, np.bool_)

    def put(self, places: Int64s, values: pa.Array) -> None:
        if len(places) == 0:
            return
        if places.max() >= len(self.values):
            bigger = np.empty(max(int(places.max()) + 1, 2 * len(self.values)), np.object_)
            bigger[: len(self.values)] = self.values
            self.values = bigger
        self.valid = grown(self.valid, int(places.max()) + 1)
        self.valid[places] = valid(values)
        for place, value in zip(places.tolist(), values.to_pylist(), strict=True):
            self.values[place] = value

    def take(self, places: Int64s) -> pa.Array:
        return pa.array(self.values[places].tolist(), self.kind)

    def forget(self, places: Int64s) -> None:
        self.values[places] = None

    @property
    def nbytes(self) -> int:
        return self.values.nbytes + self.valid.nbytes


@compiled
def _gathered(heap: Bytes, start: Int64s, length: Int64s, offsets: Int64s) -> Bytes:
    data = np.empty(offsets[-1], np.uint8)
    for row in range(len(start)):
        for place in range(length[row]):
            data[offsets[row] + place] = heap[start[row] + place]
    return data
