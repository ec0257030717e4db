"""Finite inputs as files that Spark streams, one for every micro-batch.

    file n of a source = its events whose place in order of arrival is in [n · batch, (n+1) · batch)

and a last one with the cti ∞ that closes it. Every source has a file for every micro-batch, if need
be one without rows, so that all sources are cut at the same places, as the local runner cuts them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from driftline.engine.readers.inputs import RawEvents, closing, events_from
from driftline.engine.shards.source_messages import CLOCK, KIND, POSITION, VE, VN, VS
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Source
from driftline.spark.places import file_name
from driftline.spark.sources import EVENTS, payload_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DONE = "complete.json"
"""The file that is written last: all others are there."""


def spool(
    sources: Mapping[str, Source],
    inputs: Mapping[str, Any],
    folder: Path,
    batch: int,
    *,
    keep_open: bool,
) -> dict[str, Path]:
    """Write the inputs once; a spool that is complete stays as it is, and is that of the same
    inputs."""
    folders = {name: folder / file_name(name) for name in sources}
    events = {name: events_from(source, inputs[name]) for name, source in sources.items()}
    now = {name: _digest(each) for name, each in events.items()}
    if (folder / DONE).exists():
        before = json.loads((folder / DONE).read_text() or "{}")
        changed = [name for name, digest in before.items() if now.get(name, digest) != digest]
        if changed:
            raise PlanError(
                f"the input {changed[0]} is another one than when {folder.parent} was made: give "
                "--checkpoint another directory, or a directory of files as the input, which can "
                "grow"
            )
        return folders
    events = _in_turn(sources, events)
    ends = (int(each.position[-1]) + 1 for each in events.values() if len(each))
    count = -(-max(ends, default=0) // batch)
    for name, path in folders.items():
        path.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            cuts = np.searchsorted(events[name].position, [number * batch, (number + 1) * batch])
            _write(path, number, events[name].slice(*cuts.tolist()))
        if not keep_open:
            _write(path, count, closing(events[name], count * batch))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DONE).write_text(json.dumps(now))
    return folders


def _in_turn(sources: Mapping[str, Source], events: dict[str, RawEvents]) -> dict[str, RawEvents]:
    """Logs that were read one by one count their events from 0 each. If they share an arrival
    clock, their events are counted in its order: none is to come after those of a later time."""
    clocks = {
        name: np.maximum.accumulate(each.clock)
        for name, each in events.items()
        if each.clock is not None and len(each) and sources[name].timing.arrival is None
    }
    positions = [events[name].position for name in clocks]
    together = np.concatenate([np.empty(0, np.int64), *positions])
    if len(np.unique(together)) == len(together):
        return events
    turn = np.empty_like(together)
    turn[np.argsort(np.concatenate(list(clocks.values())), kind="stable")] = np.arange(len(turn))
    turns = np.split(turn, np.cumsum([len(each) for each in positions])[:-1])
    return events | {
        name: replace(events[name], position=each) for name, each in zip(clocks, turns, strict=True)
    }


def _digest(events: RawEvents) -> str:
    """What distinguishes one input from another: all its times."""
    digest = hashlib.blake2b(digest_size=16)
    for times in (events.kind, events.vs, events.ve, events.vn, events.position):
        digest.update(np.ascontiguousarray(times).data)
    return digest.hexdigest()


def spooled(spark: SparkSession, folder: Path) -> DataFrame:
    """The stream of a spool's files."""
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _write(folder: Path, number: int, events: RawEvents) -> None:
    times = {KIND: events.kind, VS: events.vs, VE: events.ve, VN: events.vn}
    table = pa.table({**times, POSITION: events.position})
    if events.clock is not None:
        table = table.append_column(CLOCK, pa.array(events.clock))
    if events.is_log:
        table = table.append_column(EVENTS, pa.nulls(len(events), pa.bool_()))
    for place, column in enumerate(events.payload.columns):
        table = table.append_column(payload_name(place), column)
    path = folder / f"{number:09}.parquet"
    pq.write_table(table, path)
    os.utime(path, (number + 1, number + 1))  # Spark takes files in order of their time
