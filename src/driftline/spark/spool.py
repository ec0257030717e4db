"""Finite inputs as files that Spark streams, one for every micro-batch.

    file n of a source = its events whose place in order of arrival is in [n · batch, (n+1) · batch)

and a last one with the cti ∞ that closes it. Every source has a file for every micro-batch, if need
be one without rows, so that all sources are cut at the same places, as the local runner cuts them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from driftline.engine.inputs import RawEvents, events_from
from driftline.engine.source_parcels import KIND, POSITION, VE, VN, VS
from driftline.model.columns import CTI
from driftline.model.time import INFINITY
from driftline.plan.nodes import Source
from driftline.spark.sources import EVENTS, payload_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DONE = "complete"
"""The file that says that all others are there."""


def spool(
    sources: Mapping[str, Source],
    inputs: Mapping[str, Any],
    folder: Path,
    batch: int,
    *,
    keep_open: bool,
) -> dict[str, Path]:
    """Write the inputs once; a spool that is complete stays as it is."""
    folders = {name: folder / name for name in sources}
    if (folder / DONE).exists():
        return folders
    events = {name: events_from(source, inputs[name]) for name, source in sources.items()}
    ends = (int(each.position[-1]) + 1 for each in events.values() if len(each))
    count = -(-max(ends, default=0) // batch)
    for name, path in folders.items():
        path.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            cuts = np.searchsorted(events[name].position, [number * batch, (number + 1) * batch])
            _write(path, number, events[name].slice(*cuts.tolist()))
        if not keep_open:
            _write(path, count, _closing(events[name], count * batch))
    (folder / DONE).touch()
    return folders


def spooled(spark: SparkSession, folder: Path) -> DataFrame:
    """The stream of a spool's files."""
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _write(folder: Path, number: int, events: RawEvents) -> None:
    times = {KIND: events.kind, VS: events.vs, VE: events.ve, VN: events.vn}
    table = pa.table({**times, POSITION: events.position})
    if events.is_log:
        table = table.append_column(EVENTS, pa.nulls(len(events), pa.bool_()))
    for place, column in enumerate(events.payload.columns):
        table = table.append_column(payload_name(place), column)
    path = folder / f"{number:09}.parquet"
    pq.write_table(table, path)
    os.utime(path, (number + 1, number + 1))  # Spark takes files in order of their time


def _closing(events: RawEvents, position: int) -> RawEvents:
    """The cti ∞."""
    one = np.full(1, INFINITY, np.int64)
    nothing = pa.table(
        {
            name: pa.nulls(1, kind)
            for name, kind in zip(
                events.payload.column_names, events.payload.schema.types, strict=True
            )
        }
    )
    return RawEvents(
        np.full(1, CTI, np.int8), one, one, one, nothing, np.full(1, position), events.is_log
    )
