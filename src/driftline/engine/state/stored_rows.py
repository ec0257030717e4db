"""Rows as bytes, in Arrow's IPC format: as snapshots, messages and the state log hold them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CODEC = "lz4"
"""How rows are compressed that are: it is read several times as fast as it is written."""


def rows_to_bytes(rows: pa.RecordBatch) -> NDArray[np.uint8]:
    """The rows as Arrow IPC.

    >>> rows = pa.RecordBatch.from_pylist([{"a": 1}, {"a": None}])
    >>> rows_from_bytes(rows_to_bytes(rows)).to_pylist()
    [{'a': 1}, {'a': None}]
    """
    return np.frombuffer(ipc_buffer(rows), np.uint8)


def rows_from_bytes(data: NDArray[np.generic]) -> pa.RecordBatch:
    return rows_of_ipc(np.ascontiguousarray(data))


def ipc_buffer(rows: pa.RecordBatch, compression: str | None = None) -> pa.Buffer:
    """The rows as a stream of Arrow IPC."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_batch(rows)
    return sink.getvalue()


def rows_of_ipc(data: object) -> pa.RecordBatch:
    """The rows of anything that holds the bytes of `ipc_buffer`."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch()
