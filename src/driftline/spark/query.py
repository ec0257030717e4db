"""Queries on Spark: what a user holds, starts and stops.

>>> import driftline as dl                                                       # doctest: +SKIP
>>> from driftline.spark import sinks                                            # doctest: +SKIP
>>> query = dl.on_spark(vwap, {"trades": spark.readStream.table("trades")})      # doctest: +SKIP
>>> query.start(sinks.Console(), checkpoint="checkpoints/vwap")                  # doctest: +SKIP
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa

from driftline.arguments import flag, is_mapping, is_whole, options_of
from driftline.engine.options import Heartbeat, Options
from driftline.engine.plan_sources import sources_of
from driftline.engine.shards.messages import Kind, unpacked_batch
from driftline.event_log.apart import Used, need_apart
from driftline.event_log.bad import BadInput
from driftline.model.old_names import renamed
from driftline.plan.choices import need_choice, need_clock
from driftline.plan.errors import PlanError
from driftline.plan.finals import only_final
from driftline.plan.fragments import RESULT
from driftline.plan.nodes import Constant, Node
from driftline.plan.types import type_name
from driftline.spark.checkpoint import Checkpoint
from driftline.spark.clock import began_at, run_id
from driftline.spark.marks import Count, Marks, inputs_of
from driftline.spark.now import NowAnswers, for_now
from driftline.spark.pipeline import check_streams, pipeline
from driftline.spark.places import folder_for_now
from driftline.spark.session import (
    PARTITIONS,
    SAME_WORKERS,
    STATE,
    STREAMING,
    UNCHECKED,
    await_workers,
    configured,
    on_disk,
    prepare_workers,
    set_for_good,
)
from driftline.spark.sources import constant_rows, reading_of
from driftline.spark.ticks import Heard, without_timeout
from driftline.spark.update import SparkUpdate, spark_update
from driftline.spark.views import TIMES, change_rows, shows_now
from driftline.spark.wire import from_rows
from driftline.spark.written import targets_of, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from driftline.api import Query
    from driftline.plan.choices import Clock, Emit, Outputs
    from driftline.plan.durations import Duration


HEARTBEATS = [each for each in get_args(Heartbeat) if each != "memory"]
"""Those that shards can do, each by itself."""

Sink = Callable[[SparkUpdate], None]
"""Takes what each micro-batch emits. After a crash the last micro-batch may come again, with the
same number and the same contents: a sink that writes by number writes once."""


def query_on_spark(
    query: Query | Node | Mapping[str, Query | Node],
    frames: Mapping[str, DataFrame],
    *,
    emit: Emit,
    block: Duration,
    remember: Duration,
    final: bool,
    shards: int | None,
    heartbeat: Heartbeat,
    strict: bool,
    max_expansion: int | str,
    max_steps: int | str,
    clock: Clock,
    outputs: Outputs,
) -> SparkQuery:
    """See `on_spark`."""
    given = query if isinstance(query, Mapping) else {RESULT: query}
    for each in given.values():
        if not isinstance(each, Node) and not isinstance(getattr(each, "plan", None), Node):
            raise PlanError(f"a {type(each).__name__} is no query: give one, or several by name")
    plans = {name: each if isinstance(each, Node) else each.plan for name, each in given.items()}
    if not plans:
        raise PlanError("there is no query to run")
    stamps = all(plan.timestamps for plan in plans.values())
    need_clock(clock, timestamps=stamps)
    need_choice("outputs", outputs)
    options = options_of(
        timestamps=stamps,
        emit=emit,
        block=block,
        remember=remember,
        heartbeat=heartbeat,
        heartbeats=HEARTBEATS,
        max_expansion=max_expansion,
        max_steps=max_steps,
        outputs=outputs,
    )
    made = SparkQuery(plans, frames, options, shards, strict=strict, clock=clock)
    if flag(final, "final"):
        plain, tables = [], []
        for name, source in sources_of(plans.values()).items():
            frame = made.frames.get(name)
            if frame is not None and reading_of(frame, source).plain:
                plain.append(name)
                if source.time is None and not frame.isStreaming:
                    tables.append(name)
        made.plans = {name: only_final(plan, plain, tables) for name, plan in plans.items()}
    return made


class SparkQuery:
    """Plans on Spark, with one cut in common. `shards`: how many; by default as many as Spark has
    cores. It is part of the state: when there is a checkpoint, its number holds, and another one
    that was given is refused. `clock`: of the answer now, for sinks that ask for it."""

    def __init__(
        self,
        plans: Mapping[str, Node],
        frames: Mapping[str, DataFrame],
        options: Options | None = None,
        shards: int | None = None,
        *,
        strict: bool = False,
        clock: Clock = "latest",
    ) -> None:
        if not is_mapping(frames) or not frames:
            raise PlanError("a query on Spark needs a DataFrame for every stream it reads, by name")
        for name, frame in frames.items():
            if not hasattr(frame, "sparkSession"):
                raise PlanError(f"{name} is a {type(frame).__name__}, not a DataFrame of Spark")
            if ".connect." in type(frame).__module__:
                raise PlanError(
                    f"{name} is a DataFrame of Spark Connect, which cannot run queries like this: "
                    "make a session without remote(…)"
                )
        self.spark = next(iter(frames.values())).sparkSession
        own = {
            name: constant_rows(self.spark, source)
            for name, source in sources_of(plans.values()).items()
            if isinstance(source, Constant) and name not in frames
        }
        frames = {**frames, **own}
        check_streams(plans, frames)
        if shards is not None and (not is_whole(shards) or shards < 1):
            raise PlanError(f"a query needs at least one shard, not {shards!r}")
        self.plans, self.frames = dict(plans), dict(frames)
        self.options, self.strict, self.clock = options or Options(), strict, clock
        self.chosen = shards
        self.shards = shards or max(1, self.spark.sparkContext.defaultParallelism)
        prepare_workers(self.spark)

    def changes(self, output: str = RESULT) -> DataFrame:
        """The changes of a result as a streaming DataFrame: kind (insert or retract), vs, ve (null:
        without end), vn (of a retract), and the columns of the rows.

        While a stream with a timeout is silent it ticks: that is a micro-batch without changes.
        What it needs to be started is set in the session, for good: the state store, and as many
        shuffle partitions as shards. Inside `configured(spark, query.settings)` it is set as long
        as that lasts. A query that goes on has the shards of its checkpoint, also on another number
        of cores; `shards=` with another number ends it."""
        if output not in self.plans:
            raise PlanError(f"there is no result {output}; there are {', '.join(self.plans)}")
        plan = self.plans[output]
        schema = plan.schema.arrow
        clash = [name for name in schema.names if name.lower() in TIMES]
        if clash:
            raise PlanError(f"the result has a column {clash[0]}, as changes have: rename it")
        stamps = plan.timestamps

        def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for rows in batches:
                for data in rows.column("data").to_pylist():
                    if data:
                        yield from change_rows(unpacked_batch(data, schema), stamps).to_batches()

        time = "TIMESTAMP" if stamps else "BIGINT"
        columns = [f"kind STRING, vs {time}, ve {time}, vn {time}"]
        columns += [f"`{each.name}` {type_name(each.type)}" for each in schema]
        needed = {**STATE, **SAME_WORKERS, PARTITIONS: str(self.shards)}
        set_for_good(self.spark, needed)
        folder = folder_for_now()  # for tables: workers read it later
        fixed = self.chosen is not None
        options = replace(self.options, outputs="free")  # there is no place for marks
        made = pipeline(self.plans, self.frames, options, self.shards, folder, fixed=fixed)
        messages = made.messages
        own = (messages["kind"] == int(Kind.ROWS)) & (messages["port"] == output)
        mine = messages.where(own).select("data")
        return mine.mapInArrow(unpack, ", ".join(columns))

    @property
    def settings(self) -> dict[str, str]:
        """What a session needs when the query starts."""
        return {**STREAMING, **UNCHECKED, PARTITIONS: str(self.shards)}

    def start(
        self,
        sink: Sink,
        *,
        checkpoint: str | Path,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> StreamingQuery:
        """Run it, and give every micro-batch to a sink. A run that ends because a worker of a busy
        machine was slow to start is started again.

        `trigger`: as `DataStreamWriter.trigger` takes it, such as {"availableNow": True}."""
        from driftline.spark.retried import RetriedQuery

        if not callable(sink):
            raise PlanError(
                f"a {type(sink).__name__} is no sink: give one of driftline.spark.sinks, or a "
                "function of a SparkUpdate"
            )
        shared = dict.fromkeys(getattr(sink, "shared_places", ()))
        places = [Used("the sink", place) for place in (*getattr(sink, "places", ()), *shared)]
        need_apart([Used("the checkpoint", str(checkpoint)), *places])
        if not {"availableNow", "once"} & set(trigger or ()):
            self._warn()
        kept = Checkpoint(str(checkpoint))
        options, now = self.options, None
        if shows_now(sink):
            options = for_now(options, self.clock)
            now = NowAnswers(kept.place, self.plans, self.clock)
        shards = kept.shards(self.chosen, self.shards)
        heard = Heard()
        made = pipeline(
            self.plans,
            self.frames,
            options,
            shards,
            str(kept.place),
            heard,
            # The clock goes by all rows, also those that Spark's own steps would leave out.
            own_steps=kept.has_own_steps() and options.clock is None,
        )
        kept.claim(self.plans, options, shards, made.read)
        sources = sources_of(self.plans.values())
        marks = Marks(kept.place, self._start_of_count()) if self.is_marked else None

        started: list[RetriedQuery] = []

        def each(frame: DataFrame, batch_id: int) -> None:
            about = replace(
                spark_update(batch_id, (), self.plans, sources),
                time=began_at(kept, batch_id),
                run=run_id(kept),
                prefix=None if marks is None else marks.start.prefix({}),  # it is not known yet
            )
            targets = targets_of(sink, about, self.spark.sparkContext.master)
            if targets is not None:
                frame = written(frame, targets, about, shards)
            messages = from_rows(frame.drop("label").collect())
            update = spark_update(
                batch_id, messages, self.plans, sources, shards, in_files=targets is not None
            )
            for source, letters in update.dead_letters.items() if self.strict else ():
                raise BadInput(letters.first(source, source in update.timestamps))
            prefix = None if marks is None else marks.mark(batch_id, update.reads)
            update = replace(update, time=about.time, run=about.run, prefix=prefix)
            sink(update if now is None else replace(update, now=now.of(update)))
            for each_run in started:
                each_run.completed()
            kept.report(update.shard_states)
            heard.take(update.shard_states)

        writer = made.messages.writeStream.foreachBatch(each)
        writer = writer.option("checkpointLocation", kept.spark)
        if name is not None:
            writer = writer.queryName(name)
        if trigger:
            writer = writer.trigger(**trigger)
        settings = {**self.settings, PARTITIONS: str(shards)}
        if kept.place.is_on_disk:
            settings |= on_disk(self.spark)
        await_workers(self.spark)

        def run() -> StreamingQuery:
            with configured(self.spark, settings):
                return writer.start()

        started.append(RetriedQuery(run))
        return started[0]

    @property
    def is_marked(self) -> bool:
        """Whether every micro-batch comes with its prefix."""
        return self.options.outputs != "free"

    def _start_of_count(self) -> Count:
        tables = [name for name, frame in self.frames.items() if not frame.isStreaming]
        return Count.of(inputs_of(sources_of(self.plans.values())), tables)

    def _warn(self) -> None:
        """Say what will wait for ever, of input that has no end."""
        waiting = without_timeout(self.frames, sources_of(self.plans.values()))
        if waiting:
            names = " and ".join(waiting)
            logging.getLogger("driftline").warning(
                "driftline: when all sources of %s pause, the last records are not final: declare "
                "a timeout if that may be",
                names,
            )


def __getattr__(name: str) -> Any:
    if name == "SparkSaid":
        renamed("SparkSaid", "SparkUpdate")
        return SparkUpdate
    raise AttributeError(f"module {__name__} has no attribute {name}")
