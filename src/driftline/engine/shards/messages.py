"""Shuffle messages: what a task or shard sends to a shard, packed, as a shuffle moves few, large
values best.

    pack     the rows of a batch, partitioned by their keys or copied: one message for every shard,
             also when it gets no rows, because progress travels with messages
    unpack   the same rows again

A message of rows carries changes (signed lifetimes) between fragments, or raw events from a source.
Rows are Arrow IPC: no code is in them, and none is run when they are opened. They are compressed
where they are packed: on its way through a shuffle and into the state log a byte is copied often.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.core.batch import Batch
from driftline.engine.expressions import evaluate
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.stored_rows import CODEC, ipc_buffer, rows_of_ipc
from driftline.model.arrays import to_arrow, without_columns
from driftline.model.time import BEGINNING
from driftline.plan.expressions import Expression
from driftline.plan.nodes import EVERY_SHARD, Keys


class MessageKind(IntEnum):
    """What a message is about. The values are stored in state logs: they never change."""

    ROWS = 0
    """Changes for an exchange port or an output, or raw events for a source port."""
    TIMES = 1
    """The times of all events of a source port."""
    CLOCK = 2
    """What the arrival clock shows, as `high`; it is for all ports of a shard."""
    DEAD_LETTERS = 3
    """Those of a source, whose name is the port."""
    COUNTERS = 4
    """The head of a shard's state; the port is the shard's level."""
    READ = 5
    """How much of a source, whose name is the port, a task has read; it is in no state log."""


OUTPUT = 0
"""The level of what leaves the plan."""

_LARGE = 1 << 14
"""Rows of fewer bytes are not worth compressing."""

_UNUSED_BITS = np.uint64(32)
"""Tables inside a shard go by other bits of a fingerprint than those that chose the shard."""


@dataclass(frozen=True, slots=True)
class Message:
    """`level`, `kind`, `port`, `shard`: where it goes; `origin`: which task or shard sends it;
    `cti`, `high`: the promise of the origin so far and the greatest vs it has inserted, in any
    shard; `data`: what is packed (empty: nothing)."""

    level: int
    kind: MessageKind
    port: str
    shard: int
    origin: int
    cti: int = BEGINNING
    high: int = BEGINNING
    data: bytes = b""


MESSAGES = pa.schema(
    [
        ("level", pa.int32()),
        ("kind", pa.int32()),
        ("port", pa.string()),
        ("shard", pa.int32()),
        ("origin", pa.int32()),
        ("cti", pa.int64()),
        ("high", pa.int64()),
        ("data", pa.large_binary()),
    ]
)
"""Messages as rows."""


@dataclass(frozen=True)
class Target:
    """Where rows go: to a port of a level, partitioned by keys (or copied: `EVERY_SHARD`), with the
    columns at some places (None: all). `times_only`: no row goes there, but the times of all do;
    `where`: of a source whose records come at one moment, the conditions that all rows fulfil which
    are read there."""

    level: int
    port: str
    keys: Keys = ()
    columns: tuple[int, ...] | None = None
    times_only: bool = False
    where: tuple[Expression, ...] = ()


def shard_of(rows: pa.RecordBatch, keys: Keys, shards: int) -> NDArray[np.uint16]:
    """The shard of every row, by the values of its keys; without keys all are in the first."""
    if not keys or shards == 1:
        return np.zeros(rows.num_rows, np.uint16)
    columns = [_array(evaluate(key, rows)) for key in keys]
    prints = fingerprints(columns, rows.num_rows)
    return ((prints.high >> _UNUSED_BITS) % np.uint64(shards)).astype(np.uint16)


def partitioned(
    rows: pa.RecordBatch, of: NDArray[np.uint16], shards: int
) -> Iterator[pa.RecordBatch]:
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


def packed_by_shard(
    rows: pa.RecordBatch,
    payload: pa.RecordBatch,
    keys: Keys,
    shards: int,
    keyless: NDArray[np.bool_] | None = None,
) -> Iterator[bytes]:
    """What each shard in turn gets of rows, by the keys in their payload; those that are marked as
    keyless go to the first."""
    if keys == EVERY_SHARD:
        yield from repeat(pack(rows), shards)
        return
    of = shard_of(payload, keys, shards)
    if keyless is not None:
        of[keyless] = 0
    yield from map(pack, partitioned(rows, of, shards))


def pack(rows: pa.RecordBatch) -> bytes:
    """Rows as Arrow IPC; none at all as nothing.

    >>> unpack(pack(pa.RecordBatch.from_pylist([{"a": 1}]))).to_pylist()
    [{'a': 1}]
    """
    if rows.num_rows == 0:
        return b""
    return bytes(ipc_buffer(rows, CODEC if rows.nbytes >= _LARGE else None))


def unpack(data: bytes) -> pa.RecordBatch:
    return rows_of_ipc(data)


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
        return without_columns(rows.num_rows)
    there = {name: place for place, name in enumerate(rows.schema.names)}
    columns = [
        rows.column(there[str(place)]) if str(place) in there else pa.nulls(len(rows), each.type)
        for place, each in enumerate(schema)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def times_of(rows: pa.RecordBatch, name: str) -> Any:
    return rows.column(name).to_numpy(zero_copy_only=False)


def packed_batch(batch: Batch, target: Target, shards: int, origin: int) -> Iterator[Message]:
    """A batch as messages for all shards of a target."""
    level, port = target.level, target.port
    if len(batch) == 0:
        for shard in range(shards):
            yield Message(level, MessageKind.ROWS, port, shard, origin, batch.cti, batch.high)
        return
    times = {"vs": batch.vs, "ve": batch.ve, "weight": batch.weight}
    rows = with_times(batch.payload, target.columns, **times)
    for shard, part in enumerate(packed_by_shard(rows, batch.payload, target.keys, shards)):
        yield Message(level, MessageKind.ROWS, port, shard, origin, batch.cti, batch.high, part)


def unpacked_batch(data: bytes, schema: pa.Schema) -> Batch:
    """The changes in a message; one origin alone promises nothing."""
    rows = unpack(data)
    return Batch(
        times_of(rows, "vs"),
        times_of(rows, "ve"),
        times_of(rows, "weight"),
        payload_of(rows, schema),
    )


def _array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
