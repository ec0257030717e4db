"""Starts and ends: when a row begins, or ceases, to be in a relation of which only the snapshots
are known.

    starts(H) = { (a, ∞, r) : (a, b, r) ∈ coalesce(H) }
    ends(H)   = { (b, ∞, r) : (a, b, r) ∈ coalesce(H), b < ∞ }

With Δ(r, t) the number of lifetimes of r that start at t, less those that end there, a row starts
max(0, Δ) times at t, or ends max(0, -Δ) times. That is all a window by vs alone, or by ve alone,
needs of `coalesce`, and unlike a stretch, an edge before the input's cti can not change any more.

State: Δ of every row and time that is not final. A cti C evicts all before it, and is passed on.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, empty
from driftline.engine.core.operator import Operator
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields
from driftline.engine.state.fingerprints import Fingerprints
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.progress import Progress
from driftline.engine.state.slots import Slots
from driftline.model.time import BEGINNING, INFINITY


class Edges(Operator):
    """`slots`: one for every row and time; `delta`: its Δ; `times`: its time."""

    fields = Fields(keys="slots", by_key=("delta", "times"), parts=("progress",), times=("times",))
    sets_ends = True
    keeps_labels = True

    def __init__(self, schema: pa.Schema, edge: Literal["starts", "ends"]) -> None:
        super().__init__(schema)
        self.sign = 1 if edge == "starts" else -1
        self.progress = Progress()
        self.slots, self.times, self.delta = Slots(), Due(), KeyColumn(np.int64)

    def process(self, port: int, batch: Batch) -> Batch:
        output = self._changed(batch) if len(batch) else empty(self.schema)
        cti = self.progress.receive(port, batch.cti)
        if cti > BEGINNING:
            self.remove_slots(self.times.up_to(cti - 1))
        added = output.vs[output.weight > 0]
        high = int(added.max()) if len(added) else BEGINNING
        return Batch(output.vs, output.ve, output.weight, output.payload, cti, high)

    def _changed(self, batch: Batch) -> Batch:
        ending = np.flatnonzero(batch.ve < INFINITY)
        rows = np.concatenate([np.arange(len(batch)), ending])
        times = np.concatenate([batch.vs, batch.ve[ending]])
        change = np.concatenate([batch.weight, -batch.weight[ending]])
        prints = batch.row_fingerprints()
        self.share(prints.low, self.slots.live)
        keys = Fingerprints(prints.low[rows], prints.high[rows]).with_numbers(times)
        slots, _ = self.slots.find_or_add(keys)
        self.make_slots()
        delta = self.delta.values
        touched, first = np.unique(slots, return_index=True)
        before = np.maximum(self.sign * delta[touched], 0)
        np.add.at(delta, slots, change)
        weight = np.maximum(self.sign * delta[touched], 0) - before
        self.times.set(touched, times[first])
        self.remove_slots(touched[(delta[touched] == 0) | (times[first] < self.progress.time)])
        changed = np.flatnonzero(weight)
        at = times[first[changed]]
        payload = batch.payload.take(pa.array(rows[first[changed]]))
        return Batch(at, np.full(len(at), INFINITY), weight[changed], payload)
