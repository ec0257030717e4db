"""Queries on Spark: what a user holds, starts and stops.

>>> import driftline as dl                                                       # doctest: +SKIP
>>> from driftline.spark import sinks                                            # doctest: +SKIP
>>> query = dl.on_spark(vwap, {"trades": spark.readStream.table("trades")})      # doctest: +SKIP
>>> query.start(sinks.Console(), checkpoint="checkpoints/vwap")                  # doctest: +SKIP
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa

from driftline.arguments import flag, is_mapping, is_whole, one_of
from driftline.engine.batch import Batch, empty, joined
from driftline.engine.dead_letters import DeadLetters
from driftline.engine.holding import Heartbeat
from driftline.engine.local import Options, sources_of
from driftline.engine.parcels import unpacked_batch
from driftline.model.log.apart import Used, need_apart
from driftline.model.log.bad import BadInput
from driftline.model.reference.latency import Level
from driftline.model.time import BEGINNING
from driftline.plan.durations import ticks
from driftline.plan.errors import PlanError
from driftline.plan.finals import final as only_final
from driftline.plan.fragments import RESULT
from driftline.plan.nodes import Node
from driftline.plan.sizes import size_of
from driftline.plan.types import type_name
from driftline.spark.checkpoint import Checkpoint
from driftline.spark.clock import began_at, run_id
from driftline.spark.letters import DEAD, letters_from_bytes
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
from driftline.spark.sources import reading_of
from driftline.spark.stepping import COUNTERS
from driftline.spark.ticks import Heard, without_timeout
from driftline.spark.views import TIMES, Moment, change_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from driftline.api import Emit, Query
    from driftline.plan.durations import Duration


@dataclass(frozen=True)
class SparkSaid:
    """What one micro-batch has led to. `batches`: by output, the changes and (as their cti) how far
    all that has been said is final now; `dead`: by source; `heads`: by level and shard, what the
    shard holds; `time`: when it began, in milliseconds; `run`: the query, as its checkpoint has it;
    `timestamps`: the outputs and sources whose times are TIMESTAMPs."""

    batch_id: int
    batches: Mapping[str, Batch]
    dead: Mapping[str, DeadLetters]
    heads: Mapping[tuple[int, int], dict[str, Any]] = field(default_factory=dict)
    time: int = 0
    run: str = ""
    timestamps: frozenset[str] = frozenset()

    def moment(self, output: str) -> Moment:
        """One of the outputs, for the views of a result."""
        stamps = output in self.timestamps
        return Moment(self.batches[output], self.batch_id, self.time, stamps)


HEARTBEATS = [each for each in get_args(Heartbeat) if each != "memory"]
"""Those that shards can do, each by itself."""

Sink = Callable[[SparkSaid], None]
"""Takes what each micro-batch leads to. After a crash the last micro-batch may come again, with the
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
) -> SparkQuery:
    """See `on_spark`."""
    given = query if isinstance(query, Mapping) else {RESULT: query}
    for each in given.values():
        if not isinstance(each, Node) and not isinstance(getattr(each, "plan", None), Node):
            raise PlanError(f"a {type(each).__name__} is no query: give one, or several by name")
    plans = {name: each if isinstance(each, Node) else each.plan for name, each in given.items()}
    if not plans:
        raise PlanError("there is no query to run")
    if own := [name for name in plans if name.startswith("$")]:
        raise PlanError(f"a result cannot be called {own[0]}: names that begin with $ are taken")
    one_of(emit, "emit", [level.value for level in Level])
    one_of(heartbeat, "heartbeat", HEARTBEATS)
    stamps = all(plan.timestamps for plan in plans.values())
    options = Options(
        Level(emit),
        ticks(block, stamps),
        ticks(remember, stamps),
        heartbeat=heartbeat,
        max_expansion=size_of(max_expansion),
    )
    made = SparkQuery(plans, frames, options, shards, strict=strict)
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
    """Plans on Spark, with one cut in common. `shards`: how many; as many as Spark has cores if not
    said. It is part of the state, and is taken from the checkpoint when there is one."""

    def __init__(
        self,
        plans: Mapping[str, Node],
        frames: Mapping[str, DataFrame],
        options: Options | None = None,
        shards: int | None = None,
        *,
        strict: bool = False,
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
        check_streams(plans, frames)
        if shards is not None and (not is_whole(shards) or shards < 1):
            raise PlanError(f"a query needs at least one shard, not {shards!r}")
        self.plans, self.frames = dict(plans), dict(frames)
        self.options, self.strict = options or Options(), strict
        self.spark = next(iter(frames.values())).sparkSession
        self.shards = shards or max(1, self.spark.sparkContext.defaultParallelism)
        prepare_workers(self.spark)

    def changes(self, output: str = RESULT) -> DataFrame:
        """The changes of a result as a streaming DataFrame: kind (insert or retract), vs, ve (null:
        without end), vn (of a retract), and the columns of the rows.

        While a stream with a timeout is silent it ticks: that is a micro-batch without changes.
        What it needs to be started is set in the session, for good: the state store, and as many
        shuffle partitions as shards. Inside `configured(spark, query.settings)` it is set as long
        as that lasts."""
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
        parcels = pipeline(self.plans, self.frames, self.options, self.shards, folder).parcels
        mine = parcels.where(parcels["port"] == output).select("data")
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
        """Run it, and give every micro-batch to a sink.

        `trigger`: as `DataStreamWriter.trigger` takes it, such as {"availableNow": True}."""
        if not callable(sink):
            raise PlanError(
                f"a {type(sink).__name__} is no sink: give one of driftline.spark.sinks, or a "
                "function of a SparkSaid"
            )
        places = [Used("the sink", place) for place in getattr(sink, "places", ())]
        need_apart([Used("the checkpoint", str(checkpoint)), *places])
        if not {"availableNow", "once"} & set(trigger or ()):
            self._warn()
        kept = Checkpoint(str(checkpoint))
        shards = kept.shards(self.shards)
        heard = Heard()
        made = pipeline(
            self.plans,
            self.frames,
            self.options,
            shards,
            str(kept.place),
            heard,
            own_steps=kept.has_own_steps(),
        )
        kept.claim(self.plans, self.options, shards, made.read)

        def each(frame: DataFrame, batch_id: int) -> None:
            said = self._said(frame, batch_id, shards)
            for source, letters in said.dead.items() if self.strict else ():
                raise BadInput(letters.first(source, source in said.timestamps))
            sink(replace(said, time=began_at(kept, batch_id), run=run_id(kept)))
            kept.report(said.heads)
            heard.take(said.heads)

        writer = made.parcels.writeStream.foreachBatch(each)
        writer = writer.option("checkpointLocation", kept.spark)
        if name is not None:
            writer = writer.queryName(name)
        if trigger:
            writer = writer.trigger(**trigger)
        settings = {**self.settings, PARTITIONS: str(shards)}
        if kept.place.is_on_disk:
            settings |= on_disk(self.spark)
        await_workers(self.spark)
        with configured(self.spark, settings):
            return writer.start()

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

    def _said(self, frame: DataFrame, batch_id: int, shards: int) -> SparkSaid:
        changes: dict[str, list[Batch]] = {name: [] for name in self.plans}
        ctis: dict[str, list[int]] = {name: [] for name in self.plans}
        dead: dict[str, list[DeadLetters]] = {}
        heads: dict[tuple[int, int], dict[str, Any]] = {}
        sources = {name: s for plan in self.plans.values() for name, s in plan.sources().items()}
        for row in sorted(frame.collect(), key=lambda row: (row.port, row.origin)):
            if row.port in self.plans:
                ctis[row.port].append(row.cti)
                if row.data:
                    schema = self.plans[row.port].schema.arrow
                    changes[row.port].append(unpacked_batch(bytes(row.data), schema))
            elif row.port.startswith(DEAD):
                source = sources[row.port.removeprefix(DEAD)]
                letters = letters_from_bytes(bytes(row.data), source.schema.arrow)
                dead.setdefault(source.name, []).append(letters)
            elif row.port.startswith(COUNTERS):
                heads[int(row.port.removeprefix(COUNTERS)), row.origin] = json.loads(row.data)
        batches = {}
        for name, plan in self.plans.items():
            whole = joined(changes[name]) if changes[name] else empty(plan.schema.arrow)
            final = min(ctis[name]) if len(ctis[name]) == shards else BEGINNING
            batches[name] = replace(whole, cti=final)
        return SparkSaid(
            batch_id,
            batches,
            {name: _together(parts) for name, parts in dead.items()},
            heads,
            timestamps=frozenset(
                name for name, node in {**sources, **self.plans}.items() if node.timestamps
            ),
        )


def _together(parts: list[DeadLetters]) -> DeadLetters:
    return parts[0].with_more(parts[1:])
