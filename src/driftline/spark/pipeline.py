"""A plan as one Structured Streaming query.

    sources ──▶ native prefix ──▶ pack ──▶ stage 1 ──▶ stage 2 ──▶ … ──▶ answers
                 Spark's own      one row   the shards of every level, chained: parcels
                 columns          per task  for a later level pass through
                                  and shard

All stages are in one micro-batch, which is therefore a consistent cut: what it says is the answer
for exactly what it has read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from driftline.engine.local import Options
from driftline.engine.parcels import OUTPUT, Target
from driftline.engine.source_parcels import source_parcels
from driftline.engine.stages import Reading, Stages, stages
from driftline.plan.errors import PlanError
from driftline.plan.fragments import Fragment, cut_together
from driftline.plan.nodes import Node, Source
from driftline.spark.sources import raw_events
from driftline.spark.wire import WIRE, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Pipeline:
    """`parcels`: the streaming DataFrame of everything that leaves the last stage."""

    plans: Mapping[str, Node]
    fragments: tuple[Fragment, ...]
    stages: Stages
    parcels: DataFrame
    shards: int


def pipeline(
    plans: Mapping[str, Node], frames: Mapping[str, DataFrame], options: Options, shards: int
) -> Pipeline:
    """Compile plans, which share one cut, over the DataFrames of their sources."""
    sources = _sources(plans, frames)
    raw = {name: raw_events(frames[name], source) for name, source in sources.items()}
    readings = {name: reading for name, (_, reading) in raw.items()}
    fragments = cut_together(plans)
    made = stages(fragments, list(plans), readings, options, shards)
    packed = [
        _packed(frame, sources[name], reading, made.sources[name], options, shards)
        for name, (frame, reading) in raw.items()
    ]
    flow = reduce(lambda one, other: one.union(other), packed)
    for stage in made.levels:
        flow = _staged(flow, stage)
    return Pipeline(plans, fragments, made, flow.where(f"level = {OUTPUT}"), shards)


def _sources(plans: Mapping[str, Node], frames: Mapping[str, DataFrame]) -> dict[str, Source]:
    found: dict[str, Source] = {}
    for plan in plans.values():
        for name, source in plan.sources().items():
            if found.setdefault(name, source) != source:
                raise PlanError(f"the stream {name} is used with two definitions")
    for name in found:
        if name not in frames:
            raise PlanError(f"the query reads the stream {name}, but no DataFrame was given for it")
    for name in frames:
        if name not in found:
            known = ", ".join(found)
            raise PlanError(f"there is a DataFrame {name}, but the query reads only {known}")
    return found


def _packed(
    frame: DataFrame,
    source: Source,
    reading: Reading,
    targets: Sequence[Target],
    options: Options,
    shards: int,
) -> DataFrame:
    ordered = reading.by_times(source, options)
    schema = source.schema.arrow

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        origin = 0 if context is None else context.partitionId()
        whole = [batch for batch in batches if batch.num_rows]
        if whole:
            events = pa.concat_batches(whole)
            parcels = source_parcels(events, schema, targets, shards, origin, ordered=ordered)
            yield from to_arrow(parcels, shards)

    return frame.mapInArrow(pack, WIRE)


def _staged(flow: DataFrame, stage: Any) -> DataFrame:
    from driftline.spark.processor import StageProcessor

    return flow.groupBy("label").transformWithStateInPandas(
        StageProcessor(stage), WIRE, outputMode="append", timeMode="None"
    )
