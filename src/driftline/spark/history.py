"""Bitemporal history: the answer as of a system time, for a valid time.

A history table holds, for every micro-batch, the lifetimes that it inserted (weight +1) and
retracted (weight -1), with the system time of the micro-batch. Rows are only ever appended, so that
the table can answer questions:

    as_of(table, valid_time=t, system_time=s)   the rows alive at t, as the answer was at s
    intervals(table)                            every lifetime [vs, ve) with the system time
                                                [system_from, system_to) during which it was part
                                                of the answer
    prefix_of(table, system_time=s)             the rows of each stream that the answer at s is the
                                                answer for, if the query's outputs are marked

All take Spark DataFrames, and Arrow and Polars tables, and the first two give the same kind back.
In SQL, which Spark, DuckDB and PostgreSQL all know, the first is

    SELECT vs, ve, symbol, n FROM history
    WHERE system_time <= :system_time AND vs <= :valid_time
      AND (ve > :valid_time OR ve IS NULL)
    GROUP BY vs, ve, symbol, n HAVING sum(weight) > 0
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Int64s, to_arrow
from driftline.model.old_names import renamed
from driftline.model.time import parse_timestamp, show
from driftline.plan.errors import PlanError
from driftline.spark.views import BATCH, PREFIX, SYSTEM_TIME, WEIGHT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Time = int | str | datetime

SYSTEM_FROM, SYSTEM_TO = "system_from", "system_to"
_OWN = (SYSTEM_TIME, BATCH, WEIGHT)


def as_of(table: Any, *, valid_time: Time, system_time: Time | None = None) -> Any:
    """The rows alive at a valid time, as the answer was at a system time (None: as it is now): vs,
    ve and the columns. Times are datetimes, ISO texts, or, where time is a number, numbers.

    >>> from datetime import datetime, UTC
    >>> ten = datetime(2026, 1, 1, 10, tzinfo=UTC)
    >>> table = pa.table({"system_time": [ten, ten.replace(minute=5), ten.replace(minute=5)],
    ...                   "batch": [0, 1, 1], "weight": [1, -1, 1], "vs": [1, 1, 1],
    ...                   "ve": pa.array([None, None, 4], pa.int64()), "n": [7, 7, 7]})
    >>> as_of(table, valid_time=5, system_time="2026-01-01T10:04:00Z").to_pylist()
    [{'vs': 1, 've': None, 'n': 7}]
    >>> as_of(table, valid_time=5).to_pylist()
    []
    """
    if _is_spark(table):
        return _as_of_on_spark(table, valid_time, system_time)
    return _with_arrow(table, lambda rows: _as_of(rows, valid_time, system_time))


def prefix_of(table: Any, *, system_time: Time | None = None) -> dict[str, int] | None:
    """How many rows of each stream the answer at a system time (None: as it is now) is the exact
    answer for; None if there was none yet. The outputs of the query have to be marked.

    >>> from datetime import datetime, UTC
    >>> ten = datetime(2026, 1, 1, 10, tzinfo=UTC)
    >>> table = pa.table({"system_time": [ten, ten, ten.replace(minute=5)], "batch": [0, 0, 1],
    ...                   "weight": [1, 0, 0], "vs": [1, None, None],
    ...                   "ve": pa.nulls(3, pa.int64()), "n": [7, None, None],
    ...                   "prefix": [None, {"orders": 3}, {"orders": 5}]})
    >>> prefix_of(table, system_time="2026-01-01T10:04:00Z"), prefix_of(table)
    ({'orders': 3}, {'orders': 5})
    """
    names = table.columns if _is_spark(table) else _arrow_of(table).column_names
    if PREFIX not in names:
        raise PlanError("this history has no prefixes: write it by a query with outputs='marked'")
    if _is_spark(table):
        return _prefix_on_spark(table, system_time)
    return _prefix(_checked(_arrow_of(table)), system_time)


def believed(table: Any, *, about: Time, at: Time | None = None) -> Any:
    """The old name of `as_of`."""
    renamed("believed(table, about=…, at=…)", "as_of(table, valid_time=…, system_time=…)")
    return as_of(table, valid_time=about, system_time=at)


def intervals(table: Any) -> Any:
    """Every lifetime that was ever part of the answer: vs, ve, system_from, system_to (null: it
    still is), and the columns of the rows."""
    if _is_spark(table):
        return _intervals_on_spark(table)
    return _with_arrow(table, _intervals)


def _is_spark(table: Any) -> bool:
    return type(table).__module__.startswith("pyspark.")


def _with_arrow(table: Any, compute: Any) -> Any:
    made = compute(_checked(_arrow_of(table)))
    if isinstance(table, pa.Table):
        return made
    import polars

    return polars.from_arrow(made)


def _arrow_of(table: Any) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    if type(table).__module__.startswith("polars."):
        return table.to_arrow()
    raise PlanError(
        f"a history table is a Spark DataFrame, an Arrow or a Polars table, not a "
        f"{type(table).__name__}"
    )


def _checked(table: pa.Table) -> pa.Table:
    _required(table.column_names)
    return table.combine_chunks()


def _required(names: list[str], own: Collection[str] = ()) -> list[str]:
    """The columns of the rows; `own`: further columns that are not theirs."""
    missing = [name for name in (*_OWN, "vs", "ve") if name not in names]
    if missing:
        raise PlanError(f"this is not a history table: it has no column {missing[0]}")
    return [name for name in names if name not in (*_OWN, *own)]


def _columns(table: pa.Table) -> list[str]:
    """The columns of the rows: a prefix is none of them."""
    has_prefix = PREFIX in table.column_names
    own = has_prefix and pa.types.is_struct(table.schema.field(PREFIX).type)
    return _required(table.column_names, [PREFIX] if own else [])


def _prefix(table: pa.Table, system_time: Time | None) -> dict[str, int] | None:
    marks = table.filter(pc.equal(table.column(WEIGHT), 0))
    if system_time is not None:
        known = _scalar(system_time, table.schema.field(SYSTEM_TIME).type)
        marks = marks.filter(pc.less_equal(marks.column(SYSTEM_TIME), known))
    if marks.num_rows == 0:
        return None
    place = int(np.argmax(marks.column(BATCH).to_numpy()))
    found: dict[str, int] = marks.column(PREFIX)[place].as_py()
    return found


def _as_of(table: pa.Table, valid_time: Time, system_time: Time | None) -> pa.Table:
    then = _scalar(valid_time, table.schema.field("vs").type)
    alive = pc.and_(
        pc.less_equal(table.column("vs"), then),
        pc.fill_null(pc.greater(table.column("ve"), then), True),
    )
    if system_time is not None:
        known = _scalar(system_time, table.schema.field(SYSTEM_TIME).type)
        alive = pc.and_(alive, pc.less_equal(table.column(SYSTEM_TIME), known))
    rows = table.filter(alive).combine_chunks()
    slots, first = _lifetimes(rows)
    copies = np.zeros(len(first), np.int64)
    np.add.at(copies, slots, rows.column(WEIGHT).to_numpy())
    kept = np.repeat(first, np.maximum(copies, 0))
    return rows.select(_columns(rows)).take(to_arrow(kept))


def _intervals(table: pa.Table) -> pa.Table:
    """The n-th retraction of a lifetime ends its n-th insertion."""
    table = table.filter(pc.not_equal(table.column(WEIGHT), 0)).combine_chunks()
    slots, _ = _lifetimes(table)
    gone = table.column(WEIGHT).to_numpy() < 0
    copy = np.empty(len(slots), np.int64)
    for some in (np.flatnonzero(~gone), np.flatnonzero(gone)):
        order = some[np.lexsort((table.column(BATCH).to_numpy()[some], slots[some]))]
        firsts = np.flatnonzero(np.diff(slots[order], prepend=-1))
        copy[order] = np.arange(len(order)) - np.repeat(firsts, np.diff(firsts, append=len(order)))
    order = np.lexsort((gone, copy, slots))  # an insertion, then its retraction, if there is one
    following = np.roll(order, -1)
    ended = (slots[following] == slots[order]) & (copy[following] == copy[order])
    plus = ~gone[order]
    ends = pa.array(following[plus], mask=~(ended & gone[following])[plus])
    to = table.column(SYSTEM_TIME).combine_chunks().take(ends)
    rows = table.take(to_arrow(order[plus]))
    names = [name for name in _columns(table) if name not in ("vs", "ve")]
    made = rows.select(["vs", "ve"]).append_column(SYSTEM_FROM, rows.column(SYSTEM_TIME))
    made = made.append_column(SYSTEM_TO, to)
    for name in names:
        made = made.append_column(name, rows.column(name))
    return made


def _lifetimes(table: pa.Table) -> tuple[Int64s, Int64s]:
    """Which lifetime of which row each is, and the first place of each."""
    columns = [table.column(name) for name in _columns(table)]
    return Slots().find_or_add(fingerprints(columns, table.num_rows))


def _scalar(time: Time, kind: pa.DataType) -> pa.Scalar:
    """A time as a column has it."""
    if pa.types.is_timestamp(kind):
        micros = pa.scalar(_micros(time), pa.timestamp("us", "UTC"))
        return micros.cast(pa.timestamp("us", kind.tz)).cast(kind)
    if not isinstance(time, int):
        raise PlanError(f"{time!r} is a TIMESTAMP, but time is a plain number here: give a number")
    return pa.scalar(time, kind)


def _micros(time: Time) -> int:
    if isinstance(time, datetime):
        aware = time if time.tzinfo is not None else time.replace(tzinfo=UTC)
        return parse_timestamp(aware.astimezone(UTC).isoformat())
    return parse_timestamp(time) if isinstance(time, str) else time


def _literal(time: Time, table: DataFrame, name: str) -> Any:
    from pyspark.sql import functions as f
    from pyspark.sql.types import TimestampNTZType, TimestampType

    kind = table.schema[name].dataType
    if isinstance(kind, TimestampType):
        return f.timestamp_micros(f.lit(_micros(time)))
    if isinstance(kind, TimestampNTZType):  # in UTC, whatever the zone of the session
        return f.lit(show(_micros(time), True).removesuffix("Z")).cast(kind)
    if not isinstance(time, int):
        raise PlanError(f"{time!r} is a TIMESTAMP, but time is a plain number here: give a number")
    return f.lit(time)


def _columns_on_spark(table: DataFrame) -> list[str]:
    from pyspark.sql.types import StructType

    own = PREFIX in table.columns and isinstance(table.schema[PREFIX].dataType, StructType)
    return _required(table.columns, [PREFIX] if own else [])


def _prefix_on_spark(table: DataFrame, system_time: Time | None) -> dict[str, int] | None:
    from pyspark.sql import functions as f

    _required(table.columns)
    marks = table.where(f.col(WEIGHT) == 0)
    if system_time is not None:
        marks = marks.where(f.col(SYSTEM_TIME) <= _literal(system_time, table, SYSTEM_TIME))
    found = marks.orderBy(f.col(BATCH).desc()).select(PREFIX).first()
    return None if found is None else found[PREFIX].asDict()


def _as_of_on_spark(table: DataFrame, valid_time: Time, system_time: Time | None) -> DataFrame:
    from pyspark.sql import functions as f

    names = _columns_on_spark(table)
    then = _literal(valid_time, table, "vs")
    alive = table.where((f.col("vs") <= then) & ((f.col("ve") > then) | f.col("ve").isNull()))
    if system_time is not None:
        known = _literal(system_time, table, SYSTEM_TIME)
        alive = alive.where(f.col(SYSTEM_TIME) <= known)
    copies = alive.groupBy(*names).agg(f.sum(WEIGHT).cast("int").alias(WEIGHT))
    left = copies.where(f.col(WEIGHT) > 0)
    each = f.explode(f.array_repeat(f.lit(1), f.col(WEIGHT)))
    return left.withColumn(WEIGHT, each).select(*names)


def _intervals_on_spark(table: DataFrame) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    names = _columns_on_spark(table)
    table = table.where(f.col(WEIGHT) != 0)
    copy = f.row_number().over(Window.partitionBy(*names, WEIGHT).orderBy(BATCH))
    times = [
        f.min(f.when(f.col(WEIGHT) > 0, f.col(SYSTEM_TIME))).alias(SYSTEM_FROM),
        f.min(f.when(f.col(WEIGHT) < 0, f.col(SYSTEM_TIME))).alias(SYSTEM_TO),
    ]
    rows = [name for name in names if name not in ("vs", "ve")]
    found = table.withColumn("$copy", copy).groupBy(*names, "$copy").agg(*times)
    return found.select("vs", "ve", SYSTEM_FROM, SYSTEM_TO, *rows)
