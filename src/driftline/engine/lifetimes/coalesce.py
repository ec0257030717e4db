"""Coalesce: the lifetimes of a relation of which only the snapshots are known.

    coalesce(H) = { (a, b, r) once for every k ≥ 1 :
                    [a, b) is a longest stretch in which at least k copies of r are alive }

State: for every row the times at which the number of its copies changes (see `coalesce_kernel`).
A cti C evicts every stretch that ends before it.

A stretch that reaches up to C, [a, b) with a < C ≤ b, may still become longer. That changes nothing
before C, but in a stream it would be a full retraction with sync time a, and another insert; and to
wait until no stretch can grow any more would be to wait for ever, if one has no end. So what comes
out is right as a sum of lifetimes, and up to the cti C as snapshots. Only an operator that goes by
these may follow, or one without state and then `retell`; it has to keep a lifetime that ends at C,
because such a one may yet be taken back for a longer one. Where only vs or only ve matters, `edges`
is all that is needed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, empty
from driftline.engine.core.operator import Operator
from driftline.engine.lifetimes import coalesce_kernel
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields
from driftline.engine.state.progress import Progress
from driftline.engine.state.runs import Runs
from driftline.engine.state.slot_lists import by_slot
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY


class Coalesce(Operator):
    """`slots`: one for every row; `stretches`: the times at which its number of copies changes;
    `due`: when these have to be looked at again."""

    fields = Fields(
        keys="slots", by_key=("stretches", "due"), parts=("progress",), times=("stretches",)
    )
    sets_ends = True
    keeps_labels = True

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.progress = Progress()
        self.slots, self.due = Slots(), Due()
        self.stretches = Runs(coalesce_kernel.COLUMNS)

    def process(self, port: int, batch: Batch) -> Batch:
        output = self._changed(batch) if len(batch) else empty(self.schema)
        cti = self.progress.receive(port, batch.cti)
        if cti == INFINITY:
            self.remove_slots(self.slots.live_slots())
        elif cti > BEGINNING:
            self._settle(self.due.up_to(cti - 1))
        added = output.vs[output.weight > 0]
        high = int(added.max()) if len(added) else BEGINNING
        return Batch(output.vs, output.ve, output.weight, output.payload, cti, high)

    def _changed(self, batch: Batch) -> Batch:
        prints = batch.row_fingerprints()
        self.share(prints.low, self.slots.live)
        slots, _ = self.slots.find_or_add(prints)
        touched, counts, order = by_slot(slots, self.slots.used)
        self.stretches.reserve(touched, self.stretches.sizes(touched) + 2 * counts)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        emitted = coalesce_kernel.take_in(
            touched, bounds, order, batch.vs, batch.ve, batch.weight, self.stretches.arrays
        )
        self._settle(touched)
        rows = order[bounds[emitted.number]]
        return Batch(emitted.start, emitted.end, emitted.weight, batch.payload.take(pa.array(rows)))

    def _settle(self, slots: Int64s) -> None:
        """Evict what is final of some slots."""
        cti, stretches = self.progress.time, self.stretches
        self.due.set(slots, coalesce_kernel.settle(slots, stretches.arrays, cti))
        self.remove_slots(slots[stretches.sizes(slots) == 0])


def coalesced(batch: Batch) -> Batch:
    """The history that a batch adds up to, in the longest stretches: the same for all batches with
    the same snapshots."""
    return Coalesce(batch.payload.schema).process(0, replace(batch.consolidated(), cti=BEGINNING))
