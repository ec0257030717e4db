"""Plain records with the types of their stream; those that do not fit are bad records.

    row is good  ⇔  every value has exactly the type of its column, its time is there, and so is
                    its arrival, if the stream has a column for that

Values are cast as Spark casts: a text for a number may have blanks around it. Nothing is cut off:
1.5 is no integer, and 1.255 is no DECIMAL(10,2). Whole columns are cast at once; only where that
does not go well are the rows looked for that are to blame.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.expressions import evaluate
from driftline.engine.expressions.casts import list_like
from driftline.engine.expressions.comparison import lengths_of
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.readers.epochs import (
    counts_time,
    hint,
    is_beyond,
    is_number,
    moments,
    unit_of,
)
from driftline.engine.readers.shapes import shaped
from driftline.event_log.bad import BadEvent, Misfit, Misfits
from driftline.model.arrays import Int64s, Mask, to_arrow
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.coercion import can_cast
from driftline.plan.depth import again_with_room
from driftline.plan.errors import ExpressionError, PlanError
from driftline.plan.expressions import Cast, Column
from driftline.plan.nodes import Source
from driftline.plan.temporal import SPACES
from driftline.plan.timing import TimeUnit
from driftline.plan.types import (
    DOUBLE,
    STRING,
    TIMESTAMP,
    a_type,
    canonical,
    is_array,
    is_decimal,
    is_float,
    is_integer,
    is_map,
    is_struct,
    is_timestamp,
    type_name,
)

_UNSIGNED = pa.decimal128(20)
"""Holds every unsigned integer of 64 bits."""

_PLAIN_DECIMAL = r"^-?\d{1,30}(\.\d{1,30})?$"

_LONGEST_SHOWN = 80
"""So many characters of a value are in a reason."""


@dataclass(frozen=True)
class Records:
    """Plain records as they were read. `file`: where they stood, or what was given instead;
    `lines`: the line of each (the number of the row where there are no lines); `text`: what stood
    there, by the place of a row; `bad`: what could not be read so far."""

    table: pa.Table
    file: str
    lines: Int64s
    text: Callable[[int], bytes]
    bad: list[BadEvent] = field(default_factory=list)

    def without(self, misfits: Misfits) -> Records:
        """The other records; these are bad."""
        if not misfits:
            return self
        keep = np.ones(len(self.lines), np.bool_)
        keep[list(misfits)] = False
        kept = np.flatnonzero(keep)
        bad = [
            misfit.at(self.file, int(self.lines[row]), self.text(row))
            for row, misfit in sorted(misfits.items())
        ]
        return Records(
            self.table.take(to_arrow(kept)) if len(kept) else self.table.slice(0, 0),
            self.file,
            self.lines[kept],
            lambda row: self.text(int(kept[row])),
            sorted([*self.bad, *bad], key=lambda each: each.line),
        )


def of_table(name: str, table: pa.Table, before: int = 0, file: str | None = None) -> Records:
    """The rows of a table, of which so many others came `before` these."""
    lines = np.arange(before + 1, before + 1 + table.num_rows)
    return Records(table, file or f"<{name}>", lines, lambda row: row_text(table, row))


def row_text(table: pa.Table, row: int) -> bytes:
    """A row as JSON, as far as that can say it."""
    (values,) = table.slice(row, 1).to_pylist()
    return as_json(values)


def as_json(values: Any) -> bytes:
    """Python values as JSON, as far as that can say them."""
    try:
        return orjson.dumps(values, default=_shown, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # an integer beyond 64 bits
        return json.dumps(values, default=str, ensure_ascii=False).encode()


def _shown(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def named(column: str) -> str:
    """How a column is called, whatever its case and the blanks around it."""
    return column.strip().lower()


def fitted(source: Source, records: Records) -> Records:
    """The records that fit a stream, with its types; the others are bad."""
    rows, misfits = typed(source, records.table)
    for name, what in ((source.time, "time"), (source.timing.arrival, "arrival")):
        if name is None or not (column := rows.column(name)).null_count:
            continue
        for row in np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)).tolist():
            misfits.setdefault(row, Misfit(name, None, f"it has no {what}: {name} is null"))
    if source.time is not None and counts_time(source):
        ticks = rows.column(source.time)
        for row in np.flatnonzero(is_beyond(source, ticks.fill_null(0).to_numpy())).tolist():
            value = ticks[row].as_py()
            reason = (
                f"{value} in the column {source.time} is not a time{hint(value, unit_of(source))}"
            )
            misfits.setdefault(row, Misfit(source.time, str(value), reason))
    elif source.time is not None:
        for row in _at_infinity(rows.column(source.time)):
            value = str(rows.column(source.time).cast(pa.int64())[row])
            reason = f"{value} in the column {source.time} is not a time, but the end of all times"
            misfits.setdefault(row, Misfit(source.time, value, reason))
    whole = Records(rows, records.file, records.lines, records.text, records.bad)
    return whole.without(misfits)


def _at_infinity(column: pa.ChunkedArray) -> list[int]:
    """The rows whose time is the one before all others, or the one that never comes."""
    if not is_integer(column.type) and not is_timestamp(column.type):
        return []
    ticks = ticks_of(column)
    is_end = (ticks == BEGINNING) | (ticks == INFINITY)
    found: list[int] = np.flatnonzero(is_end).tolist() if np.count_nonzero(is_end) else []
    return found


def ticks_of(column: pa.ChunkedArray) -> Int64s:
    """The numbers or timestamps of a column as 64-bit numbers, 0 where there is none."""
    if column.type == pa.int64() and column.num_chunks == 1 and not column.null_count:
        whole: Int64s = column.chunk(0).to_numpy()
        return whole
    ticks: Int64s = column.cast(pa.int64()).fill_null(0).to_numpy()
    return ticks


def typed(source: Source, table: pa.Table) -> tuple[pa.Table, Misfits]:
    """The columns of the stream's schema, cast as Spark casts, and the rows that do not fit."""
    if table.schema.equals(source.columns.arrow):
        return table, {}
    have: dict[str, str] = {}
    wanted = {name.lower() for name in source.columns.names}
    for name in table.column_names:
        if named(name) in have and named(name) in wanted:
            raise PlanError(f"the input of {source.name} has two columns {name}: rename one")
        have[named(name)] = name
    missing = [name for name in source.columns.names if name.lower() not in have]
    if missing and table.num_rows:
        raise PlanError(
            f"the stream {source.name} has no column {missing[0]}; it has "
            f"{', '.join(table.column_names) or 'none'}"
        )
    schema = source.columns.arrow
    if missing:
        return schema.empty_table(), {}
    columns: list[Any] = []
    misfits: Misfits = {}
    for each in schema:
        column, found = typed_column(source, each, table.column(have[each.name.lower()]))
        columns.append(column)
        misfits = found | misfits
    return pa.table(columns, schema=schema), misfits


@again_with_room
def typed_column(
    source: Source, field: pa.Field, column: pa.ChunkedArray
) -> tuple[pa.Array | pa.ChunkedArray, Misfits]:
    """One of the columns of the stream's schema, cast as Spark casts, and the rows that do not
    fit, which are null."""
    column = shaped(column, field.type)
    if column.type == field.type:
        return column, {}
    whole = _canonical(source, field.name, column)
    if not can_cast(whole.type, field.type):
        raise PlanError(
            f"the column {field.name} of {source.name} is a {type_name(whole.type)}, which "
            f"cannot be {a_type(field.type)}: declare another type"
        )
    unit = source.timing.time_unit
    values, bad = _cast(whole, field.type, unit)
    if bad is None or not bad.any():
        return values, {}
    return values, {
        row: misfit(field.name, whole[row].as_py(), field.type, unit)
        for row in np.flatnonzero(bad).tolist()
    }


def misfit(column: str, value: Any, kind: pa.DataType, unit: TimeUnit | None = None) -> Misfit:
    """A value that is none of a column's type."""
    plain = isinstance(value, (str, int, float, Decimal)) and not isinstance(value, bool)
    text = str(value) if plain else as_json(value).decode()
    shown = repr(value) if isinstance(value, str) else text
    if len(shown) > _LONGEST_SHOWN:
        shown = f"{shown[:_LONGEST_SHOWN]}…"
    why = ": it has more digits after the point" if _is_longer(value, kind) else ""
    if kind == TIMESTAMP and plain:
        why = hint(value, unit)
    return Misfit(column, text, f"{shown} in the column {column} is not {a_type(kind)}{why}")


def _is_longer(value: Any, kind: pa.DataType) -> bool:
    if not is_decimal(kind) or isinstance(value, (bool, list, dict, tuple)):
        return False
    try:
        exponent = Decimal(str(value).strip(SPACES)).as_tuple().exponent
    except InvalidOperation:
        return False
    return isinstance(exponent, int) and -exponent > kind.scale


def _canonical(source: Source, name: str, column: pa.ChunkedArray) -> pa.Array:
    """A column by the Arrow type that carries such values. Of nanoseconds only the microseconds
    are kept, as by Spark; unsigned integers of 64 bits are decimals."""
    if pa.types.is_uint64(column.type):
        column = column.cast(_UNSIGNED)
    try:
        kind = canonical(column.type)
        exact = not (pa.types.is_timestamp(column.type) and column.type.unit == "ns")
        whole = column.combine_chunks()
        if whole.type != kind:  # Arrow's cast of lists of nothing to themselves is wrong
            whole = whole.cast(kind, safe=exact)
    except (pa.ArrowInvalid, ExpressionError) as error:
        raise PlanError(f"the column {name} of {source.name}: {error}") from None
    if isinstance(whole, pa.ChunkedArray):  # more than one array can hold, or none
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.nulls(0, whole.type)
    return whole


# Casts that tell which rows have no value


def _cast(
    array: pa.Array, kind: pa.DataType, unit: TimeUnit | None
) -> tuple[pa.Array, Mask | None]:
    """The values as another type, and the rows that have none there (None: all have)."""
    have = array.type
    if have == kind or array.null_count == len(array):
        return (array if have == kind else pa.nulls(len(array), kind)), None
    if is_array(have) and is_array(kind):
        items, bad = _cast(array.flatten(), kind.value_type, unit)
        return list_like(array, items), _of_items(bad, lengths_of(array))
    if is_struct(have) and is_struct(kind):
        pairs = zip(array.flatten(), kind, strict=True)
        fields = [_cast(part, each.type, unit) for part, each in pairs]
        mask = array.is_null() if array.null_count else None
        parts = [part for part, _ in fields]
        return (
            pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask),
            _either(*(bad for _, bad in fields)),
        )
    if is_map(have) and is_map(kind):
        return _cast_map(array, kind, unit)
    if is_number(have, kind):
        return _cast_to_time(array, unit)
    if is_decimal(kind) and (quick := _quick_decimal(array, kind)) is not None:
        return quick, None
    return _cast_plainly(array, kind)


def _cast_to_time(array: pa.Array, unit: TimeUnit | None) -> tuple[pa.Array, Mask | None]:
    """Numbers count since 1970; other texts say a time."""
    values, numbers, bad = moments(array, unit)
    if array.type != STRING or (numbers | _mask(array.is_null())).all():
        return values, bad
    others, lost = _cast_plainly(pc.if_else(to_arrow(numbers), None, array), TIMESTAMP)
    return pc.if_else(to_arrow(numbers), values, others), _either(bad, lost)


def _cast_plainly(array: pa.Array, kind: pa.DataType) -> tuple[pa.Array, Mask | None]:
    """As Spark casts."""
    rows, column = pa.table({"value": array}), Column("value", array.type)
    try:
        made = evaluate(Cast(column, kind), rows)
    except EvaluationError:
        made = evaluate(Cast(column, kind, lenient=True), rows)
    lost = None
    if made.null_count > array.null_count:
        lost = _mask(pc.and_(array.is_valid(), made.is_null()))
    return made, _either(lost, _cut_off(array, made))


def _cast_map(
    array: pa.Array, kind: pa.DataType, unit: TimeUnit | None
) -> tuple[pa.Array, Mask | None]:
    offsets = array.offsets.to_numpy()
    first, count = int(offsets[0]), int(offsets[-1] - offsets[0])
    keys, bad_keys = _cast(array.keys.slice(first, count), kind.key_type, unit)
    items, bad_items = _cast(array.items.slice(first, count), kind.item_type, unit)
    bad = _of_items(_either(bad_keys, bad_items), np.diff(offsets))
    if bad is not None and bad.any():  # a key cannot be null, as it is now in these rows
        others, _ = _cast(array.take(pa.array(np.arange(len(array)), mask=bad)), kind, unit)
        return others, bad
    mask = array.is_null() if array.null_count else None
    return pa.MapArray.from_arrays(pa.array(offsets - first), keys, items, kind, mask=mask), None


def _of_items(bad: Mask | None, lengths: Int64s) -> Mask | None:
    """The rows that have a bad item."""
    if bad is None:
        return None
    found = np.zeros(len(lengths), np.bool_)
    found[np.repeat(np.arange(len(lengths)), lengths)[bad]] = True
    return found


def _either(*masks: Mask | None) -> Mask | None:
    there = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(there) if there else None


def _mask(array: pa.Array) -> Mask:
    found: Mask = pc.fill_null(array, False).to_numpy(zero_copy_only=False).astype(np.bool_)
    return found


def _quick_decimal(array: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """The values as decimals by Arrow, which gives up where digits would be cut off."""
    if array.type == STRING:
        if not pc.all(pc.match_substring_regex(array, _PLAIN_DECIMAL), min_count=0).as_py():
            return None
    elif not is_decimal(array.type):
        return None
    try:
        return pc.cast(array, kind)
    except pa.ArrowInvalid:
        return None


def _cut_off(array: pa.Array, made: pa.Array) -> Mask | None:
    """The rows of which a cast has cut something off."""
    have, kind = array.type, made.type
    if is_integer(kind) and (is_float(have) or is_decimal(have)):
        return _mask(pc.not_equal(array, pc.trunc(array)))
    if not is_decimal(kind):
        return None
    if is_float(have):
        again = evaluate(Cast(Column("value", kind), have), pa.table({"value": made}))
        return _mask(pc.not_equal(array.cast(DOUBLE), again.cast(DOUBLE)))
    if have == STRING or is_decimal(have):
        pairs = zip(array.to_pylist(), made.to_pylist(), strict=True)
        return np.array([_differs(one, other) for one, other in pairs], np.bool_)
    return None


def _differs(value: str | Decimal | None, made: Decimal | None) -> bool:
    if value is None or made is None:
        return False
    return Decimal(value.strip(SPACES) if isinstance(value, str) else value) != made
