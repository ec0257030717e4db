"""Shards and what is stored of them, as bytes.

Stepping, Stepped   what a shard and its stage can be asked for
messages, state     as Arrow IPC: no code is in it, and nothing is run when it is read
counters            as JSON
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from driftline.engine.core.operator import OperatorKey
from driftline.engine.shards.messages import MESSAGES, Message, MessageKind
from driftline.engine.state.fields import Arrays
from driftline.engine.state.stored_rows import CODEC, ipc_buffer, rows_of_ipc


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
    """What the shards of a level have in common; `query`: the fingerprint of the query whose state
    they have."""

    @property
    def level(self) -> int: ...
    @property
    def shards(self) -> int: ...
    @property
    def query(self) -> str: ...
    def shard(self, number: int) -> Stepping: ...


@dataclass
class Kept:
    """A shard as this process has it, the token of its version, and when it was used last."""

    token: str
    shard: Stepping
    at: float = field(default_factory=monotonic)


_STORED = 3
"""So many fields of an operator's key tell the operators of a shard apart."""


def counters_to_json(counters: Mapping[OperatorKey, Mapping[str, int]]) -> list[list[Any]]:
    """Counters as JSON has them, of which `counters_in` is the inverse."""
    return [[*key[:_STORED], counted] for key, counted in counters.items()]


def counters_in(
    head: Mapping[str, Any], level: int = 0, shard: int = 0
) -> dict[OperatorKey, dict[str, int]]:
    """The counters of a head as JSON has it: that of a shard of a level."""
    return {
        OperatorKey(*key)._replace(level=level, shard=shard): counted
        for *key, counted in head["counters"]
    }


def message_rows(messages: Sequence[Message]) -> pa.RecordBatch:
    columns = [[getattr(message, name) for message in messages] for name in MESSAGES.names]
    return pa.RecordBatch.from_arrays(
        [pa.array(column, each.type) for column, each in zip(columns, MESSAGES, strict=True)],
        schema=MESSAGES,
    )


def messages_in(rows: pa.RecordBatch) -> list[Message]:
    columns = [rows.column(name).to_pylist() for name in MESSAGES.names]
    return [
        Message(level, MessageKind(kind), *fields)
        for level, kind, *fields in zip(*columns, strict=True)
    ]


def messages_to_bytes(messages: Sequence[Message]) -> bytes:
    """Messages as bytes: the rows in them are compressed where they are many."""
    return bytes(ipc_buffer(message_rows(messages)))


def messages_from_bytes(data: object) -> list[Message]:
    """Messages from anything that holds their bytes, compressed (as they once were) or not."""
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
    return bytes(ipc_buffer(rows, CODEC))
