"""Dead letters as bytes, on their way out of a stage or a task that reads a source."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.ingest.dead_letters import DeadLetters
from driftline.engine.shards.messages import (
    OUTPUT,
    Message,
    MessageKind,
    pack,
    payload_of,
    times_of,
    unpack,
    with_times,
)
from driftline.event_log.bad import BadEvent
from driftline.event_log.deadletters import from_text, to_text

_TIMES = ("number", "kind", "vs", "ve", "vn", "code")
_DETAILS = ("first", "second", "third")
_BAD = "bad"
"""A column with the records that could not be read, each in a row of its own."""


def letters_message(source: str, letters: DeadLetters, origin: int) -> Message:
    """The message that takes the dead letters of a source out of a query."""
    return Message(
        OUTPUT, MessageKind.DEAD_LETTERS, source, 0, origin, data=letters_to_bytes(letters)
    )


def letters_to_bytes(letters: DeadLetters) -> bytes:
    times = {name: getattr(letters, name) for name in _TIMES}
    details = dict(zip(_DETAILS, letters.detail, strict=True))
    rows = with_times(letters.payload, **times, **details)
    if not letters.bad:
        return pack(rows)
    unread = pa.RecordBatch.from_pydict({_BAD: [to_text(bad) for bad in letters.bad]})
    both = pa.concat_tables(
        [pa.Table.from_batches([rows]), pa.Table.from_batches([unread])], promote_options="default"
    )
    return pack(both.combine_chunks().to_batches()[0])


def letters_from_bytes(data: bytes, schema: pa.Schema) -> DeadLetters:
    rows = unpack(data)
    bad: tuple[BadEvent, ...] = ()
    if _BAD in rows.schema.names:
        bad = tuple(from_text(each) for each in rows.column(_BAD).drop_null().to_pylist())
        rows = rows.filter(rows.column(_BAD).is_null())
    columns = {name: times_of(rows, name) for name in (*_TIMES, *_DETAILS)}
    return DeadLetters(
        columns["number"],
        columns["kind"],
        columns["vs"],
        columns["ve"],
        columns["vn"],
        payload_of(rows, schema),
        columns["code"],
        np.stack([columns[name] for name in _DETAILS]),
        bad,
    )
