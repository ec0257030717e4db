"""Reads event logs into columns.

    bytes ─ blocks of lines ─ scan (envelopes) ─┬─ by stream ─ rows (Arrow) ─ columns ─ validity
                                                └─ explain: the lines that scan did not understand

No Python runs per event, except for the lines that are wrong or unusual.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from driftline.event_log.apart import Used, files_of, need_apart
from driftline.event_log.bad import BadEvent, BadInput, Misfit, Misfits
from driftline.event_log.deadletters import write_dead_letters
from driftline.event_log.explain import ParsedLine, PassedOver, Refused, parse_line
from driftline.event_log.rows import Coerce, Convert, RowReader, Shape
from driftline.event_log.scan import Scanned, scan_lines, scan_row
from driftline.event_log.source import BLOCK_BYTES, LogSource, Progress, line_bounds
from driftline.model.arrays import Int64s
from driftline.model.columns import NO_CLOCK, RETRACT, StreamColumns
from driftline.model.validity import check_columns

Input = str | Path | IO[bytes]


class _Declared(Protocol):
    """What is known of the streams of a log, by their names in it."""

    def exact(self, name: str) -> Mapping[str, Convert]:
        """The columns whose values are kept as they were written, by their names in lower case, and
        how each becomes values."""

    def coerce(self, name: str) -> Mapping[str, Coerce]:
        """The columns that hold numbers or booleans, by their names in lower case, and how a value
        becomes one."""

    def shapes(self, name: str) -> Mapping[str, Shape]:
        """What is wrong with a list or an object in a column that holds none, or the other way
        round, by the names of the columns in lower case."""

    def kinds(self, name: str) -> Mapping[str, pa.DataType]:
        """What columns hold, by their names in lower case (see `values`)."""

    def fit(self, stream: StreamColumns) -> tuple[StreamColumns, Misfits]:
        """A stream with its types, and the events that do not fit."""


_NOT_ASCII = 0x80


@dataclass(frozen=True, slots=True)
class LogContents:
    """What was read: the streams in order of first appearance, and the bad events."""

    streams: dict[str, StreamColumns]
    sources: tuple[str, ...] = ()
    bad: list[BadEvent] = field(default_factory=list)

    @property
    def events(self) -> int:
        return sum(len(stream) for stream in self.streams.values())


def read_log(
    inputs: Input | Iterable[Input],
    *,
    dead_letters: str | Path | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
    declared: _Declared | None = None,
) -> LogContents:
    """The valid events of one or several logs, read one after another.

    The first bad event raises `BadInput`. With `dead_letters`, all bad events go to that file
    instead. With `limit`, only so many of the first events are read.

    >>> import io
    >>> log = read_log(io.BytesIO(b'{"stream":"s","kind":"cti","t":10}'))
    >>> log.streams["s"].to_events()
    [Cti(t=10)]
    """
    several = _several(inputs)
    if dead_letters is not None:
        need_apart([Used("dead_letters", dead_letters)], files_of(several))
    log = scan_log(
        several,
        limit=limit,
        progress=progress,
        only_the_first_bad=dead_letters is None,
        declared=declared,
    )
    if dead_letters is not None:
        write_dead_letters(log.bad, dead_letters)
    elif log.bad:
        raise BadInput(log.bad[0])
    return log


def scan_log(
    inputs: Input | Iterable[Input],
    *,
    limit: int | None = None,
    progress: Progress | None = None,
    only_the_first_bad: bool = False,
    block_bytes: int = BLOCK_BYTES,
    valid_streams: bool = True,
    declared: _Declared | None = None,
) -> LogContents:
    """The valid events, and all that is bad in file order (or at least the first of it).

    Without `valid_streams` only the lines are judged: events that their stream may not have, such
    as late ones, are left to a query, which makes them dead letters itself. `declared` gives what
    JSON does not: the types of columns.
    """
    sources = [LogSource(each, block_bytes) for each in _several(inputs)]
    gathering = _Gathering(limit, declared)
    for number, source in enumerate(sources):
        gathering.begin(number)
        for block in source.blocks(progress):
            gathering.add(block)
            if gathering.full or (only_the_first_bad and gathering.bad):
                break
        if gathering.full or (only_the_first_bad and gathering.bad):
            break
    streams = gathering.columns()
    bad = gathering.bad
    for name, stream in streams.items() if valid_streams else ():
        breaches = check_columns(stream)
        if breaches:
            index = np.array([i for i, _ in breaches])
            bad += [
                _Bad(int(stream.source[i]), int(stream.line[i]), reason, None)
                for i, reason in breaches
            ]
            keep = np.ones(len(stream), np.bool_)
            keep[index] = False
            streams[name] = stream.take(keep)
    names = tuple(source.name for source in sources)
    return LogContents(streams, names, _with_texts(bad, sources, only_the_first_bad))


def _several(inputs: Input | Iterable[Input]) -> list[Input]:
    single = isinstance(inputs, (str, Path)) or hasattr(inputs, "read")
    return [inputs] if single else list(inputs)  # type: ignore[arg-type, list-item]


@dataclass(frozen=True, slots=True, order=True)
class _Bad:
    source: int
    line: int
    reason: str
    text: bytes | None
    column: str | None = None
    value: str | None = None


def _with_texts(bad: list[_Bad], sources: list[LogSource], only_the_first: bool) -> list[BadEvent]:
    """The bad events in file order; what was read but is not valid is looked up once more."""
    bad = sorted(bad, key=lambda each: (each.source, each.line))[: 1 if only_the_first else None]
    texts = {
        number: source.lines(
            each.line for each in bad if each.source == number and each.text is None
        )
        for number, source in enumerate(sources)
    }
    return [
        BadEvent(
            sources[each.source].name,
            each.line,
            each.reason,
            each.text if each.text is not None else texts[each.source][each.line].strip(),
            each.column,
            each.value,
        )
        for each in bad
    ]


class _StreamBuilder:
    """The columns of one stream as far as they have been read."""

    def __init__(self, name: str, declared: _Declared | None) -> None:
        self.name = name
        self.rows = (
            RowReader(name)
            if declared is None
            else RowReader(
                name,
                declared.exact(name),
                declared.coerce(name),
                declared.shapes(name),
                declared.kinds(name),
            )
        )
        self.timestamps = False
        self.parts: list[
            tuple[NDArray[np.int8], Int64s, Int64s, Int64s, Int64s, Int64s, Int64s]
        ] = []
        self.part_sources: list[int] = []

    def columns(self) -> tuple[StreamColumns, Misfits]:
        payload, misfits = self.rows.table()
        kind, vs, ve, vn, at, position, line = map(np.concatenate, zip(*self.parts, strict=True))
        lengths = [len(part[0]) for part in self.parts]
        stream = StreamColumns(
            name=self.name,
            timestamps=self.timestamps,
            kind=kind,
            vs=vs,
            ve=ve,
            vn=vn,
            at=at if (at != NO_CLOCK).any() else None,
            position=position,
            line=line,
            source=np.repeat(np.array(self.part_sources, np.int32), lengths),
            payload=payload,
        )
        return stream, misfits


class _Gathering:
    """Takes blocks of lines, and holds the streams and the bad lines found in them."""

    def __init__(self, limit: int | None, declared: _Declared | None) -> None:
        self._declared = declared
        self.streams: dict[str, _StreamBuilder] = {}
        self.bad: list[_Bad] = []
        self._left = limit
        self._position = 0
        self._source = 0
        self._lines = 0

    @property
    def full(self) -> bool:
        return self._left == 0

    def columns(self) -> dict[str, StreamColumns]:
        """What was read, in order of the streams' first events; what does not fit is bad."""
        streams = [self._fitting(*builder.columns()) for builder in self.streams.values()]
        firsts = {name: builder.parts[0][5][0] for name, builder in self.streams.items()}
        return {each.name: each for each in sorted(streams, key=lambda each: firsts[each.name])}

    def _fitting(self, stream: StreamColumns, misfits: Misfits) -> StreamColumns:
        if self._declared is not None:
            stream, found = self._declared.fit(stream)
            misfits = found | misfits
        if not misfits:
            return stream
        for i, misfit in misfits.items():
            source, line = int(stream.source[i]), int(stream.line[i])
            self.bad.append(_Bad(source, line, misfit.reason, None, misfit.column, misfit.value))
        return stream.take(~np.isin(np.arange(len(stream)), list(misfits)))

    def begin(self, source: int) -> None:
        self._source, self._lines = source, 0

    def add(self, block: bytes) -> None:
        starts, ends = line_bounds(block)
        lines = np.arange(self._lines + 1, self._lines + 1 + len(starts))
        self._lines += len(starts)
        written = _not_blank(block, starts, ends)
        if self._left is not None:
            written = written[: self._left]
            self._left -= len(written)
        starts, ends, lines = starts[written], ends[written], lines[written]
        positions = np.arange(self._position, self._position + len(starts))
        self._position += len(starts)
        bytes_ = np.frombuffer(block, np.uint8)
        scanned = scan_lines(bytes_, starts, ends)
        scanned.fine[not_utf8(block, starts, ends)] = False
        names = [block[a:b].decode() for a, b in scanned.names[: scanned.name.max(initial=-1) + 1]]

        def line(i: int) -> bytes:
            return block[starts[i] : ends[i]].strip()

        def refuse(i: int, why: Misfit) -> None:
            place = (self._source, int(lines[i]))
            self.bad.append(_Bad(*place, why.reason, line(i), why.column, why.value))

        doubtful = np.flatnonzero(~scanned.fine).tolist()
        exact: dict[int, ParsedLine] = {}
        for i in doubtful:
            try:
                exact[i] = parse_line(line(i))
            except Refused as refused:
                refuse(i, Misfit(None, None, str(refused)))
            except PassedOver:
                continue
        if exact:
            bytes_ = _fill_in(scanned, exact, names, bytes_, line)

        for name, index in _by_stream(scanned, names):
            builder = self.streams.get(name) or _StreamBuilder(name, self._declared)
            of_stream = index.tolist() if len(index) < len(starts) else range(len(starts))
            reasons = builder.rows.add(
                bytes_,
                scanned.row_start[index],
                scanned.row_end[index],
                scanned.row_names[index],
                scanned.row_big[index],
                scanned.kind[index] <= RETRACT,
                lambda i, of_stream=of_stream: parse_line(line(of_stream[i])),  # type: ignore[misc]
            )
            if reasons:
                for i, reason in reasons.items():
                    refuse(of_stream[i], reason)
                index = np.delete(index, list(reasons))  # noqa: PLW2901 - less of the same
            if not len(index):
                continue
            self.streams[name] = builder
            builder.timestamps |= bool(scanned.iso[index].any())
            builder.part_sources.append(self._source)
            builder.parts.append(
                (
                    scanned.kind[index],
                    scanned.vs[index],
                    scanned.ve[index],
                    scanned.vn[index],
                    scanned.at[index],
                    positions[index],
                    lines[index],
                )
            )


def _fill_in(
    scanned: Scanned,
    exact: dict[int, ParsedLine],
    names: list[str],
    block: NDArray[np.uint8],
    line: Callable[[int], bytes],
) -> NDArray[np.uint8]:
    """Puts lines that were read one by one among the scanned ones, their rows after the block."""
    numbers = {name: i for i, name in enumerate(names)}
    rows: list[bytes] = []
    end = len(block)
    for i, event in exact.items():
        scanned.kind[i], scanned.vs[i], scanned.ve[i] = event.kind, event.vs, event.ve
        scanned.vn[i], scanned.at[i], scanned.iso[i] = event.vn, event.at, event.iso
        if event.stream not in numbers:
            numbers[event.stream] = len(names)
            names.append(event.stream)
        scanned.name[i] = numbers[event.stream]
        if event.row is not None:
            text = _row_text(line(i))
            _, scanned.row_names[i], scanned.row_big[i] = scan_row(
                np.frombuffer(text, np.uint8), 0, len(text)
            )
            scanned.row_start[i], scanned.row_end[i] = end, end + len(text)
            rows.append(text)
            end += len(text)
        scanned.fine[i] = True
    return np.concatenate([block, np.frombuffer(b"".join(rows), np.uint8)])


def _row_text(line: bytes) -> bytes:
    """The row of a line, its names without escapes, its numbers as they were written."""

    def written(number: str) -> orjson.Fragment:
        return orjson.Fragment(number)

    event = json.loads(line, parse_int=written, parse_float=written)
    return orjson.dumps(event["row"])


def _by_stream(scanned: Scanned, names: list[str]) -> list[tuple[str, Int64s]]:
    """The indices of each stream's events."""
    fine = np.flatnonzero(scanned.fine)
    found = scanned.name[fine]
    order = np.argsort(found, kind="stable") if len(names) > 1 else np.arange(len(fine))
    ends = np.searchsorted(found[order], np.arange(len(names)), side="right")
    groups = zip(names, np.split(fine[order], ends[:-1]), strict=True) if names else ()
    return [(name, index) for name, index in groups if len(index)]


def _not_blank(block: bytes, starts: Int64s, ends: Int64s) -> Int64s:
    """The indices of the lines that hold more than white space."""
    opens = np.frombuffer(block, np.uint8)[np.minimum(starts, len(block) - 1)] == ord("{")
    opens &= ends > starts
    for i in np.flatnonzero(~opens).tolist():
        opens[i] = bool(block[starts[i] : ends[i]].strip())
    return np.flatnonzero(opens)


def not_utf8(block: bytes, starts: Int64s, ends: Int64s) -> list[int]:
    """The indices of the lines that are not UTF-8."""
    try:
        block.decode()
    except UnicodeDecodeError:
        beyond = np.flatnonzero(np.frombuffer(block, np.uint8) >= _NOT_ASCII)
        suspects = np.unique(np.searchsorted(starts, beyond, side="right") - 1)
        return [i for i in suspects.tolist() if i >= 0 and not _is_utf8(block[starts[i] : ends[i]])]
    return []


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
