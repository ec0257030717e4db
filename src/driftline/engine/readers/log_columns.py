"""The columns of an event log with the types that are declared for them.

The reader of logs knows no types, and keeps the JSON text of columns that hold more than JSON has
(DECIMAL, MAP and BINARY, alone or inside) as it was written. Here it becomes values: a number keeps
all its digits, an object is a map with any keys, a string in base64 is bytes. Other columns are
cast. An event whose values do not fit is bad.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions.text_casts import parser
from driftline.engine.readers.epochs import log_in_ticks
from driftline.engine.readers.fitting import misfit, named, typed_column
from driftline.engine.readers.inputs import check_log_times
from driftline.engine.readers.json_records import column_of, exactly, holds
from driftline.event_log.bad import Misfit, Misfits
from driftline.event_log.base64 import decoded
from driftline.event_log.fields import WORDS
from driftline.event_log.json_kernel import LARGEST_EXACT
from driftline.event_log.rows import Coerce, Convert, Shape
from driftline.model.columns import INSERT, StreamColumns
from driftline.plan.nodes import Source
from driftline.plan.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    STRING,
    TIME,
    TIMESTAMP,
    is_array,
    is_decimal,
    is_float,
    is_integer,
    is_map,
    is_struct,
)


@dataclass(frozen=True)
class _Declared:
    """What streams are declared to be, by their names in a log in lower case."""

    sources: Mapping[str, Source]

    def exact(self, name: str) -> Mapping[str, Convert]:
        """How the texts of columns become values of the types that are declared."""
        source = self.sources.get(name.lower())
        if source is None:
            return {}
        return {
            field.name.lower(): partial(_converted, source, field)
            for field in source.columns.arrow
            if holds(field.type, lambda kind: is_decimal(kind) or is_map(kind) or kind == BINARY)
        }

    def coerce(self, name: str) -> Mapping[str, Coerce]:
        """How values become the numbers and booleans that are declared."""
        source = self.sources.get(name.lower())
        return {
            field.name.lower(): partial(_coerced, field)
            for field in (() if source is None else source.columns.arrow)
            if is_integer(field.type) or is_float(field.type) or field.type == BOOLEAN
        }

    def shapes(self, name: str) -> Mapping[str, Shape]:
        """Whether a value is a list, an object or neither, as its column is declared to be."""
        source = self.sources.get(name.lower())
        return {
            field.name.lower(): partial(_shaped, field)
            for field in (() if source is None else source.columns.arrow)
        }

    def kinds(self, name: str) -> Mapping[str, pa.DataType]:
        """What columns hold, as far as JSON tells it."""
        source = self.sources.get(name.lower())
        return {
            field.name.lower(): _kind(field.type)
            for field in (() if source is None else source.columns.arrow)
        }

    def fit(self, stream: StreamColumns) -> tuple[StreamColumns, Misfits]:
        """A stream with the types that are declared, and the events that have other values."""
        source = self.sources.get(stream.name.lower())
        if source is None:
            return stream, {}
        check_log_times(source, stream)
        stream, misfits = log_in_ticks(source, stream)
        if not stream.payload.num_columns:
            return stream, misfits
        own = {field.name.lower(): field for field in source.columns.arrow}
        payload: dict[str, Any] = {}
        for name in stream.payload.column_names:
            payload[name] = column = stream.payload.column(name)
            if named(name) in own:
                payload[name], found = typed_column(source, own[named(name)], column)
                misfits = found | misfits
        arrival = source.timing.arrival
        for name, column in payload.items() if arrival is not None else ():
            if named(name) == str(arrival).lower() and column.null_count:
                missing = column.is_null().to_numpy(zero_copy_only=False) & (stream.kind == INSERT)
                reason = f"it has no arrival: {name} is null"
                for row in np.flatnonzero(missing).tolist():
                    misfits.setdefault(row, Misfit(name, None, reason))
        return replace(stream, payload=pa.table(payload)), misfits


def declared(sources: Iterable[tuple[str, Source]]) -> _Declared:
    """What is known of the streams of a log that have these names."""
    return _Declared({name.lower(): source for name, source in sources})


def _kind(kind: pa.DataType) -> pa.DataType:
    """See `driftline.event_log.values`."""
    if is_array(kind):
        return pa.list_(_text_kind(kind.value_type))
    if is_struct(kind):
        return pa.struct([(each.name, _text_kind(each.type)) for each in kind])
    if is_integer(kind) or is_float(kind):
        return DOUBLE
    return kind if kind in (BOOLEAN, TIMESTAMP) else _text_kind(kind)


def _text_kind(kind: pa.DataType) -> pa.DataType:
    """Of the parts of a value only texts are put right."""
    if is_array(kind) or is_struct(kind):
        return _kind(kind)
    return STRING if kind in (STRING, DATE, TIME) else pa.null()


def _coerced(field: pa.Field, given: Any) -> Any:
    if not isinstance(given, str) and isinstance(given, bool) == (field.type == BOOLEAN):
        is_whole = isinstance(given, float) and given.is_integer() and abs(given) <= LARGEST_EXACT
        return int(given) if is_whole and is_integer(field.type) else given
    text = given if isinstance(given, str) else json.dumps(given)
    value = parser(field.type)(text)
    if value is None:
        return misfit(field.name, given, field.type)
    if isinstance(value, float) and not math.isfinite(value):
        return next(word for word, number in WORDS.items() if repr(number) == repr(value))
    return value


def _shaped(field: pa.Field, value: Any) -> Misfit | None:
    if is_array(field.type):
        fits = isinstance(value, list)
    elif is_struct(field.type):
        fits = isinstance(value, dict)
    else:
        fits = not isinstance(value, (list, dict))
    return None if fits else misfit(field.name, json.dumps(value), field.type)


def _converted(
    source: Source, field: pa.Field, texts: pa.ChunkedArray
) -> tuple[pa.Array | pa.ChunkedArray, Misfits]:
    if not len(texts) or texts.null_count == len(texts):
        return pa.chunked_array([pa.nulls(len(texts), field.type)]), {}
    whole = texts.cast(STRING).combine_chunks()
    values = _plain(whole, field.type)
    if values is not None and field.type == BINARY:
        try:
            return pa.chunked_array([decoded(values)]), {}
        except ValueError:
            values = None
    if values is not None:
        return typed_column(source, field, pa.chunked_array([values]))
    different = whole.dictionary_encode()
    read = [_loads(text) for text in different.dictionary.to_pylist()]
    values, misfits = column_of(field.name, field.type, read)
    made, found = typed_column(source, field, pa.chunked_array([values]))
    misfits = found | misfits
    column = pa.table([made], [field.name]).column(0).take(different.indices)
    if not misfits:
        return column, {}
    indices = different.indices.to_pylist()
    return column, {row: misfits[at] for row, at in enumerate(indices) if at in misfits}


def _plain(texts: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """The texts without their quotes, if nothing else has to be done to them."""
    if not (is_decimal(kind) or kind == BINARY):
        return None
    if pc.any(pc.match_substring_regex(texts, r"[\\\[{]")).as_py():
        return None
    quoted = pc.starts_with(texts, '"')
    if kind == BINARY and not pc.all(quoted).as_py():
        return None
    return pc.utf8_trim(texts, '"') if pc.any(quoted).as_py() else texts


def _loads(text: str) -> Any:
    try:
        return exactly(text)
    except ValueError:
        return text
