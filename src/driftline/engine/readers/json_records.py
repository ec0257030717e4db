"""Plain records in JSON Lines, as columns: one object a line, of which a field that is not there is
null, whatever the case of its name.

A value is what was written: a text stays a text though it looks like a time, a number keeps all its
digits. So columns are read as text where the type of the stream wants more than JSON has, and
Spark's casts decide what they mean, as for CSV. As in Spark, "NaN", "Infinity" and "-Infinity" are
numbers, and BINARY is in base64.

Arrow's reader takes a block of lines at once, with the types that follow from the first one. Where
it stumbles, the block is halved, and at last its lines are read one by one, which also tells what
is wrong with them.
"""

from __future__ import annotations

import io
import json
import math
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.json

from driftline.engine.readers.fitting import Records, misfit
from driftline.event_log.bad import BadEvent, Misfit, Misfits
from driftline.event_log.base64 import decoded
from driftline.event_log.fields import WORDS, may_hold_words, take_words_out
from driftline.event_log.reader import not_utf8
from driftline.event_log.source import LogSource as Text
from driftline.event_log.source import line_bounds
from driftline.plan.depth import again_with_room
from driftline.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    Schema,
    is_array,
    is_decimal,
    is_float,
    is_integer,
    is_map,
    is_nested,
    is_struct,
    is_timestamp,
)

_ARROW_BLOCK = 1 << 20
_MOST_DIGITS = 38
_LONG = 19
"""So long an integer may not fit 64 bits."""

_FAR_EXPONENT = re.compile(rb"\d[eE][+-]?\d\d")

ONE_BY_ONE = 256
"""So few records are read one by one where they cannot be taken together."""


@dataclass
class JsonRecords:
    """What was read: the records that fit, with the lines that do not, and the columns that no
    record has (they are null)."""

    records: Records
    missing: tuple[str, ...]


def is_log(data: Path | bytes) -> bool:
    """Is it an event log, rather than plain records in JSON? The first line that is an object
    tells; where there is none, the reader of logs says what is wrong."""
    blocks = Text(data if isinstance(data, Path) else io.BytesIO(data), 1 << 16).blocks()
    for line in (line for block in blocks for line in block.split(b"\n")):
        try:
            record = exactly(line)
        except (orjson.JSONDecodeError, RecursionError):
            continue
        if isinstance(record, dict):
            return "kind" in record and "stream" in record
    return True


def read_records(
    columns: Schema,
    what: str | Path | bytes | IO[bytes],
    fitted: Callable[[Records], Records],
) -> JsonRecords:
    """The records of a file; `fitted` gives a part of them the types of the stream."""
    text = Text(io.BytesIO(what) if isinstance(what, bytes) else what)
    schema = columns.arrow
    tables, lines = [schema.empty_table()], [np.zeros(0, np.int64)]
    seen: set[str] = set()
    bad: list[BadEvent] = []
    before = 0
    for block in text.blocks():
        part = _Block(schema, text.name, block, before)
        for read in map(fitted, part.records()):
            tables.append(read.table)
            lines.append(read.lines)
            bad += read.bad
        seen |= part.seen
        before += part.count
    missing = tuple(name for name in schema.names if name.lower() not in seen)
    whole = pa.concat_tables(tables)
    places = np.concatenate(lines)
    return JsonRecords(Records(whole, text.name, places, lambda row: b"", bad), missing)


class _Block:
    """Some whole lines of a file, of which so many others came `before` these."""

    def __init__(self, schema: pa.Schema, file: str, block: bytes, before: int) -> None:
        self.schema, self.file, self.block = schema, file, block
        self.starts, self.ends = line_bounds(block)
        self.count = len(self.starts)
        first = np.minimum(self.starts, len(block) - 1)
        opens = (np.frombuffer(block, np.uint8)[first] == ord("{")) & (self.ends > self.starts)
        others = [place for place in np.flatnonzero(~opens).tolist() if self._line(place)]
        self.all_open = not others
        opens[others] = True
        self.places = np.flatnonzero(opens)
        self.lines = self.places + before + 1
        self.before = before
        self.seen: set[str] = set()

    def records(self) -> Iterator[Records]:
        """The records, and the lines that are none. Where Arrow does not read them all, the block
        is halved until the few in question can be read one by one."""
        expected = self._expected_types()
        table = None if expected is None else self._together(expected)
        if table is not None:
            yield self._records(table)
            return
        if (expected is None and self.all_open) or len(self.places) <= ONE_BY_ONE:
            rows, misfits = self._one_by_one()
            if not self._is_mixed(rows):
                table, found = self._table(rows)
                yield self._records(table).without(found | misfits)
                return
        if len(self.places):
            middle = int(self.places[len(self.places) // 2])
            cut = int(self.starts[middle])
            for part, before in ((self.block[:cut], 0), (self.block[cut:], middle)):
                half = _Block(self.schema, self.file, part, self.before + before)
                yield from half.records()
                self.seen |= half.seen

    def _records(self, table: pa.Table) -> Records:
        return Records(table, self.file, self.lines, lambda row: self._line(self.places[row]))

    def _line(self, place: int) -> bytes:
        return self.block[self.starts[place] : self.ends[place]].strip()

    def _together(self, expected: dict[str, pa.DataType]) -> pa.Table | None:
        """The records, if Arrow reads them all as they are. It would also take bytes that are not
        UTF-8 and decimals of too many digits, and far exponents of decimals crash it."""
        if not_utf8(self.block, self.starts, self.ends):
            return None
        decimals = any(holds(each.type, is_decimal) for each in self.schema)
        if decimals and _FAR_EXPONENT.search(self.block):
            return None
        table = self._parsed(expected)
        if table is None or table.num_rows != len(self.places):
            return None
        if decimals:
            try:
                table.validate(full=True)
            except pa.ArrowInvalid:
                return None
        by_name: dict[str, str] = {}
        if any(expected[name] != table.column(name).type for name in expected):
            return None  # there are fields in another spelling
        for name in table.column_names:
            if name.lower() in by_name or (name not in expected and name.lower() in self._wanted):
                return None  # in two spellings, or in one that the first record does not have
            by_name[name.lower()] = name
        self.seen = {
            name
            for name, spelled in by_name.items()
            if any(
                json.dumps(spelled, ensure_ascii=escaped).encode() in self.block
                for escaped in (False, True)
            )
        }
        columns = [
            table.column(by_name[each.name.lower()])
            if each.name.lower() in by_name
            else pa.chunked_array([pa.nulls(table.num_rows, each.type)])
            for each in self.schema
        ]
        try:
            columns = [
                pa.chunked_array([decoded(column.combine_chunks())])
                if each.type == BINARY and column.type == STRING
                else column
                for each, column in zip(self.schema, columns, strict=True)
            ]
        except ValueError:
            return None  # no base64
        return pa.table(columns, names=self.schema.names)

    @property
    def _wanted(self) -> dict[str, pa.DataType]:
        return {each.name.lower(): each.type for each in self.schema}

    def _expected_types(self) -> dict[str, pa.DataType] | None:
        """The types to read the columns with, in the first record's spelling, by what it has."""
        if not self.all_open:
            return None
        try:
            first = orjson.loads(self._line(self.places[0])) if len(self.places) else {}
        except orjson.JSONDecodeError:
            return None
        spelling = {name.lower(): name for name in first}
        expected = {}
        for name, kind in ((each.name, each.type) for each in self.schema):
            spelled = spelling.get(name.lower(), name)
            raw = _raw_type(kind, first.get(spelled))
            if raw is None:
                return None
            expected[spelled] = raw
        return expected

    def _parsed(self, expected: dict[str, pa.DataType]) -> pa.Table | None:
        longest = int((self.ends - self.starts).max(initial=0)) + 2
        text, words = np.frombuffer(self.block, np.uint8), None
        if may_hold_words(text):
            text = text.copy()
            offsets = np.append(self.starts[self.places], len(text))
            floats = [name for name, kind in expected.items() if kind == DOUBLE]
            words = take_words_out(text, offsets, floats)
        try:
            table = pyarrow.json.read_json(
                pa.BufferReader(pa.py_buffer(text)),
                read_options=pyarrow.json.ReadOptions(block_size=max(_ARROW_BLOCK, longest)),
                parse_options=pyarrow.json.ParseOptions(
                    explicit_schema=pa.schema(list(expected.items())),
                    unexpected_field_behavior="infer",
                ),
            )
        except pa.ArrowInvalid:
            return None
        if words is None or table.num_rows != len(self.places):
            return table
        return words.put_in(table)

    def _is_mixed(self, rows: list[dict[str, Any]]) -> bool:
        """Whether some times are numbers and others are texts, which are read apart."""
        stamps = [each.name.lower() for each in self.schema if is_timestamp(each.type)]
        return any(
            len({isinstance(row[name], _Number) for row in rows if row.get(name) is not None}) > 1
            for name in stamps
        )

    def _one_by_one(self) -> tuple[list[dict[str, Any]], Misfits]:
        """The records, each read by itself, and what is no record."""
        rows: list[dict[str, Any]] = []
        misfits: Misfits = {}
        for number, place in enumerate(self.places.tolist()):
            row = _loads(self._line(place))
            if isinstance(row, str):
                misfits[number] = Misfit(None, None, row)
                row = {}
            rows.append({name.lower(): value for name, value in row.items()})
        return rows, misfits

    def _table(self, rows: list[dict[str, Any]]) -> tuple[pa.Table, Misfits]:
        self.seen = set().union(*rows)
        columns = []
        misfits: Misfits = {}
        for each in self.schema:
            values = [row.get(each.name.lower()) for row in rows]
            column, found = column_of(each.name, each.type, values)
            columns.append(column)
            misfits = found | misfits
        return pa.table(columns, names=self.schema.names), misfits


def _raw_type(kind: pa.DataType, example: Any) -> pa.DataType | None:
    """How Arrow is to read a column; None if it would not give what was written."""
    if is_nested(kind) and holds(kind, lambda part: part == BINARY):
        return None
    if is_float(kind) and isinstance(example, str) and example in WORDS:
        return DOUBLE
    if isinstance(example, str):
        return STRING if not is_nested(kind) else None
    if is_array(kind):
        item = _raw_type(kind.value_type, None)
        return None if item is None else pa.list_(item)
    if is_struct(kind):
        raw = [(each.name, _raw_type(each.type, None)) for each in kind]
        return None if any(each is None for _, each in raw) else pa.struct(raw)
    if is_integer(kind):
        return BIGINT
    if is_float(kind):
        return DOUBLE
    if is_decimal(kind):
        return kind
    if is_timestamp(kind) and isinstance(example, (int, float)):
        return BIGINT if isinstance(example, int) else DOUBLE
    if kind == BOOLEAN:
        return BOOLEAN
    return None if is_map(kind) else STRING


class _Number(str):
    """A number as it was written."""


def _loads(line: bytes) -> dict[str, Any] | str:
    """The record of a line, or what is wrong with it."""
    try:
        row = exactly(line)
    except orjson.JSONDecodeError as error:
        return f"malformed JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return "it is nested too deep"
    if isinstance(row, dict):
        return row
    return "a record is a JSON object, but this is not"


def exactly(text: str | bytes) -> Any:
    """The value of a JSON text, with numbers as they were written. NaN and the infinities may stand
    in it as they are, as Arrow, Spark and Python's json have them."""
    try:
        orjson.loads(text)  # is strict, and its messages are good
    except orjson.JSONDecodeError:
        text = _quoted_words(text)
        orjson.loads(text)
    return json.loads(text, parse_int=_Number, parse_float=_Number)


_BARE_WORDS = re.compile(rb'"(?:[^"\\]|\\.)*"|-?Infinity|NaN|-?\d[\d.eE+-]*')


def _quoted_words(text: str | bytes) -> bytes:
    """A text of JSON in which the words for numbers that JSON does not have are texts, and so are
    numbers that are greater than every DOUBLE.

    >>> _quoted_words(b'{"NaN":NaN,"x":-Infinity,"y":1e999,"z":1e99}')
    b'{"NaN":"NaN","x":"-Infinity","y":"1e999","z":1e99}'
    """
    raw = text.encode() if isinstance(text, str) else text

    def quoted(found: re.Match[bytes]) -> bytes:
        return found[0] if _is_text_or_finite(found[0]) else b'"' + found[0] + b'"'

    return _BARE_WORDS.sub(quoted, raw)


def _is_text_or_finite(value: bytes) -> bool:
    try:
        return value.startswith(b'"') or math.isfinite(float(value))
    except ValueError:  # no number, which is for the parser to say
        return True


def holds(kind: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    """Is a type, or a part of it, of such a kind?"""
    parts = (kind.field(place).type for place in range(kind.num_fields))
    return test(kind) or any(holds(part, test) for part in parts)


@again_with_room
def column_of(name: str, kind: pa.DataType, values: list[Any]) -> tuple[pa.Array, Misfits]:
    """Values as they were read, in a column that can be cast to its type; those that do not have
    the shape of the type are null."""
    there = [value for value in values if value is not None]
    raw = _text_type(kind)
    misfits: Misfits = {}
    if is_timestamp(kind) and there and all(isinstance(value, _Number) for value in there):
        number = int if all(map(_is_whole, there)) else float
        values = [None if value is None else number(value) for value in values]
        raw = BIGINT if number is int else DOUBLE
    elif kind == BOOLEAN and all(isinstance(value, bool) for value in there):
        raw = BOOLEAN
    else:
        text = _texts(kind)
        made = []
        for place, value in enumerate(values):
            try:
                made.append(None if value is None else text(value))
            except _Misfit:
                made.append(None)
                misfits[place] = misfit(name, value, kind)
        values = made
    return pa.array(values, raw), misfits


class _Misfit(Exception):
    """A value that has not the shape of its type."""


def _text_type(kind: pa.DataType) -> pa.DataType:
    """A type of the same shape, with text in it."""
    if is_array(kind):
        return pa.list_(_text_type(kind.value_type))
    if is_struct(kind):
        return pa.struct([(each.name, _text_type(each.type)) for each in kind])
    if is_map(kind):
        return pa.map_(_text_type(kind.key_type), _text_type(kind.item_type))
    return BINARY if kind == BINARY else STRING


def _is_whole(value: Any) -> bool:
    return isinstance(value, _Number) and value.lstrip("-").isdigit() and len(value) < _LONG


def _texts(kind: pa.DataType) -> Callable[[Any], Any]:
    """From a value that is there to one for a column of such a shape."""
    if is_array(kind):
        item = _texts(kind.value_type)

        def of_list(value: Any) -> Any:
            _need(list, value)
            return [None if each is None else item(each) for each in value]

        return of_list
    if is_struct(kind):
        parts = [(each.name, each.name.lower(), _texts(each.type)) for each in kind]

        def of_struct(value: Any) -> Any:
            _need(dict, value)
            have = {name.lower(): each for name, each in value.items() if each is not None}
            return {name: text(have[low]) for name, low, text in parts if low in have}

        return of_struct
    if is_map(kind):
        key, item = _texts(kind.key_type), _texts(kind.item_type)

        def of_map(value: Any) -> Any:
            _need(dict, value)
            return [
                (key(name), None if each is None else item(each)) for name, each in value.items()
            ]

        return of_map
    if kind == BINARY:
        return _bytes
    if kind == DATE:
        return _date
    number = _without_point if is_integer(kind) else str

    def of_plain(value: Any) -> str:
        if isinstance(value, _Number):
            return number(value)
        return value if isinstance(value, str) else _json(value)

    return of_plain


def _need(kind: type, value: Any) -> None:
    if not isinstance(value, kind):
        raise _Misfit


def _bytes(value: Any) -> bytes:
    try:
        return b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (TypeError, ValueError):
        raise _Misfit from None


def _date(value: Any) -> str:
    """A number is no date."""
    _need(str, None if isinstance(value, _Number) else value)
    return str(value)


def _without_point(number: str) -> str:
    """A number as an integer is written, if it is one: 3.0 and 3e2 are."""
    try:
        exact = Decimal(number)
    except InvalidOperation:  # an exponent of many digits
        return str(number)
    if exact.adjusted() > _MOST_DIGITS or exact != exact.to_integral_value():
        return str(number)
    return str(int(exact))


def _json(value: Any) -> str:
    """JSON again, with numbers as they were written."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(_json, value))}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json(name)}:{_json(item)}" for name, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)
