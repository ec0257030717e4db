"""Messages as rows of Spark: what goes through a shuffle.

A message for a stage may be large, and a query of ours has Spark hand rows to Python by their
number (see `session.STREAMING`): its data goes in parts of at most PART bytes, a row for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from driftline.engine.shards.messages import MESSAGES, OUTPUT, Message, MessageKind
from driftline.spark.labels import labels

if TYPE_CHECKING:
    import pandas as pd

WIRE = (
    "label INT, level INT, kind INT, port STRING, shard INT, origin INT, cti BIGINT, high BIGINT, "
    "part INT, data BINARY"
)
"""The columns: a message, which part of its data this is, and the label of its shard, by which rows
are grouped."""

PART = 1 << 16

ARROW = pa.schema(
    [("label", pa.int32()), *list(MESSAGES)[:-1], ("part", pa.int32()), ("data", pa.binary())]
)
_FIELDS = MESSAGES.names[:-1]
_COLUMNS = [*_FIELDS, "part", "data"]


def to_arrow(messages: Iterable[Message], shards: int) -> Iterator[pa.RecordBatch]:
    """Each message as a batch of its own: they may be large."""
    for message in messages:
        yield pa.RecordBatch.from_pydict(_columns([message], shards), ARROW)


def to_pandas(messages: Iterable[Message], shards: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(_columns(messages, shards))


def _columns(messages: Iterable[Message], shards: int) -> dict[str, list[Any]]:
    of = labels(shards)
    rows = [
        (of[message.shard], *(getattr(message, name) for name in _FIELDS), number, part)
        for message in messages
        for number, part in enumerate(_parts(message))
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate(ARROW.names)}


def _parts(message: Message) -> list[bytes]:
    if message.level == OUTPUT or len(message.data) <= PART:
        return [message.data]
    return [message.data[start : start + PART] for start in range(0, len(message.data), PART)]


def from_pandas(frames: Iterable[pd.DataFrame]) -> list[Message]:
    return from_rows(
        row
        for frame in frames
        for row in zip(*(frame[name].tolist() for name in _COLUMNS), strict=True)
    )


def from_arrow(rows: pa.RecordBatch | pa.Table) -> list[Message]:
    return from_rows(zip(*(rows.column(name).to_pylist() for name in _COLUMNS), strict=True))


def from_rows(rows: Iterable[tuple[Any, ...]]) -> list[Message]:
    """Messages from their columns without the label, in any order."""
    found: list[tuple[list[Any], list[bytes]]] = []
    for *fields, part, data in sorted(rows, key=itemgetter(*map(_COLUMNS.index, _PLACE))):
        if part == 0:
            found.append((fields, []))
        found[-1][1].append(bytes(data))
    return [
        Message(level, MessageKind(kind), *(*fields, b"".join(parts)))
        for (level, kind, *fields), parts in found
    ]


_PLACE = ("level", "port", "kind", "shard", "origin", "part")
"""What tells the rows of a micro-batch apart."""
