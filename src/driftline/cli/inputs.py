"""The inputs of `driftline run`: event logs and plain records as streams."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from driftline.cli.given import (
    STANDARD_INPUT,
    DeclaredInput,
    Given,
    expanded,
    given_by,
    guessed,
    logs_of,
    named,
    named_by,
)
from driftline.cli.progress import reading
from driftline.cli.streams import growing, streamed
from driftline.running.files import FilePlaces, PlainFiles
from driftline.running.problems import Problem
from driftline.running.streams import Streamed, csv_form

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from driftline.engine.readers.chunks import RecordFile
    from driftline.engine.readers.fitting import Records
    from driftline.engine.readers.inputs import RawEvents
    from driftline.event_log.bad import BadEvent
    from driftline.model.columns import StreamColumns
    from driftline.plan.nodes import Source


@dataclass
class Inputs:
    """What was given: the data of every stream (or, as `Streamed` or `PlainFiles`, where it comes
    from), where it stood, and the lines that are bad."""

    streams: dict[str, Any] = field(default_factory=dict)
    places: dict[str, EventPlaces] = field(default_factory=dict)
    bad: list[BadEvent] = field(default_factory=list)

    def is_plain(self, name: str) -> bool:
        """Whether a stream is plain records, and not an event log."""
        data = self.streams[name]
        if isinstance(data, Streamed):
            return data.form != "log"
        return isinstance(data, PlainFiles) or not getattr(data, "is_log", True)


@dataclass(frozen=True)
class EventPlaces:
    """Where the events of a stream stood: files, of a log the columns with the lines, of records
    the lines, of files or a directory that are read part by part what is known of them."""

    files: tuple[str, ...]
    columns: StreamColumns | None = None
    lines: NDArray[np.int64] | None = None
    read: FilePlaces | None = None

    def of(self, number: int) -> tuple[str, int]:
        """File and line of an event, counted from 0; of Parquet the number of the row; 0 if that is
        not known."""
        if self.read is not None:
            return self.read.of(number) or (self.files[0], 0)
        if self.lines is not None:
            return self.files[0], int(self.lines[number])
        if self.columns is None:
            return self.files[0], number + 1
        return self.files[int(self.columns.source[number])], int(self.columns.line[number])


def read_inputs(
    wanted: Sequence[str | DeclaredInput],
    sources: Mapping[str, Source],
    *,
    as_they_come: bool = False,
    first: Mapping[str, Sequence[str]] | None = None,
    files_grow: bool = False,
) -> Inputs:
    """The data of the streams that a script reads, from the arguments of --input and from what it
    declares itself. `as_they_come`:
    also event logs in directories are left for the runner to read, and files are read here; else
    the runner reads plain files while it runs. `first`: by stream, the files of its directory that
    come before all others. `files_grow`: lines that come into files are read, too."""
    given: list[Given] = []
    left: list[tuple[str | None, Streamed]] = []
    for each in wanted:
        name, written = named(each, sources)
        more, by = each.options if isinstance(each, DeclaredInput) else {}, named_by(each)
        own = sources.values() if name is None else [sources[name]]
        timeless = any(source.time is None for source in own)
        paths = expanded(written, by)
        if files_grow and paths != [written]:
            raise Problem(f"{by}: {written}: --follow takes one file, or a directory")
        for path in paths:
            found = None
            if path not in ("", STANDARD_INPUT):
                found = streamed(path, more, by, holds_events=timeless)
            if found is None and files_grow:
                found = growing(path, more, by, holds_events=timeless)
            if found is not None and first:
                found = replace(found, first=_first(name, first))
            if found is None:
                given.append(given_by(name, path, more, by))
            elif found.form == "log" and not as_they_come:
                given += logs_of(name, found, by)
            else:
                left.append((name, found))
    if sum(each.path == STANDARD_INPUT for each in given) > 1:
        raise Problem("standard input can be one input only")
    inputs = Inputs()
    logs = [file for file in given if file.format == "log"]
    _read_logs(logs, sources, inputs)
    records: dict[str, list[Given]] = {}  # a stream goes on from file to file
    for file in given:
        if file not in logs:
            records.setdefault(file.name or guessed(file.path, sources), []).append(file)
    for name, files in records.items():
        _read_records(name, files, sources, inputs, whole=as_they_come)
    for name, stream in left:
        _leave(name, stream, sources, inputs)
    return _complete(inputs, sources, logs)


def _first(name: str | None, first: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The files of a directory that come first; one without a name holds all streams."""
    names = first.values() if name is None else [first.get(name, ())]
    return tuple(dict.fromkeys(each for files in names for each in files))


def _leave(
    name: str | None, given: Streamed, sources: Mapping[str, Source], inputs: Inputs
) -> None:
    """Note where streams come from: of logs without a name, all that have no other input."""
    if name is None and given.form == "log":
        names = [each for each in sources if each not in inputs.streams]
    else:
        names = [name or guessed(given.shown, sources)]
    for each in names:
        if each in inputs.streams:
            raise Problem(f"the stream {each} is in two inputs")
        if given.form != "log":
            _need_time(given.shown, sources[each])
        own = replace(given, places=FilePlaces())
        inputs.streams[each] = own
        inputs.places[each] = EventPlaces((given.shown,), read=own.places)


# Event logs


def _read_logs(logs: Sequence[Given], sources: Mapping[str, Source], inputs: Inputs) -> None:
    unnamed = [each for each in logs if each.name is None]
    parts = [[each] for each in unnamed]
    known = list(sources.items())
    found = [_read_log(part, known, inputs) for part in parts]
    names = [name for streams in found for name in streams]
    if len(names) > len(set(names)):  # a stream goes on from file to file
        inputs.bad.clear()
        parts, found = [unnamed], [_read_log(unnamed, known, inputs)]
    for part, streams in zip(parts, found, strict=True):
        _take(streams, part, sources, inputs)
    for name in dict.fromkeys(each.name for each in logs if each.name is not None):
        part = [each for each in logs if each.name == name]
        called = next((each.stream for each in part if each.stream), name)
        read_before = len(inputs.bad)
        streams = _read_log(part, [(called, sources[name])], inputs)
        if called not in streams and len(streams) == 1:
            (called,) = streams
            del inputs.bad[read_before:]  # it is read again, with its types
            streams = _read_log(part, [(called, sources[name])], inputs)
        if streams and called not in streams:
            raise Problem(f"{part[0].shown} has {', '.join(streams)}, but not {called}")
        if called in streams:
            _take({name: streams[called]}, part, sources, inputs)


def _read_log(
    files: Sequence[Given],
    sources: Sequence[tuple[str, Source]],
    inputs: Inputs,
) -> dict[str, StreamColumns]:
    """The streams of logs; those that have such names have columns of the sources' types."""
    from driftline.engine.readers.log_columns import declared
    from driftline.event_log.reader import scan_log

    with reading([each.path for each in files]) as progress:
        log = scan_log(
            [each.opened() for each in files],
            progress=progress,
            valid_streams=False,
            declared=declared(sources),
        )
    inputs.bad += log.bad
    return log.streams


def _take(
    streams: Mapping[str, StreamColumns],
    files: Sequence[Given],
    sources: Mapping[str, Source],
    inputs: Inputs,
) -> None:
    by_name = {name.lower(): name for name in sources}
    for name, columns in streams.items():
        wanted = by_name.get(name.lower())
        if wanted is None:
            continue
        if wanted in inputs.streams:
            raise Problem(f"the stream {wanted} is in two inputs")
        inputs.streams[wanted] = _with_all_columns(columns, sources[wanted])
        inputs.places[wanted] = EventPlaces(tuple(each.shown for each in files), columns)


def _with_all_columns(columns: StreamColumns, source: Source) -> StreamColumns:
    """A column that no row of a log has is null, as in Spark; a line warns of it, unless it is the
    time column."""
    import pyarrow as pa

    payload = columns.payload
    have = {name.lower() for name in payload.column_names}
    if not columns.changes.any():
        return columns
    for each in source.columns:
        if each.name.lower() in have:
            continue
        if each.name != source.time:
            _say_missing(source, each.name)
        nulls = pa.nulls(len(columns), each.type)
        # A table without columns has lost its number of rows.
        payload = payload.append_column(each.name, nulls) if have else pa.table({each.name: nulls})
        have.add(each.name.lower())
    return replace(columns, payload=payload)


def _complete(inputs: Inputs, sources: Mapping[str, Source], logs: Sequence[Given]) -> Inputs:
    """A stream of which the logs hold no event is empty; if there is no log, it is missing."""
    for name, source in sources.items():
        if name in inputs.streams:
            continue
        if not logs:
            raise Problem(
                f"the query reads the stream {name}: give --input {name}=FILE, or declare its path"
            )
        print(
            f"driftline: no input holds events of the stream {name}: it is taken as empty",
            file=sys.stderr,
        )
        from driftline.model.columns import StreamColumns as Columns

        inputs.streams[name] = Columns.from_events(name, [], schema=source.columns.arrow)
    return inputs


# Plain records


def _read_records(
    name: str, files: Sequence[Given], sources: Mapping[str, Source], inputs: Inputs, *, whole: bool
) -> None:
    """The records of files, one after another, of which those in JSON are read here, where there is
    only one, and what can be read only once. `whole`: all are read here."""
    from driftline.engine.readers.inputs import events_from, joined_events

    if name in inputs.streams:
        raise Problem(f"the stream {name} is in two inputs")
    source, given = sources[name], files[0]
    _need_time(given.shown, source)
    plain = None
    if len(files) == 1 and isinstance(given.data, bytes) and given.format == "csv":
        events = _csv_records(given, source)
    elif len(files) == 1 and given.format == "json":
        events = events_from(source, _json_records(given, source))
    else:
        plain = PlainFiles(source, [_record_file(each) for each in files])
        if not whole and all(each.path.is_file() for each in plain.files):
            inputs.streams[name] = plain
            inputs.places[name] = EventPlaces((given.shown,), read=plain.places)
            return
        from driftline.engine.readers.chunks import LARGEST_CHUNK

        events = joined_events([*plain.parts(LARGEST_CHUNK)])
    inputs.bad += events.bad
    inputs.streams[name] = replace(events, bad=())
    places = None if plain is None else plain.places
    inputs.places[name] = EventPlaces((given.shown,), lines=events.lines, read=places)


def _record_file(given: Given) -> RecordFile:
    from driftline.engine.readers.chunks import RecordFile, RecordForm

    if isinstance(given.data, bytes):
        what = "Parquet cannot come" if given.format == "parquet" else "it is all of a stream"
        raise Problem(f"{given.shown}: {what} from standard input: give files")
    return RecordFile(given.data, cast("RecordForm", given.format), csv_form(given.csv))


def _need_time(shown: str, source: Source) -> None:
    if source.time is None:
        raise Problem(
            f"{shown} holds plain records, which need a time: "
            f"CREATE STREAM {source.name} (…) WITH (time = '…')"
        )


def _csv_records(given: Given, source: Source) -> RawEvents:
    """Records of standard input, which can be read only once."""
    from driftline.engine.readers.inputs import csv_parts, events_from, joined_events

    parts: list[RawEvents] = []
    for part in csv_parts(source, given.stream_of_bytes(), csv_form(given.csv), given.shown):
        parts.append(events_from(source, part, sum(map(len, parts))))
    return joined_events(parts)


def _json_records(given: Given, source: Source) -> Records:
    from driftline.engine.readers.inputs import json_records

    read = json_records(source, given.opened())
    for name in read.missing if len(read.records.lines) else ():
        _say_missing(source, name)
    return read.records


def _say_missing(source: Source, column: str) -> None:
    print(f"driftline: no row of {source.name} has a column {column}: it is null", file=sys.stderr)
