"""Rows and events that are Python objects, as columns with the types of their stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.readers.fitting import Records, as_json, misfit, named, typed_column
from driftline.event_log.bad import BadEvent, Misfit, Misfits
from driftline.model.arrays import once_for_each
from driftline.model.columns import StreamColumns, plain_value
from driftline.model.event import Cti, ExternalCti, Insert, Retract
from driftline.model.row import Row
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Source

EVENTS = (Insert, Retract, Cti, ExternalCti)
CANNOT_CONVERT = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError)
FEW = 16
"""So many rows are converted together, if their values are plain."""
_PLAIN_VALUES = {pa.int64(): int, pa.float64(): float, pa.string(): str, pa.bool_(): bool}
NOTHING = Cti(BEGINNING)
"""An event in the place of one that is none."""


def records_of(source: Source, items: list[Any], read: int) -> Records:
    """Rows as dicts, of so many that were `read` before, as records; other things are bad."""
    misfits: Misfits = {
        place: Misfit(None, None, f"it is a {type(item).__name__}, and no row as the first one")
        for place, item in enumerate(items)
        if type(item) is not dict and not isinstance(item, Mapping)
    }
    rows = [
        {} if place in misfits else {named(str(name)): value for name, value in item.items()}
        for place, item in enumerate(items)
    ]
    table, found = _table_of(source, rows)
    lines = np.arange(read + 1, read + 1 + len(rows))
    given = Records(table, f"<{source.name}>", lines, lambda place: as_json(items[place]))
    return given.without(found | misfits)


def columns_of(source: Source, items: list[Any], read: int) -> tuple[StreamColumns, list[BadEvent]]:
    """Events, of so many that were `read` before, as columns; and what is none."""
    misfits: Misfits = {}
    for place, item in enumerate(items):
        if (why := _no_event(item)) is not None:
            misfits[place] = why
    events = [NOTHING if place in misfits else item for place, item in enumerate(items)]
    rows = [
        {named(name): value for name, value in getattr(event, "row", {}).items()}
        for event in events
    ]
    payload, found = _payload_of(source, rows)
    misfits = found | misfits
    columns = StreamColumns.from_events(source.name, [_without_row(event) for event in events])
    columns = replace(columns, payload=payload, line=columns.line + read)
    bad = [
        misfit.at(f"<{source.name}>", read + 1 + place, _event_text(items[place]))
        for place, misfit in sorted(misfits.items())
    ]
    if misfits:
        columns = columns.take(~np.isin(np.arange(len(items)), list(misfits)))
        columns = replace(columns, position=np.arange(len(columns)))
    return columns, bad


def _no_event(item: Any) -> Misfit | None:
    """Why something is no event: of another type, or of times that are no whole numbers."""
    if not isinstance(item, EVENTS):
        return Misfit(None, None, f"it is a {type(item).__name__}, and no event as the first one")
    for each in fields(item):
        name, value = each.name, getattr(item, each.name)
        if name == "row" and not isinstance(value, Mapping):
            return Misfit(name, None, f"its row is a {type(value).__name__}: give a Row")
        if name != "row" and not _is_time(value):
            reason = f"{name} is {value!r}: give a whole number of 64 bits, INFINITY for ever"
            return Misfit(name, str(value), reason)
    return None


def _event_text(item: Any) -> bytes:
    try:
        text = str(item)
    except (TypeError, ValueError):  # what is no row, or no time, cannot be shown as one
        text = repr(item)
    return text.encode(errors="replace")


def _without_row(event: Any) -> Any:
    return replace(event, row=Row()) if isinstance(event, (Insert, Retract)) else event


def _is_time(value: Any) -> bool:
    return isinstance(value, Integral) and BEGINNING < int(value) <= INFINITY


def _table_of(source: Source, rows: list[dict[str, Any]]) -> tuple[pa.Table, Misfits]:
    """Python values, by the names of their columns in lower case, as columns; of mixed ones those
    that do not fit the stream."""
    if len(rows) <= FEW and (table := _of_plain_values(source.columns.arrow, rows)) is not None:
        return table, {}
    columns: list[pa.Array] = []
    misfits: Misfits = {}
    for field in source.columns.arrow:
        values = [row.get(field.name.lower()) for row in rows]
        try:
            made = pa.array(values)
            if made.type != field.type:
                typed_column(source, field, pa.chunked_array([made.slice(0, 0)]))
        except (*CANNOT_CONVERT, PlanError):
            made, found = _sorted_out(values, field, partial(_cast_values, source, field))
            misfits = found | misfits
        columns.append(made)
    return pa.table(columns, source.columns.names), misfits


def _of_plain_values(schema: pa.Schema, rows: list[dict[str, Any]]) -> pa.Table | None:
    """A few rows, if each value has just the type of its column: then one conversion does for all
    columns."""
    wanted, kind = _plain_form(schema)
    if kind is None or any(
        type(row.get(name)) is not wanted[name] for row in rows for name in wanted
    ):
        return None
    try:
        made = pa.array(rows, kind)
    except (pa.ArrowInvalid, OverflowError, UnicodeError):
        return None
    return pa.Table.from_arrays(made.flatten(), schema=schema)


@once_for_each
def _plain_form(schema: pa.Schema) -> tuple[dict[str, type], pa.DataType | None]:
    """The Python type of the values in each column, and all columns as a struct; None: some are of
    other types."""
    names, types = [name.lower() for name in schema.names], schema.types
    if not types or len({*names}) < len(names) or not _PLAIN_VALUES.keys() >= {*types}:
        return {}, None
    pairs = [*zip(names, types, strict=True)]
    return {name: _PLAIN_VALUES[each] for name, each in pairs}, pa.struct(pairs)


def _payload_of(source: Source, rows: list[dict[str, Any]]) -> tuple[pa.Table, Misfits]:
    """The rows of events as the columns of a stream: they have its types already, or are cast."""
    columns: list[pa.Array] = []
    misfits: Misfits = {}
    for field in source.columns.arrow:
        values = [plain_value(row.get(field.name.lower()), field.type) for row in rows]
        try:
            made = pa.array(values, field.type)
        except CANNOT_CONVERT:
            made, found = _sorted_out(values, field, partial(_typed_values, source, field))
            misfits = found | misfits
        columns.append(made)
    return pa.table(columns, source.columns.names), misfits


def _cast_values(source: Source, field: pa.Field, values: list[Any]) -> tuple[pa.Array, Misfits]:
    return typed_column(source, field, pa.chunked_array([pa.array(values)]))


def _typed_values(source: Source, field: pa.Field, values: list[Any]) -> tuple[pa.Array, Misfits]:
    try:
        return pa.array(values, field.type), {}
    except CANNOT_CONVERT:
        return _cast_values(source, field, values)


def _sorted_out(
    values: list[Any],
    field: pa.Field,
    made_of: Callable[[list[Any]], tuple[pa.Array | pa.ChunkedArray, Misfits]],
) -> tuple[pa.Array, Misfits]:
    """Values that are not all of one type: those of each type together, or else each by itself."""
    sorts: dict[type, list[int]] = {}
    for place, value in enumerate(values):
        sorts.setdefault(type(value), []).append(place)
    parts: list[pa.Array] = []
    order: list[int] = []
    misfits: Misfits = {}

    def take(places: list[int]) -> bool:
        try:
            made, found = made_of([values[place] for place in places])
        except (*CANNOT_CONVERT, PlanError):
            return False
        parts.extend(made.chunks if isinstance(made, pa.ChunkedArray) else [made])
        order.extend(places)
        misfits.update({places[row]: each for row, each in found.items()})
        return True

    for places in sorts.values():
        if take(places):
            continue
        for place in places:
            if not take([place]):
                misfits[place] = misfit(field.name, values[place], field.type)
                parts.append(pa.nulls(1, field.type))
                order.append(place)
    return pa.concat_arrays(parts).take(pa.array(np.argsort(order))), misfits
