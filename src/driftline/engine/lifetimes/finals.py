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
from driftline.engine.core.operator import Operator
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import Slots
from driftline.engine.stateless.alter_lifetime import plus
from driftline.model.arrays import stored, to_arrow, to_numpy
from driftline.model.time import BEGINNING, INFINITY


class Finals(Operator):
    """`slots`: one for every lifetime (or row with a window) that waits; `copies`: how many of it;
    `vs`, `ve`: its times; `rows`: its row. `promised`: the latest cti of the output.

    `windows`: the columns with the times of windows, and how long after these they are over;
    `input_may_grow`: lifetimes that end at the cti may become longer."""

    fields = Fields(
        keys="slots",
        by_key=("copies", "vs", "ve", "rows"),
        numbers=("cti", "promised"),
        times=("vs",),
    )
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
        self.cti = self.promised = BEGINNING
        self.slots, self.rows, self.copies = Slots(), RowStore(schema), KeyColumn(np.int64)
        self.vs, self.ve = Due(), Due()

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
        self.make_slots()
        added, copies = slots[new], self.copies.values
        self.vs.set(added, batch.vs[new])
        self.ve.set(added, batch.ve[new])
        self.rows.put(added, batch.payload.take(to_arrow(new)))
        np.add.at(copies, slots, batch.weight)
        touched = np.unique(slots)
        self.remove_slots(touched[copies[touched] == 0])

    def _final(self) -> Batch:
        """What is final by now: it is emitted, and evicted."""
        everything = self.cti == INFINITY
        ended = self.cti - self.input_may_grow
        slots = self.slots.live_slots() if everything else np.sort(self.ve.up_to(ended))
        emitted = Batch(
            self.vs.of(slots), self.ve.of(slots), self.copies.values[slots], self.rows.take(slots)
        )
        self.remove_slots(slots)
        return emitted

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
