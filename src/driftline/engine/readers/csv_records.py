"""Plain records in CSV, as columns of text: Spark's casts decide what a value means. Only of plain
numbers Arrow makes numbers by itself, since these mean the same to both.

As RFC 4180 has it: fields may be in quotes, a quote inside quotes is written twice, and lines may
end there. As Spark reads it: a field is null if nothing is there, not if it is "" or NA, and an
empty line is none. The first line names the columns. What is between fields, and how times and
dates are written, may be said (`CsvForm`).

    bytes ─ blocks of whole records ─ Arrow ─ columns of text
                                        └─ where it stumbles: again, without the bad records
"""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from driftline.engine.expressions.datetime_patterns import by_pattern, parse_by_pattern
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.readers.fitting import Records, named
from driftline.event_log.bad import Misfit, Misfits
from driftline.event_log.reader import not_utf8
from driftline.event_log.source import LogSource as Text
from driftline.event_log.source import line_bounds
from driftline.kernels import compiled
from driftline.model.arrays import Bytes, Int64s
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Source
from driftline.plan.types import DATE, a_type, is_timestamp

BLOCK_BYTES = 8 << 20

NULLS_IN_CSV: dict[str, Any] = {
    "null_values": [""],
    "strings_can_be_null": True,
    "quoted_strings_can_be_null": False,
}

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_ARROW_BLOCK = 1 << 20
_HEXADECIMAL = (b"0x", b"0X")
"""What Arrow takes for a number, and Spark does not."""


@dataclass(frozen=True)
class CsvForm:
    """How CSV is written: what is between fields, and the patterns of timestamps and of dates
    (None: as ISO 8601 has them), as Spark's options of these names have them."""

    delimiter: str = ","
    timestamps: str | None = None
    dates: str | None = None

    def __post_init__(self) -> None:
        if len(self.delimiter.encode()) != 1 or self.delimiter in '"\r\n':
            raise PlanError(f"the delimiter of CSV is one character, not {self.delimiter!r}")
        for pattern in (self.timestamps, self.dates):
            if pattern is not None:
                try:
                    parse_by_pattern("", pattern)
                except EvaluationError as error:
                    raise PlanError(str(error)) from None

    def pattern(self, kind: pa.DataType) -> str | None:
        """How values of a type are written, if that was said."""
        return self.dates if kind == DATE else self.timestamps if is_timestamp(kind) else None


PLAIN = CsvForm()


class CsvFile:
    """A file of records: its columns, and the records in parts."""

    def __init__(
        self,
        source: Source,
        what: Path | IO[bytes],
        name: str | None = None,
        form: CsvForm = PLAIN,
    ) -> None:
        self.source, self.form = source, form
        self.delimiter = form.delimiter.encode()[0]
        self.text = Text(what, BLOCK_BYTES)
        self.name = name or self.text.name
        self.line = 1  # the next one to be read
        self._is_unclosed = False  # a quote in the block that comes next
        self._blocks = self._whole_records()
        self._rest = b""
        self.names = self._header()
        self._is_unclosed = False
        self.columns = self._wanted()
        kinds = zip(self.columns, source.columns.arrow.types, strict=True)
        self.numbers = {str(place): kind for place, kind in kinds if _is_plain(kind)}
        patterns = {each.name: form.pattern(each.type) for each in source.columns.arrow}
        self.patterns = {name: each for name, each in patterns.items() if each is not None}

    def _header(self) -> list[str]:
        for block in self._blocks:
            at = len(block) - len(block.lstrip())
            if at == len(block):
                self.line += block.count(b"\n")
                continue
            at = max(block.rfind(b"\n", 0, at), block.rfind(b"\r", 0, at)) + 1
            end = self._first_record(block, at)
            self._rest = block[end:]
            self.line += block.count(b"\n", 0, end)
            try:
                return self._fields(block[at:end].decode(errors="replace").strip("\r\n"))
            except csv.Error:
                raise PlanError(
                    f"{self.name}: its first line is too long for names of columns: is it CSV?"
                ) from None
        raise PlanError(f"{self.name} is empty: its first line must name the columns")

    def _first_record(self, block: bytes, at: int) -> int:
        """Where the first record ends, with the end of its line."""
        end = block.find(b"\n", at) + 1 or len(block)
        line = block[at:end].removesuffix(b"\n").removesuffix(b"\r")
        if b'"' not in line and b"\r" not in line:
            return end
        starts = records_of(np.frombuffer(block, np.uint8)[at:], self.delimiter)[0]
        return at + int(starts[1]) if len(starts) > 1 else len(block)

    def _wanted(self) -> list[int]:
        """The places of the stream's columns."""
        places: dict[str, int] = {}
        for place, name in enumerate(self.names):
            if places.setdefault(named(name), place) != place and self._is_own(name):
                raise PlanError(f"{self.name}: there are two columns {name}")
        missing = [name for name in self.source.columns.names if name.lower() not in places]
        if missing:
            shown = ", ".join(self.names)
            raise PlanError(
                f"{self.name}: its first line names no column {missing[0]} of {self.source.name}, "
                f"but {shown}: the first line of CSV must name the columns"
            )
        return [places[name.lower()] for name in self.source.columns.names]

    def _is_own(self, name: str) -> bool:
        return any(each.lower() == named(name) for each in self.source.columns.names)

    def parts(self) -> Iterator[Records]:
        """The records, part by part."""
        if self._rest:
            yield self.part(self._rest)
        for block in self._blocks:
            yield self.part(block)

    def _whole_records(self) -> Iterator[bytes]:
        """The bytes in blocks that end where a record ends."""
        rest: list[bytes] = []
        is_open = False
        for block in self.text.blocks():
            if b'"' not in block and not is_open:
                yield b"".join([*rest, block])
                rest = []
                continue
            whole = b"".join([*rest, block])
            starts, _, _, _, is_open = records_of(np.frombuffer(whole, np.uint8), self.delimiter)
            cut = int(starts[-1]) if is_open else len(whole)
            if cut:
                yield whole[:cut]
            rest = [whole[cut:]]
        last = b"".join(rest)
        while last:
            starts, _, _, _, is_open = records_of(np.frombuffer(last, np.uint8), self.delimiter)
            cut = int(starts[-1]) if is_open else len(last)
            if cut:
                yield last[:cut]
            last = last[cut:]
            if last:  # a line alone is lost with its quote, and not all that follows
                end = last.find(b"\n") + 1 or len(last)
                self._is_unclosed = True
                yield last[:end]
                last = last[end:]

    def part(self, block: bytes) -> Records:
        """The records of a block."""
        records = self._part(block)
        return self._with_times(records) if self.patterns else records

    def _with_times(self, records: Records) -> Records:
        """The records whose times are written as was said, with these."""
        misfits: Misfits = {}
        table = records.table
        for name, pattern in self.patterns.items():
            place = table.schema.get_field_index(name)
            texts = table.column(place).combine_chunks()
            kind = self.source.columns.arrow.field(name).type
            times = by_pattern(texts, pattern, kind)
            lost = pc.and_(texts.is_valid(), times.is_null())
            for row in np.flatnonzero(lost.to_numpy(zero_copy_only=False)).tolist():
                text = texts[row].as_py()
                reason = f"{text!r} in the column {name} is not {a_type(kind)} as {pattern}"
                misfits.setdefault(row, Misfit(name, text, reason))
            table = table.set_column(place, name, times)
        return replace(records, table=table).without(misfits)

    def _part(self, block: bytes) -> Records:
        first = self.line
        self.line += block.count(b"\n")
        if self._is_unclosed:
            self._is_unclosed = False
            misfit = Misfit(None, None, "a quote is opened in it and never closed")
            lost = misfit.at(self.name, first, block.rstrip(b"\r\n"))
            nothing = self._parsed(b"")
            return Records(nothing, self.name, np.empty(0, np.int64), lambda _: b"", [lost])
        table = self._parsed(block)
        count = self.line - first + (not block.endswith(b"\n"))
        if table is not None and table.num_rows == count:  # a record a line
            return Records(table, self.name, np.arange(first, first + count), _Lines(block))
        starts, ends, lines, fields, _ = records_of(np.frombuffer(block, np.uint8), self.delimiter)
        bad: Misfits = {}
        there = ends > starts
        if table is None or table.num_rows != there.sum():
            there, bad = self._judged(block, starts, ends, fields)
            table = self._parsed(_only(block, starts, there), whole=True)
        if table is None or table.num_rows != there.sum():
            raise PlanError(f"{self.name}: from line {first} on it cannot be read as CSV")
        places = np.flatnonzero(there)

        def text(place: int) -> bytes:
            return block[starts[place] : ends[place]]

        letters = [
            misfit.at(self.name, first + int(lines[place]), text(place))
            for place, misfit in sorted(bad.items())
        ]
        lines = first + lines[places]
        return Records(table, self.name, lines, lambda row: text(int(places[row])), letters)

    def _judged(
        self, block: bytes, starts: Int64s, ends: Int64s, fields: Int64s
    ) -> tuple[NDArray[np.bool_], Misfits]:
        """Which records can be read, and what is wrong with the others; empty lines are none."""
        wanted = len(self.names)
        bad: Misfits = {}
        there = ends > starts
        for place in np.flatnonzero(there & (fields != wanted)).tolist():
            there[place] = False
            if block[starts[place] : ends[place]].strip():
                count = fields[place]
                have = f"{count} field{'s' if count > 1 else ''}"
                reason = f"it has {have}, but the first line names {wanted}"
                bad[place] = Misfit(None, None, reason)
        for place in not_utf8(block, starts, ends):
            bad.setdefault(place, self._not_utf8(block[starts[place] : ends[place]]))
        there[list(bad)] = False
        return there, bad

    def _not_utf8(self, text: bytes) -> Misfit:
        try:
            found = self._fields(text.decode(errors="surrogateescape"))
        except csv.Error:  # a very long field
            found = []
        for name, field in zip(self.names, found, strict=False):
            written = field.encode(errors="surrogateescape")
            shown = written.decode(errors="replace")
            if shown.encode() != written:
                return Misfit(name, shown, f"{shown!r} in the column {name} is not UTF-8")
        return Misfit(None, None, "it is not UTF-8")

    def _parsed(self, block: bytes, *, whole: bool = False) -> pa.Table | None:
        """The stream's columns of a block of records, as numbers where all of them are plain, and
        else as text; None where Arrow stumbles. `whole`: Arrow is not to cut it into blocks of its
        own, which must hold the longest record."""
        own = self.source.columns.names
        if not block:
            return pa.table([pa.nulls(0, pa.string())] * len(own), names=own)
        texts = {str(place): pa.string() for place in range(len(self.names))}
        if self.numbers and not any(sign in block for sign in _HEXADECIMAL):
            table = self._read(block, texts | self.numbers, whole)
            if table is not None and not _has_nan(table):
                return table
        return self._read(block, texts, whole)

    def _read(self, block: bytes, types: dict[str, pa.DataType], whole: bool) -> pa.Table | None:
        from pyarrow import csv as arrow

        if block.startswith(BOM_UTF8):  # of a cell; Arrow takes one away
            block = BOM_UTF8 + block
        quotes = b'"' in block
        size = len(block) + 1 if whole or quotes else _ARROW_BLOCK
        try:
            table = arrow.read_csv(
                pa.BufferReader(block),
                arrow.ReadOptions(column_names=list(types), block_size=size),
                arrow.ParseOptions(delimiter=self.form.delimiter, newlines_in_values=quotes),
                arrow.ConvertOptions(
                    column_types=types,
                    include_columns=[str(place) for place in self.columns],
                    **NULLS_IN_CSV,
                ),
            )
        except pa.ArrowInvalid:
            # A row of another length, bytes that are no UTF-8, a long field, no plain number.
            return None
        return table.rename_columns(self.source.columns.names)

    def _fields(self, record: str) -> list[str]:
        text = io.StringIO(record, newline="")
        return next(csv.reader(text, delimiter=self.form.delimiter), [])


def _is_plain(kind: pa.DataType) -> bool:
    """Whether what Arrow reads as this type means the same to Spark, but for `_HEXADECIMAL` and
    what is no number."""
    return bool(pa.types.is_signed_integer(kind)) or kind == pa.float64()


def _has_nan(table: pa.Table) -> bool:
    """Whether a number is none: Arrow has more spellings for that than Spark."""
    floats = [column for column in table.columns if column.type == pa.float64()]
    return any(pc.any(pc.is_nan(column)).as_py() for column in floats)


def _only(block: bytes, starts: Int64s, there: NDArray[np.bool_]) -> bytes:
    """A block without some of its records."""
    bounds = np.append(starts, len(block))
    changes = np.flatnonzero(np.diff(there.astype(np.int8), prepend=0, append=0))
    firsts, lasts = bounds[changes[::2]].tolist(), bounds[changes[1::2]].tolist()
    return b"".join(block[first:last] for first, last in zip(firsts, lasts, strict=True))


class _Lines:
    """The lines of a block, of which a few may be asked for."""

    def __init__(self, block: bytes) -> None:
        self.block = block
        self.bounds: tuple[Int64s, Int64s] | None = None

    def __call__(self, row: int) -> bytes:
        if self.bounds is None:
            self.bounds = line_bounds(self.block)
        starts, ends = self.bounds
        return self.block[starts[row] : ends[row]].removesuffix(b"\r")


@compiled
def records_of(block: Bytes, delimiter: int) -> tuple[Int64s, Int64s, Int64s, Int64s, bool]:
    """Where each record of a block starts and ends (before the end of its line), how many lines
    are before it, and how many fields it has, with a `delimiter` between them; and whether the last
    one ends inside quotes."""
    most = 1
    for byte in block:
        most += byte == _NEWLINE or byte == _RETURN
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    lines, fields = np.empty(most, np.int64), np.empty(most, np.int64)
    count, line, at, size = 0, 0, 0, len(block)
    quoted = False
    while at < size:
        starts[count], lines[count], fields[count] = at, line, 1
        fresh = True  # a field begins here
        quoted = False
        ends[count] = size
        while at < size:
            byte = block[at]
            at += 1
            if quoted:
                if byte == _QUOTE:
                    if at < size and block[at] == _QUOTE:
                        at += 1
                    else:
                        quoted = False
                elif byte == _NEWLINE:
                    line += 1
            elif byte == _QUOTE and fresh:
                quoted, fresh = True, False
            elif byte == delimiter:
                fields[count] += 1
                fresh = True
            elif byte == _NEWLINE or byte == _RETURN:
                ends[count] = at - 1
                if byte == _RETURN and at < size and block[at] == _NEWLINE:
                    at += 1
                line += 1
                break
            else:
                fresh = False
        count += 1
    return starts[:count], ends[:count], lines[:count], fields[:count], quoted
