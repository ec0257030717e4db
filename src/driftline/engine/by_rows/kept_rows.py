"""Snapshot operators that keep the rows of every partition.

State: for every partition (slot) its rows with their lifetimes (members), and what was emitted
(segments); see `core.snapshot_operator` for the rest. Places of rows in the stores are given out
and taken back.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.by_rows import snapshot_kernel
from driftline.engine.by_rows.emit_kernel import Corrections
from driftline.engine.by_rows.snapshot_kernel import MEMBER_COLUMNS, PLACE, SEGMENT_COLUMNS
from driftline.engine.core.batch import Batch, empty, latest_start
from driftline.engine.core.operator import Arrays
from driftline.engine.core.snapshot_operator import EAGER, SnapshotOperator
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


class KeptRows(SnapshotOperator):
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
        self.members = Runs(MEMBER_COLUMNS)
        self.member_rows, self.member_places = RowStore(self.kept_schema), Places()
        self.segments = Runs(SEGMENT_COLUMNS)
        self.answer_rows, self.answer_places = RowStore(answer), Places()
        self.stale = Due()  # the first end of what each slot holds: a cti past it evicts that

    def _take_in(self, port: int, batch: Batch) -> tuple[Int64s, Int64s]:
        keys = [batch.payload.column(name) for name in self.keys]
        slots = self._slots_of(keys, len(batch))
        self.closing.came(slots, batch.payload)
        self._note_changes(slots, batch)
        touched, counts, order = by_slot(slots, self.slots.used)
        self.members.reserve(touched, self.members.sizes(touched) + counts)
        self.segments.reserve(touched, self.segments.sizes(touched))
        kept = [batch.payload.column(name) for name in self.kept]
        prints = fingerprints(kept, len(batch))
        low, high = prints.low.view(np.int64), prints.high.view(np.int64)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        keys_of = [*self._sorted_by(batch.payload), batch.vs, low, high, batch.ve]
        changed = np.stack(keys_of, axis=1)
        earliest, changes, freed, strays, left = snapshot_kernel.take_in(
            touched,
            bounds,
            order,
            changed,
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
        self._note_changed(touched, bounds[:-1], left, order, changed)
        return touched, earliest

    def _sorted_by(self, rows: pa.RecordBatch) -> list[Int64s]:
        """What the members of a partition are sorted by, before their lifetimes."""
        return []

    def _note_changed(
        self, slots: Int64s, begin: Int64s, count: Int64s, order: Int64s, keys: Int64s
    ) -> None:
        """Note which members have changed: of the n-th slot so many from begin[n] on, as places in
        `order`, which gives rows of `keys` (see `snapshot_kernel.take_in`)."""

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

    def _settled(self) -> int:
        """What ends at or before this has been emitted as it is, and stays so. (A retraction can
        put an end between the watermark and the cti: it is emitted when the watermark is there.)"""
        cti = self.cti
        if self.input_may_grow and BEGINNING < cti < INFINITY:
            cti -= 1
        return cti if self.level == EAGER else min(cti, self.watermark)

    def _runs(self) -> tuple[Runs, ...]:
        return self.members, self.segments

    def _holders(self) -> Int64s:
        """Those that have a run of segments."""
        return self.slots.live_slots()

    def _drop(self, runs: Runs, slots: Int64s, final: int) -> None:
        """Drop the members or the segments of slots that end at or before some time."""
        rows, places = (
            (self.member_rows, self.member_places)
            if runs is self.members
            else (self.answer_rows, self.answer_places)
        )
        freed = np.empty(int(runs.sizes(slots).sum()), np.int64)
        gone = freed[: snapshot_kernel.settle(slots, runs.arrays, final, freed)]
        places.give_back(gone)
        rows.forget(gone)

    def state_size(self) -> tuple[int, int]:
        rows, held = super().state_size()
        return rows, held + self.member_rows.nbytes + self.answer_rows.nbytes

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        arrays: Arrays = super().snapshot()
        arrays |= self.members.snapshot(live, "members")
        arrays |= self.segments.snapshot(self._holders(), "segments")
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
        for name, slots, runs, rows, places, stored in (
            ("members", live, self.members, self.member_rows, self.member_places, "rows"),
            (
                "segments", self._holders(), self.segments, self.answer_rows, self.answer_places,
                "answers",
            ),
        ):  # fmt: skip
            ints = arrays[f"{name}.ints"].astype(np.int64)
            ints[:, PLACE] = places.take(len(ints))
            runs.restore(slots, arrays | {f"{name}.ints": ints}, name)
            rows.put(ints[:, PLACE], rows_from_bytes(arrays[stored]))
        self.stale.set(live, arrays["stale"].astype(np.int64))
