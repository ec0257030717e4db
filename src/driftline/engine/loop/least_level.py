"""Sets: every row that is derived, with the least level at which it is.

    least(H) = { (a, b, r, i) : [a, b) is a longest stretch in which i is the least level of the
                 derivations of r that are alive }

A body whose operators never take a row back because of another has in every round what it had in
the round before: a row is there from its least level on. So the set of rows needs no more than
these levels, and what goes round is each row once, at its least level.

The level that was emitted and the least level of the derivations are two functions of time. Where
they differ, and the lower of the two is the level of the turn, that turn puts it right; where both
are higher, a later turn does. If the least level rises, what was emitted is taken back at once, and
the higher level emitted not before its turn has come: until then that derivation may go, too.

State: of every row its derivations with their levels and lifetimes, and what was emitted. A cti
evicts what ends before it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import Arrays, Span, joined_span, span_of
from driftline.engine.loop import least_level_kernel as kernel
from driftline.engine.loop.levelled import NEVER, Levelled
from driftline.engine.state.due_times import Due
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import Runs
from driftline.engine.state.slot_lists import by_slot
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY


class LeastLevel(Levelled):
    """`waiting`: by level, the slots that have to be looked at; `ends`: the least end of what is
    held of each slot; `emptied`: slots that may have nothing left."""

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.cti = BEGINNING
        self._start_empty()

    def _start_empty(self) -> None:
        self.slots, self.store, self.ends = Slots(), RowStore(self.rows), Due()
        self.derived, self.emitted = Runs(kernel.DERIVED, 0), Runs(kernel.EMITTED, 0)
        self.waiting: dict[int, list[Int64s]] = {}
        self.emptied: list[Int64s] = []

    def take_in(self, batch: Batch, columns: list[pa.Array], levels: Int64s) -> None:
        slots, new = self.slots.find_or_add(fingerprints(columns, len(batch)))
        if len(new):
            rows = [column.take(pa.array(new)) for column in columns]
            self.store.put(slots[new], pa.RecordBatch.from_arrays(rows, schema=self.rows))
        touched, counts, order = by_slot(slots, self.slots.used)
        self.derived.reserve(touched, self.derived.sizes(touched) + counts)
        self.emitted.make_slots(self.slots.used)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        lowest, ends = np.empty(len(touched), np.int64), self.ends.of(touched)
        kernel.take_in(
            touched, bounds, order, levels, batch.vs, batch.ve, batch.weight,
            self.derived.arrays, lowest, ends,
        )  # fmt: skip
        self.ends.set(touched, ends)
        self._wait(touched, lowest)

    def _wait(self, slots: Int64s, levels: Int64s) -> None:
        for level in np.unique(levels[levels < NEVER]).tolist():
            self.waiting.setdefault(level, []).append(slots[levels == level])

    def due(self) -> int:
        return min(self.waiting, default=NEVER)

    def turn(self, level: int) -> Batch | None:
        ready = [each for at, some in self.waiting.items() if at <= level for each in some]
        self.waiting = {at: some for at, some in self.waiting.items() if at > level}
        if not ready:
            return None
        slots = ready[0] if len(ready) == 1 else np.unique(np.concatenate(ready))
        made = kernel.turn(slots, level, self.cti, self.derived.arrays, self.emitted.arrays)
        self.emitted.reserve(slots, made.counts)
        kernel.put(slots, made.kept, made.counts, self.emitted.arrays)
        self._wait(slots, made.due)
        self.emptied.append(slots[self.derived.sizes(slots) == 0])
        if len(made.changes) == 0:
            return None
        number, levels, vs, ve, weight = np.ascontiguousarray(made.changes.T)
        rows = self.store.take(slots[number])
        return self.with_levels(vs, ve, weight, rows.columns, levels)

    def evict(self, cti: int) -> None:
        if cti == INFINITY:
            self._start_empty()
            self.cti = cti
            return
        self.cti = max(self.cti, cti)
        ended = self.ends.up_to(self.cti)
        ends = kernel.evict(ended, self.cti, self.derived.arrays, self.emitted.arrays)
        self.ends.set(ended, ends)
        slots = np.unique(np.concatenate([ended, *self.emptied]))
        self.emptied = []
        gone = slots[(self.derived.sizes(slots) == 0) & (self.slots.place_of[slots] != NO_SLOT)]
        self.slots.remove(gone)
        self.store.forget(gone)
        self.ends.set(gone, np.full(len(gone), INFINITY))
        self.derived.clear(gone)
        self.emitted.clear(gone)

    def state_size(self) -> tuple[int, int]:
        held = self.derived.nbytes + self.emitted.nbytes + self.store.nbytes
        return self.derived.entries() + self.emitted.entries(), held

    def state_span(self) -> Span:
        live = self.slots.live_slots()
        derived = self.derived.snapshot(live, "")[".ints"].astype(np.int64)
        times = [derived[:, kernel.VS], derived[:, kernel.VE]]
        return joined_span(*(span_of(each) for each in times))

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        return {
            **self.slots.snapshot(),
            **self.derived.snapshot(live, "derived"),
            **self.emitted.snapshot(live, "emitted"),
            "rows": rows_to_bytes(self.store.take(live)),
            "ends": self.ends.of(live),
            "cti": np.array([self.cti]),
        }

    def restore(self, arrays: Arrays) -> None:
        self._start_empty()
        self.slots.restore(arrays)
        live = self.slots.live_slots()
        self.store.put(live, rows_from_bytes(arrays["rows"]))
        self.derived.restore(live, arrays, "derived")
        self.emitted.make_slots(self.slots.used)
        self.emitted.restore(live, arrays, "emitted")
        self.ends.set(live, arrays["ends"].astype(np.int64))
        self.cti = int(arrays["cti"][0])
