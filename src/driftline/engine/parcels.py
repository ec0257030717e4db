"""Parcels: what one shard or task has for another, packed: a shuffle moves few, large values.

    pack     the rows of a batch, spread over the shards by their keys: one parcel for every shard,
             also when it gets no rows, because progress travels with parcels
    unpack   the same rows again

A parcel carries changes (signed lifetimes) between fragments, or raw events from a source. Its
rows are Arrow IPC: no code is in it, and none is run when it is opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.batch import Batch
from driftline.engine.expressions import evaluate
from driftline.engine.fingerprint import fingerprints
from driftline.model.arrays import to_arrow
from driftline.model.time import BEGINNING
from driftline.plan.expressions import Expression

Int64s = NDArray[np.int64]

TIMES = " times"
"""What follows the name of a source's port for the times of all its events."""

CLOCK_PORT = "$clock"
"""The port of a parcel that says only what the arrival clock shows, as its `high`."""

OUTPUT = 0
"""The level of what leaves the plan."""

_UNUSED_BITS = np.uint64(32)
"""Tables inside a shard go by other bits of a fingerprint than those that chose the shard."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """`level`, `port`, `shard`: for whom it is; `origin`: which task or shard it is from; `cti`,
    `high`: the promise of the origin so far and the greatest vs it has inserted, in any shard;
    `data`: rows (empty: none)."""

    level: int
    port: str
    shard: int
    origin: int
    cti: int = BEGINNING
    high: int = BEGINNING
    data: bytes = b""


PARCELS = pa.schema(
    [
        ("level", pa.int32()),
        ("port", pa.string()),
        ("shard", pa.int32()),
        ("origin", pa.int32()),
        ("cti", pa.int64()),
        ("high", pa.int64()),
        ("data", pa.large_binary()),
    ]
)
"""Parcels as rows."""


@dataclass(frozen=True)
class Target:
    """Where rows go: to a port of a level, spread by keys, with the columns at some places (None:
    all)."""

    level: int
    port: str
    keys: tuple[Expression, ...] = ()
    columns: tuple[int, ...] | None = None


def shard_of(rows: pa.RecordBatch, keys: Sequence[Expression], shards: int) -> NDArray[np.uint16]:
    """The shard of every row, by the values of its keys; without keys all are in the first."""
    if not keys or shards == 1:
        return np.zeros(rows.num_rows, np.uint16)
    columns = [_array(evaluate(key, rows)) for key in keys]
    prints = fingerprints(columns, rows.num_rows)
    return ((prints.high >> _UNUSED_BITS) % np.uint64(shards)).astype(np.uint16)


def spread(rows: pa.RecordBatch, of: NDArray[np.uint16], shards: int) -> Iterator[pa.RecordBatch]:
    """The rows of each shard in turn, in the order they had."""
    if shards == 1:
        yield rows
        return
    counts = np.bincount(of, minlength=shards)
    order = np.argsort(of, kind="stable")
    # Rows of the largest shard alone are in order already.
    sorted_rows = rows if counts.max() == len(of) else rows.take(to_arrow(order))
    start = 0
    for count in counts.tolist():
        yield sorted_rows.slice(start, count)
        start += count


def pack(rows: pa.RecordBatch) -> bytes:
    """Rows as Arrow IPC; none at all as nothing.

    >>> unpack(pack(pa.RecordBatch.from_pylist([{"a": 1}]))).to_pylist()
    [{'a': 1}]
    """
    if rows.num_rows == 0:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    return bytes(sink.getvalue())


def unpack(data: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch()


def with_times(
    payload: pa.RecordBatch,
    wanted: tuple[int, ...] | None = None,
    **times: NDArray[np.generic],
) -> pa.RecordBatch:
    """Times and payload side by side; columns of the payload are known by their place, and only
    those at wanted places are there."""
    places = range(payload.num_columns) if wanted is None else wanted
    columns = [to_arrow(column) for column in times.values()]
    columns += [payload.column(place) for place in places]
    return pa.RecordBatch.from_arrays(columns, names=[*times, *map(str, places)])


def payload_of(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The payload of rows made by `with_times`; a column that is not there is null."""
    if len(schema) == 0:
        nothing = pa.Array.from_buffers(pa.struct([]), rows.num_rows, [None])
        return pa.RecordBatch.from_struct_array(nothing)
    there = {name: place for place, name in enumerate(rows.schema.names)}
    columns = [
        rows.column(there[str(place)]) if str(place) in there else pa.nulls(len(rows), each.type)
        for place, each in enumerate(schema)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def times_of(rows: pa.RecordBatch, name: str) -> Any:
    return rows.column(name).to_numpy(zero_copy_only=False)


def packed_batch(batch: Batch, target: Target, shards: int, origin: int) -> Iterator[Parcel]:
    """A batch as parcels for all shards of a target."""
    level, port = target.level, target.port
    if len(batch) == 0:
        for shard in range(shards):
            yield Parcel(level, port, shard, origin, batch.cti, batch.high)
        return
    times = {"vs": batch.vs, "ve": batch.ve, "weight": batch.weight}
    rows = with_times(batch.payload, target.columns, **times)
    parts = spread(rows, shard_of(batch.payload, target.keys, shards), shards)
    for shard, part in enumerate(parts):
        yield Parcel(level, port, shard, origin, batch.cti, batch.high, pack(part))


def unpacked_batch(data: bytes, schema: pa.Schema) -> Batch:
    """The changes in a parcel; what is promised is not for one origin to say."""
    rows = unpack(data)
    return Batch(
        times_of(rows, "vs"),
        times_of(rows, "ve"),
        times_of(rows, "weight"),
        payload_of(rows, schema),
    )


def _array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
