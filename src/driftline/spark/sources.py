"""DataFrames as sources: their rows as raw events, computed by Spark itself.

A DataFrame has plain records, each an insert [time, ∞), or events: columns kind (insert, retract,
cti, external_cti), vs, ve, vn and the payload, as a query's own result has them. Times are
TIMESTAMPs or integers; a ve that is null is ∞. An external cti has from, to and count in vs, ve
and vn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftline.engine.source_parcels import CLOCK, KIND, POSITION, RAW, TEXT, VE, VN, VS
from driftline.engine.source_time import NO_CLOCK
from driftline.engine.stages import Reading
from driftline.model.columns import CTI, EXTERNAL_CTI, INSERT, RETRACT
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.fragments import Prefix
from driftline.plan.nodes import Node, Project, Select, Source
from driftline.plan.types import is_integer, is_timestamp, quoted, type_name
from driftline.spark.columns import typed

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

EVENTS = "$events"
"""A column that is there when raw events are more than plain records."""

ALWAYS = -(2**62)
"""Since when the rows of a table without a time are there."""

KINDS = {"insert": INSERT, "retract": RETRACT, "cti": CTI, "external_cti": EXTERNAL_CTI}


def reading_of(frame: DataFrame, source: Source) -> Reading:
    """How a DataFrame is read: it has raw events already, or events, or plain records."""
    if VS in frame.columns:
        events = EVENTS in frame.columns
        return Reading(plain=not events, ordered=events or POSITION in frame.columns)
    events = _has_events(frame, source)
    return Reading(plain=not events, ordered=events)


def _has_events(frame: DataFrame, source: Source) -> bool:
    own = {column.name.lower() for column in source.columns}
    have = {name.lower() for name in frame.columns}
    return {"kind", "vs"} <= have and not {"kind", "vs"} <= own


def raw_events(frame: DataFrame, source: Source, extra: Sequence[Column] = ()) -> DataFrame:
    """The raw events of a source: the times in columns of their own, then the payload by the names
    of the source's columns. `extra`: what more is to be computed from the frame's own columns."""
    from pyspark.sql import functions as f

    if VS in frame.columns:
        names = [f.col(quoted(name)) for name in frame.columns if name in (*RAW, TEXT)]
        payload = [
            f.col(quoted(payload_name(place))).alias(name)
            for place, name in enumerate(source.columns.names)
        ]
        return frame.select(*names, *payload)
    have = _names(frame, source)
    events = _has_events(frame, source)
    times: list[Column] = []
    if events:
        # Not a string literal for each: kinds of other names become null, which is refused below.
        pairs = [f.lit(part) for kind in KINDS.items() for part in kind]
        code = f.element_at(f.create_map(*pairs), f.lower(frame[have["kind"]]))
        times.append(f.coalesce(code, f.lit(-1)).cast("tinyint").alias(KIND))
        times.append(_ticks(frame, have["vs"], source).alias(VS))
        for name, alias in (("ve", VE), ("vn", VN)):
            value = _ticks(frame, have[name], source) if name in have else f.lit(None)
            times.append(f.coalesce(value, f.lit(INFINITY)).cast("bigint").alias(alias))
    elif source.time is None and not frame.isStreaming:
        times.append(f.lit(ALWAYS).alias(VS))
    elif source.time is None:
        raise PlanError(
            f"the stream {source.name} is read from plain records: say which column is its "
            f"time, stream({source.name!r}, …, time=…)"
        )
    else:
        times.append(_time(frame, have, source, source.time).alias(VS))
    if source.timing.arrival is not None:
        arrival = f.col(quoted(_required(source, have, source.timing.arrival)))
        stamped = is_timestamp(source.columns.find(source.timing.arrival)[0].type)
        clock = f.unix_millis(arrival.cast("timestamp")) if stamped else arrival.cast("bigint")
        times.append(f.coalesce(clock, f.lit(NO_CLOCK)).alias(CLOCK))
    elif source.timing.needs_clock:
        # The time of the micro-batch, which is the same when it comes again.
        times.append(f.unix_millis(f.current_timestamp()).alias(CLOCK))
    payload = [_typed(frame, have, source, each.name).alias(each.name) for each in source.columns]
    return frame.select(*extra, *times, *payload)


def _typed(frame: DataFrame, have: dict[str, str], source: Source, name: str) -> Column:
    """A column of a stream, with the type that the stream gives it."""
    from pyspark.sql import functions as f

    own = _required(source, have, name)
    kind = source.columns.find(name)[0].type
    return typed(f.col(quoted(own)), frame.schema[own].dataType, kind, name, source.name)


def prefixed(frame: DataFrame, prefix: Prefix, columns: frozenset[int] | None) -> DataFrame:
    """Raw events after the steps of a prefix, with the columns of the payload at some places (None:
    all) named by their place."""
    from pyspark.sql import functions as f

    times = [name for name in (*RAW, TEXT) if name in frame.columns]
    top: Node = prefix.source
    for step in prefix.steps:
        match step:
            case Select(predicate=predicate):
                wanted = f.expr(predicate.sql())
                if KIND in times:  # a cti is not for a filter to drop
                    wanted = wanted | (f.col(quoted(KIND)) != INSERT)
                frame = frame.where(wanted)
            case Project(columns=computed):
                made = [f.expr(each.value.sql()).alias(each.name) for each in computed]
                frame = frame.select(*(f.col(quoted(name)) for name in times), *made)
        top = step
    payload = [
        f.col(quoted(name)).cast(type_name(item.type)).alias(payload_name(place))
        for place, (name, item) in enumerate(zip(top.schema.names, top.schema, strict=True))
        if columns is None or place in columns
    ]
    return frame.select(*(f.col(quoted(name)) for name in times), *payload)


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


def _time(frame: DataFrame, have: dict[str, str], source: Source, name: str) -> Column:
    """The time of plain records as ticks: what the column is when it has the type that the stream
    gives it, so that a record says the same time twice."""
    from pyspark.sql import functions as f

    own = _required(source, have, name)
    if not source.timestamps:
        kind = frame.schema[own].dataType.simpleString()
        if kind not in TIMES_AS_INTEGERS:
            raise PlanError(_no_time(source, own, kind.upper()))
    time = _typed(frame, have, source, name)
    return f.unix_micros(time) if source.timestamps else time.cast("bigint")


TIMES_AS_INTEGERS = ("tinyint", "smallint", "int", "bigint", "string", "timestamp")


def _ticks(frame: DataFrame, name: str, source: Source) -> Column:
    """A time of events as ticks: integers are these already."""
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import NullType

    column = f.col(quoted(name))
    if isinstance(frame.schema[name].dataType, NullType):
        return column.cast("bigint")
    kind = to_arrow_type(frame.schema[name].dataType, timezone="UTC")
    if is_integer(kind):
        return column.cast("bigint")
    if is_timestamp(kind) and source.timestamps:
        return f.unix_micros(column.cast("timestamp"))
    if source.timestamps and source.time is not None:  # texts, as CSV and JSON have them
        return f.unix_micros(column.cast("timestamp"))
    if source.time is not None and type_name(kind) == "STRING":
        return column.cast("bigint")
    raise PlanError(_no_time(source, name, type_name(kind)))


def _no_time(source: Source, name: str, kind: str) -> str:
    return (
        f"the time of {source.name}, {name}, is a {kind}; it must be "
        f"{'a TIMESTAMP or an integer' if source.timestamps else 'an integer, as the stream says'}"
    )
