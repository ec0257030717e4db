"""What a stream can be read from, as columns of raw events.

Event logs, and plain records of which each is an insert [time, ∞): files (JSON Lines, CSV,
Parquet), Arrow, pandas and Polars tables, and Python iterables of rows or of model events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.ingest.source_time import NO_CLOCK
from driftline.engine.readers.csv_records import PLAIN, CsvFile, CsvForm
from driftline.engine.readers.epochs import clock_milliseconds, counts_time, in_ticks, log_in_ticks
from driftline.engine.readers.fitting import (
    Records,
    fitted,
    of_table,
    ticks_of,
    typed,
)
from driftline.engine.readers.json_records import JsonRecords, is_log, read_records
from driftline.engine.readers.parquet_files import parquet_file
from driftline.engine.readers.python_rows import CANNOT_CONVERT, EVENTS, columns_of, records_of
from driftline.event_log.apart import is_there
from driftline.event_log.bad import BadEvent
from driftline.model.arrays import Int64s
from driftline.model.columns import CTI, INSERT, StreamColumns
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Source
from driftline.plan.types import canonical, is_integer, is_timestamp, type_name

MICROSECONDS = 1000
"""In a millisecond."""


@dataclass(frozen=True)
class RawEvents:
    """Raw events in order of arrival; `position` is their place among those of all streams."""

    kind: NDArray[np.int8]
    vs: Int64s
    ve: Int64s
    vn: Int64s
    payload: pa.Table | pa.RecordBatch
    position: Int64s
    is_log: bool  # it carries its own lifetimes and ctis
    clock: Int64s | None = None  # when each arrived, in milliseconds, if that is known
    lines: Int64s | None = None  # where each stood, of plain records
    bad: tuple[BadEvent, ...] = ()  # the records among these that could not be read
    at_once: bool = False  # plain records that have no order: those of a batch come at one moment

    def __len__(self) -> int:
        return len(self.kind)

    def placed(self, position: Int64s, payload: pa.Table | pa.RecordBatch) -> RawEvents:
        """The same events at other places, with their rows in another form. (`replace` takes longer
        than a row.)"""
        return RawEvents(
            self.kind, self.vs, self.ve, self.vn, payload, position, self.is_log, self.clock,
            self.lines, self.bad, self.at_once,
        )  # fmt: skip

    def slice(self, first: int, last: int) -> RawEvents:
        part = slice(first, last)
        return RawEvents(
            self.kind[part],
            self.vs[part],
            self.ve[part],
            self.vn[part],
            self.payload.slice(first, last - first),
            self.position[part],
            self.is_log,
            None if self.clock is None else self.clock[part],
            None if self.lines is None else self.lines[part],
            at_once=self.at_once,
        )


def joined_events(parts: list[RawEvents]) -> RawEvents:
    """Parts that follow each other, as one."""
    if len(parts) == 1:
        return parts[0]
    clocks = [part.clock for part in parts if part.clock is not None] or None
    lines = [part.lines for part in parts if part.lines is not None]
    return RawEvents(
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.vs for part in parts]),
        np.concatenate([part.ve for part in parts]),
        np.concatenate([part.vn for part in parts]),
        _rows_of_all([part.payload for part in parts]),
        np.concatenate([part.position for part in parts]),
        parts[0].is_log,
        None if clocks is None else np.concatenate(clocks),
        None if len(lines) < len(parts) else np.concatenate(lines),
        tuple(each for part in parts for each in part.bad),
        parts[0].at_once,
    )


def _rows_of_all(parts: list[pa.Table | pa.RecordBatch]) -> pa.Table | pa.RecordBatch:
    if all(isinstance(part, pa.RecordBatch) for part in parts):
        return pa.concat_batches(parts)
    return pa.concat_tables(
        pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
        for part in parts
    )


CLOSING = BEGINNING
"""The ve of the cti with which a runner closes a stream, and which is no event of its input. Ctis
of a log have another, and plain records have no ctis of their own."""


def closing(events: RawEvents, position: int) -> RawEvents:
    """The cti ∞ that closes a stream."""
    one = np.full(1, INFINITY, np.int64)
    row = pa.table({each.name: pa.nulls(1, each.type) for each in events.payload.schema})
    return replace(
        events.slice(0, 0),
        kind=np.full(1, CTI, np.int8),
        vs=one,
        ve=np.full(1, CLOSING),
        vn=one,
        payload=row,
        position=np.full(1, position),
        clock=None if events.clock is None else np.full(1, NO_CLOCK),
        lines=None,
    )


def events_from(source: Source, data: Any, before: int = 0, read: int = 0) -> RawEvents:
    """The raw events of a stream, from whatever the user has; so many came `before` these, of so
    many records that were `read`."""
    events = _events_from(source, data, read)
    return events.placed(events.position + before, events.payload) if before else events


def _events_from(source: Source, data: Any, read: int) -> RawEvents:
    if isinstance(data, (str, Path)):
        return _from_file(source, Path(data))
    if isinstance(data, RawEvents):
        return data
    if isinstance(data, StreamColumns):
        return _from_log(source, data)
    if isinstance(data, Records):
        return _from_records(source, data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if hasattr(data, "to_arrow"):  # Polars
        data = data.to_arrow()
    elif type(data).__module__.startswith("pandas") and hasattr(data, "columns"):
        data = _of_pandas(source, data)
    if isinstance(data, pa.Table):
        return _from_records(source, of_table(source.name, data, read))
    if isinstance(data, Iterable) and not isinstance(data, Mapping) and not hasattr(data, "dtype"):
        return _from_python(source, data, read)
    raise PlanError(
        f"the stream {source.name} cannot be read from a {type(data).__name__}: give a path, a "
        "table (Arrow, pandas, Polars), rows as dicts, or events"
    )


def _of_pandas(source: Source, frame: Any) -> pa.Table:
    for name in frame.columns[frame.columns.duplicated()]:
        raise PlanError(f"the input of {source.name} has two columns {name}: rename one")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except CANNOT_CONVERT as error:
        raise PlanError(f"the input of {source.name}: {error.args[0]}") from None


def _from_python(source: Source, items: Iterable[Any], read: int) -> RawEvents:
    items = list(items)
    if items and read == 0 and not isinstance(items[0], (*EVENTS, Mapping)):
        raise PlanError(
            f"item 1 of {source.name} is a {type(items[0]).__name__}: give rows as dicts, or events"
        )
    first = next((item for item in items if isinstance(item, (*EVENTS, Mapping))), None)
    if isinstance(first, EVENTS) or (source.time is None and (first is None or read)):
        columns, bad = columns_of(source, items, read)
        return replace(_from_log(source, columns), bad=tuple(bad))
    return _from_records(source, records_of(source, items, read))


def _from_file(source: Source, path: Path) -> RawEvents:
    if not is_there(path):
        raise PlanError(f"{path}: there is no such file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".parquet" in suffixes:
        with parquet_file(path) as file:
            return _from_records(source, of_table(source.name, file.read(), file=str(path)))
    if ".csv" in suffixes:
        parts = [_from_records(source, part) for part in csv_parts(source, path)]
        return _one_after_another(parts)
    if ".jsonl" in suffixes or ".json" in suffixes or ".ndjson" in suffixes:
        return _from_json(source, path)
    raise PlanError(f"{path}: its format is inferred from .jsonl, .csv or .parquet")


def _one_after_another(parts: list[RawEvents]) -> RawEvents:
    whole = joined_events(parts)
    return replace(whole, position=np.arange(len(whole)))


def csv_parts(
    source: Source, what: Path | IO[bytes], form: CsvForm = PLAIN, name: str | None = None
) -> Iterator[Records]:
    """The records of a CSV file; at least one part, if need be without records."""
    file = CsvFile(source, what, name, form)
    yield file.part(b"")
    yield from file.parts()


def _from_json(source: Source, path: Path) -> RawEvents:
    from driftline.engine.readers.log_columns import declared
    from driftline.event_log.reader import scan_log

    if is_log(path):
        log = scan_log([str(path)], valid_streams=False, declared=declared([(source.name, source)]))
        if source.name not in log.streams:
            if log.bad and not log.streams:
                return replace(events_from(source, empty_log(source)), bad=tuple(log.bad))
            known = ", ".join(log.streams) or "no stream"
            raise PlanError(f"{path} has {known}, but not {source.name}")
        return replace(_from_log(source, log.streams[source.name]), bad=tuple(log.bad))
    return _from_records(source, json_records(source, path).records)


def log_events(what: Path | IO[bytes], source: Source, stream: str) -> RawEvents:
    """The events of a stream in the lines of a log, and what is no event."""
    from driftline.engine.readers.log_columns import declared
    from driftline.event_log.reader import scan_log

    log = scan_log([what], valid_streams=False, declared=declared([(stream, source)]))
    own = [each for name, each in log.streams.items() if name.lower() == stream.lower()]
    columns = _with_all_columns(source, own[0]) if own else empty_log(source)
    return replace(events_from(source, columns), bad=tuple(log.bad))


def _with_all_columns(source: Source, columns: StreamColumns) -> StreamColumns:
    """A column that no row has is null."""
    payload = columns.payload
    if payload.num_rows < len(columns):  # ctis only
        payload = pa.table({"": pa.nulls(len(columns))})
    have = {name.lower() for name in payload.column_names}
    for each in source.columns:
        if each.name.lower() not in have:
            payload = payload.append_column(each.name, pa.nulls(len(columns), each.type))
    return replace(columns, payload=payload)


def empty_log(source: Source) -> StreamColumns:
    """The log of a stream without events."""
    return StreamColumns.from_events(source.name, [], schema=source.columns.arrow)


def json_records(source: Source, what: str | Path | bytes | IO[bytes]) -> JsonRecords:
    """The records of a file in JSON Lines, with the types of the stream."""
    return read_records(source.columns, what, lambda part: fitted(source, part))


def _from_log(source: Source, columns: StreamColumns) -> RawEvents:
    check_log_times(source, columns)
    columns, beyond = log_in_ticks(source, columns)
    rows, misfits = typed(source, columns.payload)
    misfits = beyond | misfits
    if misfits:  # a log that was read here has none left
        first = misfits[min(misfits)]
        raise PlanError(f"the stream {source.name}: {first.reason}")
    clock = columns.at
    if source.timing.arrival is not None:
        inserts = np.flatnonzero(columns.kind == INSERT)
        came = arrival_clock(source, rows.take(inserts) if len(inserts) else rows.slice(0, 0))
        clock = np.full(len(columns.kind), NO_CLOCK)
        clock[inserts] = came if came is not None else NO_CLOCK
    return RawEvents(
        columns.kind,
        columns.vs,
        columns.ve,
        columns.vn,
        rows,
        columns.position,
        is_log=True,
        clock=clock,
    )


def check_log_times(source: Source, columns: StreamColumns) -> None:
    """Refuse the events of a log whose times are of another sort than the stream's."""
    if columns.timestamps and not source.timestamps:
        # The numbers of the query would be taken for microseconds.
        raise PlanError(
            f"the times of {source.name} are timestamps, and the query takes them for numbers: "
            f"declare it with timestamps, CREATE STREAM {source.name} (…) WITH (timestamps = true)"
        )


def _from_records(source: Source, records: Records) -> RawEvents:
    if source.time is None:
        raise PlanError(
            f"the stream {source.name} is read from plain records: say which column is its time, "
            f"stream({source.name!r}, …, time=…)"
        )
    records = fitted(source, records)
    rows = records.table
    time = rows.column(source.time)
    if not _is_time(time.type):
        raise PlanError(
            f"the time of {source.name}, {source.time}, is a {type_name(canonical(time.type))}; "
            "it must be a TIMESTAMP or an integer"
        )
    ticks = np.array(ticks_of(time))
    if counts_time(source):
        ticks = in_ticks(source, ticks)
    count = len(ticks)
    endless = np.full(count, INFINITY, np.int64)
    return RawEvents(
        np.full(count, INSERT, np.int8),
        ticks,
        endless,
        endless,
        rows,
        np.arange(count, dtype=np.int64),
        is_log=False,
        clock=arrival_clock(source, rows),
        lines=records.lines,
        bad=tuple(records.bad),
    )


@cache
def _is_time(kind: pa.DataType) -> bool:
    return bool(is_integer(canonical(kind)) or is_timestamp(canonical(kind)))


def arrival_clock(source: Source, rows: pa.Table) -> Int64s | None:
    """The arrival clock of records in milliseconds, if one of their columns has it."""
    name = source.timing.arrival
    if name is None:
        return None
    clock = rows.column(name)
    whole: Int64s = clock.cast(pa.int64()).to_numpy()
    if is_timestamp(canonical(clock.type)):
        return whole // MICROSECONDS
    return clock_milliseconds(source, whole)
