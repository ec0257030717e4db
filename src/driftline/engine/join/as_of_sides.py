"""What an as-of join holds of each of its sides: rows, by key in order of their time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import Arrays, Span, span_of
from driftline.engine.join import as_of_kernel as kernel
from driftline.engine.state.due_times import Due
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.free_places import Places
from driftline.engine.state.growing import grown
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import Runs
from driftline.engine.state.slot_lists import by_slot
from driftline.engine.state.slots import Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.arrays import Int64s, to_arrow
from driftline.model.time import INFINITY

_NONE = np.empty(0, np.int64)


class Side:
    """The rows of one side. `slots`: one for every row and lifetime; `runs`: by key, the rows in
    order of their time; `rows`: their columns; `due`: when something of a key can be dropped: a row
    that has ended, or with `by_start` one that has begun."""

    def __init__(self, schema: pa.Schema, *, by_start: bool = False) -> None:
        self.by_start = by_start
        self.slots, self.runs = Slots(), Runs(kernel.COLUMNS)
        self.rows, self.due = RowStore(schema), Due()
        self.members = kernel.Members(_NONE, _NONE, _NONE, _NONE)
        self.time = np.zeros(0, np.int64)

    def make_room(self) -> None:
        used = self.slots.used
        vs, ve, copies, before = (grown(each, used) for each in self.members)
        self.members = kernel.Members(vs, ve, copies, before)
        self.time = grown(self.time, used)

    def take_in(
        self, slots: Int64s, times: Int64s, prints: Fingerprints, batch: Batch, keys: int
    ) -> tuple[Int64s, Int64s]:
        """Make changes part of the state; the touched members, and the slots of these. How many
        copies there were before is kept until `settle`."""
        members, new = self.slots.find_or_add(prints.with_numbers(batch.vs, batch.ve))
        self.make_room()
        added = members[new]
        self.members.vs[added], self.members.ve[added] = batch.vs[new], batch.ve[new]
        self.members.copies[added] = self.members.before[added] = 0
        self.time[added] = times[new]
        self.rows.put(added, batch.payload.take(to_arrow(new)))
        np.add.at(self.members.copies, members, batch.weight)
        entries = np.stack([times, prints.low.view(np.int64), members], axis=1)
        in_order = new[np.lexsort((entries[new, kernel.TIE], times[new]))]
        touched, counts, order = by_slot(slots[in_order], keys)
        self.runs.make_slots(keys)
        self.runs.reserve(touched, self.runs.sizes(touched) + counts)
        kernel.take_in(touched, _bounds(counts), in_order[order], entries, self.runs.arrays)
        return members, entries

    def settle(self, members: Int64s) -> None:
        self.members.before[members] = self.members.copies[members]

    def evict(self, slots: Int64s, cti: int) -> None:
        """Drop what is gone, or what a cti evicts."""
        gone = kernel.drop(slots, cti, self.members, self.runs.arrays)
        self.slots.remove(gone)
        self.rows.forget(gone)
        self._set_due(slots)

    def _set_due(self, slots: Int64s) -> None:
        self.due.set(slots, kernel.due(slots, self.members, self.by_start, self.runs.arrays))

    @property
    def live(self) -> int:
        """How many rows it holds."""
        return self.slots.live

    @property
    def nbytes(self) -> int:
        return self.runs.nbytes + self.rows.nbytes + self.slots.nbytes

    def span(self) -> Span:
        return span_of(self.members.vs[self.slots.live_slots()])

    def snapshot(self, keys: Int64s, prefix: str) -> Arrays:
        self.make_room()
        live = self.slots.live_slots()
        return {
            **{f"{prefix}.{name}": each for name, each in self.slots.snapshot().items()},
            **self.runs.snapshot(keys, f"{prefix}.runs"),
            f"{prefix}.rows": rows_to_bytes(self.rows.take(live)),
            f"{prefix}.vs": self.members.vs[live],
            f"{prefix}.ve": self.members.ve[live],
            f"{prefix}.copies": self.members.copies[live],
            f"{prefix}.time": self.time[live],
        }

    def restore(self, keys: Int64s, arrays: Arrays, prefix: str) -> None:
        own = _own(arrays, prefix)
        self.slots.restore(own)
        live = self.slots.live_slots()
        self.make_room()
        self.rows.put(live, rows_from_bytes(own["rows"]))
        self.members.vs[live], self.members.ve[live] = own["vs"], own["ve"]
        self.members.copies[live] = self.members.before[live] = own["copies"]
        self.time[live] = own["time"]
        self.runs.make_slots(int(keys.max()) + 1 if len(keys) else 0)
        self.runs.restore(keys, own, "runs")
        self._set_due(keys)


class Added(NamedTuple):
    """New entries of runs: `slots`: whose; the n-th slot has those in `places` (of its run) from
    bounds[n] up to bounds[n + 1]."""

    slots: Int64s
    bounds: Int64s
    places: Int64s


class SideByTime:
    """The rows of one side, if they are only added, never end, and start at their time: none has to
    be found again by its values. `places`: those of the rows, which entries of `runs` name;
    `time`, `copies`: by place; `is_right`: it is the one that is matched."""

    def __init__(self, schema: pa.Schema, *, is_right: bool) -> None:
        self.places, self.runs = Places(), Runs(kernel.COLUMNS)
        self.rows, self.due = RowStore(schema), Due()
        self.time, self.copies = _NONE, _NONE
        self.live, self.is_right = 0, is_right

    def take_in(self, slots: Int64s, times: Int64s, ties: Int64s, batch: Batch, keys: int) -> Added:
        """Make rows part of the state; of those with one time the one with the greatest tie is the
        latest."""
        places = self.places.take(len(slots))
        self._put(places, times, batch.weight, batch.payload)
        entries = np.stack([times, ties, places], axis=1)
        touched, counts, order = by_slot(slots, keys)
        bounds = _bounds(counts)
        kernel.put_in_order(bounds, order, times, ties)
        self.runs.make_slots(keys)
        self.runs.reserve(touched, self.runs.sizes(touched) + counts)
        found = kernel.take_in(touched, bounds, order, entries, self.runs.arrays)
        self._set_due(touched)
        return Added(touched, bounds, found)

    def _put(self, places: Int64s, times: Int64s, weight: Int64s, rows: pa.RecordBatch) -> None:
        self.time, self.copies = (
            grown(each, self.places.used) for each in (self.time, self.copies)
        )
        self.time[places], self.copies[places] = times, weight
        self.rows.put(places, rows)
        self.live += len(places)

    def evict(self, slots: Int64s, cti: int) -> None:
        """Drop the rows before a cti; of the right all but the last of each slot."""
        gone = kernel.drop_before(slots, cti, self.is_right, self.runs.arrays)
        self.rows.forget(gone)
        self.places.give_back(gone)
        self.live -= len(gone)
        self._set_due(slots)

    def _set_due(self, slots: Int64s) -> None:
        self.due.set(slots, kernel.due_by_time(slots, self.is_right, self.runs.arrays))

    @property
    def nbytes(self) -> int:
        return self.runs.nbytes + self.rows.nbytes + self.time.nbytes + self.copies.nbytes

    def span(self) -> Span:
        return span_of(self.runs.ends())

    def snapshot(self, keys: Int64s, prefix: str) -> Arrays:
        """As another side has it: slots of rows go by their values."""
        runs = self.runs.snapshot(keys, f"{prefix}.runs")
        live = np.sort(runs[f"{prefix}.runs.ints"][:, kernel.MEMBER].astype(np.int64))
        rows, times = self.rows.take(live), self.time[live]
        ends = np.full(len(live), INFINITY)
        prints = fingerprints(rows.columns, len(live)).with_numbers(times, ends)
        return {
            **runs,
            f"{prefix}.slots.slot": live,
            f"{prefix}.slots.low": prints.low,
            f"{prefix}.slots.high": prints.high,
            f"{prefix}.rows": rows_to_bytes(rows),
            f"{prefix}.vs": times,
            f"{prefix}.ve": ends,
            f"{prefix}.copies": self.copies[live],
            f"{prefix}.time": times,
        }

    def restore(self, keys: Int64s, arrays: Arrays, prefix: str) -> None:
        own = _own(arrays, prefix)
        live = own["slots.slot"].astype(np.int64)
        self.places.used = int(live.max()) + 1 if len(live) else 0
        self.places.free = np.setdiff1d(np.arange(self.places.used), live)
        times, copies = own["time"].astype(np.int64), own["copies"].astype(np.int64)
        self._put(live, times, copies, rows_from_bytes(own["rows"]))
        self.runs.make_slots(int(keys.max()) + 1 if len(keys) else 0)
        self.runs.restore(keys, own, "runs")
        self._set_due(keys)


def _bounds(counts: Int64s) -> Int64s:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _own(arrays: Arrays, prefix: str) -> Arrays:
    start = f"{prefix}."
    return {
        name.removeprefix(start): each for name, each in arrays.items() if name.startswith(start)
    }
