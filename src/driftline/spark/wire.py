"""Parcels as rows of Spark: what goes through a shuffle.

A parcel for a stage may be large, and a query of ours has Spark hand rows to Python by their number
(see `session.STREAMING`): its data goes in parts of at most PART bytes, a row for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from driftline.engine.parcels import OUTPUT, PARCELS, Parcel
from driftline.spark.labels import labels

if TYPE_CHECKING:
    import pandas as pd

WIRE = (
    "label INT, level INT, port STRING, shard INT, origin INT, cti BIGINT, high BIGINT, part INT, "
    "data BINARY"
)
"""The columns: a parcel, which part of its data this is, and the label of its shard, by which rows
are grouped."""

PART = 1 << 16

ARROW = pa.schema(
    [("label", pa.int32()), *list(PARCELS)[:-1], ("part", pa.int32()), ("data", pa.binary())]
)
_FIELDS = PARCELS.names[:-1]
_COLUMNS = [*_FIELDS, "part", "data"]


def to_arrow(parcels: Iterable[Parcel], shards: int) -> Iterator[pa.RecordBatch]:
    """Each parcel as a batch of its own: they may be large."""
    for parcel in parcels:
        yield pa.RecordBatch.from_pydict(_columns([parcel], shards), ARROW)


def to_pandas(parcels: Iterable[Parcel], shards: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(_columns(parcels, shards))


def _columns(parcels: Iterable[Parcel], shards: int) -> dict[str, list[Any]]:
    of = labels(shards)
    rows = [
        (of[parcel.shard], *(getattr(parcel, name) for name in _FIELDS), number, part)
        for parcel in parcels
        for number, part in enumerate(_parts(parcel))
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate(ARROW.names)}


def _parts(parcel: Parcel) -> list[bytes]:
    if parcel.level == OUTPUT or len(parcel.data) <= PART:
        return [parcel.data]
    return [parcel.data[start : start + PART] for start in range(0, len(parcel.data), PART)]


def from_pandas(frames: Iterable[pd.DataFrame]) -> list[Parcel]:
    return from_rows(
        row
        for frame in frames
        for row in zip(*(frame[name].tolist() for name in _COLUMNS), strict=True)
    )


def from_rows(rows: Iterable[tuple[Any, ...]]) -> list[Parcel]:
    """Parcels from their columns without the label, in any order."""
    found: list[tuple[list[Any], list[bytes]]] = []
    for *fields, part, data in sorted(rows, key=itemgetter(*map(_COLUMNS.index, _PLACE))):
        if part == 0:
            found.append((fields, []))
        found[-1][1].append(bytes(data))
    return [Parcel(*(*fields, b"".join(parts))) for fields, parts in found]


_PLACE = ("level", "port", "shard", "origin", "part")
"""What tells the rows of a micro-batch apart."""
