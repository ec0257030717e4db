"""The rows of one stream, block by block, from JSON text to Arrow columns.

Arrow's JSON reader parses many rows at once. Where it stumbles, or where its types leave open
whether every row fits, the rows are halved until the few in question can be read one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from driftline.model.columns import Int64s
from driftline.model.compiled import njit
from driftline.model.log.explain import ParsedLine, Refused
from driftline.model.log.scan import Bytes, scan_row
from driftline.model.log.types import RowTypes, Undecided, conform

ONE_BY_ONE = 256
"""So few rows are read one by one where they cannot be taken together."""

_ARROW_BLOCK = 2**20
_NO_ROW = b"{}"

Reread = Callable[[int], ParsedLine]
"""Reads the line of the i-th row exactly; raises `Refused` if it is no event after all."""


class RowReader:
    """Gathers the rows of one stream. Rows that do not fit are reported and left out."""

    def __init__(self, stream: str) -> None:
        self.types = RowTypes(stream)
        self._tables: list[pa.Table] = []
        self._names: int | None = None  # the hash of the set of the stream's column names

    def add(
        self,
        block: Bytes,
        starts: Int64s,
        ends: Int64s,
        names: Int64s,
        big: NDArray[np.bool_],
        is_row: NDArray[np.bool_],
        reread: Reread,
    ) -> dict[int, str]:
        """Takes the rows block[starts[i]:ends[i]] of the events of which `is_row`; the others get
        a row of nulls. Gives the reasons of those that were not taken, by index."""
        refused: dict[int, str] = {}
        part = _Part(block, starts, ends, big, is_row, reread, refused)
        done = 0
        while self.types.columns is None and is_row[done:].any():
            # The first rows settle the columns and most of their types.
            first = done + int(np.argmax(is_row[done:]))
            self._one_by_one(part, done, min(len(starts), first + ONE_BY_ONE))
            done = min(len(starts), first + ONE_BY_ONE)
        if self.types.columns is None:  # nothing but ctis so far
            self._tables.append(_empty_rows(len(starts) - done))
            return refused
        part.odd = is_row & (names != self._names)
        if done < len(starts):
            self._together(part, done, len(starts))
        return refused

    def table(self) -> pa.Table:
        """All the rows that were taken."""
        columns = self.types.columns or {}
        if not columns:
            return pa.table({})
        return pa.table(
            {
                name: pa.chunked_array(
                    [
                        conform(chunk, kind)
                        for table in self._tables
                        for chunk in _column(table, name)
                    ],
                    kind,
                )
                for name, kind in columns.items()
            }
        )

    def _together(self, part: _Part, low: int, high: int) -> None:
        try:
            if part.odd[low:high].any():
                raise Undecided
            table = self._parsed(part.text(low, high), high - low)
            self.types.join(table, big=bool(part.big[low:high].any()))
        except Undecided:
            if high - low <= ONE_BY_ONE:
                self._one_by_one(part, low, high)
            else:
                middle = (low + high) // 2
                self._together(part, low, middle)
                self._together(part, middle, high)
        else:
            self._tables.append(table)

    def _parsed(self, text: pa.Buffer, count: int) -> pa.Table:
        """The rows that a text holds; Undecided if Arrow does not read them all as they are."""
        assert self.types.columns is not None
        known = pa.schema([(n, t) for n, t in self.types.columns.items() if not _has_null(t)])
        try:
            table = _read_json(text, known)
        except pa.ArrowInvalid:
            try:
                table = _read_json(text, pa.schema([]))  # an integer column may hold floats now
            except pa.ArrowInvalid as error:
                raise Undecided from error
        if table.num_rows != count:
            raise Undecided
        return table

    def _one_by_one(self, part: _Part, low: int, high: int) -> None:
        kept: list[bytes] = []
        for i in range(low, high):
            if not part.is_row[i]:
                kept.append(_NO_ROW)
                continue
            try:
                row: dict[str, Any] | None = part.reread(i).row
                assert row is not None
                reason = self.types.refuse(row)
            except Refused as error:
                reason = str(error)
            if reason is None:
                kept.append(orjson.dumps(row))
                if self._names is None:
                    text = np.frombuffer(kept[-1], np.uint8)
                    _, self._names, _ = scan_row(text, 0, len(text))
            else:
                part.refused[i] = reason
        if not kept:
            return
        columns = self.types.columns or {}
        if columns:
            text = pa.py_buffer(b"\n".join(kept))
            self._tables.append(_read_json(text, pa.schema(list(columns.items()))))
        else:
            self._tables.append(_empty_rows(len(kept)))


class _Part:
    """The rows of one block that one stream has, on their way."""

    def __init__(
        self,
        block: Bytes,
        starts: Int64s,
        ends: Int64s,
        big: NDArray[np.bool_],
        is_row: NDArray[np.bool_],
        reread: Reread,
        refused: dict[int, str],
    ) -> None:
        self.big, self.is_row, self.reread, self.refused = big, is_row, reread, refused
        self.odd = np.zeros(len(starts), np.bool_)
        self._text, self._offsets = _gather(block, starts, ends, is_row)

    def text(self, low: int, high: int) -> pa.Buffer:
        """The rows from low to high, one a line."""
        return pa.py_buffer(self._text[self._offsets[low] : self._offsets[high]])


@njit(cache=True, nogil=True)
def _gather(
    block: Bytes, starts: Int64s, ends: Int64s, is_row: NDArray[np.bool_]
) -> tuple[Bytes, Int64s]:
    """The rows as lines one after another ({} where there is none), and where each begins."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    for i in range(len(starts)):
        length = ends[i] - starts[i] if is_row[i] else 2
        offsets[i + 1] = offsets[i] + length + 1
    text = np.empty(offsets[-1], np.uint8)
    for i in range(len(starts)):
        at = offsets[i]
        if is_row[i]:
            length = ends[i] - starts[i]
            text[at : at + length] = block[starts[i] : ends[i]]
        else:
            text[at], text[at + 1] = ord("{"), ord("}")
        text[offsets[i + 1] - 1] = ord("\n")
    return text, offsets


def _read_json(text: pa.Buffer, known: pa.Schema) -> pa.Table:
    """The rows, with two mistakes of Arrow's put right: it takes strings that look like times for
    times, and miscounts the items of a list if it is not told their type before it meets a null."""
    told = {field.name: _countable(field.type) for field in known}
    table = _arrow_json(text, told)
    found = {field.name: _strings(field.type) for field in table.schema}
    if any(
        found[field.name] != field.type
        or (_has_list(field.type) and field.type != told.get(field.name))
        for field in table.schema
    ):
        table = _arrow_json(text, {name: _countable(kind) for name, kind in found.items()})
    wanted = found | {f.name: f.type for f in known if _countable(f.type) != f.type}
    if all(table.schema.field(name).type == kind for name, kind in wanted.items()):
        return table
    columns = [
        pa.chunked_array([conform(chunk, kind) for chunk in table.column(name).chunks], kind)
        for name, kind in wanted.items()
    ]
    return pa.table(columns, list(wanted))


def _arrow_json(text: pa.Buffer, told: dict[str, pa.DataType]) -> pa.Table:
    longest = (
        max(_ARROW_BLOCK, min(text.size + 1, 2**31 - 1)) if _long_lines(text) else _ARROW_BLOCK
    )
    return pyarrow.json.read_json(
        pa.BufferReader(text),
        read_options=pyarrow.json.ReadOptions(block_size=longest),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=pa.schema(list(told.items())), unexpected_field_behavior="infer"
        ),
    )


def _long_lines(text: pa.Buffer) -> bool:
    """Whether some row may not fit into one of Arrow's blocks."""
    newlines = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    return bool(np.diff(newlines, prepend=-1, append=text.size).max() > _ARROW_BLOCK // 2)


def _empty_rows(count: int) -> pa.Table:
    return pa.table({"": pa.nulls(count)}).select([])


def _column(table: pa.Table, name: str) -> list[pa.Array]:
    if name in table.column_names:
        chunks: list[pa.Array] = table.column(name).chunks
        return chunks
    return [pa.nulls(table.num_rows)]


def _has_null(kind: pa.DataType) -> bool:
    """Whether some part of a type is not yet known."""
    return pa.types.is_null(kind) or any(
        _has_null(kind.field(i).type) for i in range(kind.num_fields)
    )


def _has_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or any(
        _has_list(kind.field(i).type) for i in range(kind.num_fields)
    )


def _countable(kind: pa.DataType) -> pa.DataType:
    """A type in which lists of unknown items are lists of booleans (which are all null)."""
    if pa.types.is_list(kind):
        item = kind.value_type
        return pa.list_(pa.bool_() if pa.types.is_null(item) else _countable(item))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _countable(field.type)) for field in kind])
    return kind


def _strings(kind: pa.DataType) -> pa.DataType:
    """A type with strings where Arrow found times."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_strings(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _strings(field.type)) for field in kind])
    return kind
