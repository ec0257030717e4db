"""What an as-of join holds of each of its sides: rows, by key in order of their time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.join import as_of_kernel as kernel
from driftline.engine.state.arrangement import insert, sort_each
from driftline.engine.state.bag import Bag
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.fingerprints import Fingerprints
from driftline.engine.state.free_places import Places
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import Runs
from driftline.engine.state.slot_lists import by_slot
from driftline.model.arrays import Int64s, Int64Table

_NONE = np.empty(0, np.int64)


class AsOfSide(Bag):
    """The rows of one side. By key: `runs`, the rows in order of their time, and `due`, when
    something of it can be dropped: a row that has ended, or with `by_start` one that has begun.
    By row: `time`, and how many copies there were `before` the batch that is worked on."""

    fields = Bag.fields | Fields(by_key=("time",), derived=("before",))

    def __init__(self, schema: pa.Schema, *, by_start: bool = False) -> None:
        super().__init__(schema)
        self.by_start = by_start
        self.runs, self.due = Runs(kernel.COLUMNS), Due()
        self.time, self.before = KeyColumn(np.int64, fill=None), KeyColumn(np.int64)

    @property
    def members(self) -> kernel.AsOfMembers:
        copies, before = self.copies.values, self.before.values
        return kernel.AsOfMembers(self.vs.times, self.ve.times, copies, before)

    def take_in(
        self, slots: Int64s, times: Int64s, prints: Fingerprints, batch: Batch, keys: int
    ) -> tuple[Int64s, Int64s]:
        """Make changes part of the state; the touched members, and the slots of these. How many
        copies there were before is kept until `settle`."""
        members, new = self.count(batch, prints)
        self.time.values[members[new]] = times[new]
        entries = np.stack([times, prints.low.view(np.int64), members], axis=1)
        touched, counts, order = by_slot(slots[new], keys)
        _insert(self.runs, touched, _bounds(counts), new[order], entries)
        return members, entries

    def settle(self, members: Int64s) -> None:
        self.before.values[members] = self.copies.values[members]

    def evict(self, slots: Int64s, cti: int) -> None:
        """Drop what is gone, or what a cti evicts."""
        self.remove(kernel.drop(slots, cti, self.members, self.runs.arrays))
        self.set_due(slots)

    def set_due(self, slots: Int64s) -> None:
        self.due.set(slots, kernel.due(slots, self.members, self.by_start, self.runs.arrays))

    def derive(self) -> None:
        self.before.values[: self.slots.used] = self.copies.values[: self.slots.used]


class Added(NamedTuple):
    """New entries of runs: `slots`: whose; the n-th slot has those in `places` (of its run) from
    bounds[n] up to bounds[n + 1]."""

    slots: Int64s
    bounds: Int64s
    places: Int64s


class SideByTime(Stateful):
    """The rows of one side, if they are only added, never end, and start at their time: none has to
    be found again by its values. `runs`, `due`: see `AsOfSide`; `places`: those of the rows, which
    entries of `runs` name; `rows`, `time`, `copies`: by place; `is_right`: it is the one that is
    matched."""

    fields = Fields(keys="places", by_key=("rows", "time", "copies"), times=("time",))

    def __init__(self, schema: pa.Schema, *, is_right: bool) -> None:
        self.places, self.runs = Places(), Runs(kernel.COLUMNS)
        self.rows, self.due = RowStore(schema), Due()
        self.time, self.copies = KeyColumn(np.int64, fill=None), KeyColumn(np.int64, fill=None)
        self.is_right = is_right

    def take_in(self, slots: Int64s, times: Int64s, ties: Int64s, batch: Batch, keys: int) -> Added:
        """Make rows part of the state; of those with one time the one with the greatest tie is the
        latest."""
        places = self.places.take(len(slots))
        self.make_slots()
        self.time.values[places], self.copies.values[places] = times, batch.weight
        self.rows.put(places, batch.payload)
        entries = np.stack([times, ties, places], axis=1)
        touched, counts, order = by_slot(slots, keys)
        bounds = _bounds(counts)
        found = _insert(self.runs, touched, bounds, order, entries)
        self.set_due(touched)
        return Added(touched, bounds, found)

    def evict(self, slots: Int64s, cti: int) -> None:
        """Drop the rows before a cti; of the right all but the last of each slot."""
        gone = kernel.drop_before(slots, cti, self.is_right, self.runs.arrays)
        self.remove_slots(gone)
        self.set_due(slots)

    def derive(self) -> None:
        entries, runs = self.runs.arrays.ints, self.runs
        held = runs.places_of(np.flatnonzero(runs.arrays.size))
        entries[held, kernel.MEMBER] = self.places.now(entries[held, kernel.MEMBER])

    def set_due(self, slots: Int64s) -> None:
        self.due.set(slots, kernel.due_by_time(slots, self.is_right, self.runs.arrays))


def _insert(runs: Runs, keys: Int64s, bounds: Int64s, order: Int64s, entries: Int64Table) -> Int64s:
    """Put entries into the runs of keys, in the order of their times and ties; returns where in its
    run each is."""
    sort_each(bounds, order, entries, kernel.ORDER)
    runs.reserve(keys, runs.sizes(keys) + np.diff(bounds))
    return insert(keys, bounds, order, entries, kernel.ORDER, runs.arrays)


def _bounds(counts: Int64s) -> Int64s:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
