"""The lines of a few events, made in Python.

A column of Arrow takes as long for one text as for a hundred, and a line is made of many columns.
So of a few events every line is put together by itself, of the texts of its values. The bytes are
those that `writer.event_lines` gives for the same events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pyarrow as pa
from pyarrow import lib

from driftline.event_log.text import quoted, values_text
from driftline.model.columns import CTI, INSERT, KIND_NAMES
from driftline.model.time import INFINITY, format_date, format_timestamp

FEW = 64
"""Of so many events lines are made here; columns are faster from about three times as many on."""

_SHORT, _LONG = 1e-4, 1e10
"""Between these, and at 0, Arrow and Python write the same digits of a float."""


def few_lines(
    stream: str,
    timestamps: bool,
    events: Sequence[tuple[int, int, int, int, int]],
    rows: pa.RecordBatch,
    cti: int | None,
) -> bytes:
    """The lines of changes, given as (kind, vs, ve, vn, place of the row), and then of a cti if
    there is one."""
    beginning = f'{{"stream":{quoted(stream)},"kind":"'
    texts = _row_texts(rows) if events else []
    lines = []
    for kind, vs, ve, vn, place in events:
        times = f'","vs":{_time(vs, timestamps)},"ve":{_time(ve, timestamps)}'
        if kind != INSERT:
            times += f',"vn":{_time(vn, timestamps)}'
        lines.append(f'{beginning}{KIND_NAMES[kind]}{times},"row":{texts[place]}}}\n')
    if cti is not None:
        lines.append(f'{beginning}{KIND_NAMES[CTI]}","t":{_time(cti, timestamps)}}}\n')
    return "".join(lines).encode()


def _time(time: int, timestamps: bool) -> str:
    if time == INFINITY:
        return "null"
    return f'"{format_timestamp(time)}"' if timestamps else str(time)


def _row_texts(rows: pa.RecordBatch) -> list[str]:
    """Each row as a JSON object."""
    if not rows.num_columns:
        return ["{}"] * rows.num_rows
    columns = [
        [f"{quoted(name)}:{text}" for text in value_texts(column, name)]
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
    ]
    return [f"{{{','.join(values)}}}" for values in zip(*columns, strict=True)]


def value_texts(array: pa.Array, column: str) -> list[str]:
    """Each value as JSON, null included; as `text.values_text` gives them."""
    text = _TEXTS.get(array.type.id)
    if text is None:
        return list(values_text(array, column).to_pylist())
    if array.type.id in _COUNTED:
        if array.type.id == lib.Type_TIMESTAMP and array.type.unit != "us":
            return list(values_text(array, column).to_pylist())
        array = array.view(_COUNTED[array.type.id])
    values = array.to_pylist()
    if array.type.id == lib.Type_DOUBLE and not all(map(_is_short, values)):
        return list(values_text(array, column).to_pylist())
    return ["null" if value is None else text(value) for value in values]


def _is_short(value: float | None) -> bool:
    return value is None or value == 0 or _SHORT <= abs(value) < _LONG


def _text_of_bool(value: bool) -> str:
    return "true" if value else "false"


_COUNTED = {lib.Type_TIMESTAMP: pa.int64(), lib.Type_DATE32: pa.int32()}
"""Types of times, and what these are stored as."""

_TEXTS: dict[int, Callable[[Any], str]] = {
    **dict.fromkeys(
        (
            lib.Type_INT8, lib.Type_INT16, lib.Type_INT32, lib.Type_INT64,
            lib.Type_UINT8, lib.Type_UINT16, lib.Type_UINT32, lib.Type_UINT64,
        ),
        str,
    ),
    lib.Type_BOOL: _text_of_bool,
    lib.Type_DOUBLE: repr,
    lib.Type_STRING: lambda text: orjson.dumps(text).decode(),
    lib.Type_LARGE_STRING: lambda text: orjson.dumps(text).decode(),
    lib.Type_TIMESTAMP: lambda time: f'"{format_timestamp(time)}"',
    lib.Type_DATE32: lambda days: f'"{format_date(days)}"',
}  # fmt: skip
"""How values are written, by the type of their column; what is not here goes the long way."""
