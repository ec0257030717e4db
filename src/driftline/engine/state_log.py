"""State as a log: what a shard has received since its last snapshot, and that snapshot.

    state(version n) = the state of the snapshot, after the micro-batches received since then

A micro-batch writes what it has received, not the state it leads to, so it costs what it brings.
When the log has grown as large as twice the snapshot, or LONGEST entries long, the state is written
anew and the log begins again. An engine that is deterministic comes to the same state by the same
micro-batches.

A process that has the shard of an earlier version takes in what it has missed; another one starts
from the snapshot. Every version has a token that no other has: a shard left over from a
micro-batch that was never committed is not mistaken for the state.

The store is the only truth. It is a map from names to bytes; its head, one JSON document, says
what is there. Snapshots are arrays: nothing is run when they are read.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from driftline.engine.operator import Arrays
from driftline.engine.parcels import PARCELS, Parcel
from driftline.engine.shard import Answer, Shard, Stage

LONGEST = 256
"""So many micro-batches are kept at most before the state is written anew."""

LEAST = 1 << 22
"""A log of fewer bytes is not worth a snapshot."""

CHUNK = 1 << 23
"""The largest value of the store: a larger snapshot is written in parts."""

HEAD = "head"

_CODEC = "lz4"


class Store(Protocol):
    """Where the state of one shard is kept."""

    def get(self, name: str) -> bytes | None: ...
    def put(self, name: str, value: bytes) -> None: ...
    def remove(self, name: str) -> None: ...


@dataclass
class Head:
    """`lineage`: of all versions of this shard; `version`: how many micro-batches it has seen;
    `snapshot`: the version written whole, in so many `chunks` and `size` bytes; `tokens`: of the
    versions from the snapshot on; `logged`: how many bytes the log has; the rest is for people."""

    lineage: str = field(default_factory=lambda: uuid.uuid4().hex)
    version: int = 0
    snapshot: int = 0
    chunks: int = 0
    size: int = 0
    tokens: list[str] = field(default_factory=lambda: [uuid.uuid4().hex])
    logged: int = 0
    counters: dict[str, dict[str, int]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        return json.dumps(self.__dict__).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Head:
        return cls(**json.loads(data))


@dataclass
class Kept:
    """A shard as this process has it, and the token of its version."""

    token: str
    shard: Shard


class StateLog:
    """The state of one shard in a store; `kept`: the shards that this process has, by lineage."""

    def __init__(
        self,
        stage: Stage,
        number: int,
        store: Store,
        kept: dict[str, Kept],
    ) -> None:
        self.stage, self.number, self.store, self.kept = stage, number, store, kept
        head = store.get(HEAD)
        self.head = Head() if head is None else Head.from_bytes(head)

    def step(self, parcels: Sequence[Parcel]) -> Answer:
        """Take a micro-batch in, and write down what has come."""
        head = self.head
        shard = self._current()
        answer = shard.step(parcels)
        head.version += 1
        head.logged += sum(len(parcel.data) for parcel in parcels)
        head.tokens.append(uuid.uuid4().hex)
        if head.logged > max(LEAST, 2 * head.size) or head.version - head.snapshot >= LONGEST:
            self._write(shard)
        else:
            self.store.put(f"log {head.version}", parcels_to_bytes(parcels))
        head.counters = shard.counters()
        self.store.put(HEAD, head.to_bytes())
        self.kept[head.lineage] = Kept(head.tokens[-1], shard)
        return answer

    def _current(self) -> Shard:
        """The shard at the head's version."""
        head = self.head
        kept = self.kept.pop(head.lineage, None)
        if kept is not None and kept.token in head.tokens:
            shard, version = kept.shard, head.snapshot + head.tokens.index(kept.token)
        else:
            shard, version = Shard(self.stage, self.number), head.snapshot
            if head.chunks:
                chunks = [self._read(f"state {version} {n}") for n in range(head.chunks)]
                shard.restore(state_from_bytes(b"".join(chunks)))
        for missed in range(version + 1, head.version + 1):
            shard.step(parcels_from_bytes(self._read(f"log {missed}")))
        return shard

    def _read(self, name: str) -> bytes:
        value = self.store.get(name)
        if value is None:
            raise ValueError(f"the state of shard {self.number} lacks its {name}")
        return value

    def _write(self, shard: Shard) -> None:
        """Write the state whole, and let the log before it go."""
        head = self.head
        data = state_to_bytes(shard.snapshot())
        chunks = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]
        for number, chunk in enumerate(chunks):
            self.store.put(f"state {head.version} {number}", chunk)
        for number in range(head.chunks):
            self.store.remove(f"state {head.snapshot} {number}")
        for version in range(head.snapshot + 1, head.version):
            self.store.remove(f"log {version}")
        head.snapshot, head.chunks, head.size = head.version, len(chunks), len(data)
        head.tokens, head.logged = head.tokens[-1:], 0


def parcels_to_bytes(parcels: Sequence[Parcel]) -> bytes:
    columns = [[getattr(parcel, name) for parcel in parcels] for name in PARCELS.names]
    return _to_bytes(
        pa.RecordBatch.from_arrays(
            [pa.array(column, each.type) for column, each in zip(columns, PARCELS, strict=True)],
            schema=PARCELS,
        )
    )


def parcels_from_bytes(data: bytes) -> list[Parcel]:
    columns = [column.to_pylist() for column in _from_bytes(data).columns]
    return [Parcel(*fields) for fields in zip(*columns, strict=True)]


def state_to_bytes(state: dict[str, Arrays]) -> bytes:
    """Named arrays as bytes.

    >>> state = state_from_bytes(state_to_bytes({"a": {"x": np.arange(6).reshape(2, 3)}}))
    >>> state["a"]["x"].tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    lists = pa.list_(pa.int64())
    flat = [
        (operator, name, array)
        for operator, arrays in state.items()
        for name, array in (arrays or {"": np.empty(0, np.int8)}).items()
    ]
    for operator, name, array in flat:
        if array.dtype.hasobject:
            raise ValueError(f"{name} of {operator} is not an array of plain values")
    return _to_bytes(
        pa.RecordBatch.from_pydict(
            {
                "operator": [operator for operator, _, _ in flat],
                "name": [name for _, name, _ in flat],
                "type": [array.dtype.str for _, _, array in flat],
                "shape": pa.array([list(array.shape) for _, _, array in flat], lists),
                "data": pa.array([array.tobytes() for _, _, array in flat], pa.large_binary()),
            }
        )
    )


def state_from_bytes(data: bytes) -> dict[str, Arrays]:
    state: dict[str, Arrays] = {}
    for row in _from_bytes(data).to_pylist():
        arrays = state.setdefault(row["operator"], {})
        if row["name"]:
            values = np.frombuffer(row["data"], np.dtype(row["type"])).copy()
            arrays[row["name"]] = values.reshape(row["shape"])
    return state


def _to_bytes(rows: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=_CODEC)
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_batch(rows)
    return bytes(sink.getvalue())


def _from_bytes(data: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch()
