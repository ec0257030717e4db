"""The values of a min or max as numbers, of which the least is the best.

Values that fit a word are their order keys. Others are numbered, and their order is found among
those that are compared.

State: of values that do not fit a word, those that are in use, with their numbers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.additive.aggregates import Aggregate, column_of
from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.growing import grown
from driftline.engine.state.order_keys import order_keys, valid
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import Slots
from driftline.model.arrays import Int64s

_FEW = 1024
"""Up to so many values are kept without asking whether they are in use."""


class Words(Stateful):
    """Values that are words."""

    def __init__(self, aggregate: Aggregate, schema: pa.Schema) -> None:
        self.aggregate = aggregate
        self.ranks = np.empty(0, np.int64)

    def keys(self, values: pa.Array) -> Int64s:
        """A key for every value."""
        keys = order_keys(values)
        return keys if self.aggregate.function == "min" else ~keys

    def compare(self, held: Int64s) -> Int64s:
        """The order of keys, which has to be known for these and those just made; none if it is
        their own."""
        return self.ranks

    def column(self, keys: Int64s, nulls: NDArray[np.bool_] | None) -> pa.Array:
        """The values of some keys."""
        return column_of(self.aggregate, ~keys, nulls)

    def drop(self, used: Int64s) -> None:
        """No other keys are in use."""

    def is_full(self) -> bool:
        """Whether it is time to drop what is not in use."""
        return False


class Numbered(Words):
    """Values of other types. `numbers`: by value, its key; `asked`: the keys that were given out
    last; `kept`: how many there were when some were dropped."""

    fields = Fields(keys="numbers", by_key=("store",))

    def __init__(self, aggregate: Aggregate, schema: pa.Schema) -> None:
        super().__init__(aggregate, schema)
        assert aggregate.argument is not None
        self.values = pa.schema([schema.field(aggregate.argument)])
        self.numbers, self.store, self.kept = Slots(), RowStore(self.values), 0
        self.asked = np.empty(0, np.int64)

    def keys(self, values: pa.Array) -> Int64s:
        there = np.flatnonzero(valid(values))
        some = values.take(pa.array(there))
        keys = np.zeros(len(values), np.int64)
        keys[there], new = self.numbers.find_or_add(fingerprints([some], len(some)))
        rows = pa.RecordBatch.from_arrays([some.take(pa.array(new))], schema=self.values)
        self.store.put(keys[there][new], rows)
        self.asked = keys[there]
        return keys

    def compare(self, held: Int64s) -> Int64s:
        keys = np.unique(np.concatenate([held, self.asked]))
        order = order_keys(self.store.take(keys).column(0))
        self.ranks = grown(self.ranks, max(self.numbers.used, 1))
        self.ranks[keys] = order if self.aggregate.function == "min" else ~order
        return self.ranks

    def column(self, keys: Int64s, nulls: NDArray[np.bool_] | None) -> pa.Array:
        if nulls is None:
            return self.store.take(keys).column(0)
        known = self.store.take(keys[~nulls]).column(0)
        places = np.cumsum(~nulls) - 1
        return known.take(pa.array(places, mask=nulls))

    def is_full(self) -> bool:
        return self.numbers.live > 2 * self.kept + _FEW

    def drop(self, used: Int64s) -> None:
        gone = np.setdiff1d(self.numbers.live_slots(), used)
        self.remove_slots(gone)
        self.kept = self.numbers.live

    def derive(self) -> None:
        self.kept = self.numbers.live

    def state_size(self) -> tuple[int, int]:
        _, taken = super().state_size()
        return 0, taken + self.ranks.nbytes
