"""Coalesce: the lifetimes of a relation of which only the snapshots are known.

    coalesce(H) = { (a, b, r) once for every k ≥ 1 :
                    [a, b) is a longest stretch in which at least k copies of r are alive }

State: for every row the times at which the number of its copies changes (see `coalesce_kernel`).
A cti C lets go every stretch that ends before it.

A stretch that reaches up to C, [a, b) with a < C ≤ b, may still become longer. In a stream that is
a full retraction with sync time a, and another insert: so the output's cti is the least of C and
the starts of all such stretches. Where only vs or only ve matters, `edges` does not wait like that.
Nor does an operator that goes by the snapshots, and by vs only to put rows in order: with `growing`
a stretch may become longer from C on, and the output's cti is C - 1.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine import coalesce_kernel
from driftline.engine.additive import by_slot
from driftline.engine.batch import Batch, empty
from driftline.engine.due import Due
from driftline.engine.operator import Arrays, Operator
from driftline.engine.runs import Runs
from driftline.engine.slots import Slots
from driftline.model.time import BEGINNING, INFINITY

Int64s = NDArray[np.int64]


class Coalesce(Operator):
    """`hold`: of each slot the start of what may become longer; `due`: when it changes next."""

    def __init__(self, schema: pa.Schema, *, growing: bool = False) -> None:
        super().__init__(schema)
        self.growing = growing
        self._start_empty()

    def _start_empty(self) -> None:
        self.slots, self.due = Slots(), Due()
        self.runs = Runs(coalesce_kernel.COLUMNS, 0)
        self.hold = np.zeros(0, np.int64)
        self.cti = BEGINNING
        self.promised = BEGINNING  # the latest cti of the output

    def process(self, port: int, batch: Batch) -> Batch:
        output = self._changed(batch) if len(batch) else empty(self.schema)
        if batch.cti > self.cti:
            self.cti = batch.cti
            if self.cti == INFINITY:
                self._start_empty()
                self.cti = INFINITY
            else:
                self._settle(self.due.up_to(self.cti - 1))
        added = output.vs[output.weight > 0]
        high = int(added.max()) if len(added) else BEGINNING
        return Batch(output.vs, output.ve, output.weight, output.payload, self._promise(), high)

    def _changed(self, batch: Batch) -> Batch:
        slots, new = self.slots.find_or_add(batch.row_fingerprints())
        self._make_room()
        self.hold[slots[new]] = INFINITY
        touched, counts, order = by_slot(slots, self.slots.used)
        self.runs.reserve(touched, self.runs.sizes(touched) + 2 * counts)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        said = coalesce_kernel.take_in(
            touched, bounds, order, batch.vs, batch.ve, batch.weight, self.runs.arrays
        )
        self._settle(touched)
        rows = order[bounds[said.number]]
        return Batch(said.start, said.end, said.weight, batch.payload.take(pa.array(rows)))

    def _settle(self, slots: Int64s) -> None:
        """Let go what is final of some slots."""
        due = np.empty(len(slots), np.int64)
        coalesce_kernel.settle(slots, self.runs.arrays, self.cti, self.hold, due)
        self.due.set(slots, due)
        gone = slots[self.runs.sizes(slots) == 0]
        self.slots.remove(gone)
        self.runs.clear(gone)
        self.hold[gone] = INFINITY

    def _make_room(self) -> None:
        if self.slots.used > len(self.hold):
            grown = np.full(2 * self.slots.used, INFINITY)
            grown[: len(self.hold)] = self.hold
            self.hold = grown

    def _promise(self) -> int:
        """The output's cti, if it advances."""
        cti = self.cti
        if cti not in (BEGINNING, INFINITY):
            cti = cti - 1 if self.growing else min(cti, int(self.hold.min(initial=INFINITY)))
        if cti <= self.promised:
            return BEGINNING
        self.promised = cti
        return cti

    def state_size(self) -> tuple[int, int]:
        return self.runs.entries(), self.runs.nbytes + self.hold.nbytes + 3 * self.slots.low.nbytes

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        return {
            **{f"slots.{name}": array for name, array in self.slots.snapshot().items()},
            **self.runs.snapshot(live, "runs"),
            "due": self.due.of(live),
            "hold": self.hold[live],
            "times": np.array([self.cti, self.promised]),
        }

    def restore(self, arrays: Arrays) -> None:
        self._start_empty()
        self.slots.restore(
            {name[len("slots.") :]: array for name, array in arrays.items() if "slots." in name}
        )
        live = self.slots.live_slots()
        self._make_room()
        self.runs.restore(live, arrays, "runs")
        self.due.set(live, arrays["due"].astype(np.int64))
        self.hold[live] = arrays["hold"]
        self.cti, self.promised = map(int, arrays["times"].tolist())
