"""The frame of additive snapshot operators: a timeline of sums for every slot.

    o(H₁, …, Hₙ), at every time: a function of sums over the rows that are alive, slot by slot

The kernel in `timeline` does the work; this class feeds it.

State: for every slot its timeline, what was emitted of it, and the rows it needs for least and
greatest values; see `core.snapshot_operator` for the rest. Sums of great floats get columns of
their own with the first of them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from driftline.engine.additive import layout, timeline
from driftline.engine.additive.cells import Contribution, gathered
from driftline.engine.additive.extremes import Extremes
from driftline.engine.additive.layout import Cursors, SumChanges, ValueRules
from driftline.engine.additive.timeline_entries import take_in
from driftline.engine.core.batch import Batch, empty, latest_start
from driftline.engine.core.snapshot_operator import NO_SLOTS, SnapshotOperator
from driftline.engine.state import trace
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields
from driftline.engine.state.growing import KeyColumn, grown
from driftline.engine.state.runs import RunArrays, Runs
from driftline.engine.state.slot_lists import NOWHERE, by_slot_in, in_order
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, Int64Table
from driftline.model.level import Level
from driftline.model.time import BEGINNING, INFINITY


class Layout(NamedTuple):
    """How many columns the state of an operator has, and how many extremes it keeps."""

    state_ints: int
    state_floats: int
    extremes: int


class AdditiveOperator(SnapshotOperator):
    """`only_grows`: of the input nothing is ever taken back. The columns of the keys are those of
    every input, in this order.

    `timelines`, `trace`, `extremes`: of every slot; `places`, `states`: where its cursor stands
    (see `layout.Cursors`)."""

    fields = SnapshotOperator.fields | Fields(
        by_key=("timelines", "trace", "places", "states", "ending"),
        times=("timelines", "trace"),
    )
    adds_up = True

    def __init__(
        self,
        schema: pa.Schema,
        key_schema: pa.Schema,
        values: ValueRules,
        columns: Layout,
        level: Level,
        *,
        only_grows: bool = False,
    ) -> None:
        super().__init__(schema, key_schema, level)
        self.values = values
        self.floats = layout.STATE + columns.state_ints  # the first float among an entry's words
        self.timelines = Runs(self.floats + columns.state_floats)
        self.trace = Runs(trace.VALUE + layout.FIRST + len(values.how))
        self.extremes = Extremes(columns.extremes, only_grows=only_grows)
        if columns.extremes:
            self.fields |= Fields(by_key=("extremes.cells", "extremes.upto"), parts=("extremes",))
        self.places = KeyColumn(np.int64)
        self.states = KeyColumn(np.int64, words=columns.state_ints + columns.state_floats)
        self.ending = Due()  # the last end of what each slot holds
        self.number_of = np.zeros(0, np.int64)  # NOWHERE for every slot (see `by_slot_in`)

    @property
    def cursors(self) -> Cursors:
        states = self.states.values
        return Cursors(self.places.values, states, states.view(np.float64))

    @abstractmethod
    def key_columns(self, port: int, rows: pa.RecordBatch) -> list[pa.Array]:
        """The columns that make the slot of each row."""

    @abstractmethod
    def contribution(self, port: int, rows: pa.RecordBatch, weight: Int64s) -> Contribution:
        """What each row adds to the state."""

    @abstractmethod
    def output(self, keys: list[pa.Array], changes: Int64Table) -> tuple[pa.RecordBatch, Int64s]:
        """The rows of changes of the trace, and their weights."""

    def _take_in(self, port: int, batch: Batch) -> tuple[Int64s, Int64s]:
        """Merge the changes into the timelines of their slots: these, and the earliest time that
        is affected of each."""
        slots = self._slots_of(self.key_columns(port, batch.payload), len(batch))
        self.closing.came(slots, batch.payload)
        brought = self.contribution(port, batch.payload, batch.weight)
        if brought.any_great:
            self._widen()
        cells = gathered(
            slots, batch.vs, batch.ve, batch.weight, brought, self.values, self.extremes.only_grows,
            self.timelines.arrays.ints.shape[1] - self.floats,
        )  # fmt: skip
        self.number_of = grown(self.number_of, self.slots.used, fill=NOWHERE)
        touched, counts, order = by_slot_in(cells.slot, self.number_of)
        bounds = np.zeros(len(counts) + 1, np.int64)
        np.cumsum(counts, out=bounds[1:])
        changes = SumChanges(bounds, order, cells.vs, cells.ve, cells.words, cells.reals)
        self._make_room(touched, counts + _ends(changes))
        earliest = np.full(len(touched), INFINITY, np.int64)
        take_in(touched, changes, self.timelines.arrays, self.cursors, self.floats, earliest)
        self.extremes.take(touched, bounds, order, cells, brought, batch.weight)
        return touched, earliest

    def _greatest_endpoint(self, slots: Int64s, limit: int) -> int:
        return _greatest_entry(
            self.timelines.arrays, self.cursors.place, slots, limit, self.watermark
        )

    def _ended(self) -> Int64s:
        return self.ending.up_to(self.cti - 1) if self.cti > BEGINNING else NO_SLOTS

    def _update(self, slots: Int64s, earliest: Int64s, before: int) -> Batch:
        if len(slots) == 0:  # a promise, or a time at which nothing ends
            return empty(self.schema, self._promise())
        sizes = self.timelines.sizes(slots)
        self.trace.reserve(slots, 2 * self.trace.sizes(slots) + sizes + 2)
        next_due, last_end = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
        final = self._final()
        changes, overflows = timeline.go_through(
            timeline.DueSlots(slots, earliest, next_due, last_end),
            timeline.TimelineState(
                self.timelines.arrays,
                self.timelines.arrays.ints.view(np.float64),
                self.floats,
                self.cursors,
                self.trace.arrays,
                self.extremes.arrays,
            ),
            self.values,
            self.level,
            timeline.Watermarks(before, self.watermark, final),
        )
        if overflows:
            raise OverflowError(
                "a sum of integers does not fit a BIGINT: cast its argument to DOUBLE or DECIMAL"
            )
        self.extremes.forget(slots, final)
        self.due.set(slots, next_due)
        self.ending.set(slots, last_end)
        cti = self._promise()
        slot, vs, ve = changes[trace.KEY], changes[trace.VS], changes[trace.VE]
        if len(slot) == 0:
            return empty(self.schema, cti)
        keys = [column.take(slot) for column in self.key_rows.columns]
        rows, weight = self.output(keys, changes)
        return Batch(vs, ve, weight, rows, cti, latest_start(vs, weight))

    def _make_room(self, slots: Int64s, more: Int64s) -> None:
        """See to it that the timelines of slots have room for more entries."""
        self.timelines.reserve(slots, self.timelines.sizes(slots) + more)

    def _widen(self) -> None:
        """Make room for the sums of great numbers, behind the others."""
        sums, arrays = 3 * len(self.values.float_columns), self.timelines.arrays
        if arrays.ints.shape[1] == self.floats + sums:
            self.states.values = _widened(self.states.values, sums)
            self.timelines.arrays = arrays._replace(ints=_widened(arrays.ints, sums))

    def _evict(self, slots: Int64s) -> None:
        """Give back the slots that have ended before the cti, or that it has closed, which are
        among those that were updated."""
        if self.cti == BEGINNING or len(slots) == 0:
            return
        ended, closed = self._ended(), self.closing.closed(self.cti)
        if len(ended) == len(closed) == 0:
            return
        gone = ended[(self.timelines.sizes(ended) == 0) & (self.trace.sizes(ended) == 0)]
        if len(closed):
            gone = in_order(gone, closed[self.timelines.sizes(closed) == 0])
        if len(gone) == 0:
            return
        self.extremes.give_back(gone)
        self._remove(gone)


def _widened(words: Int64Table, more: int) -> Int64Table:
    return np.concatenate([words, np.zeros((len(words), more), np.int64)], axis=1)


@compiled
def _ends(changes: SumChanges) -> Int64s:
    """How many of the changes of each slot have an end."""
    ends = np.zeros(len(changes.bounds) - 1, np.int64)
    for number in range(len(ends)):
        for place in range(changes.bounds[number], changes.bounds[number + 1]):
            ends[number] += changes.ve[changes.order[place]] < INFINITY
    return ends


@compiled
def _greatest_entry(
    timelines: RunArrays, cursor: Int64s, slots: Int64s, limit: int, least: int
) -> int:
    """The greatest time of an entry after the cursor of these slots, up to the limit."""
    greatest = least
    for slot in slots:
        base = timelines.first[slot]
        for place in range(cursor[slot], timelines.size[slot]):
            time = timelines.ints[base + place, 0]
            if time > limit:
                break
            greatest = max(greatest, time)
    return greatest
