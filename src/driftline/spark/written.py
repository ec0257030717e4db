"""Files of results that executors write, so that the driver only commits.

    a task      writes what its shards emit of a result, as a file for each, and sends on what the
                file is called, its rows and its size
    the driver  makes the files part of the result, all of a micro-batch after its last task

The view has to be a function of what each shard emits: changes, history and finals are. The current
values, the answer now and tables with a key need the changes of all shards at once, which pass
through the driver. So do all rows if one of several sinks wants them.

Every attempt of a task writes files of its own names. What no commit mentions is no part of the
result, so that a task or micro-batch that is run again does no harm.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from driftline.engine.shards.messages import Message, MessageKind, unpacked_batch
from driftline.spark.places import Place, place_of
from driftline.spark.session import is_local, mapped
from driftline.spark.views import MicroBatch, ViewName, view_of
from driftline.spark.wire import from_arrow, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from driftline.spark.update import SparkUpdate

BY_SHARD: tuple[ViewName, ...] = ("changes", "history", "finals")
"""The views that are functions of what each shard emits."""


def is_by_shard(view: ViewName, about: SparkUpdate) -> bool:
    """Whether executors can write a view of a micro-batch: the row with its prefix, which a history
    has where outputs are marked, is no shard's."""
    return view in BY_SHARD and (view != "history" or about.prefix is None)


@dataclass(frozen=True)
class FileTarget:
    """Where the files of a result and micro-batch go: `folder`, a path or URI, and `below` it; what
    their names begin with; and the view of the result that they hold."""

    folder: str
    below: str
    prefix: str
    view: ViewName


@dataclass(frozen=True)
class WrittenFile:
    """A file that a task has written: its name (below the folder), the shard, the rows, the bytes,
    and of every column what is known of its values, as Delta has it."""

    name: str
    shard: int
    rows: int
    size: int
    stats: dict[str, Any]


Targets = Mapping[str, Sequence[FileTarget]]
"""By result, where its files go; nowhere: the rows are not wanted."""


class FileSink(Protocol):
    """A sink for which executors can write. `targets` is asked before a micro-batch is computed,
    with an update that has no rows; None: the sink wants these, in this micro-batch."""

    def targets(self, about: SparkUpdate) -> Targets | None: ...

    def __call__(self, update: SparkUpdate) -> None: ...


def targets_of(sink: object, about: SparkUpdate, master: str | None) -> Targets | None:
    """Where executors write what a sink is to have; None: the rows go to the driver. A directory of
    this machine is none of executors that are elsewhere."""
    asked = getattr(sink, "targets", None)
    found: Targets | None = None if asked is None else asked(about)
    folders = [each.folder for own in (found or {}).values() for each in own]
    if not is_local(master) and any(Place(folder).is_on_disk for folder in folders):
        return None
    return found


def written(frame: DataFrame, targets: Targets, about: SparkUpdate, shards: int) -> DataFrame:
    """The messages of a micro-batch, in which the names of files have taken the place of rows."""
    from driftline.spark.wire import WIRE

    schemas = {name: about.batches[name].payload.schema for name in about.batches}
    number, time, stamps = about.batch_id, about.time, about.timestamps

    def put(message: Message) -> Message:
        if message.kind != MessageKind.ROWS or not message.data:
            return message
        name, own = message.port, []
        batch = unpacked_batch(message.data, schemas[name])
        for target in targets.get(name, ()):
            table = view_of(target.view)(MicroBatch(batch, number, time, name in stamps))
            own.append([asdict(target), asdict(write_file(target, table, message.origin))])
        return replace(message, data=json.dumps(own).encode())

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from to_arrow(map(put, from_arrow(batch)), shards)

    return mapped(frame, write, WIRE)


def files_in(messages: Sequence[Message]) -> dict[FileTarget, list[WrittenFile]]:
    """The files that the messages of a result name, by the targets that they were written for."""
    found: dict[FileTarget, list[WrittenFile]] = {}
    for message in messages:
        for target, file in json.loads(message.data or b"[]"):
            if file["rows"]:
                found.setdefault(FileTarget(**target), []).append(WrittenFile(**file))
    return found


def write_file(target: FileTarget, table: pa.Table, shard: int) -> WrittenFile:
    """Write a file under a name that no other attempt has; of no rows none."""
    name = f"{target.below}{target.prefix}{shard:05}-{uuid.uuid4().hex}.parquet"
    if table.num_rows == 0:
        return WrittenFile(name, shard, 0, 0, {})
    files, root = place_of(target.folder)
    path = f"{root}/{name}"
    files.create_dir(path.rsplit("/", 1)[0], recursive=True)
    if isinstance(files, fs.LocalFileSystem):
        with Path(path).open("wb") as file:
            pq.write_table(table, file)
            file.flush()
            os.fsync(file.fileno())
    else:
        pq.write_table(table, path, filesystem=files)
    size = files.get_file_info(path).size
    return WrittenFile(name, shard, table.num_rows, size, _stats(table))


def _stats(table: pa.Table) -> dict[str, Any]:
    """How many rows there are, how many nulls, and the least and greatest of integers.

    >>> _stats(pa.table({"k": ["a", None], "x": [3, 1]}))["minValues"]
    {'x': 1}
    """
    integers = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    ends = {name: pc.min_max(table.column(name)).as_py() for name in integers}
    known = {name: each for name, each in ends.items() if each["min"] is not None}
    flat = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    return {
        "numRecords": table.num_rows,
        "minValues": {name: each["min"] for name, each in known.items()},
        "maxValues": {name: each["max"] for name, each in known.items()},
        "nullCount": {name: table.column(name).null_count for name in flat},
    }
