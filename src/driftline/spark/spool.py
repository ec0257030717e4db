"""Finite inputs as files that Spark streams, one for every micro-batch.

    file n of a source = its events whose place in order of arrival is in [n · batch, (n+1) · batch)

and a last one with the cti ∞ that closes it. Every source has a file for every micro-batch, if need
be one without rows, so that all sources are cut at the same places, as the local runner cuts them.
"""

from __future__ import annotations

import hashlib
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
from driftline.engine.state.fingerprints import fingerprints
from driftline.event_log.atomic import atomic_file
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Source
from driftline.running.notes import damaged, digest, note, noted
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
    place = str(folder.absolute())
    if (folder / DONE).exists():
        known = noted((folder / DONE).read_bytes(), str(folder / DONE))
        before = known["inputs"]
        if known["place"] != place:
            raise PlanError(
                f"{folder.parent} was made as {Path(known['place']).parent}, and Spark knows its "
                "files by that path: move it back, or give --checkpoint another directory"
            )
        for name, was in known["files"].items():
            data = Path(folder, name).read_bytes() if Path(folder, name).exists() else b""
            if digest(data) != was:
                raise damaged(f"{folder / name}")
        changed = [name for name, was in before.items() if now.get(name, was) != was]
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
        for left in path.glob("*.parquet"):  # of a run that was killed
            left.unlink()
        for number in range(count):
            cuts = np.searchsorted(events[name].position, [number * batch, (number + 1) * batch])
            _write(path, number, events[name].slice(*cuts.tolist()))
        if not keep_open:
            _write(path, count, closing(events[name], count * batch))
    folder.mkdir(parents=True, exist_ok=True)
    files = [path for own in folders.values() for path in sorted(own.glob("*.parquet"))]
    written = {str(path.relative_to(folder)): digest(path.read_bytes()) for path in files}
    with atomic_file(folder / DONE) as file:
        file.write(note({"place": place, "inputs": now, "files": written}))
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
    """What distinguishes one input from another: all its times and rows."""
    found = hashlib.blake2b(repr(events.payload.schema.names).encode(), digest_size=16)
    rows = fingerprints(events.payload.columns, len(events))
    times = (events.kind, events.vs, events.ve, events.vn, events.position)
    for each in (*times, rows.low, rows.high):
        found.update(np.ascontiguousarray(each).data)
    return found.hexdigest()


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
    with atomic_file(path) as file:
        pq.write_table(table, file)
    os.utime(path, (number + 1, number + 1))  # Spark takes files in order of their time
