"""Rows as Arrow's JSON reader reads them, with its mistakes put right."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.json

from driftline.event_log.types import conform

_ARROW_BLOCK = 2**20


def read_json(text: pa.Buffer, known: pa.Schema) -> pa.Table:
    """The rows, with two mistakes of Arrow's put right: it takes strings that look like times for
    times, and miscounts the items of a list if it does not know their type before it meets a
    null."""
    known_types = {field.name: _countable(field.type) for field in known}
    table = _arrow_json(text, known_types)
    found = {field.name: _strings(field.type) for field in table.schema}
    if any(
        found[field.name] != field.type
        or (_has_list(field.type) and field.type != known_types.get(field.name))
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


def _arrow_json(text: pa.Buffer, known_types: dict[str, pa.DataType]) -> pa.Table:
    longest = (
        max(_ARROW_BLOCK, min(text.size + 1, 2**31 - 1)) if _long_lines(text) else _ARROW_BLOCK
    )
    return pyarrow.json.read_json(
        pa.BufferReader(text),
        read_options=pyarrow.json.ReadOptions(block_size=longest),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=pa.schema(list(known_types.items())), unexpected_field_behavior="infer"
        ),
    )


def _long_lines(text: pa.Buffer) -> bool:
    """Whether some row may not fit into one of Arrow's blocks."""
    newlines = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    return bool(np.diff(newlines, prepend=-1, append=text.size).max() > _ARROW_BLOCK // 2)


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
