"""The frame of additive snapshot operators: slots, timelines, watermark, promises.

    o(H₁, …, Hₙ), at every time: a function of sums over the rows that are alive, slot by slot

A slot is a group, or a distinct row. The kernel in `timeline` does the work; this class feeds it.

State: for every slot its timeline, what was said of it, the rows it needs for least and greatest
values, and its key. A cti lets go what lies before it, every slot that has ended by then, and every
slot that it closes (`closing`): what was said of it without an end holds for ever.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine import layout, timeline
from driftline.engine.batch import Batch, empty, latest_start
from driftline.engine.cells import Contribution, gathered
from driftline.engine.closing import Closing
from driftline.engine.due import Due
from driftline.engine.extremes import Extremes
from driftline.engine.fingerprint import fingerprints
from driftline.engine.layout import Changes, Cursors, Said, Values
from driftline.engine.operator import Arrays, Operator, Span, joined_span, span_of
from driftline.engine.rowstore import RowStore
from driftline.engine.runs import RunArrays, Runs
from driftline.engine.slots import Slots
from driftline.engine.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.engine.timeline_entries import take_in
from driftline.model.compiled import njit
from driftline.model.reference.latency import Level
from driftline.model.time import BEGINNING, INFINITY

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]

LEVELS = {
    Level.PERFECT: layout.PERFECT,
    Level.ORDERED: layout.ORDERED,
    Level.EAGER: layout.EAGER,
}
NO_SLOTS = np.empty(0, np.int64)
_SMALLEST = 1024


class Layout(NamedTuple):
    """How many columns the state of an operator has, and how many extremes it keeps."""

    state_ints: int
    state_floats: int
    extremes: int


class AdditiveOperator(Operator):
    """`keys` are the columns (of every input, in this order) that make a slot; `only_grows`: of the
    input nothing is ever taken back."""

    keeps_watermark = True
    adds_up = True

    def __init__(
        self,
        schema: pa.Schema,
        key_schema: pa.Schema,
        values: Values,
        columns: Layout,
        level: Level,
        *,
        only_grows: bool = False,
    ) -> None:
        super().__init__(schema)
        self.key_schema, self.values = key_schema, values
        self.level = LEVELS[level]
        self.slots = Slots()
        self.key_rows = RowStore(key_schema)
        float_values = int(values.how[:, layout.IS_FLOAT].sum())
        self.timelines = Runs(layout.STATE + columns.state_ints, columns.state_floats)
        self.segments = Runs(layout.VALUES + len(values.how) - float_values, float_values)
        self.extremes = Extremes(columns.extremes, only_grows=only_grows)
        self.cursors = Cursors(
            np.zeros(0, np.int64),
            np.zeros((0, columns.state_ints), np.int64),
            np.zeros((0, columns.state_floats)),
        )
        self.due, self.ending = Due(), Due()
        self.closing = Closing()
        self.watermark = BEGINNING  # τ
        self.ctis = [BEGINNING] * self.ports
        self.cti = BEGINNING  # the least of the inputs' latest
        self.promised = BEGINNING  # the latest of the output

    @abstractmethod
    def key_columns(self, port: int, rows: pa.RecordBatch) -> list[pa.Array]:
        """The columns that make the slot of each row."""

    @abstractmethod
    def contribution(self, port: int, rows: pa.RecordBatch, weight: Int64s) -> Contribution:
        """What each row adds to the state."""

    @abstractmethod
    def output(self, keys: list[pa.Array], said: Said) -> tuple[pa.RecordBatch, Int64s]:
        """The rows that are said, and their weights."""

    def process(self, port: int, batch: Batch) -> Batch:
        touched, earliest = NO_SLOTS, NO_SLOTS
        if len(batch):
            touched, earliest = self._take_in(port, batch)
        self.ctis[port] = max(self.ctis[port], batch.cti)
        self.cti = max(self.cti, min(self.ctis))
        watermark = max(self.watermark, batch.high)
        if batch.cti > BEGINNING:
            watermark = self._reached(touched, watermark)
        output = self._output(self._go_through(touched, earliest, watermark))
        self._release()
        return output

    def _take_in(self, port: int, batch: Batch) -> tuple[Int64s, Int64s]:
        """Merge the changes into the timelines of their slots: these, and the earliest time that
        is affected of each."""
        keys = self.key_columns(port, batch.payload)
        slots, new = self.slots.find_or_add(fingerprints(keys, len(batch)))
        if len(new):
            rows = [column.take(pa.array(new)) for column in keys]
            self.key_rows.put(slots[new], _as_batch(rows, self.key_schema, len(new)))
            self.closing.opened(slots[new], rows)
        brought = self.contribution(port, batch.payload, batch.weight)
        cells = gathered(
            slots, batch.vs, batch.ve, batch.weight, brought, self.values, self.extremes.only_grows
        )
        touched, counts, order = by_slot(cells.slot, self.slots.used)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        changes = Changes(bounds, order, cells.vs, cells.ve, cells.marks, cells.ints, cells.floats)
        self._make_room(touched, counts)
        earliest = np.full(len(touched), INFINITY, np.int64)
        take_in(touched, changes, self.timelines.arrays, self.cursors, earliest)
        self.extremes.take(touched, bounds, order, cells, brought, batch.weight)
        return touched, earliest

    def _reached(self, touched: Int64s, watermark: int) -> int:
        """The greatest endpoint at or before the cti, if that is after the watermark."""
        if self.cti in (BEGINNING, INFINITY):
            return max(watermark, self.cti)
        if self.level == layout.EAGER:
            return watermark
        concerned = np.concatenate([touched, self.due.up_to(self.cti)])
        return _greatest_entry(
            self.timelines.arrays, self.cursors.place, concerned, self.cti, watermark
        )

    def _go_through(self, touched: Int64s, earliest: Int64s, watermark: int) -> Said:
        """Bring the slots of the changes, and all that time touches, up to the watermark."""
        idle = self._idle(touched, watermark)
        call = np.concatenate([touched, idle])
        earliest = np.concatenate([earliest, np.full(len(idle), INFINITY, np.int64)])
        sizes = self.timelines.sizes(call)
        self.segments.reserve(call, self.segments.sizes(call) + sizes + 2)
        next_due, last_end = np.empty(len(call), np.int64), np.empty(len(call), np.int64)
        final = self._final(watermark)
        said, overflows = timeline.go_through(
            timeline.Call(call, earliest, next_due, last_end),
            timeline.Held(
                self.timelines.arrays, self.cursors, self.segments.arrays, self.extremes.arrays
            ),
            self.values,
            self.level,
            timeline.Moment(self.watermark, watermark, final),
        )
        if overflows:
            raise OverflowError(
                "a sum of integers does not fit a BIGINT: cast its argument to DOUBLE or DECIMAL"
            )
        self.extremes.forget(call, final)
        self.watermark = self.counters.watermark = watermark
        self.due.set(call, next_due)
        self.ending.set(call, last_end)
        return said

    def _idle(self, touched: Int64s, watermark: int) -> Int64s:
        """The slots that no change touches, but time does."""
        concerned = NO_SLOTS
        if self.level == layout.PERFECT and watermark > self.watermark:
            concerned = self.slots.live_slots()
        elif self.level == layout.ORDERED:
            concerned = self.due.up_to(min(watermark, INFINITY - 1))
        ended = self.ending.up_to(self.cti - 1) if self.cti > BEGINNING else NO_SLOTS
        closed = self.closing.closed(self.cti)
        return _without(np.concatenate([concerned, ended, closed]), touched, self.slots.used)

    def _make_room(self, slots: Int64s, changes: Int64s) -> None:
        if len(slots) == 0:
            return
        needed = int(slots.max()) + 1
        if needed > len(self.cursors.place):
            place, ints, floats = self.cursors
            self.cursors = Cursors(
                _grown(place, needed), _grown(ints, needed), _grown(floats, needed)
            )
        self.timelines.reserve(slots, self.timelines.sizes(slots) + 2 * changes)

    def _release(self) -> None:
        """Give back the slots that have ended before the cti, or that it has closed."""
        if self.cti == BEGINNING:
            return
        ended, closed = self.ending.up_to(self.cti - 1), self.closing.closed(self.cti)
        gone = ended[(self.timelines.sizes(ended) == 0) & (self.segments.sizes(ended) == 0)]
        if len(closed):
            gone = np.union1d(gone, closed[self.timelines.sizes(closed) == 0])
        if len(gone) == 0:
            return
        self.closing.gone(gone)
        self.slots.remove(gone)
        self.key_rows.forget(gone)
        for runs in (self.timelines, self.segments, self.extremes):
            runs.clear(gone)
        never = np.full(len(gone), INFINITY)
        self.due.set(gone, never)
        self.ending.set(gone, never)
        for part in self.cursors:
            part[gone] = 0

    def _output(self, said: Said) -> Batch:
        cti = self._promise()
        if len(said.slot) == 0:
            return empty(self.schema, cti)
        rows, weight = self.output(self.key_rows.take(said.slot).columns, said)
        return Batch(said.vs, said.ve, weight, rows, cti, latest_start(said.vs, weight))

    def _final(self, watermark: int) -> int:
        """Before this nothing is said any more: at `perfect`, what is alive at the watermark is
        still to be said from there on."""
        return min(self.cti, watermark) if self.level == layout.PERFECT else self.cti

    def _promise(self) -> int:
        """The output's cti, if it advances."""
        cti = self._final(self.watermark)
        if cti <= self.promised:
            return BEGINNING
        self.promised = cti
        return cti

    def state_size(self) -> tuple[int, int]:
        runs = (self.timelines, self.segments, self.extremes)
        held = sum(run.nbytes for run in runs) + self.key_rows.nbytes
        return sum(run.entries() for run in runs), held

    def state_span(self) -> Span:
        return joined_span(*(span_of(run.ends()) for run in (self.timelines, self.segments)))

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        arrays: Arrays = self.slots.snapshot()
        arrays |= self.timelines.snapshot(live, "timelines")
        arrays |= self.segments.snapshot(live, "segments")
        arrays |= self.extremes.snapshot(live, "extremes")
        arrays |= {
            "keys": rows_to_bytes(self.key_rows.take(live)),
            "cursors.place": self.cursors.place[live],
            "cursors.ints": self.cursors.ints[live],
            "cursors.floats": self.cursors.floats[live],
            "due": self.due.times[live],
            "ending": self.ending.times[live],
            "times": np.array([self.watermark, self.cti, self.promised, *self.ctis]),
        }
        return arrays

    def restore(self, arrays: Arrays) -> None:
        self.slots.restore(arrays)
        live = self.slots.live_slots()
        self._make_room(live, np.zeros(len(live), np.int64))
        self.timelines.restore(live, arrays, "timelines")
        self.segments.restore(live, arrays, "segments")
        self.extremes.restore(live, arrays, "extremes")
        self.key_rows.put(live, rows_from_bytes(arrays["keys"]))
        if len(live):
            self.cursors.place[live] = arrays["cursors.place"]
            self.cursors.ints[live] = arrays["cursors.ints"]
            self.cursors.floats[live] = arrays["cursors.floats"]
        self.due.set(live, arrays["due"].astype(np.int64))
        self.ending.set(live, arrays["ending"].astype(np.int64))
        self.closing = Closing(self.closing.key)
        self.closing.opened(live, self.key_rows.take(live).columns)
        self.watermark, self.cti, self.promised, *self.ctis = map(int, arrays["times"].tolist())


def _as_batch(columns: list[pa.Array], schema: pa.Schema, length: int) -> pa.RecordBatch:
    if columns:
        return pa.RecordBatch.from_arrays(columns, schema=schema)
    return pa.RecordBatch.from_struct_array(pa.array([{}] * length, pa.struct([])))


def _grown(array: NDArray[Any], needed: int) -> NDArray[Any]:
    bigger = np.zeros((max(needed, 2 * len(array), _SMALLEST), *array.shape[1:]), array.dtype)
    bigger[: len(array)] = array
    return bigger


@njit(cache=True, nogil=True)
def by_slot(slots: Int64s, used: int) -> tuple[Int64s, Int64s, Int64s]:
    """The distinct slots in order of appearance, how often each is there, and the places of each
    one after the other, in their order."""
    number_of = np.full(used, -1, np.int64)
    touched, counts = np.empty(len(slots), np.int64), np.zeros(len(slots), np.int64)
    distinct = 0
    for place in range(len(slots)):
        slot = slots[place]
        if number_of[slot] < 0:
            number_of[slot] = distinct
            touched[distinct] = slot
            distinct += 1
        counts[number_of[slot]] += 1
    following = np.zeros(distinct, np.int64)
    for number in range(1, distinct):
        following[number] = following[number - 1] + counts[number - 1]
    order = np.empty(len(slots), np.int64)
    for place in range(len(slots)):
        number = number_of[slots[place]]
        order[following[number]] = place
        following[number] += 1
    return touched[:distinct], counts[:distinct], order


@njit(cache=True, nogil=True)
def _without(slots: Int64s, others: Int64s, used: int) -> Int64s:
    """The slots, each once, without some others."""
    seen = np.zeros(used, np.bool_)
    for slot in others:
        seen[slot] = True
    left, kept = np.empty(len(slots), np.int64), 0
    for slot in slots:
        if not seen[slot]:
            seen[slot] = True
            left[kept] = slot
            kept += 1
    return left[:kept].copy()


@njit(cache=True, nogil=True)
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
