"""Parcels as rows of Spark: what goes through a shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from driftline.engine.parcels import PARCELS, Parcel
from driftline.spark.labels import labels

if TYPE_CHECKING:
    import pandas as pd

WIRE = (
    "label INT, level INT, port STRING, shard INT, origin INT, cti BIGINT, high BIGINT, data BINARY"
)
"""The columns: a parcel, and the label of its shard, by which rows are grouped."""

ARROW = pa.schema([("label", pa.int32()), *list(PARCELS)[:-1], ("data", pa.binary())])
_FIELDS = ARROW.names[1:]


def to_arrow(parcels: Iterable[Parcel], shards: int) -> Iterator[pa.RecordBatch]:
    """Each parcel as a batch of its own: they may be large."""
    of = labels(shards)
    for parcel in parcels:
        values = [of[parcel.shard], *(getattr(parcel, name) for name in _FIELDS)]
        columns = [pa.array([value], each.type) for value, each in zip(values, ARROW, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=ARROW)


def to_pandas(parcels: list[Parcel], shards: int) -> pd.DataFrame:
    import pandas as pd

    of = labels(shards)
    columns: dict[str, list[object]] = {"label": [of[parcel.shard] for parcel in parcels]}
    for name in _FIELDS:
        columns[name] = [getattr(parcel, name) for parcel in parcels]
    return pd.DataFrame(columns)


def from_pandas(frames: Iterable[pd.DataFrame]) -> list[Parcel]:
    return [
        Parcel(level, port, shard, origin, cti, high, bytes(data))
        for frame in frames
        for level, port, shard, origin, cti, high, data in zip(
            *(frame[name].tolist() for name in _FIELDS), strict=True
        )
    ]
