"""The rows of one stream, block by block, from JSON text to Arrow columns.

Arrow's JSON reader parses many rows at once. Where it stumbles, or where its types leave open
whether every row fits, the rows are halved until the few in question can be read one by one.

Values that are more than Arrow's reader makes of JSON (digits beyond a double's, objects with any
keys) are kept as text, and converted by the caller, which knows the types of the columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from driftline.event_log.arrow_json import read_json
from driftline.event_log.bad import Misfit, Misfits
from driftline.event_log.explain import ParsedLine, Refused
from driftline.event_log.fields import WORDS, kept_as_text, may_hold_words, take_words_out
from driftline.event_log.scan import scan_row
from driftline.event_log.types import LONG, RowTypes, Undecided, conform
from driftline.event_log.values import as_text, has_bare, is_misread
from driftline.kernels import compiled
from driftline.model.arrays import Bytes, Int64s, Mask

ONE_BY_ONE = 256
"""At most so many rows are read one by one where they cannot be read together."""

Reread = Callable[[int], ParsedLine]
"""Reads the line of the i-th row exactly; raises `Refused` if it is no event after all."""


Convert = Callable[[pa.ChunkedArray], tuple[pa.Array | pa.ChunkedArray, Misfits]]
"""From the JSON texts of a column's values to the values, and the rows that have none."""


Coerce = Callable[[Any], Any]
"""From a text, a number or a boolean to the number or boolean that a column is declared to hold, or
to a `Misfit`."""


Shape = Callable[[Any], Misfit | None]
"""What is wrong with a value, if it is a list or an object and its column holds none, or the other
way round."""


class RowReader:
    """Gathers the rows of one stream. Rows that do not fit are reported and left out.

    `exact` has the columns, by their names in lower case, whose values are kept as they were
    written until they are converted; `coerce` those that hold numbers or booleans, of which a text
    may be one, too; `shapes` all of which it is known whether they hold lists or objects; `kinds`
    what those hold of which that is known (see `values`), so that the first values do not decide
    it."""

    def __init__(
        self,
        stream: str,
        exact: Mapping[str, Convert] | None = None,
        coerce: Mapping[str, Coerce] | None = None,
        shapes: Mapping[str, Shape] | None = None,
        kinds: Mapping[str, pa.DataType] | None = None,
    ) -> None:
        self.types = RowTypes(stream)
        self._exact = exact or {}
        self._kinds = {n: each for n, each in (kinds or {}).items() if n not in self._exact}
        self._texts = [n for n, each in self._kinds.items() if pa.types.is_string(each)]
        self._coerce = coerce or {}
        # What is kept as text is looked at when it is converted.
        self._shapes = {n: each for n, each in (shapes or {}).items() if n not in self._exact}
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
    ) -> Misfits:
        """Takes the rows block[starts[i]:ends[i]] of the events of which `is_row`; the others get
        a row of nulls. Gives the reasons of those that were not taken, by index."""
        refused: Misfits = {}
        part = _Part(block, starts, ends, big, is_row, reread, refused)
        if self._exact:
            part.keep_as_text(self._exact)
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

    def table(self) -> tuple[pa.Table, Misfits]:
        """All the rows that were taken, and those among them that cannot be converted."""
        columns = self.types.columns or {}
        if not columns:
            return pa.table({}), {}
        whole: dict[str, Any] = {}
        misfits: Misfits = {}
        for name, kind in columns.items():
            whole[name], found = self._whole(name, kind)
            misfits = found | misfits
        return pa.table(whole), misfits

    def _whole(self, name: str, kind: pa.DataType) -> tuple[pa.ChunkedArray, Misfits]:
        chunks = [conform(chunk, kind) for table in self._tables for chunk in _column(table, name)]
        column = pa.chunked_array(chunks, kind)
        convert = self._exact.get(name.lower())
        return (column, {}) if convert is None else convert(column)

    def _together(self, part: _Part, low: int, high: int) -> None:
        try:
            if part.odd[low:high].any():
                raise Undecided
            table = self._parsed(part, low, high)
            big = bool(part.big[low:high].any())
            self.types.join(table, big=big, words=part.may_hold_words)
        except Undecided:
            if self._texts and part.quote_bare(self._texts):
                self._together(part, low, high)
            elif high - low <= ONE_BY_ONE:
                self._one_by_one(part, low, high)
            else:
                middle = (low + high) // 2
                self._together(part, low, middle)
                self._together(part, middle, high)
        else:
            self._tables.append(table)

    def _parsed(self, part: _Part, low: int, high: int) -> pa.Table:
        """The rows from low to high; Undecided if Arrow does not read them all as they are."""
        assert self.types.columns is not None
        text, offsets = part.text(low, high), part.offsets(low, high)
        if part.may_hold_words:
            text = text.copy()
            words = take_words_out(text, offsets, self.types.numbers())
        known = pa.schema([(n, t) for n, t in self.types.columns.items() if not _is_open(t)])
        try:
            table = read_json(pa.py_buffer(text), known)
        except pa.ArrowInvalid:
            try:  # an integer column may hold floats now
                table = read_json(pa.py_buffer(text), pa.schema([]))
            except pa.ArrowInvalid as error:
                raise Undecided from error
        if table.num_rows != high - low or self._is_misread(table.schema):
            raise Undecided
        if not part.may_hold_words:
            return table
        try:
            return words.put_in(table)
        except pa.ArrowInvalid as error:  # an integer that no double holds
            raise Undecided from error

    def _is_misread(self, found: pa.Schema) -> bool:
        """Whether Arrow has taken a column for something else than it is declared to hold."""
        return any(
            is_misread(each.type, self._kinds.get(each.name.lower(), pa.null()))
            for each in (found if self._kinds else ())
        )

    def _one_by_one(self, part: _Part, low: int, high: int) -> None:
        kept: list[dict[str, Any]] = []
        for i in range(low, high):
            if not part.is_row[i]:
                kept.append({})
                continue
            try:
                row = part.reread(i).row or {}
                if self._exact:
                    row |= part.texts(i, self._exact)
                misfit = self._misshapen(row) or self._coerced(row)
                self._make_texts(row, part, i)
                reason = None if misfit is not None else self.types.refuse(row)
            except Refused as error:
                misfit, reason = None, str(error)
            if reason is not None:
                misfit = Misfit(None, None, reason)
            if misfit is None:
                kept.append(row)
                if self._names is None:
                    text = np.frombuffer(orjson.dumps(dict.fromkeys(row)), np.uint8)
                    _, self._names, _ = scan_row(text, 0, len(text))
            else:
                part.refused[i] = misfit
        if not kept:
            return
        columns = self.types.columns or {}
        if columns:
            self._tables.append(_of_rows(kept, pa.schema(list(columns.items()))))
        else:
            self._tables.append(_empty_rows(len(kept)))

    def _misshapen(self, row: dict[str, Any]) -> Misfit | None:
        for name, value in row.items() if self._shapes else ():
            shape = self._shapes.get(name.lower())
            if shape is not None and value is not None and (found := shape(value)) is not None:
                return found
        return None

    def _coerced(self, row: dict[str, Any]) -> Misfit | None:
        """Puts the values of a row into the form in which their columns have been so far: a number
        may be written as a text. What is no number in any form is a misfit."""
        for name, value in row.items() if self._coerce else ():
            coerce = self._coerce.get(name.lower())
            if coerce is None or value is None:
                continue
            known = (self.types.columns or {}).get(name, pa.null())
            made = coerce(value)
            if isinstance(made, Misfit):
                return made
            if isinstance(value, str):
                if not pa.types.is_null(known) and not pa.types.is_string(known):
                    row[name] = made
            elif pa.types.is_string(known):
                row[name] = json.dumps(made)
            else:
                row[name] = made
        return None

    def _make_texts(self, row: dict[str, Any], part: _Part, i: int) -> None:
        """Makes texts, as they were written, of numbers and booleans where texts are declared."""
        written = None
        for name, value in row.items() if self._kinds else ():
            kind = self._kinds.get(name.lower(), pa.null())
            if has_bare(value, kind):
                written = written or part.as_written(i)
                row[name] = as_text(value, written[name], kind)


class _Part:
    """The rows of one stream in one block, while they are read."""

    def __init__(
        self,
        block: Bytes,
        starts: Int64s,
        ends: Int64s,
        big: NDArray[np.bool_],
        is_row: NDArray[np.bool_],
        reread: Reread,
        refused: Misfits,
    ) -> None:
        self.big, self.is_row, self.reread, self.refused = big, is_row, reread, refused
        self.odd = np.zeros(len(starts), np.bool_)
        self._text, self._offsets = _gather(block, starts, ends, is_row)
        self.may_hold_words = may_hold_words(self._text)
        self._is_quoted = False

    def quote_bare(self, names: Sequence[str]) -> bool:
        """Makes texts of the numbers and booleans in some columns, unless that has been done."""
        if self._is_quoted:
            return False
        self._text, self._offsets = kept_as_text(self._text, self._offsets, names, only_bare=True)
        self._is_quoted = True
        return True

    def as_written(self, i: int) -> dict[str, Any]:
        """One row, with its numbers as texts."""
        text = self.text(i, i + 1).tobytes()
        row: dict[str, Any] = json.loads(text, parse_int=str, parse_float=str)
        return row

    def keep_as_text(self, names: Mapping[str, Convert]) -> None:
        """Makes the values of some columns strings that hold what was written."""
        self._text, self._offsets = kept_as_text(self._text, self._offsets, names)

    def text(self, low: int, high: int) -> Bytes:
        """The rows from low to high, one a line."""
        return self._text[self._offsets[low] : self._offsets[high]]

    def texts(self, i: int, names: Mapping[str, Convert]) -> dict[str, Any]:
        """The values of one row that are kept as text."""
        row = orjson.loads(self.text(i, i + 1).tobytes())
        return {name: value for name, value in row.items() if name.lower() in names}

    def offsets(self, low: int, high: int) -> Int64s:
        """Where each of these rows begins in their text, and where the last one ends."""
        offsets: Int64s = self._offsets[low : high + 1] - self._offsets[low]
        return offsets


@compiled
def _gather(block: Bytes, starts: Int64s, ends: Int64s, is_row: Mask) -> tuple[Bytes, Int64s]:
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


def _of_rows(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows that fit the schema, as Arrow reads them if they hold only what JSON has."""
    texts = [_dumped(row) for row in rows]
    text = np.frombuffer(b"\n".join(texts) + b"\n", np.uint8).copy()
    offsets = np.concatenate([[0], np.cumsum([len(each) + 1 for each in texts])])
    floats = [field.name for field in schema if field.type == pa.float64()]
    words = take_words_out(text, offsets, floats)
    try:
        return words.put_in(read_json(pa.py_buffer(text), schema))
    except pa.ArrowInvalid:  # there are such words inside values
        return pa.table(
            {
                field.name: pa.array(
                    [_with_numbers(row.get(field.name), field.type) for row in rows], field.type
                )
                for field in schema
            }
        )


def _dumped(row: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(row)
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(row).encode()


def _with_numbers(value: Any, kind: pa.DataType) -> Any:
    """A value with numbers instead of the words for them, where the type says so."""
    if isinstance(value, list):
        return [_with_numbers(item, kind.value_type) for item in value]
    if isinstance(value, dict):
        return {name: _with_numbers(item, kind.field(name).type) for name, item in value.items()}
    return WORDS[value] if isinstance(value, str) and pa.types.is_floating(kind) else value


def _empty_rows(count: int) -> pa.Table:
    return pa.table({"": pa.nulls(count)}).select([])


def _column(table: pa.Table, name: str) -> list[pa.Array]:
    place = table.schema.get_field_index(name)
    if place >= 0:
        chunks: list[pa.Array] = table.column(place).chunks
        return chunks
    return [pa.nulls(table.num_rows)]


def _is_open(kind: pa.DataType) -> bool:
    """Whether Arrow has to find out the type of some part: it is not yet known, or it is that of
    long integers, as which Arrow would take floats with exponents, too."""
    return (
        pa.types.is_null(kind)
        or kind == LONG
        or any(_is_open(kind.field(i).type) for i in range(kind.num_fields))
    )
