"""Finals: what can not change any more, and nothing else.

    finals(H, C)           = { (vs, ve, r) ∈ H : ve ≤ C }
    window_finals(H, C, w) = { (w(r) - 1, w(r), r) : (vs, ve, r) ∈ H, vs < w(r) ≤ ve, w(r) ≤ C }

with C the cti of the input. State: the lifetimes that are not final, or of each row with a window
the number of its copies that are alive at the last tick of that. A cti evicts what it makes final.

A lifetime of `coalesce` that ends at C may become longer, so there it is ve < C that is final: of
[10, 20) and a cti 20, the same row in [20, 30) may come next, and the answer is [10, 30).

A lifetime that waits will be emitted with its own vs, so the output's cti is the least of C and the
vs of all that wait; of windows it is C, as what comes is at the last tick of a window that ends
later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import Arrays, Operator, Span, span_of
from driftline.engine.state.due_times import Due
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.engine.stateless.alter_lifetime import plus
from driftline.model.arrays import Int64s, stored, to_arrow, to_numpy
from driftline.model.time import BEGINNING, INFINITY


class Finals(Operator):
    """`slots`: one for every lifetime (or row with a window) that waits; `copies`: how many of it;
    `vs`, `ve`: its times; `rows`: its row. `promised`: the latest cti of the output.

    `windows`: the columns with the times of windows, and how long after these they are over;
    `input_may_grow`: lifetimes that end at the cti may become longer."""

    sets_ends = True
    goes_by_ctis = True

    def __init__(
        self,
        schema: pa.Schema,
        windows: Sequence[tuple[str, int]] = (),
        *,
        input_may_grow: bool = False,
    ) -> None:
        super().__init__(schema)
        self.windows, self.input_may_grow = windows, input_may_grow
        self._start_empty()
        self.cti = self.promised = BEGINNING

    def _start_empty(self) -> None:
        self.slots, self.rows = Slots(), RowStore(self.schema)
        self.vs, self.ve = Due(), Due()
        self.copies = np.zeros(0, np.int64)

    def process(self, port: int, batch: Batch) -> Batch:
        if len(batch):
            self._take_in(self._at_last_ticks(batch) if self.windows else batch)
        self.cti = max(self.cti, batch.cti)
        output = self._final()  # without a new cti, too: a lifetime may now end at the latest one
        high = int(output.vs.max()) if len(output) else BEGINNING
        return replace(output, cti=self._promise(), high=high)

    def _at_last_ticks(self, batch: Batch) -> Batch:
        """The lifetimes that hold the last tick of their window, cut down to that."""
        ends = np.full(len(batch), BEGINNING)
        for name, delay in self.windows:
            column = batch.payload.column(name).cast(pa.int64())
            known = to_numpy(column.is_valid())
            over = plus(stored(column), np.full(len(batch), delay))
            ends = np.where(known, np.maximum(ends, over), ends)
        ends[ends == BEGINNING] = INFINITY
        held = np.flatnonzero((batch.vs < ends) & (ends <= batch.ve))
        return replace(batch.take(held), vs=ends[held] - 1, ve=ends[held])

    def _take_in(self, batch: Batch) -> None:
        keys = batch.row_fingerprints().with_numbers(batch.vs, batch.ve)
        slots, new = self.slots.find_or_add(keys)
        self._make_room()
        added = slots[new]
        self.copies[added] = 0
        self.vs.set(added, batch.vs[new])
        self.ve.set(added, batch.ve[new])
        self.rows.put(added, batch.payload.take(to_arrow(new)))
        np.add.at(self.copies, slots, batch.weight)
        touched = np.unique(slots)
        self._forget(touched[self.copies[touched] == 0])

    def _final(self) -> Batch:
        """What is final by now: it is emitted, and evicted."""
        everything = self.cti == INFINITY
        ended = self.cti - self.input_may_grow
        slots = self.slots.live_slots() if everything else np.sort(self.ve.up_to(ended))
        emitted = Batch(
            self.vs.of(slots), self.ve.of(slots), self.copies[slots], self.rows.take(slots)
        )
        self._forget(slots)
        return emitted

    def _forget(self, slots: Int64s) -> None:
        self.rows.forget(slots)
        self.slots.remove(slots)
        for times in (self.vs, self.ve):
            times.set(slots, np.full(len(slots), INFINITY))

    def _promise(self) -> int:
        """The output's cti, if it advances."""
        cti = self.cti if self.windows else min(self.cti, self._earliest())
        if cti <= self.promised:
            return BEGINNING
        self.promised = cti
        return cti

    def _earliest(self) -> int:
        """The least vs of what waits, if it is before the cti."""
        while (least := int(self.vs.least.min())) < self.cti:
            if len(self.vs.up_to(least)):
                return least
        return INFINITY

    def _make_room(self) -> None:
        if self.slots.used > len(self.copies):
            grown = np.zeros(2 * self.slots.used, np.int64)
            grown[: len(self.copies)] = self.copies
            self.copies = grown

    def state_size(self) -> tuple[int, int]:
        held = self.copies.nbytes + 2 * self.ve.times.nbytes + self.slots.table.nbytes
        return self.slots.live, held + self.rows.nbytes

    def state_span(self) -> Span:
        return span_of(self.vs.of(self.slots.live_slots()))

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        return {
            **self.slots.snapshot(),
            "copies": self.copies[live],
            "vs": self.vs.of(live),
            "ve": self.ve.of(live),
            "rows": rows_to_bytes(self.rows.take(live)),
            "times": np.array([self.cti, self.promised]),
        }

    def restore(self, arrays: Arrays) -> None:
        self._start_empty()
        self.slots.restore(arrays)
        live = self.slots.live_slots()
        self._make_room()
        self.copies[live] = arrays["copies"]
        self.vs.set(live, arrays["vs"].astype(np.int64))
        self.ve.set(live, arrays["ve"].astype(np.int64))
        self.rows.put(live, rows_from_bytes(arrays["rows"]))
        self.cti, self.promised = map(int, arrays["times"].tolist())
