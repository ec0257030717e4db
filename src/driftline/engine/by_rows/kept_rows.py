"""Snapshot operators that keep the rows of every partition.

State     members    by partition (slot): its rows with their lifetimes, in order
          stale      by partition: the first end of what it holds, at which a cti evicts that
See `core.snapshot_operator` for the rest. What was emitted is kept by partition (`operator`), or by
row (`ordered`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, empty, latest_start
from driftline.engine.core.snapshot_operator import EAGER, ORDERED, SnapshotOperator
from driftline.engine.state.arrangement import next_times
from driftline.engine.state.due_times import Due
from driftline.engine.state.emitted_rows import AnswerChanges
from driftline.engine.state.fields import Fields
from driftline.engine.state.held_rows import END, START, HeldRows, Merged
from driftline.model.arrays import Int64s
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY


class KeptRows(SnapshotOperator):
    """`keys` are the columns that make a partition, `kept` those of the rows that ⊗ needs;
    `answer` is the schema of what it gives, to which `with_keys` adds the keys in front.
    `order_words`: how many words the members of a partition are sorted by, before their lifetimes.
    """

    fields = SnapshotOperator.fields | Fields(by_key=("members", "stale"), times=("members",))

    def __init__(
        self,
        schema: pa.Schema,
        keys: list[str],
        kept: list[str],
        answer: pa.Schema,
        level: Level,
        with_keys: bool,
        order_words: int = 0,
    ) -> None:
        key_schema = pa.schema([schema.field(name) for name in keys])
        output = pa.schema([*key_schema, *answer]) if with_keys else answer
        super().__init__(output, key_schema, level)
        self.keys, self.kept, self.with_keys = keys, kept, with_keys
        self.answer_schema = answer
        self.input_may_grow = False  # lifetimes of `coalesce` that end at the cti may become longer
        kept_schema = pa.schema([schema.field(name) for name in kept])
        self.members = HeldRows(kept_schema, order_words)
        self.stale = Due()

    def _take_in(self, port: int, batch: Batch) -> tuple[Int64s, Int64s]:
        rows = batch.payload
        slots = self._slots_of([rows.column(name) for name in self.keys], len(batch))
        self.closing.came(slots, rows)
        self._note_changes(slots, batch)
        merged = self.members.merge(
            slots,
            self.slots.used,
            self._sorted_by(rows),
            (batch.vs, batch.ve, batch.weight),
            [rows.column(name) for name in self.kept],
        )
        if merged.strays:
            raise ValueError(
                f"{type(self).__name__}: {merged.strays} lifetimes were retracted that are not "
                "there"
            )
        self._note_merged(merged)
        return merged.keys, merged.earliest

    def _sorted_by(self, rows: pa.RecordBatch) -> list[Int64s]:
        """What the members of a partition are sorted by, before their lifetimes."""
        return []

    def _note_merged(self, merged: Merged) -> None:
        """Note which members have changed."""

    def _note_changes(self, slots: Int64s, batch: Batch) -> None:
        """Note of the changes of a batch, whose slots are known, what else an operator goes by."""

    def _endpoints(self, slots: Int64s, up_to: int) -> tuple[Int64s, int]:
        """The first endpoint of each slot after the watermark, and the last one up to a time."""
        return next_times(slots, self.members.arrays, START, END, self.watermark, up_to)

    def _greatest_endpoint(self, slots: Int64s, limit: int) -> int:
        return self._endpoints(slots, limit)[1]

    def _ended(self) -> Int64s:
        final = self._settled()
        return self.slots.live_slots() if final == INFINITY else self.stale.up_to(final)

    def _affected(self, slots: Int64s, earliest: Int64s, before: int) -> tuple[Int64s, int]:
        """From when on the answers of slots are to be computed, and up to when."""
        if self.level == EAGER:
            return earliest, INFINITY
        known = self.due.of(slots) if self.level == ORDERED else before
        return np.minimum(earliest, known), self.watermark

    def _output(self, changes: AnswerChanges, slots: Int64s) -> Batch:
        """The changes of an answer as a batch; `slots`: whose each of them is."""
        cti = self._promise()
        if len(slots) == 0:
            return empty(self.schema, cti)
        rows = changes.rows
        if self.with_keys:
            columns = [*self.key_rows.take(slots).columns, *rows.columns]
            rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        high = latest_start(changes.vs, changes.weight)
        return Batch(changes.vs, changes.ve, changes.weight, rows, cti, high)

    def _settled(self) -> int:
        """What ends at or before this has been emitted as it is, and stays so. (A retraction can
        put an end between the watermark and the cti: it is emitted when the watermark is there.)"""
        cti = self.cti
        if self.input_may_grow and BEGINNING < cti < INFINITY:
            cti -= 1
        return cti if self.level == EAGER else min(cti, self.watermark)
