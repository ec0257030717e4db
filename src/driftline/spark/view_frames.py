"""Views of a result as DataFrames (see `views`).

    what the shards emit ──▶ partitioned by row, or by key ──▶ the view of each part

All changes of a row in one micro-batch, from whichever shard, meet in one task, and are one there.
Nothing is kept from one micro-batch to the next but by the answer now, which is a stage of its own
behind the last (`engine.shards.now_shard`), with its state in the query's checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from driftline.engine.core.batch import Batch, empty, joined
from driftline.engine.outputs.now_view import NowChanges
from driftline.engine.shards.letters import letters_from_bytes
from driftline.engine.shards.messages import (
    OUTPUT,
    Message,
    MessageKind,
    Target,
    packed_batch,
    unpacked_batch,
)
from driftline.engine.shards.now_shard import NowStage
from driftline.engine.shards.state_log import Head
from driftline.engine.tables import history_table, now_table
from driftline.event_log.bad import BadInput
from driftline.event_log.deadletters import dead_letter
from driftline.model.arrays import to_arrow as as_arrow
from driftline.model.time import BEGINNING
from driftline.plan.choices import Clock
from driftline.plan.expressions import Column
from driftline.plan.lifetimes import is_loose
from driftline.plan.nodes import Keys, Node
from driftline.plan.types import quoted, type_name
from driftline.spark.columns import for_spark
from driftline.spark.labels import state_partitions
from driftline.spark.pipeline import Pipeline, staged
from driftline.spark.session import mapped
from driftline.spark.sinks.dead_letters import letter_lines
from driftline.spark.views import (
    MILLISECOND,
    Difference,
    MicroBatch,
    ViewName,
    change_rows,
    current_difference,
    key_places,
    refuse_clash,
    upserts,
    view_of,
)
from driftline.spark.wire import WIRE, from_arrow, to_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TIME = "time"
"""A column beside messages: when the micro-batch began, in milliseconds."""

NUMBER = "streaming.sql.batchId"
"""What Spark calls the number of a micro-batch among the properties of its tasks."""

OWN = {
    "changes": ("kind STRING", "vs", "ve", "vn"),
    "current": ("op STRING",),
    "now": ("op STRING", "at"),
    "finals": ("vs", "ve"),
    "history": ("system_time TIMESTAMP", "batch BIGINT", "weight INT", "vs", "ve"),
}
"""By view, its own columns; those without a type are times of the result."""

OF_TABLES = ("vs", "ve")
"""The own columns of the history of tables alone, which was never corrected."""

MakeTable = Callable[[list[Batch], int], pa.Table]
"""From the changes of a micro-batch, and when it began, to the rows of a view."""


@dataclass(frozen=True)
class ViewOf:
    """One result of a pipeline: its name, its plan, how many shards there are, and whether exactly
    so many (`fixed`) or as many as the state has partitions."""

    made: Pipeline
    output: str
    plan: Node
    shards: int
    fixed: bool

    @property
    def schema(self) -> pa.Schema:
        return self.plan.schema.arrow

    @property
    def own(self) -> DataFrame:
        """The messages with its rows."""
        messages = self.made.messages
        return messages.where(
            (messages["kind"] == int(MessageKind.ROWS)) & (messages["port"] == self.output)
        )

    def columns(self, *own: str) -> str:
        """The schema of a view with such columns of its own."""
        names = [each.split()[0] for each in own]
        refuse_clash(self.schema.names, names)
        time = "TIMESTAMP" if self.plan.timestamps else "BIGINT"
        written = [each if " " in each else f"{each} {time}" for each in own]
        written += [f"{quoted(each.name)} {type_name(each.type)}" for each in self.schema]
        return ", ".join(written)

    def changes(self) -> DataFrame:
        """Inserts and retracts, as each shard emits them."""
        schema, stamps = self.schema, self.plan.timestamps

        def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for rows in batches:
                for data in rows.column("data").to_pylist():
                    if data:
                        changes = change_rows(unpacked_batch(data, schema), stamps)
                        yield from for_spark(changes.to_batches())

        return mapped(self.own.select("data"), unpack, self.columns(*OWN["changes"]))

    def view(self, name: ViewName, keys: Sequence[str] = ()) -> DataFrame:
        """A view of every micro-batch by itself; with keys, of current values, one row for each."""
        if name == "history" and not self.own.isStreaming:
            return self._gathered(self._history(), self.columns(*OF_TABLES), ())
        make = self._upserts(keys) if keys else self._made(name)
        return self._gathered(make, self.columns(*OWN[name]), keys)

    def _made(self, name: ViewName) -> MakeTable:
        view, stamps = view_of(name), self.plan.timestamps

        def make(parts: list[Batch], time: int) -> pa.Table:
            batch = joined(parts).consolidated()
            return view(MicroBatch(batch, _batch_number(), time, stamps))

        return make

    def _history(self) -> MakeTable:
        schema, stamps, loose = self.schema, self.plan.timestamps, is_loose(self.plan)

        def make(parts: list[Batch], time: int) -> pa.Table:
            return history_table(parts, schema, loose=loose, timestamps=stamps)

        return make

    def _upserts(self, keys: Sequence[str]) -> MakeTable:
        def make(parts: list[Batch], time: int) -> pa.Table:
            return _upsert_rows(current_difference(joined(parts)), keys)

        return make

    def _gathered(self, make: MakeTable, columns: str, keys: Sequence[str]) -> DataFrame:
        """The rows that are made of every part of the changes."""
        from pyspark.sql import functions as f

        schema, shards, to = self.schema, self.shards, self._target(OUTPUT, keys)

        def scatter(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for rows in batches:
                for message in from_arrow(rows):
                    if message.data:
                        batch = unpacked_batch(message.data, schema)
                        parts = packed_batch(batch, to, shards, message.origin)
                        yield from to_arrow((each for each in parts if each.data), shards)

        def gather(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            parts, time = [], 0
            for rows in batches:
                if rows.num_rows:
                    time = rows.column(TIME)[0].as_py()
                parts += [unpacked_batch(each.data, schema) for each in from_arrow(rows)]
            if parts:
                yield from for_spark(make(parts, time).to_batches())

        parts = mapped(self.own, scatter, WIRE).repartition(shards, "label")
        began = f.unix_millis(f.current_timestamp()).alias(TIME)
        return mapped(parts.select("*", began), gather, columns)

    def _target(self, level: int, keys: Sequence[str]) -> Target:
        """Where rows go, by a key or by all of their columns."""
        names = (
            [self.schema.names[place] for place in key_places(self.schema, keys)] if keys else ()
        )
        columns = zip(self.plan.schema.names, self.schema, strict=True)
        by: Keys = tuple(
            Column(name, each.type) for name, each in columns if not names or each.name in names
        )
        return Target(level, self.output, by)

    def now(self, clock: Clock, keys: Sequence[str] = ()) -> DataFrame:
        """The answer now, kept by a stage behind the last."""
        from pyspark.sql import functions as f

        columns = self.columns(*OWN["now"])
        schema, given, fixed, output = self.schema, self.shards, self.fixed, self.output
        to, stamps = self._target(self.made.last + 1, keys), self.plan.timestamps
        places = tuple(key_places(schema, keys)) if keys else ()
        stage = NowStage(to.level, output, schema, clock, given, places, self.made.query)

        def scatter(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            shards = given if fixed else state_partitions(given)
            latest, origin = BEGINNING, 0
            for rows in batches:
                for message in from_arrow(rows):
                    if message.kind == MessageKind.COUNTERS:
                        latest, origin = max(latest, _latest(message)), message.origin
                    elif message.kind == MessageKind.ROWS and message.port == output:
                        batch = _with_cti(message, schema)
                        yield from to_arrow(packed_batch(batch, to, shards, message.origin), shards)
                if clock == "wall" and rows.num_rows:
                    latest = rows.column(TIME)[0].as_py() * MILLISECOND
            if latest > BEGINNING:
                own = (to.level, MessageKind.CLOCK, "")
                times = (Message(*own, shard, origin, high=latest) for shard in range(shards))
                yield from to_arrow(times, shards)

        def shown(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for rows in batches:
                for data in rows.column("data").to_pylist():
                    now = _now_rows(unpacked_batch(data, schema), stamps, keys)
                    yield from for_spark(now.to_batches())

        began = f.unix_millis(f.current_timestamp()).alias(TIME)
        parts = mapped(self.made.messages.select("*", began), scatter, WIRE)
        flow = staged(parts, stage, None, fixed=fixed)
        rows = flow.where(f"level = {OUTPUT} AND kind = {int(MessageKind.ROWS)}").select("data")
        return mapped(rows, shown, columns)


LETTERS = "stream STRING, reason STRING, letter STRING"
"""The columns of dead letters; a letter is a line of JSON, as `sinks.DeadLetterFiles` writes it."""


def dead_letters(made: Pipeline, sources: Mapping[str, Node]) -> DataFrame:
    """The events and records that are no part of their streams."""
    schemas = {name: (each.schema.arrow, each.timestamps) for name, each in sources.items()}

    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for message in _letters_in(batches):
            schema, stamps = schemas[message.port]
            letters = letters_from_bytes(message.data, schema)
            lines = [line.decode() for line in map(dead_letter, letters.bad)]
            lines += letter_lines(message.port, letters, timestamps=stamps).to_pylist()
            columns = {
                "stream": pa.repeat(message.port, len(lines)),
                "reason": letters.reasons(stamps),
                "letter": [line.rstrip("\n") for line in lines],
            }
            yield pa.RecordBatch.from_pydict(columns)

    return mapped(made.messages, unpack, LETTERS)


def strict(made: Pipeline, sources: Mapping[str, Node]) -> Pipeline:
    """The pipeline that ends with its first dead letter."""
    schemas = {name: (each.schema.arrow, each.timestamps) for name, each in sources.items()}

    def checked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in batches:
            for message in _letters_in([rows]):
                schema, stamps = schemas[message.port]
                raise BadInput(letters_from_bytes(message.data, schema).first(message.port, stamps))
            yield rows

    return replace(made, messages=mapped(made.messages, checked, made.messages.schema))


def _letters_in(batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    for rows in batches:
        found = pc.equal(rows.column("kind"), int(MessageKind.DEAD_LETTERS))
        yield from from_arrow(rows.filter(found))


def _with_cti(message: Message, schema: pa.Schema) -> Batch:
    batch = unpacked_batch(message.data, schema) if message.data else empty(schema)
    return replace(batch, cti=message.cti)


def _latest(message: Message) -> int:
    """The greatest time that sources have shown to a shard."""
    counted = Head.from_bytes(message.data).counters.values()
    return max((each.get("latest", BEGINNING) for each in counted), default=BEGINNING)


def _now_rows(batch: Batch, stamps: bool, keys: Sequence[str]) -> pa.Table:
    if not keys:
        changes = NowChanges(batch.vs, batch.weight, batch.payload)
        return now_table(changes, timestamps=stamps)
    at = as_arrow(batch.vs)
    at = at.cast(pa.timestamp("us", "UTC")) if stamps else at
    rows = pa.RecordBatch.from_arrays(
        [at, *batch.payload.columns], names=["at", *batch.payload.schema.names]
    )
    return _upsert_rows(Difference(rows, batch.weight), keys)


def _upsert_rows(found: Difference, keys: Sequence[str]) -> pa.Table:
    """One row for each key: + what is there now, - what is there no longer."""
    made = upserts(found, keys)
    op = pa.array(np.repeat(["-", "+"], [made.gone.num_rows, made.rows.num_rows]), pa.string())
    rows = pa.Table.from_batches([made.gone, made.rows])
    return rows.add_column(0, "op", op)


def _batch_number() -> int:
    """The number of the micro-batch whose task this is; 0 of tables alone."""
    from pyspark import TaskContext

    context = TaskContext.get()
    found = context.getLocalProperty(NUMBER) if context else None
    return int(found or 0)
