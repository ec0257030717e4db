"""Inputs that are read part by part, so that only what is being worked on is in memory.

Iterators (of rows as dicts, of events, of Arrow batches or tables) and Arrow's tables, readers and
datasets are read as they are needed; an iterator may be endless. Of Parquet and CSV files the next
part is read while the engine works on the one before. All else is taken as a whole: lists, which
are in memory already, and JSON Lines and event logs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from driftline.engine.readers.ahead import ahead
from driftline.engine.readers.csv_records import PLAIN, CsvForm
from driftline.engine.readers.fitting import Records, of_table
from driftline.engine.readers.inputs import RawEvents, csv_parts, events_from, json_records
from driftline.engine.readers.parquet_files import parquet_file
from driftline.event_log.apart import is_there
from driftline.plan.nodes import Source

LARGEST_CHUNK = 1 << 17

TABLE_CHUNK = 1 << 18
"""A table is in memory, but what is made of its rows need not be there for all at once."""


RecordForm = Literal["json", "csv", "parquet"]


@dataclass(frozen=True)
class RecordFile:
    """A file of plain records, whatever its name is."""

    path: Path
    form: RecordForm
    csv: CsvForm = PLAIN


def chunks(source: Source, data: Any, size: int) -> Iterator[RawEvents]:
    """The raw events of a stream in parts, of at most `size` where rows come one by one; their
    places in arrival order go on from part to part."""
    found = _chunks(source, data, size)
    return ahead(found) if isinstance(data, (str, Path, RecordFile)) else found


def _chunks(source: Source, data: Any, size: int) -> Iterator[RawEvents]:
    position, read = 0, 0
    for part in parts(source, data, min(size, LARGEST_CHUNK)):
        if isinstance(part, RawEvents):  # it was read elsewhere, in parts or as a whole
            yield part
            continue
        events = events_from(source, part, position, read)
        yield events
        position += len(events)
        read += len(events) + len(events.bad)


def parts(source: Source, data: Any, size: int) -> Iterator[Any]:
    """What an input is made of, as it is read: records or tables, of rows one by one `size`."""
    if isinstance(data, RecordFile):
        return _of_file(source, data, size)
    if isinstance(data, (str, Path)) and is_there(data):
        suffixes = [suffix.lower() for suffix in Path(data).suffixes]
        if ".parquet" in suffixes:
            return _of_file(source, RecordFile(Path(data), "parquet"), size)
        if ".csv" in suffixes:
            return _of_file(source, RecordFile(Path(data), "csv"), size)
    elif isinstance(data, pa.RecordBatchReader):
        return iter(data)
    elif isinstance(data, (pa.Table, pa.RecordBatch)):
        starts = range(0, len(data), TABLE_CHUNK)
        return (data.slice(start, TABLE_CHUNK) for start in starts) if starts else iter([data])
    elif isinstance(data, Iterator):
        return _of_iterator(data, size)
    return iter([data])


def _of_file(source: Source, file: RecordFile, size: int) -> Iterator[Records]:
    if file.form == "parquet":
        return _of_parquet(source, file.path, size)
    if file.form == "csv":
        return csv_parts(source, file.path, file.csv)
    return iter([json_records(source, file.path).records])


def _of_parquet(source: Source, path: Path, size: int) -> Iterator[Records]:
    with parquet_file(path) as file:
        wanted = {name.lower() for name in source.columns.names}
        columns = [name for name in file.schema_arrow.names if name.lower() in wanted]
        if len(columns) < len(wanted):
            columns = file.schema_arrow.names  # for the message that says what is missing
        before = 0
        nothing = file.schema_arrow.empty_table().select(columns)
        yield of_table(source.name, nothing, file=str(path))  # also of no rows the columns must fit
        for batch in file.iter_batches(batch_size=max(size, 1024), columns=columns):
            yield of_table(source.name, pa.Table.from_batches([batch]), before, str(path))
            before += len(batch)


def _of_iterator(items: Iterator[Any], size: int) -> Iterator[Any]:
    for first in items:
        if isinstance(first, (pa.RecordBatch, pa.Table, Records, RawEvents)):
            yield first
            continue
        following: Iterable[Any] = itertools.islice(items, size - 1)
        yield [first, *following]
