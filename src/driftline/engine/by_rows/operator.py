"""Snapshot operators that go by the rows of every snapshot.

    o(H), at every time:  ⋃ over the partitions of the snapshot of  ⊗(the rows of the partition)

State: for every partition (slot) its rows with their lifetimes (members), and what was emitted of
it (segments); see `core.snapshot_operator` for the rest. A cti evicts every row and every segment
that ends at or before it.

A batch costs the rows of the partitions it touches. For answers that are sums, see `additive`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows import emit_kernel, snapshot_kernel
from driftline.engine.by_rows.emit_kernel import Corrections
from driftline.engine.by_rows.snapshot_kernel import MEMBER_COLUMNS, PLACE, SEGMENT_COLUMNS
from driftline.engine.core.batch import Batch, empty, latest_start
from driftline.engine.core.operator import Arrays
from driftline.engine.core.snapshot_operator import (
    EAGER,
    NO_SLOTS,
    ORDERED,
    PERFECT,
    SnapshotOperator,
)
from driftline.engine.state.due_times import Due
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.free_places import Places
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import Runs
from driftline.engine.state.slot_lists import by_slot
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.arrays import Int64s
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY


class Answers(NamedTuple):
    """Rows of the answer: those of the n-th slot of the call are bounds[n] … bounds[n + 1] - 1;
    `lines`: the fingerprint and the start of each (see `emit_kernel`), `ends`: its end. `settled`,
    `same_from`: see `emit_kernel`; empty, where segments are never settled before they end."""

    bounds: Int64s
    lines: Int64s
    ends: Int64s
    rows: pa.RecordBatch
    settled: Int64s = NO_SLOTS
    same_from: Int64s = NO_SLOTS


class RowsOperator(SnapshotOperator):
    """`keys` are the columns that make a partition, `kept` those of the rows that ⊗ needs;
    `answer` is the schema of what it gives, to which `with_keys` adds the keys in front."""

    def __init__(
        self,
        schema: pa.Schema,
        keys: list[str],
        kept: list[str],
        answer: pa.Schema,
        level: Level,
        with_keys: bool,
    ) -> None:
        key_schema = pa.schema([schema.field(name) for name in keys])
        output = pa.schema([*key_schema, *answer]) if with_keys else answer
        super().__init__(output, key_schema, level)
        self.keys, self.kept, self.with_keys = keys, kept, with_keys
        self.answer_schema = answer
        self.kept_schema = pa.schema([schema.field(name) for name in kept])
        self.input_may_grow = False  # lifetimes of `coalesce` that end at the cti may become longer
        self.members = Runs(MEMBER_COLUMNS, 0)
        self.member_rows, self.member_places = RowStore(self.kept_schema), Places()
        self.segments = Runs(SEGMENT_COLUMNS, 0)
        self.answer_rows, self.answer_places = RowStore(answer), Places()
        self.stale = Due()  # the first end of what each slot holds: a cti past it evicts that

    @abstractmethod
    def _answers(self, slots: Int64s, earliest: Int64s, limit: int) -> Answers:
        """The rows of the answer from the earliest affected times on, up to the limit."""

    def _take_in(self, port: int, batch: Batch) -> tuple[Int64s, Int64s]:
        keys = [batch.payload.column(name) for name in self.keys]
        slots = self._slots_of(keys, len(batch))
        self._note_changes(slots, batch)
        touched, counts, order = by_slot(slots, self.slots.used)
        self.members.reserve(touched, self.members.sizes(touched) + counts)
        self.segments.reserve(touched, self.segments.sizes(touched))
        kept = [batch.payload.column(name) for name in self.kept]
        prints = fingerprints(kept, len(batch))
        low, high = prints.low.view(np.int64), prints.high.view(np.int64)
        earliest, changes, freed, strays = snapshot_kernel.take_in(
            touched,
            np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
            order,
            np.stack([batch.vs, low, high, batch.ve], axis=1),
            batch.weight.copy(),
            self.members.arrays,
            self.member_places.offered(len(batch)),
        )
        if strays:
            raise ValueError(
                f"{type(self).__name__}: {strays} lifetimes were retracted that are not there"
            )
        places = self.member_places.take(len(changes))
        self.member_places.give_back(freed)
        self.member_rows.forget(freed)
        taken = [column.take(pa.array(changes)) for column in kept]
        if taken:
            self.member_rows.put(places, pa.RecordBatch.from_arrays(taken, schema=self.kept_schema))
        return touched, earliest

    def _note_changes(self, slots: Int64s, batch: Batch) -> None:
        """Note of the changes of a batch, whose slots are known, what else an operator goes by."""

    def _greatest_endpoint(self, slots: Int64s, limit: int) -> int:
        _, greatest = snapshot_kernel.endpoints_around(
            slots, self.members.arrays, self.watermark, limit
        )
        return int(greatest)

    def _ended(self) -> Int64s:
        final = self._settled()
        return self.slots.live_slots() if final == INFINITY else self.stale.up_to(final)

    def _update(self, slots: Int64s, earliest: Int64s, before: int) -> Batch:
        """Compute the answers that are affected, and emit by how much they change."""
        if self.level == ORDERED:
            earliest = np.minimum(earliest, self.due.of(slots))
        elif self.level == PERFECT:
            earliest = np.minimum(earliest, before)
        limit = INFINITY if self.level == EAGER else self.watermark
        bounds, lines, ends, rows, settled, same_from = self._answers(slots, earliest, limit)
        old = self.segments.sizes(slots)
        self.segments.reserve(slots, 2 * old + np.diff(bounds))
        corrections, new, freed = emit_kernel.correct(
            slots,
            earliest,
            limit,
            bounds,
            lines,
            ends,
            self.segments.arrays,
            self.answer_places.offered(len(ends) + int(old.sum())),
            settled,
            same_from,
        )
        output = self._output(corrections, rows)
        places = self.answer_places.take(len(new))
        self.answer_places.give_back(freed)
        self.answer_rows.forget(freed)
        if rows.num_columns:
            self.answer_rows.put(places, rows.take(pa.array(new)))
        return output

    def _output(self, emitted: Corrections, rows: pa.RecordBatch) -> Batch:
        cti = self._promise()
        if len(emitted.slot) == 0:
            return empty(self.schema, cti)
        is_old = emitted.row < 0
        answers = rows.take(pa.array(emitted.row[~is_old]))
        if is_old.any():
            # Rows emitted before come first; put both back in the order in which they are emitted.
            before = self.answer_rows.take(~emitted.row[is_old])
            place = np.where(is_old, np.cumsum(is_old), is_old.sum() + np.cumsum(~is_old)) - 1
            answers = pa.concat_batches([before, answers]).take(pa.array(place))
        columns = answers.columns
        if self.with_keys:
            columns = [*self.key_rows.take(emitted.slot).columns, *columns]
        high = latest_start(emitted.vs, emitted.weight)
        payload = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        return Batch(emitted.vs, emitted.ve, emitted.weight, payload, cti, high)

    def _evict(self, slots: Int64s) -> None:
        """Drop what is final, and note when to look at these slots again."""
        self._drop_final(slots)
        closed = self.closing.closed(self.cti)  # all endpoints of these have been passed
        if len(closed):
            self._drop_ended(closed, INFINITY)
            self.closing.gone(closed)
        self._look_again(slots)
        self._remove(slots[(self.members.sizes(slots) == 0) & (self.segments.sizes(slots) == 0)])

    def _drop_final(self, slots: Int64s) -> None:
        """Drop the rows and segments of slots that nothing can change."""
        self._drop_ended(slots, self._settled())

    def _look_again(self, slots: Int64s) -> None:
        """Note when slots are due, and when there is something to evict."""
        due, _ = snapshot_kernel.endpoints_around(
            slots, self.members.arrays, self.watermark, BEGINNING
        )
        stale = np.full(len(slots), INFINITY)
        snapshot_kernel.least_end(slots, self.members.arrays, stale)
        snapshot_kernel.least_end(slots, self.segments.arrays, stale)
        self.due.set(slots, due)
        self.stale.set(slots, stale)

    def _drop_ended(self, slots: Int64s, final: int) -> None:
        """Drop the rows and segments of slots that end at or before some time."""
        for runs, rows, places in (
            (self.members, self.member_rows, self.member_places),
            (self.segments, self.answer_rows, self.answer_places),
        ):
            freed = np.empty(int(runs.sizes(slots).sum()), np.int64)
            gone = freed[: snapshot_kernel.settle(slots, runs.arrays, final, freed)]
            places.give_back(gone)
            rows.forget(gone)

    def _settled(self) -> int:
        """What ends at or before this has been emitted as it is, and stays so. (A retraction can
        put an end between the watermark and the cti: it is emitted when the watermark is there.)"""
        cti = self.cti
        if self.input_may_grow and BEGINNING < cti < INFINITY:
            cti -= 1
        return cti if self.level == EAGER else min(cti, self.watermark)

    def _runs(self) -> tuple[Runs, ...]:
        return self.members, self.segments

    def state_size(self) -> tuple[int, int]:
        rows, held = super().state_size()
        return rows, held + self.member_rows.nbytes + self.answer_rows.nbytes

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        arrays: Arrays = super().snapshot()
        arrays |= self.members.snapshot(live, "members")
        arrays |= self.segments.snapshot(live, "segments")
        rows = self.member_rows.take(arrays["members.ints"][:, PLACE].astype(np.int64))
        answers = self.answer_rows.take(arrays["segments.ints"][:, PLACE].astype(np.int64))
        arrays |= {
            "rows": rows_to_bytes(rows),
            "answers": rows_to_bytes(answers),
            "stale": self.stale.of(live),
            "times": arrays["times"][:3],
        }
        return arrays

    def restore(self, arrays: Arrays) -> None:
        super().restore(arrays)
        self.ctis = [self.cti]
        live = self.slots.live_slots()
        for name, runs, rows, places, stored in (
            ("members", self.members, self.member_rows, self.member_places, "rows"),
            ("segments", self.segments, self.answer_rows, self.answer_places, "answers"),
        ):
            ints = arrays[f"{name}.ints"].astype(np.int64)
            ints[:, PLACE] = places.take(len(ints))
            runs.restore(live, arrays | {f"{name}.ints": ints}, name)
            rows.put(ints[:, PLACE], rows_from_bytes(arrays[stored]))
        self.stale.set(live, arrays["stale"].astype(np.int64))
