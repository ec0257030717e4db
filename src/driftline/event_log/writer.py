"""Writes streams as an event log, in arrival order over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from driftline.event_log.atomic import atomic_file
from driftline.event_log.explain import CONSISTENT
from driftline.event_log.text import TEXT, joined, quoted, rows_text, times_text
from driftline.model.arrays import Int64s, text_scalar, to_arrow
from driftline.model.columns import (
    CTI,
    EXTERNAL_CTI,
    INSERT,
    KIND_NAMES,
    NO_CLOCK,
    RETRACT,
    StreamColumns,
)
from driftline.model.history_columns import HistoryColumns
from driftline.model.prefix import Prefix

EVENTS_AT_ONCE = 250_000


def write_log(
    streams: Mapping[str, StreamColumns] | Iterable[StreamColumns],
    target: str | Path | IO[bytes],
) -> None:
    """Writes the events of all streams in the order of their positions; a file all or nothing.

    >>> import io
    >>> from driftline.model.event import Cti
    >>> out = io.BytesIO()
    >>> write_log([StreamColumns.from_events("s", [Cti(10)])], out)
    >>> out.getvalue()
    b'{"stream":"s","kind":"cti","t":10}\\n'
    """
    several = list(streams.values() if isinstance(streams, Mapping) else streams)
    if isinstance(target, (str, Path)):
        with atomic_file(target) as file:
            _write(several, file)
    else:
        _write(several, target)


def _write(streams: list[StreamColumns], file: IO[bytes]) -> None:
    positions = np.sort(
        np.concatenate([stream.position for stream in streams] or [np.empty(0, np.int64)])
    )
    for start in range(0, len(positions), EVENTS_AT_ONCE):
        window = positions[start : start + EVENTS_AT_ONCE]
        parts = [_between(stream, int(window[0]), int(window[-1])) for stream in streams]
        parts = [part for part in parts if len(part)]
        lines = pa.chunked_array([event_lines(part) for part in parts], TEXT)
        if len(parts) > 1:
            order = np.argsort(np.concatenate([part.position for part in parts]), kind="stable")
            lines = lines.take(to_arrow(order))
        for chunk in lines.chunks:
            file.write(text_bytes(chunk))


def _between(stream: StreamColumns, first: int, last: int) -> StreamColumns:
    """The events with positions from first to last; positions grow along a stream."""
    low = int(np.searchsorted(stream.position, first))
    high = int(np.searchsorted(stream.position, last, side="right"))
    if (low, high) == (0, len(stream)):
        return stream
    return stream.take(np.arange(low, high))


def event_lines(stream: StreamColumns) -> pa.Array:
    """The line of each event, with its newline."""
    lines: list[pa.Array] = []
    order: list[np.ndarray[tuple[int], np.dtype[np.int64]]] = []
    for kind in (INSERT, RETRACT, CTI, EXTERNAL_CTI):
        index = np.flatnonzero(stream.kind == kind)
        if len(index):
            lines.append(_lines_of_kind(stream.take(index), kind))
            order.append(index)
    if len(lines) == 1:
        return lines[0]
    places = np.argsort(np.concatenate(order) if order else np.empty(0, np.int64))
    return pa.concat_arrays(lines or [pa.nulls(0, TEXT)]).take(to_arrow(places))


def mark_line(stream: str, prefix: Prefix) -> bytes:
    """The line of a mark: all before it is the answer for so many events of each input.

    >>> mark_line("result", Prefix({"orders": 3}))
    b'{"stream":"result","kind":"consistent","prefix":{"orders":3}}\\n'
    """
    mark: dict[str, Any] = {"stream": stream, "kind": CONSISTENT, "prefix": dict(prefix.events)}
    if prefix.files:
        mark["files"] = prefix.files
    if prefix.closed or prefix.ended:
        mark["closed"] = prefix.closed or list(prefix.ended)
    return orjson.dumps(mark, option=orjson.OPT_APPEND_NEWLINE)


def now_lines(stream: str, timestamps: bool, op: pa.Array, at: Int64s, rows: pa.Table) -> pa.Array:
    """The line of each change of an answer now, with its newline."""
    beginning = f'{{"stream":{quoted(stream)},"op":"'
    times = times_text(at, timestamps)
    texts = rows_text(rows, rows.num_rows)
    return joined([beginning, op.cast(TEXT), '","at":', times, ',"row":', texts, "}\n"])


def _lines_of_kind(stream: StreamColumns, kind: int) -> pa.Array:
    def time(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
        return times_text(values, stream.timestamps)

    parts: list[str | pa.Array] = [f'{{"stream":{quoted(stream.name)},"kind":"{KIND_NAMES[kind]}"']
    match kind:
        case 0 | 1:
            parts += [',"vs":', time(stream.vs), ',"ve":', time(stream.ve)]
            if kind == RETRACT:
                parts += [',"vn":', time(stream.vn)]
        case 2:
            parts += [',"t":', time(stream.vs)]
        case _:
            parts += [',"from":', time(stream.vs), ',"to":', time(stream.ve)]
            parts += [',"count":', to_arrow(stream.vn).cast(TEXT)]
    if stream.at is not None:
        parts.append(_clock_text(stream.at))
    if kind <= RETRACT:
        parts += [',"row":', rows_text(stream.payload, len(stream))]
    return joined([*parts, "}\n"])


def _clock_text(at: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    known = to_arrow(at != NO_CLOCK)
    text = joined([',"at":', to_arrow(at).cast(TEXT)])
    return pc.if_else(known, text, text_scalar(""))


def history_lines(
    name: str | None, timestamps: bool, history: HistoryColumns
) -> Iterator[pa.Buffer]:
    """A canonical history as JSON Lines, one lifetime a line, in pieces ready to be written; with
    the name of the stream, if there is one."""
    beginning = "{" if name is None else f'{{"stream":{quoted(name)},'
    for start in range(0, len(history), EVENTS_AT_ONCE):
        end = start + EVENTS_AT_ONCE
        vs, ve = history.vs[start:end], history.ve[start:end]
        rows = history.payload.slice(start, len(vs))
        yield text_bytes(
            joined(
                [
                    f'{beginning}"vs":',
                    times_text(vs, timestamps),
                    ',"ve":',
                    times_text(ve, timestamps),
                    ',"row":',
                    rows_text(rows, len(vs)),
                    "}\n",
                ]
            )
        )


def row_lines(name: str | None, table: pa.Table) -> Iterator[pa.Buffer]:
    """Rows as JSON Lines, in pieces ready to be written; with the name of the stream, if there is
    one."""
    beginning, end = ("", "") if name is None else (f'{{"stream":{quoted(name)},"row":', "}")
    for start in range(0, len(table), EVENTS_AT_ONCE):
        rows = table.slice(start, EVENTS_AT_ONCE)
        yield text_bytes(joined([beginning, rows_text(rows, len(rows)), f"{end}\n"]))


def text_bytes(lines: pa.Array) -> pa.Buffer:
    """All the texts of an array, one after another, as they lie in memory."""
    offsets = np.frombuffer(lines.buffers()[1], np.int64)[lines.offset :][: len(lines) + 1]
    return lines.buffers()[2][int(offsets[0]) : int(offsets[-1])]
