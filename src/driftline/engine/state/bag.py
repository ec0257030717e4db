"""A bag of lifetimes: how many copies of each there are, and when it ends.

    bag  =  { ([vs, ve), row) → copies }

A lifetime is found again by its row, vs and ve, at the cost of a look. Those that end up to a time
are found without a look at the others (see `due_times`), and so is the first to begin.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa

from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.fingerprints import Fingerprints
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Int64s, to_arrow
from driftline.model.time import INFINITY


class Lifetimes(Protocol):
    """Lifetimes with their weights: a batch is."""

    @property
    def vs(self) -> Int64s: ...
    @property
    def ve(self) -> Int64s: ...
    @property
    def weight(self) -> Int64s: ...
    @property
    def payload(self) -> pa.RecordBatch: ...
    def row_fingerprints(self) -> Fingerprints: ...


class Bag(Stateful):
    """`slots`: one for every lifetime; by slot: `vs`, `ve`, `copies` and `rows`."""

    fields = Fields(keys="slots", by_key=("vs", "ve", "copies", "rows"), times=("vs",))

    def __init__(self, schema: pa.Schema) -> None:
        self.slots, self.vs, self.ve = Slots(), Due(), Due()
        self.copies, self.rows = KeyColumn(np.int64), RowStore(schema)

    def __len__(self) -> int:
        """How many lifetimes there are, each counted once."""
        return self.slots.live

    def add(self, batch: Lifetimes, prints: Fingerprints | None = None) -> None:
        """Let as many more copies of lifetimes be there as their weights say, or fewer. `prints`:
        the fingerprints of their rows, if these are known."""
        slots, _ = self.count(batch, prints)
        self.remove(np.unique(slots[self.copies.values[slots] == 0]))

    def count(self, batch: Lifetimes, prints: Fingerprints | None = None) -> tuple[Int64s, Int64s]:
        """The same, but those without copies stay until they are removed. The slot of every
        lifetime, and the places in the batch of those that are new."""
        keys = batch.row_fingerprints() if prints is None else prints
        slots, new = self.slots.find_or_add(keys.with_numbers(batch.vs, batch.ve))
        self.make_slots()
        added = slots[new]
        self.vs.set(added, batch.vs[new])
        self.ve.set(added, batch.ve[new])
        self.rows.put(added, batch.payload.take(to_arrow(new)))
        np.add.at(self.copies.values, slots, batch.weight)
        return slots, new

    def ended(self, time: int) -> Int64s:
        """The slots of the lifetimes that end at or before a time; ∞: of all."""
        return self.slots.live_slots() if time == INFINITY else np.sort(self.ve.up_to(time))

    def first_start(self, before: int) -> int:
        """The least vs, if it is less than a time; else ∞."""
        while (least := int(self.vs.least.min())) < before:
            if len(self.vs.up_to(least)):  # else it was a bound for what is gone
                return least
        return INFINITY

    def take(self, slots: Int64s) -> tuple[Int64s, Int64s, Int64s, pa.RecordBatch]:
        """The vs, ve, copies and rows of lifetimes: what a batch is made of."""
        copies = self.copies.values[slots]
        return self.vs.of(slots), self.ve.of(slots), copies, self.rows.take(slots)

    def remove(self, slots: Int64s) -> None:
        """Drop lifetimes with all their copies."""
        self.remove_slots(slots)
