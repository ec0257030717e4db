"""The inputs of `driftline run`: event logs and plain records, and which stream each is."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from driftline.cli.progress import reading
from driftline.cli.streams import parted, streamed
from driftline.event_log.apart import STDIN, Used, is_there
from driftline.running.environment import filled_in
from driftline.running.files import Places, PlainFile
from driftline.running.problems import Problem
from driftline.running.streams import Streamed, files_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from driftline.engine.readers.fitting import Records
    from driftline.engine.readers.inputs import RawEvents
    from driftline.event_log.bad import BadEvent
    from driftline.model.columns import StreamColumns
    from driftline.plan.nodes import Source
    from driftline.sql import Script

STANDARD_INPUT = "-"
LOG_KINDS = ("insert", "retract", "cti", "external_cti")
PLAIN_SUFFIXES = (".csv", ".parquet")
JSON_SUFFIXES = (".jsonl", ".ndjson", ".json", ".log")


@dataclass
class Inputs:
    """What was given: the data of every stream (or, as `Streamed` or `PlainFile`, where it comes
    from), where it stood, and the lines that are bad."""

    streams: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    bad: list[BadEvent] = field(default_factory=list)

    def is_plain(self, name: str) -> bool:
        """Whether a stream is plain records, and not an event log."""
        data = self.streams[name]
        if isinstance(data, Streamed):
            return data.form != "log"
        return isinstance(data, PlainFile) or not getattr(data, "is_log", True)


@dataclass(frozen=True)
class Place:
    """Where the events of a stream stood: files, of a log the columns with the lines, of records
    the lines, of a file or directory that is read while the query runs what it knows of them."""

    files: tuple[str, ...]
    columns: StreamColumns | None = None
    lines: NDArray[np.int64] | None = None
    read: Places | None = None
    plain: PlainFile | None = None

    def of(self, number: int) -> tuple[str, int]:
        """File and line of an event, counted from 0; of Parquet the number of the row; 0 if that is
        not known."""
        if self.read is not None:
            return self.read.of(number) or (self.files[0], 0)
        if self.plain is not None:
            return self.files[0], self.plain.lines.of(number)
        if self.lines is not None:
            return self.files[0], int(self.lines[number])
        if self.columns is None:
            return self.files[0], number + 1
        return self.files[int(self.columns.source[number])], int(self.columns.line[number])


@dataclass(frozen=True)
class Declared:
    """An input that the script itself names, and its options."""

    name: str
    path: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class _Given:
    name: str | None
    path: str
    data: Path | bytes
    stream: str | None = None  # what a log calls it, if not by its name
    form: str | None = None  # what it is, if that was written

    @property
    def shown(self) -> str:
        return "<stdin>" if self.path == STANDARD_INPUT else self.path

    def opened(self) -> str | IO[bytes]:
        if isinstance(self.data, Path):
            return str(self.data)
        stream = io.BytesIO(self.data)
        stream.name = self.shown
        return stream


def read_inputs(
    wanted: Sequence[str | Declared],
    sources: Mapping[str, Source],
    *,
    as_they_come: bool = False,
    first: Mapping[str, Sequence[str]] | None = None,
) -> Inputs:
    """The data of the streams that a script reads, from the arguments of --input and from what it
    declares itself. `as_they_come`:
    also event logs in directories are left for the runner to read, and files are read here; else
    the runner reads plain files while it runs. `first`: by stream, the files of its directory that
    come before all others."""
    given: list[_Given] = []
    left: list[tuple[str | None, Streamed]] = []
    for each in wanted:
        name, path = _named(each, sources)
        more = each.options if isinstance(each, Declared) else {}
        found = streamed(path, more) if path not in ("", STANDARD_INPUT) else None
        if found is not None and first:
            found = replace(found, first=_first(name, first))
        if found is None:
            given.append(_given(name, path, more))
        elif found.form == "log" and not as_they_come:
            given += _logs_of(name, found)
        else:
            left.append((name, found))
    if sum(each.path == STANDARD_INPUT for each in given) > 1:
        raise Problem("standard input can be one input only")
    inputs = Inputs()
    logs = [file for file in given if _is_log(file)]
    _read_logs(logs, sources, inputs)
    for file in given:
        if file not in logs:
            _read_records(file, sources, inputs, whole=as_they_come)
    for name, stream in left:
        _leave(name, stream, sources, inputs)
    return _complete(inputs, sources, logs)


def _first(name: str | None, first: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The files of a directory that come first; one without a name holds all streams."""
    names = first.values() if name is None else [first.get(name, ())]
    return tuple(dict.fromkeys(each for files in names for each in files))


def with_declared(
    wanted: Sequence[str], script: Script, sources: Mapping[str, Source]
) -> list[str | Declared]:
    """The arguments of --input, and what the script says of the streams that none of them names."""
    given = {_named(text, sources)[0] for text in wanted}
    found: list[str | Declared] = [*wanted]
    for name, connector in script.inputs.items():
        if name not in sources or name in given:
            continue
        options = {
            key: filled_in(value, f"CREATE STREAM {name}: {key}")
            for key, value in connector.options.items()
        }
        found.append(Declared(name, options.pop("path"), options))
    return found


def files_read(wanted: Sequence[str | Declared], sources: Mapping[str, Source]) -> list[Used]:
    """The files and directories that are to be read."""
    found = []
    for each in wanted:
        _, path = _named(each, sources)
        if path == STANDARD_INPUT:
            found.append(Used("standard input", STDIN))
        elif path:
            place, _ = parted(path)
            what = f"the path of {each.name}," if isinstance(each, Declared) else "--input"
            found.append(Used(what, place))
    return found


def _named(text: str | Declared, sources: Mapping[str, Source]) -> tuple[str | None, str]:
    if isinstance(text, Declared):
        return text.name, text.path
    if is_there(text):
        return None, text
    for name in sorted(sources, key=len, reverse=True):
        before, after = text[: len(name)], text[len(name) :]
        if before.lower() == name.lower() and after.startswith("="):
            return name, after[1:]
    before, sign, after = text.partition("=")
    if sign and before.isidentifier():
        return _known(before, sources), after
    return None, text


def _given(name: str | None, path: str, options: Mapping[str, str]) -> _Given:
    stream, form = options.get("stream"), options.get("format")
    if path == STANDARD_INPUT:
        return _Given(name, path, sys.stdin.buffer.read(), stream, form)
    if not path or not is_there(path):
        raise Problem(f"--input: {path or f'{name}='}: there is no such file")
    return _Given(name, path, Path(path), stream, form)


def _logs_of(name: str | None, given: Streamed) -> list[_Given]:
    """A directory of event logs as its files, which are read one after another; or what a topic has
    now."""
    if given.kind == "kafka":
        from driftline.running.kafka import all_there_is, lines, topic_of

        text = lines(all_there_is(topic_of(given)))
        return [_Given(name, given.shown, text, given.stream, "log")]
    if given.kind != "files" or "://" in given.place:
        raise Problem(f"--input: {given.shown} is for --runner spark")
    return [
        _Given(name, str(path), path, given.stream)
        for path in files_of(Path(given.place), given.first)
    ]


def _leave(
    name: str | None, given: Streamed, sources: Mapping[str, Source], inputs: Inputs
) -> None:
    """Note where streams come from: of logs without a name, all that have no other input."""
    if name is None and given.form == "log":
        names = [each for each in sources if each not in inputs.streams]
    else:
        names = [name or _guessed(given.shown, sources)]
    for each in names:
        if each in inputs.streams:
            raise Problem(f"the stream {each} is in two inputs")
        if given.form != "log":
            _need_time(given.shown, sources[each])
        inputs.streams[each] = given
        inputs.places[each] = Place((given.shown,), read=given.places)


def _known(name: str, sources: Mapping[str, Source]) -> str:
    for each in sources:
        if each.lower() == name.lower():
            return each
    near = get_close_matches(name, sources, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it reads {', '.join(sources) or 'none'}"
    raise Problem(f"--input: the query reads no stream {name}; {hint}")


def _suffixes(path: str) -> list[str]:
    return [suffix.lower() for suffix in Path(path).suffixes]


def _is_log(given: _Given) -> bool:
    """Is it a file with an event log, rather than with plain records?"""
    if isinstance(given.data, bytes) and given.form is not None:
        return given.form == "log"
    suffixes = _suffixes(given.path)
    if given.form is not None:
        named = next((each for each in PLAIN_SUFFIXES if each in suffixes), ".jsonl")
        if f".{given.form}" != named and (given.form in ("csv", "parquet") or named != ".jsonl"):
            raise Problem(f"{given.shown}: its name is not that of a file of format {given.form}")
    if given.path != STANDARD_INPUT:
        if any(each in suffixes for each in PLAIN_SUFFIXES):
            return False
        if not any(each in suffixes for each in JSON_SUFFIXES):
            raise Problem(f"--input: {given.path}: its format is told by .jsonl, .csv or .parquet")
    if given.form is not None:
        return given.form == "log"
    from driftline.engine.readers.json_records import is_log

    return is_log(given.data)


# Event logs


def _read_logs(logs: Sequence[_Given], sources: Mapping[str, Source], inputs: Inputs) -> None:
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
    files: Sequence[_Given],
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
    files: Sequence[_Given],
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
        inputs.places[wanted] = Place(tuple(each.shown for each in files), columns)


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


def _complete(inputs: Inputs, sources: Mapping[str, Source], logs: Sequence[_Given]) -> Inputs:
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
    given: _Given, sources: Mapping[str, Source], inputs: Inputs, *, whole: bool
) -> None:
    from driftline.engine.readers.inputs import events_from

    name = given.name or _guessed(given.path, sources)
    if name in inputs.streams:
        raise Problem(f"the stream {name} is in two inputs")
    source = sources[name]
    _need_time(given.shown, source)
    if any(each in _suffixes(given.path) for each in PLAIN_SUFFIXES):
        if not whole and Path(given.path).is_file():  # what is no file can be read only once
            inputs.streams[name] = plain = PlainFile(source, Path(given.path))
            inputs.places[name] = Place((given.shown,), plain=plain)
            return
        events = _table(given, source)
    else:
        events = events_from(source, _json_records(given, source))
    inputs.bad += events.bad
    inputs.streams[name] = replace(events, bad=())
    inputs.places[name] = Place((given.shown,), lines=events.lines)


def _need_time(shown: str, source: Source) -> None:
    if source.time is None:
        raise Problem(
            f"{shown} holds plain records, which need a time: "
            f"CREATE STREAM {source.name} (…) WITH (time = '…')"
        )


def _guessed(path: str, sources: Mapping[str, Source]) -> str:
    """The stream that a file of records without a name can only be."""
    stem = Path(path).name.split(".")[0].lower()
    for name in sources:
        if name.lower() == stem:
            return name
    if not sources:
        raise Problem(
            f"--input {path}: the query reads no stream, so that there is nothing to read"
        )
    if len(sources) == 1:
        return next(iter(sources))
    raise Problem(
        f"{path} holds plain records: say of which stream, --input {next(iter(sources))}={path}"
    )


def _table(given: _Given, source: Source) -> RawEvents:
    import pyarrow as pa

    from driftline.engine.readers.inputs import events_from

    try:
        return events_from(source, given.data)
    except pa.ArrowInvalid as error:
        raise Problem(f"{given.shown}: {error}") from None


def _json_records(given: _Given, source: Source) -> Records:
    from driftline.engine.readers.inputs import json_records

    read = json_records(source, given.opened())
    for name in read.missing if len(read.records.lines) else ():
        _say_missing(source, name)
    return read.records


def _say_missing(source: Source, column: str) -> None:
    print(f"driftline: no row of {source.name} has a column {column}: it is null", file=sys.stderr)
