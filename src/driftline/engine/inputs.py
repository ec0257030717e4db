"""What a stream can be read from, as columns of raw events.

Event logs, and plain records of which each is an insert [time, ∞): files (JSON Lines, CSV,
Parquet), Arrow, pandas and Polars tables, and Python iterables of rows or of model events.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from numbers import Integral
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from driftline.engine.expressions import evaluate
from driftline.engine.expressions.errors import EvaluationError
from driftline.engine.json_records import JsonRecords, is_log, read_records
from driftline.engine.shapes import shaped
from driftline.engine.source_time import NO_CLOCK
from driftline.model.columns import INSERT, StreamColumns
from driftline.model.event import Cti, ExternalCti, Insert, Retract
from driftline.model.row import Row
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.coercion import can_cast
from driftline.plan.errors import ExpressionError, PlanError
from driftline.plan.expressions import Cast, Column
from driftline.plan.nodes import Source
from driftline.plan.types import (
    canonical,
    is_decimal,
    is_float,
    is_integer,
    is_timestamp,
    type_name,
)

Int64s = NDArray[np.int64]

EVENTS = (Insert, Retract, Cti, ExternalCti)
NULLS_IN_CSV: dict[str, Any] = {
    "null_values": [""],
    "strings_can_be_null": True,
    "quoted_strings_can_be_null": False,
}
"""As Spark reads CSV: a field is null if nothing is there, not if it is "" or NA."""

MICROSECONDS = 1000
"""In a millisecond."""

_UNSIGNED = pa.decimal128(20)
"""Holds every unsigned integer of 64 bits."""

CANNOT_CONVERT = (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError)


@dataclass(frozen=True)
class RawEvents:
    """Raw events in order of arrival; `position` is their place among those of all streams."""

    kind: NDArray[np.int8]
    vs: Int64s
    ve: Int64s
    vn: Int64s
    payload: pa.Table
    position: Int64s
    is_log: bool  # it carries its own lifetimes and ctis
    clock: Int64s | None = None  # when each arrived, in milliseconds, if that is known

    def __len__(self) -> int:
        return len(self.kind)

    def slice(self, first: int, last: int) -> RawEvents:
        part = slice(first, last)
        return RawEvents(
            self.kind[part],
            self.vs[part],
            self.ve[part],
            self.vn[part],
            self.payload.slice(first, last - first),
            self.position[part],
            self.is_log,
            None if self.clock is None else self.clock[part],
        )


def joined_events(parts: list[RawEvents]) -> RawEvents:
    """Parts that follow each other, as one."""
    if len(parts) == 1:
        return parts[0]
    clocks = [part.clock for part in parts if part.clock is not None] or None
    return RawEvents(
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.vs for part in parts]),
        np.concatenate([part.ve for part in parts]),
        np.concatenate([part.vn for part in parts]),
        pa.concat_tables([part.payload for part in parts]),
        np.concatenate([part.position for part in parts]),
        parts[0].is_log,
        None if clocks is None else np.concatenate(clocks),
    )


def events_from(source: Source, data: Any, before: int = 0) -> RawEvents:
    """The raw events of a stream, from whatever the user has; so many came `before` these."""
    events = _events_from(source, data, before)
    return replace(events, position=events.position + before) if before else events


def _events_from(source: Source, data: Any, before: int) -> RawEvents:
    if isinstance(data, (str, Path)):
        return _from_file(source, Path(data))
    if isinstance(data, RawEvents):
        return data
    if isinstance(data, StreamColumns):
        return _from_log(source, data)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return _from_records(source, data, before)
    if hasattr(data, "to_arrow"):  # Polars
        return _from_records(source, data.to_arrow())
    if type(data).__module__.startswith("pandas") and hasattr(data, "columns"):
        return _from_records(source, _of_pandas(source, data))
    if isinstance(data, Iterable) and not isinstance(data, Mapping) and not hasattr(data, "dtype"):
        return _from_python(source, data, before)
    raise PlanError(
        f"the stream {source.name} cannot be read from a {type(data).__name__}: give a path, a "
        "table (Arrow, pandas, Polars), rows as dicts, or events"
    )


def _of_pandas(source: Source, frame: Any) -> pa.Table:
    for name in frame.columns[frame.columns.duplicated()]:
        raise PlanError(f"the input of {source.name} has two columns {name}: rename one")
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except CANNOT_CONVERT as error:
        raise PlanError(f"the input of {source.name}: {error.args[0]}") from None


def _from_python(source: Source, items: Iterable[Any], before: int) -> RawEvents:
    items = iter(items)
    first = next(items, None)
    everything = itertools.chain([] if first is None else [first], items)
    nothing = first is None and source.time is None
    if nothing or isinstance(first, EVENTS):
        own = {name.lower(): name for name in source.columns.names}
        events = [
            _as_event(source, own, event, number)
            for number, event in enumerate(everything, before + 1)
        ]
        try:
            columns = StreamColumns.from_events(source.name, events, schema=source.columns.arrow)
        except CANNOT_CONVERT as error:
            misfit = _misfit(source, [getattr(item, "row", {}) for item in events], before)
            raise misfit or error from None
        return _from_log(source, columns)
    rows = [_as_row(source, item, number) for number, item in enumerate(everything, before + 1)]
    arrays = {}
    for name in source.columns.names:
        values = [row.get(name.lower()) for row in rows]
        try:
            arrays[name] = pa.array(values)
        except OverflowError:
            largest = next(each for each in values if isinstance(each, int) and _is_beyond(each))
            raise PlanError(
                f"{largest} in the column {name} of {source.name} is beyond 64 bits: give it as a "
                "Decimal or as text"
            ) from None
        except CANNOT_CONVERT as error:
            raise PlanError(f"the column {name} of {source.name}: {error}") from None
    return _from_records(source, pa.table(arrays), before)


def _as_event(source: Source, own: Mapping[str, str], event: Any, number: int) -> Any:
    """An event whose times are whole numbers, and whose columns are called as the stream's own,
    which `own` has by their names in lower case."""
    if not isinstance(event, EVENTS):
        raise PlanError(f"item {number} of {source.name} is no event, as the first one is")
    for each in fields(event):
        name, value = each.name, getattr(event, each.name)
        if name != "row" and not _is_time(value):
            raise PlanError(
                f"event {number} of {source.name}: {name} is {value!r}: give a whole number of "
                "64 bits, INFINITY for ever"
            )
    if not isinstance(event, (Insert, Retract)):
        return event
    if all(own.get(named(name), name) == name for name in event.row):
        return event
    row = Row({own.get(named(name), name): event.row[name] for name in event.row})
    return replace(event, row=row)


def _is_time(value: Any) -> bool:
    return isinstance(value, Integral) and BEGINNING <= int(value) <= INFINITY


def _as_row(source: Source, item: Any, number: int) -> dict[str, Any]:
    if not isinstance(item, Mapping):
        raise PlanError(
            f"item {number} of {source.name} is a {type(item).__name__}: give rows as dicts, or "
            "events"
        )
    return {named(str(name)): value for name, value in item.items()}


def _is_beyond(value: int) -> bool:
    return not -(2**63) <= value < 2**63


def _misfit(source: Source, rows: list[Mapping[str, Any]], before: int) -> PlanError | None:
    """The first value that does not have the type of its column."""
    for number, row in enumerate(rows, before + 1):
        for field in source.columns.arrow:
            value = row.get(field.name)
            try:
                pa.array([value], field.type)
            except CANNOT_CONVERT:
                return PlanError(
                    f"event {number} of {source.name}: {field.name} is {value!r}, which is no "
                    f"{type_name(field.type)}"
                )
    return None


def _from_file(source: Source, path: Path) -> RawEvents:
    if not path.exists():
        raise PlanError(f"{path}: there is no such file")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".parquet" in suffixes:
        import pyarrow.parquet as pq

        return _from_records(source, pq.read_table(path))
    if ".csv" in suffixes:
        return _from_records(source, pa.Table.from_batches(batches_of_csv(source, path)))
    if ".jsonl" in suffixes or ".json" in suffixes or ".ndjson" in suffixes:
        return _from_json(source, path)
    raise PlanError(f"{path}: its format is told by .jsonl, .csv or .parquet")


def batches_of_csv(source: Source, path: Path) -> Iterator[pa.RecordBatch]:
    """The columns of a CSV file that the stream has, as text: Spark's casts decide what a value
    means. There is at least one batch, if need be without rows."""
    from pyarrow import csv

    with csv.open_csv(path) as reader:
        names = reader.schema.names
    wanted = {name.lower() for name in source.columns.names}
    columns = [name for name in names if named(name) in wanted]
    if len(set(map(named, columns))) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise PlanError(f"{path}: there are two columns {twice}")
    options = csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        include_columns=columns if len(columns) == len(wanted) else names,
        **NULLS_IN_CSV,
    )
    with csv.open_csv(path, convert_options=options) as reader:
        yield pa.RecordBatch.from_pylist([], schema=reader.schema)
        yield from reader


def named(column: str) -> str:
    """How a column is called, whatever its case and the blanks around it."""
    return column.strip().lower()


def _from_json(source: Source, path: Path) -> RawEvents:
    from driftline.engine.log_columns import exact_columns
    from driftline.model.log.reader import read_log

    if is_log(path):
        log = read_log([str(path)], exact=exact_columns([(source.name, source)]))
        if source.name not in log.streams:
            known = ", ".join(log.streams) or "no stream"
            raise PlanError(f"{path} has {known}, but not {source.name}")
        return _from_log(source, log.streams[source.name])
    return _from_records(source, json_records(source, path).table)


def json_records(
    source: Source, what: str | Path | bytes | IO[bytes], *, collect_bad: bool = False
) -> JsonRecords:
    """The records of a file in JSON Lines, with the types of the stream."""
    return read_records(
        source.columns, what, lambda part: typed(source, part), collect_bad=collect_bad
    )


def _from_log(source: Source, columns: StreamColumns) -> RawEvents:
    check_log_times(source, columns)
    rows = typed(source, columns.payload)
    clock = columns.at
    if source.timing.arrival is not None:
        inserts = np.flatnonzero(columns.kind == INSERT)
        came = arrival_clock(source, rows.take(inserts) if len(inserts) else rows.slice(0, 0))
        clock = np.full(len(columns.kind), NO_CLOCK)
        clock[inserts] = came if came is not None else NO_CLOCK
    return RawEvents(
        columns.kind,
        columns.vs,
        columns.ve,
        columns.vn,
        rows,
        columns.position,
        is_log=True,
        clock=clock,
    )


def check_log_times(source: Source, columns: StreamColumns) -> None:
    """Refuse the events of a log whose times are of another sort than the stream's."""
    if columns.timestamps and not source.timestamps:
        # The numbers of the query would be taken for microseconds.
        raise PlanError(
            f"the times of {source.name} are timestamps, and the query takes them for numbers: "
            f"declare it with timestamps, CREATE STREAM {source.name} (…) WITH (timestamps = true)"
        )


def _from_records(source: Source, table: pa.Table, before: int = 0) -> RawEvents:
    if source.time is None:
        raise PlanError(
            f"the stream {source.name} is read from plain records: say which column is its time, "
            f"stream({source.name!r}, …, time=…)"
        )
    rows = typed(source, table)
    time = rows.column(source.time)
    if time.null_count:
        row = time.is_null().to_numpy(zero_copy_only=False).argmax()
        raise PlanError(
            f"row {before + row + 1} of {source.name} has no time: {source.time} is null"
        )
    if not is_integer(canonical(time.type)) and not is_timestamp(canonical(time.type)):
        raise PlanError(
            f"the time of {source.name}, {source.time}, is a {type_name(canonical(time.type))}; "
            "it must be a TIMESTAMP or an integer"
        )
    ticks = time.cast(pa.int64()).to_numpy().astype(np.int64)
    count = len(ticks)
    endless = np.full(count, INFINITY, np.int64)
    position = np.arange(count, dtype=np.int64)
    kind = np.full(count, INSERT, np.int8)
    clock = arrival_clock(source, rows, before)
    return RawEvents(kind, ticks, endless, endless, rows, position, is_log=False, clock=clock)


def arrival_clock(source: Source, rows: pa.Table, before: int = 0) -> Int64s | None:
    """The arrival clock of records in milliseconds, if one of their columns has it."""
    name = source.timing.arrival
    if name is None:
        return None
    clock = rows.column(name)
    if clock.null_count:
        row = clock.is_null().to_numpy(zero_copy_only=False).argmax()
        raise PlanError(f"row {before + row + 1} of {source.name} has no arrival: {name} is null")
    whole: Int64s = clock.cast(pa.int64()).to_numpy()
    return whole // MICROSECONDS if is_timestamp(canonical(clock.type)) else whole


def typed(source: Source, table: pa.Table) -> pa.Table:
    """The columns of the stream's schema, cast as Spark casts."""
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
        return schema.empty_table()
    columns = [
        typed_column(source, field, table.column(have[field.name.lower()])) for field in schema
    ]
    return pa.table(columns, schema=schema)


def typed_column(source: Source, field: pa.Field, column: pa.ChunkedArray) -> Any:
    """One of the columns of the stream's schema, cast as Spark casts."""
    column = shaped(column, field.type)
    if column.type == field.type:
        return column
    kind, whole = _canonical(source, field.name, column)
    if not can_cast(kind, field.type):
        raise PlanError(
            f"the column {field.name} of {source.name} is a {type_name(kind)}, which "
            f"cannot be a {type_name(field.type)}: declare another type"
        )
    return _cast(source, whole, Column(field.name, kind), field.type)


def _cast(source: Source, rows: pa.Table, column: Column, kind: Any) -> pa.Array:
    """A column as the type that the stream declares. Spark's cast would cut a fraction off, which
    nobody asked for: 1.5 is no integer."""
    if is_integer(kind) and (is_float(column.type) or is_decimal(column.type)):
        values = rows.column(0)
        cut = values.filter(pc.not_equal(values, pc.trunc(values)))
        if len(cut) and cut[0].as_py() == cut[0].as_py():  # a NaN is the cast's business
            raise _no_value_of(source, column, kind, cut[0])
    try:
        return evaluate(Cast(column, kind), rows)
    except EvaluationError as error:
        there = evaluate(Cast(column, kind, lenient=True), rows).is_valid()
        misfits = rows.column(0).filter(pc.invert(there)).drop_null()
        if not len(misfits):  # it is a part of a value
            raise PlanError(f"the column {column.name} of {source.name}: {error}") from None
        raise _no_value_of(source, column, kind, misfits[0]) from None


def _no_value_of(source: Source, column: Column, kind: Any, misfit: pa.Scalar) -> PlanError:
    value = misfit.as_py()
    shown = str(value) if isinstance(value, Decimal) else repr(value)
    return PlanError(
        f"{shown} in the column {column.name} of {source.name} is no {type_name(kind)}: declare "
        "another type, or STRING and use try_cast"
    )


def _canonical(source: Source, name: str, column: pa.ChunkedArray) -> tuple[Any, pa.Table]:
    """A column by the Arrow type that carries such values, and that type. Of nanoseconds only the
    microseconds are kept, as by Spark; unsigned integers of 64 bits are decimals."""
    if pa.types.is_uint64(column.type):
        column = column.cast(_UNSIGNED)
    try:
        kind = canonical(column.type)
        exact = not (pa.types.is_timestamp(column.type) and column.type.unit == "ns")
        whole = column.combine_chunks()
        if whole.type != kind:  # Arrow's cast of lists of nothing to themselves is wrong
            whole = whole.cast(kind, safe=exact)
        return kind, pa.table({name: whole})
    except (pa.ArrowInvalid, ExpressionError) as error:
        raise PlanError(f"the column {name} of {source.name}: {error}") from None
