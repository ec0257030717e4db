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

`OrderedExpiry` does the same for an answer at the level `ordered`, if it is right as it comes but
for the ends: there time also moves with the rows.

State: the times at which something ends; with negative tuples, the lifetimes that have not ended.
Time evicts what has ended, a cti of negative tuples as well: their ends are final.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, empty, joined
from driftline.engine.core.operator import Operator
from driftline.engine.state.bag import Bag
from driftline.engine.state.end_times import EndTimes
from driftline.engine.state.fields import Fields
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
    """`lasting`: the lifetimes that have not ended; `time`: how far time has come; `ends`: of what
    was put out; `every`: whether all now-marks go on."""

    fields = Fields(numbers=("time",), parts=("lasting", "ends"))
    adds_up = True

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.every = False
        self.time = BEGINNING
        self.ends = EndTimes()
        self.lasting = Bag(schema)

    def process(self, port: int, batch: Batch) -> Batch:
        self.time = max(self.time, batch.now, batch.cti)
        lasting = np.flatnonzero((batch.ve > self.time) & (batch.ve < INFINITY))
        passed = batch
        if len(lasting):
            self.lasting.add(batch.take(lasting))
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

    def _ended(self) -> Batch:
        """The negative tuples of the lifetimes that have ended by now: these are evicted."""
        ended = self.lasting.ended(self.time)
        if len(ended) == 0:
            return empty(self.schema)
        vs, ve, weight, rows = self.lasting.take(np.concatenate([ended, ended]))
        ve[: len(ended)], weight[: len(ended)] = INFINITY, -weight[: len(ended)]
        self.lasting.remove(ended)
        return Batch(vs, ve, weight, rows)


class OrderedExpiry(NegativeTuples):
    """Time is the output watermark: every insert moves it to its start."""

    goes_by_ctis = True

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.every = True

    def process(self, port: int, batch: Batch) -> Batch:
        self.time = max(self.time, batch.high)
        return super().process(port, batch)
