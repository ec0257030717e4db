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
from driftline.engine.state.bag import Bag
from driftline.engine.state.fields import Fields
from driftline.engine.state.progress import Progress
from driftline.engine.stateless.alter_lifetime import plus
from driftline.model.arrays import stored, to_numpy
from driftline.model.time import BEGINNING, INFINITY


class Finals(Operator):
    """`waiting`: the lifetimes (or rows with a window) that are not final.

    `windows`: the columns with the times of windows, and how long after these they are over;
    `input_may_grow`: lifetimes that end at the cti may become longer."""

    fields = Fields(parts=("waiting", "progress"))
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
        self.waiting, self.progress = Bag(schema), Progress()

    def process(self, port: int, batch: Batch) -> Batch:
        if len(batch):
            self.waiting.add(self._at_last_ticks(batch) if self.windows else batch)
        self.progress.receive(port, batch.cti)
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

    def _final(self) -> Batch:
        """What is final by now: it is emitted, and evicted."""
        cti = self.progress.time
        ended = self.waiting.ended(cti if cti == INFINITY else cti - self.input_may_grow)
        emitted = Batch(*self.waiting.take(ended))
        self.waiting.remove(ended)
        return emitted

    def _promise(self) -> int:
        """The output's cti, if it advances."""
        cti = self.progress.time
        return self.progress.promise(
            cti if self.windows else min(cti, self.waiting.first_start(before=cti))
        )
