"""Dead letters as bytes, on their way out of a stage."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.dead_letters import DeadLetters
from driftline.engine.parcels import pack, payload_of, times_of, unpack, with_times

DEAD = "$dead "
"""What stands before the name of a source on the port of its dead letters."""

_TIMES = ("number", "kind", "vs", "ve", "vn", "code")
_DETAILS = ("first", "second", "third")
_TEXT = "text"


def letters_to_bytes(letters: DeadLetters) -> bytes:
    times = {name: getattr(letters, name) for name in _TIMES}
    details = dict(zip(_DETAILS, letters.detail, strict=True))
    rows = with_times(letters.payload, **times, **details)
    return pack(rows if letters.text is None else rows.append_column(_TEXT, letters.text))


def letters_from_bytes(data: bytes, schema: pa.Schema) -> DeadLetters:
    rows = unpack(data)
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
        rows.column(_TEXT) if _TEXT in rows.schema.names else None,
    )


__all__ = ["letters_from_bytes", "letters_to_bytes"]
