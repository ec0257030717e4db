"""Columns of an event log that hold more than JSON has: DECIMAL, MAP and BINARY, alone or inside.

The reader of logs knows no types, and keeps the JSON text of such columns as it was written. Here
it becomes values: a number keeps all its digits, an object is a map with any keys, a string in
base64 is bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.inputs import typed_column
from driftline.engine.json_records import column_of, exactly, holds
from driftline.model.log.base64 import decoded
from driftline.model.log.rows import Convert
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Source
from driftline.plan.types import BINARY, STRING, is_decimal, is_map, type_name


def exact_columns(sources: Iterable[tuple[str, Source]]) -> Callable[[str], Mapping[str, Convert]]:
    """For the reader of a log: of the streams with these names, how the texts of columns become
    values of the types that are declared."""
    known = {
        name.lower(): {
            field.name.lower(): partial(_converted, source, field)
            for field in source.columns.arrow
            if holds(field.type, lambda kind: is_decimal(kind) or is_map(kind) or kind == BINARY)
        }
        for name, source in sources
    }
    return lambda name: known.get(name.lower(), {})


def _converted(source: Source, field: pa.Field, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    if not len(texts) or texts.null_count == len(texts):
        return pa.chunked_array([pa.nulls(len(texts), field.type)])
    whole = texts.cast(STRING).combine_chunks()
    values = _plain(whole, field.type)
    if values is None:
        different = whole.dictionary_encode()
        read = [_loads(field, text) for text in different.dictionary.to_pylist()]
        values = column_of(field.name, field.type, read)
        made = typed_column(source, field, pa.chunked_array([values]))
        return pa.table([made], [field.name]).column(0).take(different.indices)
    if field.type == BINARY:
        try:
            values = decoded(values)
        except ValueError as misfit:
            raise _no_value(source, field, str(misfit)) from None
    elif is_decimal(field.type):
        try:  # Arrow's cast is fast, and gives up where digits have to be rounded
            return pa.chunked_array([pc.cast(values, field.type)])
        except pa.ArrowInvalid:
            pass
    return typed_column(source, field, pa.chunked_array([values]))


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


def _loads(field: pa.Field, text: str) -> Any:
    try:
        return exactly(text)
    except ValueError:
        raise PlanError(f"the column {field.name} holds {text}, which is no proper JSON") from None


def _no_value(source: Source, field: pa.Field, shown: str) -> PlanError:
    return PlanError(
        f"'{shown}' in the column {field.name} of {source.name} is no {type_name(field.type)} in "
        "base64: declare it as STRING"
    )
