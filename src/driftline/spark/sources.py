"""DataFrames as sources: their rows as raw events, computed by Spark itself.

A DataFrame has plain records, each an insert [time, ∞), or events: columns kind (insert, retract,
cti, external_cti), vs, ve, vn and the payload, as a query's own result has them. Times are
TIMESTAMPs or integers; a ve that is null is ∞. An external cti has from, to and count in vs, ve
and vn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftline.engine.ingest.source_time import NO_CLOCK
from driftline.engine.readers.epochs import OF_ARRIVAL, OF_RECORDS, WORDS, counts_time, unit_of
from driftline.engine.shards.reads import FILE_OF, KEPT
from driftline.engine.shards.source_messages import BAD, CLOCK, KIND, POSITION, RAW, VE, VN, VS
from driftline.engine.shards.stages import Reading
from driftline.event_log.text import FIRST_ISO, LAST_ISO
from driftline.model.columns import CTI, EXTERNAL_CTI, INSERT, RETRACT
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.fragments import SourcePrefix
from driftline.plan.nodes import Constant, Node, Source
from driftline.plan.timing import MICROSECONDS, TimeUnit
from driftline.plan.types import a_type, is_integer, is_timestamp, quoted, type_name
from driftline.spark.columns import typed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import DataType

EVENTS = "$events"
"""A column that is there when raw events are more than plain records."""

ALWAYS = -(2**62)
"""Since when the rows of a table without a time are there."""

UNREADABLE = -1
"""The kind of an event that could not be read."""

FILE, ROW = "$file", "$row"
"""Columns that are there where the files and rows of records are known."""

KINDS = {"insert": INSERT, "retract": RETRACT, "cti": CTI, "external_cti": EXTERNAL_CTI}


def reading_of(frame: DataFrame, source: Source) -> Reading:
    """How a DataFrame is read: it has raw events already, or events, or plain records. These have
    an order of arrival if they have an arrival clock of their own; a table is there at once."""
    by_clock = source.timing.arrival is not None and frame.isStreaming
    if VS in frame.columns:
        events = EVENTS in frame.columns
        return Reading(plain=not events, ordered=events or by_clock or POSITION in frame.columns)
    events = _has_events(frame, source)
    return Reading(plain=not events, ordered=events or by_clock)


def _has_events(frame: DataFrame, source: Source) -> bool:
    own = {column.name.lower() for column in source.columns}
    have = {name.lower() for name in frame.columns}
    return {"kind", "vs"} <= have and not {"kind", "vs"} <= own


def constant_rows(spark: SparkSession, source: Constant) -> DataFrame:
    """The rows that a query brings itself, as raw events of a table that does not change."""
    from pyspark.sql import functions as f

    number = f.col("id").cast("int").alias(payload_name(0))
    return spark.range(source.count).select(f.lit(source.start).alias(VS), number)


def raw_events(frame: DataFrame, source: Source, unread: Column | None = None) -> DataFrame:
    """The raw events of a source: the times in columns of their own, then the payload by the names
    of the source's columns. A row with a value of another type is an event of no known kind, and
    its column BAD has the reason; so is one of which `unread` has the text."""
    from pyspark.sql import functions as f

    if VS in frame.columns:
        names = [f.col(quoted(name)) for name in frame.columns if name in (*RAW, BAD, FILE_OF)]
        payload = [
            f.col(quoted(payload_name(place))).alias(name)
            for place, name in enumerate(source.columns.names)
        ]
        return frame.select(*names, *payload)
    have = _names(frame, source)
    events = _has_events(frame, source)
    bad = BadRows(
        frame, source, [have[each.lower()] for each in source.columns.names if each.lower() in have]
    )
    if unread is not None:
        bad.add_unread(unread)
    kind: Column | None = None
    times: list[Column] = []
    if events:
        # Not a string literal for each: kinds of other names become null, which is refused below.
        pairs = [f.lit(part) for kind in KINDS.items() for part in kind]
        code = f.element_at(f.create_map(*pairs), f.lower(frame[have["kind"]]))
        kind = f.coalesce(code, f.lit(UNREADABLE))
        times.append(_ticks(frame, have["vs"], source, bad).alias(VS))
        for name, alias in (("ve", VE), ("vn", VN)):
            value = _ticks(frame, have[name], source, bad) if name in have else f.lit(None)
            if name == "vn" and name in have and source.timing.time_unit is not None:
                counted = f.col(quoted(have[name])).cast("bigint")  # of events, not of time
                value = f.when(code == EXTERNAL_CTI, counted).otherwise(value)
            times.append(f.coalesce(value, f.lit(INFINITY)).cast("bigint").alias(alias))
    elif source.time is None and not frame.isStreaming:
        times.append(f.lit(ALWAYS).alias(VS))
    elif source.time is None:
        raise PlanError(
            f"the stream {source.name} is read from plain records: say which column is its "
            f"time, stream({source.name!r}, …, time=…)"
        )
    else:
        times.append(_time(frame, have, source, source.time, bad).alias(VS))
    typed_columns = {
        each.name: _typed(frame, have, source, each.name, bad) for each in source.columns
    }
    if source.timing.arrival is not None:
        name = source.timing.arrival
        arrival = typed_columns[source.columns.find(name)[0].name]
        stamped = is_timestamp(source.columns.find(name)[0].type)
        clock = f.unix_millis(arrival.cast("timestamp")) if stamped else _clock(arrival, source)
        times.append(f.coalesce(clock, f.lit(NO_CLOCK)).alias(CLOCK))
    elif source.timing.needs_clock:
        # The time of the micro-batch, which is the same when it comes again.
        times.append(f.unix_millis(f.current_timestamp()).alias(CLOCK))
    if FILE_OF in frame.columns:
        times.append(f.col(quoted(FILE_OF)))
    why = bad.why()
    if why is not None:
        kind = f.when(why.isNotNull(), f.lit(UNREADABLE)).otherwise(
            f.lit(INSERT) if kind is None else kind
        )
        times.append(why.alias(BAD))
    if kind is not None:
        times.insert(0, kind.cast("tinyint").alias(KIND))
    return frame.select(*times, *(column.alias(name) for name, column in typed_columns.items()))


def _clock(arrival: Column, source: Source) -> Column:
    """An integer arrival clock in milliseconds."""
    from pyspark.sql import functions as f

    unit, clock = source.timing.time_unit or OF_ARRIVAL, arrival.cast("bigint")
    if unit == "us":
        return f.floor(clock / f.lit(MICROSECONDS["ms"]))
    return clock * f.lit(MICROSECONDS[unit] // MICROSECONDS["ms"])


class BadRows:
    """The rows of a DataFrame that cannot be read: by the conditions for that, in turn."""

    def __init__(self, frame: DataFrame, source: Source, own: Sequence[str]) -> None:
        self.frame, self.source, self.own = frame, source, own
        self.cases: list[Column] = []

    def add(self, name: str, value: Column, misfits: Column, kind: str) -> None:
        """Where a value is of another type than its column."""
        from pyspark.sql import functions as f

        text = value.cast("string")
        shown = f.substring(text, 1, LONGEST_SHOWN)
        if self.frame.schema[name].dataType.simpleString() == "string":
            shown = f.concat(f.lit("'"), shown, f.lit("'"))
        reason = f.concat(shown, f.lit(f" in the column {name} is not {kind}"))
        event = f.to_json(f.struct(*(f.col(quoted(each)) for each in self.own)))
        self.cases.append(f.when(misfits, self._bad(f.lit(name), text, reason, event)))

    def add_unread(self, text: Column) -> None:
        """Where Spark could not read a record, and has only its text."""
        from pyspark.sql import functions as f

        reason = f.lit("it cannot be read: a value of another type, or another number of fields")
        nothing = f.lit(None).cast("string")
        self.cases.append(f.when(text.isNotNull(), self._bad(nothing, nothing, reason, text)))

    def _bad(self, column: Column, value: Column, reason: Column, text: Column) -> Column:
        """As `event_log.deadletters.from_text` reads it."""
        from pyspark.sql import functions as f

        known = FILE in self.frame.columns
        file = f.col(quoted(FILE)) if known else f.lit(f"<{self.source.name}>")
        line = f.col(quoted(ROW)) if known else f.lit(0)
        parts = {"source": file, "line": line, "column": column, "value": value}
        parts |= {"reason": reason, "text": text}
        return f.to_json(f.struct(*(part.alias(name) for name, part in parts.items())))

    def why(self) -> Column | None:
        """What is wrong with a row, as text; null if nothing is. None: nothing can be."""
        from pyspark.sql import functions as f

        return f.coalesce(*self.cases) if self.cases else None


LONGEST_SHOWN = 80


def _typed(
    frame: DataFrame, have: dict[str, str], source: Source, name: str, bad: BadRows | None = None
) -> Column:
    """A column of a stream, with the type that the stream gives it; what does not fit is null."""
    from pyspark.sql import functions as f

    own = _required(source, have, name)
    kind = source.columns.find(name)[0].type
    value = f.col(quoted(own))
    unit = source.timing.time_unit
    column, misfits = typed(value, frame.schema[own].dataType, kind, name, source.name, unit)
    if misfits is not None and bad is not None:
        bad.add(own, value, misfits, a_type(kind) + _why(kind, frame.schema[own].dataType, unit))
    return column


def _why(kind: pa.DataType, have: DataType, unit: TimeUnit | None) -> str:
    """What to do about a number that is no time."""
    from pyspark.sql.types import NumericType

    if not is_timestamp(kind) or not isinstance(have, NumericType):
        return ""
    words = WORDS[unit or OF_RECORDS]
    return f": as {words} it is outside the years 0001 to 9999; say what it counts with time_unit"


def prefixed(
    frame: DataFrame, prefix: SourcePrefix, columns: frozenset[int] | None, *, counted: bool = False
) -> DataFrame:
    """Raw events after the steps of a prefix, with the columns of the payload at some places (None:
    all) named by their place. `counted`: events that a filter leaves out stay, without a payload,
    and the column KEPT tells them apart."""
    from pyspark.sql import functions as f

    times = [name for name in (*RAW, BAD, FILE_OF) if name in frame.columns]
    top: Node = prefix.source
    if counted and any(step.native and step.native.where is not None for step in prefix.steps):
        frame = frame.withColumn(KEPT, f.lit(True))
        times.append(KEPT)
    for step in prefix.steps:
        native = step.native
        assert native is not None  # or it would not be in a prefix
        if native.where is not None:
            wanted = f.expr(native.where.sql())
            if KIND in times:  # a cti is not for a filter to drop
                wanted = wanted | (f.col(quoted(KIND)) != INSERT)
            if KEPT in times:
                kept = f.when(f.col(quoted(KEPT)), f.coalesce(wanted, f.lit(False)))
                frame = frame.withColumn(KEPT, kept.otherwise(f.lit(False)))
            else:
                frame = frame.where(wanted)
        if native.columns is not None:
            made = [
                _if_kept(f.expr(each.value.sql()), times).alias(each.name)
                for each in native.columns
            ]
            frame = frame.select(*(f.col(quoted(name)) for name in times), *made)
        top = step
    payload = [
        _if_kept(f.col(quoted(name)).cast(type_name(item.type)), times).alias(payload_name(place))
        for place, (name, item) in enumerate(zip(top.schema.names, top.schema, strict=True))
        if columns is None or place in columns
    ]
    return frame.select(*(f.col(quoted(name)) for name in times), *payload)


def _if_kept(value: Column, times: Sequence[str]) -> Column:
    """A value that is computed only for events that no filter has left out."""
    from pyspark.sql import functions as f

    return f.when(f.col(quoted(KEPT)), value) if KEPT in times else value


def with_files(frame: DataFrame) -> DataFrame:
    """A DataFrame of files with the one of each row; any other as it is, and raw events, which
    have it if anything has."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as f

    if VS in frame.columns:
        return frame
    try:
        found = frame.withColumn(FILE_OF, f.col("_metadata.file_path"))
        return found if FILE_OF in found.columns else frame
    except AnalysisException:
        return frame


def payload_name(place: int) -> str:
    """What the column at a place of the payload is called among raw events."""
    return f"payload {place}"


def _names(frame: DataFrame, source: Source) -> dict[str, str]:
    """The columns of a DataFrame by their names in lower case."""
    have: dict[str, str] = {}
    wanted = {name.lower() for name in (*source.columns.names, "kind", "vs", "ve", "vn")}
    for name in frame.columns:
        if name.lower() in have and name.lower() in wanted:
            raise PlanError(f"the DataFrame of {source.name} has two columns {name}: rename one")
        have[name.lower()] = name
    return have


def _required(source: Source, have: dict[str, str], name: str) -> str:
    if name.lower() not in have:
        there = ", ".join(each for each in have.values() if not each.startswith("$"))
        raise PlanError(f"the stream {source.name} has no column {name}; it has {there}")
    return have[name.lower()]


def _time(
    frame: DataFrame, have: dict[str, str], source: Source, name: str, bad: BadRows
) -> Column:
    """The time of plain records as ticks: what the column is when it has the type that the stream
    gives it, so that a record has the same time in both."""
    from pyspark.sql import functions as f

    own = _required(source, have, name)
    if not source.timestamps:
        kind = frame.schema[own].dataType.simpleString()
        if kind not in TIMES_AS_INTEGERS:
            raise PlanError(_no_time(source, own, kind.upper()))
    time = _typed(frame, have, source, name)
    if counts_time(source):
        return _counted(time, own, source, bad)
    return f.unix_micros(time) if source.timestamps else time.cast("bigint")


def _counted(time: Column, name: str, source: Source, bad: BadRows) -> Column:
    """An integer time in ticks."""
    from pyspark.sql import functions as f

    size, time = MICROSECONDS[unit_of(source)], time.cast("bigint")
    if source.timing.time_unit is None or not source.timestamps:
        return time
    first, last = -(-FIRST_ISO // size), (LAST_ISO - 1) // size
    endless = time.isin(INFINITY, BEGINNING)
    fine = time.between(first, last)
    why = (
        f"a time in {WORDS[unit_of(source)]}, of the years 0001 to 9999: is time_unit another one?"
    )
    bad.add(name, time, ~fine & ~endless, why)
    return f.when(endless, time).when(fine, time * f.lit(size)).otherwise(f.lit(0))


TIMES_AS_INTEGERS = ("tinyint", "smallint", "int", "bigint", "string", "timestamp")


def _ticks(frame: DataFrame, name: str, source: Source, bad: BadRows) -> Column:
    """A time of events as ticks: integers are these already."""
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import NullType

    column = f.col(quoted(name))
    if isinstance(frame.schema[name].dataType, NullType):
        return column.cast("bigint")
    kind = to_arrow_type(frame.schema[name].dataType, timezone="UTC")
    if is_integer(kind):
        return _counted(column, name, source, bad)
    if is_timestamp(kind) and source.timestamps:
        return f.unix_micros(column.cast("timestamp"))
    if source.time is None or not (source.timestamps or type_name(kind) == "STRING"):
        raise PlanError(_no_time(source, name, type_name(kind)))
    # Texts, as CSV and JSON have them.
    wanted = "timestamp" if source.timestamps else "bigint"
    time = column.try_cast(wanted)
    bad.add(name, column, column.isNotNull() & time.isNull(), f"a {wanted.upper()}")
    return f.unix_micros(time) if source.timestamps else time


def _no_time(source: Source, name: str, kind: str) -> str:
    return (
        f"the time of {source.name}, {name}, is a {kind}; it must be "
        f"{'a TIMESTAMP or an integer' if source.timestamps else 'an integer, as the stream says'}"
    )
