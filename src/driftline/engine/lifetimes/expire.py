"""Expire: how the operators behind it hear that time has passed.

    expire(H) = H        with time-messages: a now-mark when something that has passed ends
    expire(H) at T = { (vs, ve, r) ∈ H : ve ≤ T } ∪ { (vs, ∞, r) : (vs, ve, r) ∈ H, T < ve }
                         with negative tuples: an end is emitted when time gets there

It stands behind the windows at the bottom of a plan, and behind the selects on these, so that only
what has passed them is waited for. A now-mark goes on if something ends then, or in any case if an
operator farther up has other ports to wait for, or another expire (`every`).

    ita             no expire: an operator's time moves only with the rows that reach it
    nta             `NegativeTuples`: twice the events
    time-message    `Expire`: the now-mark travels by itself
    piggyback       `Expire`: queues put now-marks together with what else they hold (see `queues`)

`Ordered` does the same for an answer at the level `ordered`, if it is right as it comes but for the
ends: there time also moves with the rows.

State: the times at which something ends; with negative tuples, the lifetimes that have not ended.
Time evicts what has ended, a cti of negative tuples as well: their ends are final.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, empty, joined
from driftline.engine.core.operator import Operator
from driftline.engine.state.due_times import Due
from driftline.engine.state.end_times import EndTimes
from driftline.engine.state.fields import Fields
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import Slots
from driftline.model.arrays import to_arrow
from driftline.model.time import BEGINNING, INFINITY


class Expire(Operator):
    """`ends`: of what has passed; `every`: whether all now-marks go on."""

    fields = Fields(parts=("ends",))
    maps_rows = True

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.every = False
        self.ends = EndTimes()

    def process(self, port: int, batch: Batch) -> Batch:
        if not self.every:
            self.ends.add(batch.ve, batch.weight)
        return batch

    def pass_on(self, *, every: bool) -> None:
        self.every = every

    def is_due(self, time: int) -> bool:
        return self.every or self.ends.reached(time)


class NegativeTuples(Operator):
    """`slots`: one for every lifetime that has not ended; `copies`: how many of it; `vs`, `ve`: its
    times; `rows`: its row. `time`: how far time has come; `ends`: of what was
    put out; `every`: whether all now-marks go on."""

    fields = Fields(
        keys="slots",
        by_key=("vs", "ve", "copies", "rows"),
        numbers=("time",),
        parts=("ends",),
        times=("ve",),
    )
    adds_up = True

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.every = False
        self.time = BEGINNING
        self.ends = EndTimes()
        self.slots, self.rows, self.ve = Slots(), RowStore(schema), Due()
        self.vs, self.copies = KeyColumn(np.int64), KeyColumn(np.int64)

    def process(self, port: int, batch: Batch) -> Batch:
        self.time = max(self.time, batch.now, batch.cti)
        lasting = np.flatnonzero((batch.ve > self.time) & (batch.ve < INFINITY))
        passed = batch
        if len(lasting):
            self._store(batch.take(lasting))
            ends = batch.ve.copy()
            ends[lasting] = INFINITY
            passed = replace(batch, ve=ends)
        negative = self._ended()
        if len(negative):
            passed = replace(joined([passed, negative]), label=batch.label)
        passed = passed.consolidated()
        if not self.every:
            self.ends.add(passed.ve, passed.weight)
        return passed

    def advance(self, time: int) -> Batch:
        self.time = max(self.time, time)
        ended = self._ended()
        if not self.every:
            self.ends.add(ended.ve, ended.weight)
        return ended

    def pass_on(self, *, every: bool) -> None:
        self.every = every

    def is_due(self, time: int) -> bool:
        return self.every or self.ends.reached(time)

    def _store(self, batch: Batch) -> None:
        keys = batch.row_fingerprints().with_numbers(batch.vs, batch.ve)
        slots, new = self.slots.find_or_add(keys)
        self.make_slots()
        added, copies = slots[new], self.copies.values
        self.vs.values[added] = batch.vs[new]
        self.ve.set(added, batch.ve[new])
        self.rows.put(added, batch.payload.take(to_arrow(new)))
        np.add.at(copies, slots, batch.weight)
        self.remove_slots(np.unique(slots[copies[slots] == 0]))

    def _ended(self) -> Batch:
        """The negative tuples of the lifetimes that have ended by now: these are evicted."""
        ended = np.sort(self.ve.up_to(min(self.time, INFINITY - 1)))
        if len(ended) == 0:
            return empty(self.schema)
        twice = np.concatenate([ended, ended])
        ends = np.concatenate([np.full(len(ended), INFINITY), self.ve.of(ended)])
        copies = self.copies.values[ended]
        weight = np.concatenate([-copies, copies])
        emitted = Batch(self.vs.values[twice], ends, weight, self.rows.take(twice))
        self.remove_slots(ended)
        return emitted


class Ordered(NegativeTuples):
    """Time is the output watermark: every insert moves it to its start."""

    goes_by_ctis = True

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.every = True

    def process(self, port: int, batch: Batch) -> Batch:
        self.time = max(self.time, batch.high)
        return super().process(port, batch)
