"""What a task has read of a source, on its way out of a query: the prefix that it belongs to.

events   how many it has read, as the local runner counts them: those that could be read, dead
         letters included, but not the cti with which a runner closes a stream
files    of those that stood in files, the files and how many stood in each
closed   whether it has read that cti
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.readers.inputs import CLOSING
from driftline.engine.shards.messages import OUTPUT, Message, MessageKind
from driftline.engine.shards.source_messages import KIND, VE
from driftline.model.arrays import Mask
from driftline.model.columns import CTI

FILE_OF = "$file of"
"""A column of raw events with the file that each stood in; null: the same as the one before."""

KEPT = "$kept"
"""A column that is false where Spark has found that a filter leaves an event out."""


@dataclass(frozen=True)
class Read:
    """See above."""

    events: int = 0
    files: Mapping[str, int] = field(default_factory=dict)
    closed: bool = False


def together(parts: Iterable[Read]) -> Read:
    """What several tasks have read, in their order."""
    events, closed = 0, False
    files: Counter[str] = Counter()
    for part in parts:
        events += part.events
        closed = closed or part.closed
        for file, count in part.files.items():
            files[file] += count
    return Read(events, dict(files), closed)


def read_of(events: pa.RecordBatch, good: pa.Array) -> Read:
    """What the raw events of a task are; `good`: which of them could be read."""
    names = events.schema.names
    counted = good.to_numpy(zero_copy_only=False)
    closed = False
    if KIND in names:
        closing = pc.equal(events.column(KIND), CTI)
        if VE in names:
            closing = pc.and_(closing, pc.equal(events.column(VE), CLOSING))
        is_closing = closing.fill_null(False).to_numpy(zero_copy_only=False)
        counted, closed = counted & ~is_closing, bool(is_closing.any())
    files = _by_file(events.column(FILE_OF), counted) if FILE_OF in names else {}
    return Read(int(counted.sum()), files, closed)


def _by_file(column: pa.Array, counted: Mask) -> dict[str, int]:
    known = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    if len(known) == 0:
        return {}
    coded = column.dictionary_encode()
    codes = coded.indices.take(pa.array(known)).to_numpy(zero_copy_only=False)
    lengths = np.diff(known, append=len(column))
    of = np.repeat(codes, lengths)
    counts = np.bincount(of, counted[known[0] :], minlength=len(coded.dictionary))
    names = map(_path, coded.dictionary.to_pylist())
    return dict(zip(names, counts.astype(int).tolist(), strict=True))


def _path(name: str) -> str:
    """The path of a file of this machine, whose name may be a URI.

    >>> _path("file:///tmp/a%20b.csv"), _path("s3a://bucket/b.csv")
    ('/tmp/a b.csv', 's3a://bucket/b.csv')
    """
    return unquote(urlsplit(name).path) if name.startswith("file:") else name


def read_message(source: str, read: Read, origin: int) -> Message:
    data = json.dumps(asdict(read)).encode()
    return Message(OUTPUT, MessageKind.READ, source, 0, origin, data=data)


def read_from_bytes(data: bytes) -> Read:
    return Read(**json.loads(data))
