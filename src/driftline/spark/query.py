"""Queries on Spark: what a user holds, starts and stops.

>>> import driftline as dl                                                       # doctest: +SKIP
>>> query = dl.on_spark(vwap, {"trades": spark.readStream.table("trades")})      # doctest: +SKIP
>>> query.changes().writeStream.format("console").start()                        # doctest: +SKIP
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from driftline.engine.batch import Batch, empty, joined
from driftline.engine.dead_letters import DeadLetters
from driftline.engine.local import Options, changes_table
from driftline.engine.parcels import unpacked_batch
from driftline.model.time import BEGINNING
from driftline.plan.errors import PlanError
from driftline.plan.fragments import RESULT
from driftline.plan.nodes import Node
from driftline.plan.types import type_name
from driftline.spark.checkpoint import Checkpoint
from driftline.spark.letters import letters_from_bytes
from driftline.spark.pipeline import Pipeline, pipeline
from driftline.spark.processor import COUNTERS, DEAD
from driftline.spark.session import STREAMING, configured

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

TIMES = ("kind", "vs", "ve", "vn")


@dataclass(frozen=True)
class SparkSaid:
    """What one micro-batch has led to. `batches`: by output, the changes and (as their cti) how far
    all that has been said is final now; `dead`: by source; `heads`: by level and shard, what the
    shard holds."""

    batch_id: int
    batches: Mapping[str, Batch]
    dead: Mapping[str, DeadLetters]
    heads: Mapping[tuple[int, int], dict[str, Any]] = field(default_factory=dict)


Sink = Callable[[SparkSaid], None]
"""Takes what each micro-batch leads to. After a crash the last micro-batch may come again, with the
same number and the same contents: a sink that writes by number writes once."""


class SparkQuery:
    """Plans on Spark, with one cut in common. `shards`: how many; as many as Spark has cores if not
    said. It is part of the state, and is taken from the checkpoint when there is one."""

    def __init__(
        self,
        plans: Mapping[str, Node],
        frames: Mapping[str, DataFrame],
        options: Options | None = None,
        shards: int | None = None,
    ) -> None:
        if not frames:
            raise PlanError("a query on Spark needs a DataFrame for every stream it reads")
        self.plans, self.frames = dict(plans), dict(frames)
        self.options = options or Options()
        self.spark = next(iter(frames.values())).sparkSession
        self.shards = shards or max(1, self.spark.sparkContext.defaultParallelism)

    def _pipeline(self, shards: int) -> Pipeline:
        return pipeline(self.plans, self.frames, self.options, shards)

    def changes(self, output: str = RESULT) -> DataFrame:
        """The changes of a result as a streaming DataFrame: kind (insert or retract), vs, ve (null:
        without end), vn (of a retract), and the columns of the rows.

        Start it with the settings of `driftline.spark.session.STREAMING` and as many shuffle
        partitions as shards: `settings` has them."""
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
        parcels = self._pipeline(self.shards).parcels.where(f"port = '{output}'").select("data")
        return parcels.mapInArrow(unpack, ", ".join(columns))

    @property
    def settings(self) -> dict[str, str]:
        """What a session needs when the query starts."""
        return {**STREAMING, "spark.sql.shuffle.partitions": str(self.shards)}

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
        kept = Checkpoint(str(checkpoint))
        shards = kept.shards(self.shards)
        made = self._pipeline(shards)
        kept.claim(self.plans, self.options, shards)

        def each(frame: DataFrame, batch_id: int) -> None:
            said = self._said(frame, batch_id, shards)
            sink(said)
            kept.report(said.heads)

        writer = made.parcels.writeStream.foreachBatch(each)
        writer = writer.option("checkpointLocation", kept.spark)
        if name is not None:
            writer = writer.queryName(name)
        if trigger:
            writer = writer.trigger(**trigger)
        settings = {**STREAMING, "spark.sql.shuffle.partitions": str(shards)}
        with configured(self.spark, settings):
            return writer.start()

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
        return SparkSaid(batch_id, batches, {k: _together(v) for k, v in dead.items()}, heads)


def _together(parts: list[DeadLetters]) -> DeadLetters:
    return parts[0].with_more(parts[1:])


def change_rows(batch: Batch, stamps: bool) -> pa.Table:
    """A batch as rows of changes, with times as TIMESTAMPs where ticks are microseconds."""
    table = changes_table(batch.changes())
    if not stamps:
        return table
    for place, name in enumerate(TIMES[1:], 1):
        column = table.column(name)
        kind = pa.timestamp("us", "UTC")
        table = table.set_column(place, name, column.cast(kind))
    return table
