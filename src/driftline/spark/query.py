"""Queries on Spark: what a user holds, starts and stops.

>>> import driftline as dl                                                       # doctest: +SKIP
>>> from driftline.spark import sinks                                            # doctest: +SKIP
>>> query = dl.on_spark(vwap, {"trades": spark.readStream.table("trades")})      # doctest: +SKIP
>>> query.start(sinks.Console(), checkpoint="checkpoints/vwap")                  # doctest: +SKIP
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftline.arguments import flag, is_mapping, is_whole, options_of
from driftline.engine.options import Options
from driftline.engine.plan_sources import sources_of
from driftline.engine.shards.long_lived import give_back
from driftline.event_log.apart import Used, need_apart
from driftline.event_log.bad import BadInput
from driftline.model.old_names import renamed
from driftline.plan.choices import CHOICES, Heartbeat, need_choice, need_clock
from driftline.plan.errors import PlanError
from driftline.plan.finals import only_final, refuse_perfect
from driftline.plan.fragments import RESULT
from driftline.plan.nodes import Constant, Node
from driftline.running.locks import locked
from driftline.spark.checkpoint import Checkpoint, fingerprint_of
from driftline.spark.clock import began_at, run_id
from driftline.spark.marks import Count, Marks, inputs_of
from driftline.spark.now import NowAnswers, for_now
from driftline.spark.pipeline import Pipeline, check_streams, pipeline
from driftline.spark.places import folder_for_now
from driftline.spark.session import (
    BOUNDED,
    PARTITIONS,
    SAME_WORKERS,
    STATE,
    STREAMING,
    await_sources,
    await_workers,
    configured,
    is_remote,
    on_disk,
    parallelism,
    prepare_workers,
    set_for_good,
    unless_set,
)
from driftline.spark.sources import constant_rows, reading_of
from driftline.spark.ticks import Heard, without_timeout
from driftline.spark.update import SparkUpdate, before_the_first, spark_update
from driftline.spark.view_frames import ViewOf, dead_letters, strict
from driftline.spark.views import key_names, shown_now
from driftline.spark.wire import from_arrow
from driftline.spark.written import targets_of, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from driftline.api import Query
    from driftline.plan.choices import Clock, Emit, Outputs
    from driftline.plan.durations import Duration


LET_GO = 16
"""After so many micro-batches Python lets go of their DataFrames, which it finds by itself only
when much garbage has come together: little to Python, but to the JVM each is a plan with all its
parts."""

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
            raise PlanError(f"a {type(each).__name__} is not a query: give one, or several by name")
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
        heartbeats=CHOICES["heartbeat"],
        max_expansion=max_expansion,
        max_steps=max_steps,
        outputs=outputs,
    )
    made = SparkQuery(plans, frames, options, shards, strict=strict, clock=clock)
    return made.only_final() if flag(final, "final") else made


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
        self.spark = next(iter(frames.values())).sparkSession
        self.is_remote = is_remote(self.spark)
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
        self.chosen, self.is_final = shards, False
        self.shards = shards or parallelism(self.spark)
        if not self.is_remote:
            prepare_workers(self.spark)

    def changes(self, output: str = RESULT, *, compact: bool = False) -> DataFrame:
        """The changes of a result as a DataFrame: kind (insert or retract), vs, ve (null: without
        end), vn (of a retract), and the columns of the rows. With `compact` without the steps
        between: what a micro-batch inserts and retracts again is not there.

        A retract is a row, too: a plain groupBy over these counts it as one. Aggregate before, in
        the query itself, or take `current`, whose rows add up with op.

        While a stream with a timeout is silent it ticks: that is a micro-batch without changes.
        What a query needs to be started is set in the session, for good: the state store, and as
        many shuffle partitions as shards. Inside `configured(spark, query.settings)` it is set as
        long as that lasts. A query that goes on has the shards of its checkpoint, also on another
        number of cores; `shards=` with another number ends it. All of this holds for the other
        views, too; of tables alone they are no streams, and what all of the rows lead to."""
        if flag(compact, "compact"):
            return self._view_of(output, "compact changes").view("changes")
        return self._view_of(output, "changes").changes()

    def current(self, output: str = RESULT, *, keys: Sequence[str] = ()) -> DataFrame:
        """What changes in the snapshot at the end of time, which has the rows without an end: op (+
        or -) and the row. A micro-batch has at most one change for a row; with `keys`, the columns
        of which no two rows have the same values, at most one for a key: + the row that it has now,
        or - the one that it has no longer."""
        keys = key_names(keys)
        return self._view_of(output, "current", *keys).view("current", keys)

    def now(
        self, output: str = RESULT, *, keys: Sequence[str] = (), clock: Clock | None = None
    ) -> DataFrame:
        """What changes in the answer as it is now, by the query's clock or another: op (+ or -), at
        (from when on that holds) and the row. A micro-batch has at most one change for a row, or
        for a key, as in `current`: at is then since when the key has had that row, or none."""
        clock = clock or self.clock
        need_clock(clock, timestamps=all(plan.timestamps for plan in self.plans.values()))
        keys = key_names(keys)
        found = self._view_of(output, "now", clock, *keys, options=for_now(self.options, clock))
        return found.now(clock, keys)

    def finals(self, output: str = RESULT) -> DataFrame:
        """The rows that cannot change any more, each once, when that is so: vs, ve and the row."""
        return self.only_final()._view_of(output, "finals").view("finals")

    def history(self, output: str = RESULT) -> DataFrame:
        """Rows for a table that is only appended to and forgets nothing: system_time, batch, weight
        (+1 or -1), vs, ve and the row (see `driftline.spark.history`). Of tables alone, the history
        of the answer itself: vs, ve (null: without end) and the row."""
        return self._view_of(output, "history").view("history")

    def dead_letters(self) -> DataFrame:
        """What came too late or could not be read, of all streams: stream, reason, and letter, a
        line of JSON with the event or the record (see `sinks.DeadLetterFiles`). As every view it is
        a query of its own; what it leaves out is what the other views leave out."""
        made = self._made(self.options, "dead letters", is_strict=False)
        return dead_letters(made, self._sources())

    def _view_of(self, output: str, *view: str, options: Options | None = None) -> ViewOf:
        if output not in self.plans:
            raise PlanError(f"there is no result {output}; there are {', '.join(self.plans)}")
        made = self._made(options or self.options, output, *view, is_strict=self.strict)
        fixed = self.chosen is not None or not self.is_streaming
        return ViewOf(made, output, self.plans[output], self.shards, fixed)

    def _sources(self) -> Mapping[str, Node]:
        return sources_of(self.plans.values())

    def _made(self, options: Options, *view: str, is_strict: bool) -> Pipeline:
        """The pipeline of a view."""
        fixed = self.chosen is not None
        still = [name for name, frame in self.frames.items() if not frame.isStreaming]
        if self.is_remote and self.is_streaming and still:
            raise PlanError(
                f"{still[0]} is a table beside a stream, which a session of Spark Connect cannot "
                "keep: make it a stream, or a session without remote(…)"
            )
        if self.is_streaming:
            set_for_good(self.spark, {**STATE, **SAME_WORKERS, PARTITIONS: str(self.shards)})
        options = replace(options, outputs="free")  # there is no place for marks
        made = pipeline(
            self.plans,
            self.frames,
            options,
            self.shards,
            folder_for_now(),  # for tables: workers read it later
            fingerprint_of(self.plans, options, *view),
            fixed=fixed or not self.is_streaming,
            own_steps=options.clock is None,
        )
        await_workers(self.spark)
        return strict(made, self._sources()) if is_strict else made

    @property
    def is_streaming(self) -> bool:
        """Whether one of the DataFrames is a stream, and not only tables."""
        return any(frame.isStreaming for frame in self.frames.values())

    def only_final(self) -> SparkQuery:
        """The query that emits every row once, when it cannot change any more."""
        if self.is_final:
            return self
        plain, tables = [], []
        for name, source in sources_of(self.plans.values()).items():
            frame = self.frames.get(name)
            if frame is not None and reading_of(frame, source).plain:
                plain.append(name)
                if source.time is None and not frame.isStreaming:
                    tables.append(name)
        made = copy(self)
        made.plans = {name: only_final(plan, plain, tables) for name, plan in self.plans.items()}
        for plan in made.plans.values():
            refuse_perfect(plan, self.options.level)
        made.is_final = True
        return made

    @property
    def settings(self) -> dict[str, str]:
        """What a session needs when the query starts."""
        return {**STREAMING, PARTITIONS: str(self.shards)}

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
        from driftline.spark.sinks import held_for

        if not callable(sink):
            raise PlanError(
                f"a {type(sink).__name__} is not a sink: give one of driftline.spark.sinks, or a "
                "function of a SparkUpdate"
            )
        if self.is_remote:
            raise PlanError(
                "the sinks of Driftline need the driver, which a session of Spark Connect has not: "
                "take a view, as query.current(), and its writeStream"
            )
        if not self.is_streaming:
            raise PlanError(
                "none of the DataFrames is a stream: make one with spark.readStream, or take the "
                "history() of tables"
            )
        shared = dict.fromkeys(getattr(sink, "shared_places", ()))
        places = [Used("the sink", place) for place in (*getattr(sink, "places", ()), *shared)]
        need_apart([Used("the checkpoint", str(checkpoint)), *places])
        held = ExitStack()
        try:
            held.enter_context(locked([Used("the checkpoint", str(checkpoint))]))
            held.enter_context(held_for(sink))
            return self.launch(sink, str(checkpoint), trigger, name, held.close)
        except BaseException:
            held.close()
            raise

    def launch(
        self,
        sink: Sink,
        checkpoint: str,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
        ended: Callable[[], object] | None = None,
        inputs: Mapping[str, str] | None = None,
    ) -> StreamingQuery:
        """Start it, where the locks of what it writes are held already; `ended` is called in the
        end; `inputs`: where streams come from, if that is known."""
        from driftline.spark.retried import RetriedQuery

        if not {"availableNow", "once"} & set(trigger or ()):
            self._warn()
        kept = Checkpoint(checkpoint)
        kept.verify()
        options, now = self.options, None
        if shown := shown_now(sink, list(self.plans)):
            options = for_now(options, self.clock)
            now = NowAnswers(kept.place, {name: self.plans[name] for name in shown}, self.clock)
        shards = kept.shards(self.chosen, self.shards)
        heard = Heard()
        made = pipeline(
            self.plans,
            self.frames,
            options,
            shards,
            str(kept.place),
            fingerprint_of(self.plans, options),
            heard,
            # The clock goes by all rows, also those that Spark's own steps would leave out.
            own_steps=kept.has_own_steps() and options.clock is None,
        )
        kept.claim(self.plans, options, shards, made.read, inputs)
        sources = sources_of(self.plans.values())
        if hasattr(sink, "prepare"):
            sink.prepare(before_the_first(self.plans, kept.run))
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
            messages = from_arrow(frame.toArrow())
            update = spark_update(
                batch_id, messages, self.plans, sources, shards, in_files=targets is not None
            )
            for source, letters in update.dead_letters.items() if self.strict else ():
                raise BadInput(letters.first(source, source in update.timestamps))
            kept.check(batch_id, update.shard_states)
            prefix = None if marks is None else marks.mark(batch_id, update.reads)
            update = replace(update, time=about.time, run=about.run, prefix=prefix)
            sink(update if now is None else replace(update, now=now.of(update)))
            for each_run in started:
                each_run.completed()
            kept.commit(batch_id, update.shard_states)
            kept.report(update.shard_states)
            heard.take(update.shard_states)
            if batch_id % LET_GO == 0:
                gc.collect()
                give_back()

        writer = made.messages.writeStream.foreachBatch(each)
        writer = writer.option("checkpointLocation", kept.spark)
        if name is not None:
            writer = writer.queryName(name)
        if trigger:
            writer = writer.trigger(**trigger)
        settings = {**self.settings, PARTITIONS: str(shards)}
        settings |= unless_set(self.spark, BOUNDED)
        if kept.place.is_on_disk:
            settings |= on_disk(self.spark)
        await_workers(self.spark)

        def run() -> StreamingQuery:
            kept.drop_leftovers()
            with configured(self.spark, settings):
                query = writer.start()
                await_sources(query)
                return query

        started.append(RetriedQuery(run, ended))
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
