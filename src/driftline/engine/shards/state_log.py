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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from driftline.engine.core.operator import Arrays, OperatorKey
from driftline.engine.shards.messages import MESSAGES, Kind, Message
from driftline.engine.state.stored_rows import ipc_buffer, rows_of_ipc
from driftline.plan.errors import PlanError

LONGEST = 256
"""So many micro-batches are kept at most before the state is written anew."""

LEAST = 1 << 22
"""A log of fewer bytes is not worth a snapshot."""

CHUNK = 1 << 23
"""The largest value of the store: a larger snapshot is written in parts."""

HEAD = "head"

SHARDS = "shards"
"""The name of the number of shards that the state was made with."""

_CODEC = "lz4"


class Store(Protocol):
    """Where the state of one shard is kept."""

    def get(self, name: str) -> bytes | None: ...
    def put(self, name: str, value: bytes) -> None: ...
    def remove(self, name: str) -> None: ...


class Stepping(Protocol):
    """A shard: what it makes of the messages of a micro-batch is determined by these and by its
    state."""

    def step(self, messages: Sequence[Message]) -> list[Message]: ...
    def counters(self) -> dict[OperatorKey, dict[str, int]]: ...
    def snapshot(self) -> dict[OperatorKey, Arrays]: ...
    def restore(self, state: dict[OperatorKey, Arrays]) -> None: ...
    @property
    def stage(self) -> Stepped: ...


class Stepped(Protocol):
    """What the shards of a level have in common."""

    @property
    def level(self) -> int: ...
    @property
    def shards(self) -> int: ...
    def shard(self, number: int) -> Stepping: ...


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
    counters: dict[OperatorKey, dict[str, int]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        counted = [[*key[:_STORED], counted] for key, counted in self.counters.items()]
        return json.dumps({**self.__dict__, "counters": counted}).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Head:
        head = json.loads(data)
        return cls(**{**head, "counters": counters_in(head)})


_STORED = 3
"""So many fields of an operator's key tell the operators of a shard apart."""


def counters_in(
    head: Mapping[str, Any], level: int = 0, shard: int = 0
) -> dict[OperatorKey, dict[str, int]]:
    """The counters of a head as JSON has it: that of a shard of a level."""
    return {
        OperatorKey(*key)._replace(level=level, shard=shard): counted
        for *key, counted in head["counters"]
    }


@dataclass
class Kept:
    """A shard as this process has it, and the token of its version."""

    token: str
    shard: Stepping


class StateLog:
    """The state of one shard in a store; `kept`: the shards that this process has, by lineage."""

    def __init__(
        self,
        stage: Stepped,
        number: int,
        store: Store,
        kept: dict[str, Kept],
    ) -> None:
        self.stage, self.number, self.store, self.kept = stage, number, store, kept
        head = store.get(HEAD)
        self.head = Head() if head is None else Head.from_bytes(head)

    def step(self, messages: Sequence[Message]) -> list[Message]:
        """Take a micro-batch in, and write down what has come."""
        head = self.head
        shard = self._current()
        sent = shard.step(messages)
        if head.version == 0:
            self.store.put(SHARDS, str(self.stage.shards).encode())
        head.version += 1
        head.logged += sum(len(message.data) for message in messages)
        head.tokens.append(uuid.uuid4().hex)
        if head.logged > max(LEAST, 2 * head.size) or head.version - head.snapshot >= LONGEST:
            self._write(shard)
        else:
            self.store.put(f"log {head.version}", messages_to_bytes(messages))
        head.counters = shard.counters()
        self.store.put(HEAD, head.to_bytes())
        self.kept[head.lineage] = Kept(head.tokens[-1], shard)
        return sent

    def _current(self) -> Stepping:
        """The shard at the head's version."""
        head = self.head
        kept = self.kept.pop(head.lineage, None)
        self._need_same_shards(kept)
        if kept is not None and kept.token in head.tokens:
            shard, version = kept.shard, head.snapshot + head.tokens.index(kept.token)
        else:
            shard, version = self.stage.shard(self.number), head.snapshot
            if head.chunks:
                chunks = [self._read(f"state {version} {n}") for n in range(head.chunks)]
                shard.restore(state_from_bytes(b"".join(chunks)))
        for missed in range(version + 1, head.version + 1):
            shard.step(messages_from_bytes(self._read(f"log {missed}")))
        return shard

    def _need_same_shards(self, kept: Kept | None) -> None:
        """Refuse to go on with another number of shards: rows would not find their state. The store
        is asked once for every shard and process."""
        if kept is not None:
            made = kept.shard.stage.shards
        else:
            known = self.store.get(SHARDS) if self.head.version else None
            made = self.stage.shards if known is None else int(known)
        if made != self.stage.shards:
            raise PlanError(
                f"the checkpoint has the state of {made} shards, and the query has "
                f"{self.stage.shards}: start it with shards={made}, or with another checkpoint"
            )

    def _read(self, name: str) -> bytes:
        value = self.store.get(name)
        if value is None:
            raise ValueError(f"the state of shard {self.number} lacks its {name}")
        return value

    def _write(self, shard: Stepping) -> None:
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


def message_rows(messages: Sequence[Message]) -> pa.RecordBatch:
    columns = [[getattr(message, name) for message in messages] for name in MESSAGES.names]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, each.type) for column, each in zip(columns, MESSAGES, strict=True)],
        schema=MESSAGES,
    )


def messages_in(rows: pa.RecordBatch) -> list[Message]:
    columns = [rows.column(name).to_pylist() for name in MESSAGES.names]
    return [
        Message(level, Kind(kind), *fields) for level, kind, *fields in zip(*columns, strict=True)
    ]


def messages_to_bytes(messages: Sequence[Message]) -> bytes:
    return compressed(message_rows(messages))


def messages_from_bytes(data: bytes) -> list[Message]:
    return messages_in(rows_of_ipc(data))


def state_to_bytes(state: Mapping[OperatorKey, Arrays]) -> bytes:
    """Named arrays as bytes.

    >>> key = OperatorKey("0 group by", "result")
    >>> state = state_from_bytes(state_to_bytes({key: {"x": np.arange(6).reshape(2, 3)}}))
    >>> state[key]["x"].tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    lists = pa.list_(pa.int64())
    flat = [
        (key, name, array)
        for key, arrays in state.items()
        for name, array in (arrays or {"": np.empty(0, np.int8)}).items()
    ]
    for key, name, array in flat:
        if array.dtype.hasobject:
            raise ValueError(f"{name} of {key} is not an array of plain values")
    return compressed(
        pa.RecordBatch.from_pydict(
            {
                **{
                    each: [getattr(key, each) for key, _, _ in flat]
                    for each in OperatorKey._fields[:_STORED]
                },
                "name": [name for _, name, _ in flat],
                "type": [array.dtype.str for _, _, array in flat],
                "shape": pa.array([list(array.shape) for _, _, array in flat], lists),
                "data": pa.array([array.tobytes() for _, _, array in flat], pa.large_binary()),
            }
        )
    )


def state_from_bytes(data: bytes) -> dict[OperatorKey, Arrays]:
    state: dict[OperatorKey, Arrays] = {}
    for row in rows_of_ipc(data).to_pylist():
        key = OperatorKey(*(row[each] for each in OperatorKey._fields[:_STORED]))
        arrays = state.setdefault(key, {})
        if row["name"]:
            values = np.frombuffer(row["data"], np.dtype(row["type"])).copy()
            arrays[row["name"]] = values.reshape(row["shape"])
    return state


def compressed(rows: pa.RecordBatch) -> bytes:
    """Rows as compressed Arrow IPC, which `rows_of_ipc` reads."""
    return bytes(ipc_buffer(rows, _CODEC))
