"""Queries over DataFrames: DataFrames in, DataFrames out.

>>> import driftline as dl                                                       # doctest: +SKIP
>>> trades = dl.stream(spark.readStream.table("trades"), time="ts", disorder="10s")
...                                                                              # doctest: +SKIP
>>> volume = dl.sql("SELECT symbol, sum(qty) AS qty FROM trades GROUP BY symbol", trades=trades)
...                                                                              # doctest: +SKIP
>>> volume.current().writeStream.format("console").start()                       # doctest: +SKIP
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from driftline.api import Relation
from driftline.api.planned import Planned
from driftline.plan import nodes
from driftline.plan.errors import PlanError
from driftline.spark.on_spark import on_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from driftline.plan.choices import Clock
    from driftline.spark.query import Sink, SparkQuery

EVENT_TIMES = ("kind", "vs", "ve", "vn")
"""The columns by which a DataFrame has events, as `FrameQuery.changes` gives them."""

TIMES = re.compile(r"\btime\(\d\)")
"""The types of times of the day: all are exact to the microsecond here."""

WATERMARK = "spark.watermarkDelayMs"
"""What a column with a watermark has among its metadata: how late rows may be."""


@dataclass(frozen=True, repr=False)
class FrameQuery(Relation):
    """A query over DataFrames: a plan, the ways to build on it, and its answer as DataFrames.
    `frames`: by the names of the streams.

    Its views are streaming DataFrames where one of `frames` is, which any `writeStream` takes;
    over tables alone they are no streams. Each takes the options of `driftline.on_spark` (`emit`,
    `block`, `remember`, `shards`, …) and sets in the session what it needs.
    """

    frames: Mapping[str, DataFrame] = field(compare=False)

    def _of(self, plan: nodes.Node, *others: Planned) -> Self:
        frames = dict(self.frames)
        for other in others:
            for name, frame in getattr(other, "frames", {}).items():
                if frames.setdefault(name, frame) is not frame:
                    raise PlanError(
                        f"two DataFrames are called {name}: give each a name, stream('trades', df)"
                    )
            if not isinstance(other, FrameQuery):
                for name, source in other.plan.sources().items():
                    if name not in frames and not isinstance(source, nodes.Constant):
                        raise PlanError(
                            f"{name} has no DataFrame: begin it with stream({name!r}, df)"
                        )
        return replace(self, plan=plan, frames=frames)

    def _called(self, name: str) -> FrameQuery:
        """The same under another name, if it is a stream that was given none."""
        from driftline.api.streams import NAMELESS

        if not isinstance(self.plan, nodes.Source) or self.plan.name != NAMELESS:
            return self
        (frame,) = self.frames.values()
        return FrameQuery(replace(self.plan, name=name), {name: frame})

    def on_spark(self, **options: Any) -> SparkQuery:
        """The query with the options of `driftline.on_spark`."""
        needed = self.plan.sources()
        frames = {name: frame for name, frame in self.frames.items() if name in needed}
        return on_spark(cast(Any, self), frames, **options)

    def changes(self, *, compact: bool = False, **options: Any) -> DataFrame:
        """Inserts and retracts: kind, vs, ve, vn and the row. See `SparkQuery.changes`, also for
        why a plain groupBy over them counts wrongly."""
        return self.on_spark(**options).changes(compact=compact)

    def current(self, *, keys: Sequence[str] = (), **options: Any) -> DataFrame:
        """What changes among the rows without an end: op (+ or -) and the row; with `keys` one row
        for each key that has changed."""
        return self.on_spark(**options).current(keys=keys)

    def now(
        self, *, keys: Sequence[str] = (), clock: Clock = "latest", **options: Any
    ) -> DataFrame:
        """What changes in the answer as it is now: op (+ or -), at and the row; with `keys` one row
        for each key that has changed."""
        return self.on_spark(clock=clock, **options).now(keys=keys)

    def finals(self, **options: Any) -> DataFrame:
        """The rows that cannot change any more, each once: vs, ve and the row."""
        return self.on_spark(**options).finals()

    def history(self, **options: Any) -> DataFrame:
        """Rows for a table that forgets nothing: system_time, batch, weight, vs, ve and the row.
        Over tables alone, the history of the answer: vs, ve and the row."""
        return self.on_spark(**options).history()

    def dead_letters(self, **options: Any) -> DataFrame:
        """What came too late or could not be read: stream, reason and letter, a line of JSON."""
        return self.on_spark(**options).dead_letters()

    def start(
        self,
        sink: Sink,
        *,
        checkpoint: str | Path,
        trigger: Mapping[str, Any] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> StreamingQuery:
        """Run it, and give every micro-batch to a sink (`driftline.spark.sinks`)."""
        running = self.on_spark(**options)
        return running.start(sink, checkpoint=checkpoint, trigger=trigger, name=name)


TIMES_OF_RECORDS = ("timestamp", "timestamp_ntz", "tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True)
class _Description:
    """What a DataFrame says of its stream: the columns with their types, the time and how late rows
    are, where it has a watermark, and whether time is in microseconds, where that is known."""

    columns: dict[str, str]
    time: str | None = None
    disorder: str | None = None
    timestamps: bool | None = None


def described(frame: DataFrame, time: object = None) -> _Description:
    """A DataFrame as a stream: of plain records, or of events, whose times are no columns. `time`:
    what is to be its time."""
    have = {each.name.lower(): each for each in frame.schema.fields}
    is_events = {"kind", "vs"} <= set(have)
    columns: dict[str, str] = {}
    for each in frame.schema.fields:
        if each.name in columns:
            raise PlanError(f"the DataFrame has two columns {each.name}: rename one")
        if not (is_events and each.name.lower() in EVENT_TIMES):
            columns[each.name] = TIMES.sub("time(6)", each.dataType.simpleString())
    if is_events:
        return _Description(columns, timestamps=have["vs"].dataType.simpleString() == "timestamp")
    if isinstance(time, str) and time.lower() in have:
        kind = have[time.lower()].dataType.simpleString()
        if kind not in TIMES_OF_RECORDS:
            how = f", to_timestamp({time})" if kind in ("string", "date") else " or an integer"
            raise PlanError(f"the time {time} is a {kind.upper()}: make it a TIMESTAMP{how}")
    for each in frame.schema.fields:
        if WATERMARK in (each.metadata or {}):
            return _Description(columns, each.name, f"{each.metadata[WATERMARK]} milliseconds")
    return _Description(columns, timestamps=None if frame.isStreaming or time else True)
