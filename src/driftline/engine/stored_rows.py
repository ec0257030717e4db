"""Rows as one array of bytes, the form in which a snapshot holds them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def rows_to_bytes(rows: pa.RecordBatch) -> NDArray[np.uint8]:
    """The rows as Arrow IPC.

    >>> rows = pa.RecordBatch.from_pylist([{"a": 1}, {"a": None}])
    >>> rows_from_bytes(rows_to_bytes(rows)).to_pylist()
    [{'a': 1}, {'a': None}]
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return np.frombuffer(sink.getvalue(), np.uint8)


def rows_from_bytes(data: NDArray[np.generic]) -> pa.RecordBatch:
    with pa.ipc.open_stream(pa.py_buffer(np.ascontiguousarray(data))) as reader:
        return reader.read_next_batch()
