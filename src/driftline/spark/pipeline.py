"""A plan as one Structured Streaming query.

    sources ──▶ native prefix ──▶ pack ──▶ stage 1 ──▶ stage 2 ──▶ … ──▶ answers
                 Spark's own      one row   the shards of every level, chained: messages
                 columns          per task  for a later level pass through
                                  and shard

All stages are in one micro-batch, which is therefore a consistent cut: what it emits is the answer
for exactly what it has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from driftline.engine.ingest.consistency import warn_of_waiting
from driftline.engine.ingest.dead_letters import unreadable
from driftline.engine.ingest.source_time import NO_CLOCK
from driftline.engine.options import Options
from driftline.engine.plan_sources import sources_of
from driftline.engine.readers.inputs import CLOSING
from driftline.engine.shards.letters import letters_message
from driftline.engine.shards.messages import OUTPUT, Target, payload_of
from driftline.engine.shards.reads import KEPT, read_message, read_of
from driftline.engine.shards.shard import Stage
from driftline.engine.shards.source_messages import (
    CLOCK,
    KIND,
    VE,
    VN,
    VS,
    Watch,
    set_aside,
    source_messages,
)
from driftline.engine.shards.stages import Reading, stages
from driftline.engine.shards.stored import Stepped
from driftline.model.columns import CTI, INSERT
from driftline.model.time import INFINITY
from driftline.plan.depth import room
from driftline.plan.errors import PlanError
from driftline.plan.fingerprint import fingerprint
from driftline.plan.fragments import SourcePrefix, cut_together
from driftline.plan.nodes import CALLS, Constant, Node, Source
from driftline.spark.labels import state_partitions
from driftline.spark.marks import inputs_of
from driftline.spark.places import Place
from driftline.spark.session import configured, mapped, our_python
from driftline.spark.sources import payload_name, prefixed, raw_events, reading_of, with_files
from driftline.spark.tables import are_written, write_tables
from driftline.spark.ticks import Heard, ticking, ticks
from driftline.spark.wire import WIRE, from_arrow, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


UTC = ("UTC", "Etc/UTC", "GMT", "Z")

ZONE = "spark.sql.session.timeZone"

AS_THE_ENGINE = {ZONE: "UTC"}
"""While columns are given the types of their stream: a text or a date without a zone is a TIMESTAMP
of UTC, as everywhere. Spark keeps in a cast the zone in which it was written."""


@dataclass(frozen=True)
class Pipeline:
    """`messages`: what leaves the last stage; `read`: by source, how it is read, as far as the
    state depends on it; `last`: the level of the last stage; `query`: the fingerprint of the query,
    which its state has, too."""

    messages: DataFrame
    read: Mapping[str, str]
    last: int
    query: str


def pipeline(
    plans: Mapping[str, Node],
    frames: Mapping[str, DataFrame],
    options: Options,
    shards: int,
    place: str,
    query: str,
    heard: Heard | None = None,
    *,
    own_steps: bool = True,
    fixed: bool = True,
) -> Pipeline:
    """Compile plans, which share one cut, over the DataFrames of their sources: the messages that
    leave the last stage. `place`: a directory for the tables among these, which workers reach;
    `query`: what the query is known by (see `checkpoint.fingerprint_of`); `heard`: when rows came
    last, for streams that tick (see `ticks`); `own_steps`: whether Spark may run the stateless
    beginning itself; `fixed`: whether there are exactly so many shards, or as many as the state has
    partitions when the query runs."""
    sources = check_streams(plans, frames)
    readings = {name: reading_of(frames[name], source) for name, source in sources.items()}
    plain = [source for name, source in sources.items() if readings[name].plain]
    growing = [source for source in plain if frames[source.name].isStreaming]
    warn_of_waiting(growing, options.block, options.remember)
    native = _native(frames, readings, options) if own_steps else _never
    made = stages(cut_together(plans, native), list(plans), readings, options, shards)
    read = {name: _how(frames[name], readings[name], made.prefixes[name]) for name in sources}
    query = fingerprint([query, sorted(read.items())])
    counted = inputs_of(sources) if options.outputs != "free" else []
    closed = not any(frame.isStreaming for frame in frames.values())
    with configured(next(iter(frames.values())).sparkSession, AS_THE_ENGINE):
        packed = {
            name: _packed(
                _raw(frames[name], source, counted=name in counted, closed=closed),
                source,
                made.prefixes[name],
                made.sources[name],
                shards,
                fixed=fixed or not frames[name].isStreaming,
                ordered=readings[name].by_times(source, options),
                watch=_watch(source, made.prefixes[name])
                if readings[name].watched(source, options)
                else None,
                counted=name in counted,
            )
            for name, source in sources.items()
        }
    moving = [packed[name] for name, frame in frames.items() if frame.isStreaming or closed]
    still = [packed[name] for name, frame in frames.items() if not frame.isStreaming and not closed]
    tables = _tables(still, place, made.levels[0]) if still else None
    silent = ticking(frames, sources, options.block)
    for_ever = (
        options.clock == "wall" and not closed
    )  # rows leave the answer now although nothing comes
    if for_ever or silent:
        listening = None if for_ever else heard
        spark = moving[0].sparkSession
        moving.append(ticks(spark, silent, made.levels, listening, fixed=fixed))
    flow = reduce(lambda one, other: one.union(other), moving)
    for stage in made.levels:
        flow = staged(flow, replace(stage, query=query), tables, fixed=fixed)
    return Pipeline(flow.where(f"level = {OUTPUT}"), read, made.levels[-1].level, query)


OWN_STEPS = "with steps of Spark's own"


def _how(frame: DataFrame, reading: Reading, prefix: SourcePrefix) -> str:
    if not frame.isStreaming:
        kind = "a table"
    elif not reading.plain:
        kind = "events"
    else:
        kind = "a file of records" if reading.ordered else "records"
    return f"{kind} {OWN_STEPS}" if prefix.steps else kind


def _never(source: Source) -> bool:
    return False


def check_streams(plans: Mapping[str, Node], frames: Mapping[str, DataFrame]) -> dict[str, Source]:
    """The streams that plans read, which are those that there are DataFrames for."""
    found = sources_of(plans.values())
    for name in found:
        if name not in frames:
            raise PlanError(f"the query reads the stream {name}, but no DataFrame was given for it")
    for name in frames:
        if name not in found:
            known = ", ".join(own for own, each in found.items() if not isinstance(each, Constant))
            known = f"reads only {known}" if known else "reads no stream"
            raise PlanError(f"there is a DataFrame {name}, but the query {known}")
    return found


def _native(
    frames: Mapping[str, DataFrame], readings: Mapping[str, Reading], options: Options
) -> Callable[[Source], bool]:
    """Of which sources Spark itself runs the stateless beginning: those of which nothing is ever
    set aside, held back or judged by what a filter leaves out. Spark computes in the session's time
    zone and mode, the engine in UTC and in ANSI mode."""
    conf = next(iter(frames.values())).sparkSession.conf
    # No defaults: Spark checks them, even where there is a value.
    alike = conf.get(ZONE) in UTC
    alike = alike and conf.get("spark.sql.ansi.enabled") == "true"

    def native(source: Source) -> bool:
        return alike and readings[source.name].is_native(source, options)

    return native


def _packed(
    raw: DataFrame,
    source: Source,
    prefix: SourcePrefix,
    targets: Sequence[Target],
    given: int,
    *,
    fixed: bool,
    ordered: bool,
    watch: Watch | None,
    counted: bool,
) -> DataFrame:
    top = prefix.steps[-1] if prefix.steps else prefix.source
    schema = top.schema.arrow
    wanted = _columns(targets)
    if watch is not None and watch.source is not None and wanted is not None:
        wanted |= {watch.source}
    names = {payload_name(place): place for place in range(len(schema))}

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        shards = given if fixed else state_partitions(given)
        origin = 0 if context is None else context.partitionId()
        whole = [batch for batch in batches if batch.num_rows]
        if whole:
            events = pa.concat_batches(whole)
            payload = payload_of(_conformed(events, names, schema), schema)
            good, bad = set_aside(events, payload, source)
            if counted:
                message = read_message(source.name, read_of(events, good), origin)
                yield from to_arrow([message], shards)
            if bad:
                letters = unreadable(source.schema.arrow, bad)
                yield from to_arrow([letters_message(source.name, letters, origin)], shards)
                events, payload = events.filter(good), payload.filter(good)
            if KEPT in events.schema.names:
                kept = events.column(KEPT)
                events, payload = events.filter(kept), payload.filter(kept)
            messages = source_messages(
                events, payload, targets, shards, origin, ordered=ordered, watch=watch
            )
            yield from to_arrow(messages, shards)

    return mapped(prefixed(raw, prefix, wanted, counted=counted), pack, WIRE)


def _conformed(
    events: pa.RecordBatch, places: Mapping[str, int], schema: pa.Schema
) -> pa.RecordBatch:
    """The columns of the payload by their place, with the engine's types: a TIMESTAMP has the time
    zone of the session, which has no meaning here."""
    columns = {
        str(places[name]): column.cast(schema.field(places[name]).type)
        for name, column in zip(events.schema.names, events.columns, strict=True)
        if name in places
    }
    if not columns:
        columns["rows"] = events.column(0)
    return pa.RecordBatch.from_pydict(columns)


def _watch(source: Source, prefix: SourcePrefix) -> Watch:
    """Where the column is that tells sources apart, unless Spark's own steps may have moved it."""
    name = source.timing.apart_by
    if name is None or any(
        step.native and step.native.columns is not None for step in prefix.steps
    ):
        return Watch(None)
    return Watch(source.columns.names.index(name))


def _columns(targets: Sequence[Target]) -> frozenset[int] | None:
    """The places of the columns that some target needs; None: all."""
    wanted: set[int] = set()
    for target in targets:
        if target.columns is None:
            return None
        wanted.update(target.columns)
    return frozenset(wanted)


def _tables(packed: Sequence[DataFrame], place: str, first: Stage) -> str:
    """Write down the messages of tables that do not change, and that are closed therefore; the
    first stage reports the rows that could not be read."""
    if not are_written(Place(place)):
        messages = [
            replace(message, cti=INFINITY)
            for frame in packed
            for message in from_arrow(frame.toArrow())
        ]
        write_tables(Place(place), messages, first)
    return place


def staged(flow: DataFrame, stage: Stepped, tables: str | None, *, fixed: bool) -> DataFrame:
    """The messages that leave a stage. Of tables alone it takes all in at once, and keeps nothing;
    what is streamed it takes in micro-batch by micro-batch."""
    from driftline.spark.processor import StageProcessor
    from driftline.spark.stepping import stepped_once

    by_shard = flow.groupBy("label")
    with our_python(flow.sparkSession), room(CALLS):  # a pickler goes down plans, too
        if not flow.isStreaming:
            return by_shard.applyInPandas(lambda rows: stepped_once(stage, rows), WIRE)
        return by_shard.transformWithStateInPandas(
            StageProcessor(stage, tables, fixed=fixed), WIRE, outputMode="append", timeMode="None"
        )


def _raw(frame: DataFrame, source: Source, *, counted: bool, closed: bool) -> DataFrame:
    """The raw events of a source; of tables alone, with what closes it after its last row."""
    from pyspark.sql import functions as f

    raw = raw_events(with_files(frame) if counted else frame, source)
    if not closed:
        return raw
    if KIND not in raw.columns:
        raw = raw.withColumn(KIND, f.lit(INSERT).cast("tinyint"))
    ends = {KIND: f.lit(CTI).cast("tinyint"), VS: f.lit(INFINITY), VE: f.lit(CLOSING)}
    ends |= {VN: f.lit(INFINITY), CLOCK: f.lit(NO_CLOCK)}
    names = [name for name in ends if name in raw.columns]
    closing = frame.sparkSession.range(0, 1, 1, 1).select(*(ends[n].alias(n) for n in names))
    return raw.unionByName(closing, allowMissingColumns=True)
