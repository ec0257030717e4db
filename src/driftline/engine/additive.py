"""The frame of additive snapshot operators: slots, timelines, watermark, promises.

    o(H₁, …, Hₙ), at every time: a function of sums over the rows that are alive, slot by slot

A slot is a group, or a distinct row. The kernel in `timeline` does the work; this class feeds it.

State: for every slot its timeline, what was said of it, the rows it needs for least and greatest
values, and its key. A cti lets go what lies before it, and every slot that has ended by then.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine import layout, timeline
from driftline.engine.batch import Batch, empty
from driftline.engine.due import Due
from driftline.engine.fingerprint import fingerprints
from driftline.engine.layout import Changes, Cursors, Said, Values
from driftline.engine.operator import Arrays, Operator
from driftline.engine.rowstore import RowStore
from driftline.engine.runs import RunArrays, Runs
from driftline.engine.slots import Slots
from driftline.engine.stored_rows import rows_from_bytes, rows_to_bytes
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
    """How many columns the runs of an operator have."""

    state_ints: int
    state_floats: int
    member_ints: int  # 0: no members are kept
    member_floats: int


class Contribution(NamedTuple):
    """What each change of a batch brings: see `layout.Changes`."""

    ints: Int64s
    floats: Floats
    member_nulls: Int64s
    member_hash: Int64s
    member_ints: Int64s
    member_floats: Floats


class AdditiveOperator(Operator):
    """`keys` are the columns (of every input, in this order) that make a slot."""

    def __init__(
        self,
        schema: pa.Schema,
        key_schema: pa.Schema,
        values: Values,
        columns: Layout,
        level: Level,
    ) -> None:
        super().__init__(schema)
        self.key_schema, self.values = key_schema, values
        self.level = LEVELS[level]
        self.slots = Slots()
        self.key_rows = RowStore(key_schema)
        float_values = int(values.is_float.sum())
        self.timelines = Runs(layout.STATE + columns.state_ints, columns.state_floats)
        self.segments = Runs(layout.VALUES + len(values.kind) - float_values, float_values)
        self.members = Runs(columns.member_ints, columns.member_floats)
        self.cursors = Cursors(
            np.zeros(0, np.int64),
            np.zeros((0, columns.state_ints), np.int64),
            np.zeros((0, columns.state_floats)),
        )
        self.due, self.ending = Due(), Due()
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
        slots = NO_SLOTS
        if len(batch):
            keys = self.key_columns(port, batch.payload)
            slots, new = self.slots.find_or_add(fingerprints(keys, len(batch)))
            if len(new):
                rows = [column.take(pa.array(new)) for column in keys]
                self.key_rows.put(slots[new], _as_batch(rows, self.key_schema, len(new)))
        said = [self._advance(port, slots, batch, max(self.watermark, batch.high))]
        if batch.cti > BEGINNING:
            self.ctis[port] = max(self.ctis[port], batch.cti)
            if min(self.ctis) >= self.cti:
                self.cti = min(self.ctis)
                said.append(self._advance(port, NO_SLOTS, batch, self._reached()))
        output = self._output(said)
        self._release()
        return output

    def _reached(self) -> int:
        """The greatest endpoint at or before the cti, if that is after the watermark."""
        if self.cti in (BEGINNING, INFINITY):
            return max(self.watermark, self.cti)
        if self.level == layout.EAGER:
            return self.watermark
        due = self.due.up_to(self.cti)
        return _greatest_entry(
            self.timelines.arrays, self.cursors.place, due, self.cti, self.watermark
        )

    def _advance(self, port: int, slots: Int64s, batch: Batch, watermark: int) -> Said:
        """Bring the slots of the changes, and all that time touches, up to the watermark."""
        touched, counts, order = by_slot(slots, self.slots.used)
        idle = self._idle(touched, watermark)
        if len(slots) == 0:
            batch = empty(batch.payload.schema)
        call = np.concatenate([touched, idle])
        counts = np.concatenate([counts, np.zeros(len(idle), np.int64)])
        changes = Changes(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
            order,
            batch.vs,
            batch.ve,
            batch.weight,
            *self.contribution(port, batch.payload, batch.weight),
        )
        self._make_room(call, counts)
        next_due, last_end = np.empty(len(call), np.int64), np.empty(len(call), np.int64)
        said, overflows = timeline.advance(
            call,
            changes,
            self.timelines.arrays,
            self.cursors,
            self.segments.arrays,
            self.members.arrays,
            self.values,
            self.level,
            self.watermark,
            watermark,
            self._final(watermark),
            next_due,
            last_end,
        )
        if overflows:
            raise OverflowError(
                "a sum of integers does not fit a BIGINT: cast its argument to DOUBLE or DECIMAL"
            )
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
        return np.setdiff1d(np.concatenate([concerned, ended]), touched)

    def _make_room(self, slots: Int64s, changes: Int64s) -> None:
        if len(slots) == 0:
            return
        needed = int(slots.max()) + 1
        if needed > len(self.cursors.place):
            place, ints, floats = self.cursors
            self.cursors = Cursors(
                _grown(place, needed), _grown(ints, needed), _grown(floats, needed)
            )
        entries = self.timelines.sizes(slots) + 2 * changes
        self.timelines.reserve(slots, entries)
        self.segments.reserve(slots, self.segments.sizes(slots) + entries + 2)
        self.members.reserve(slots, self.members.sizes(slots) + changes)

    def _release(self) -> None:
        """Give back the slots that have ended before the cti."""
        if self.cti == BEGINNING:
            return
        ended = self.ending.up_to(self.cti - 1)
        gone = ended[(self.timelines.sizes(ended) == 0) & (self.segments.sizes(ended) == 0)]
        if len(gone) == 0:
            return
        self.slots.remove(gone)
        self.key_rows.forget(gone)
        for runs in (self.timelines, self.segments, self.members):
            runs.clear(gone)
        never = np.full(len(gone), INFINITY)
        self.due.set(gone, never)
        self.ending.set(gone, never)
        self.cursors.place[gone] = 0

    def _output(self, said: list[Said]) -> Batch:
        cti = self._promise()
        parts = [part for part in said if len(part.slot)]
        if not parts:
            return empty(self.schema, cti)
        whole = Said(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        rows, weight = self.output(self.key_rows.take(whole.slot).columns, whole)
        added = weight > 0
        high = int(whole.vs[added].max()) if added.any() else BEGINNING
        output = Batch(whole.vs, whole.ve, weight, rows, cti, high)
        return output if len(parts) == 1 else output.netted()  # one call says nothing twice

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
        runs = (self.timelines, self.segments, self.members)
        held = sum(run.nbytes for run in runs) + self.key_rows.nbytes
        return sum(run.entries() for run in runs), held

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        arrays: Arrays = {f"slots.{name}": array for name, array in self.slots.snapshot().items()}
        arrays |= self.timelines.snapshot(live, "timelines")
        arrays |= self.segments.snapshot(live, "segments")
        arrays |= self.members.snapshot(live, "members")
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
        self.slots.restore(
            {name[len("slots.") :]: array for name, array in arrays.items() if "slots." in name}
        )
        live = self.slots.live_slots()
        self._make_room(live, np.zeros(len(live), np.int64))
        self.timelines.restore(live, arrays, "timelines")
        self.segments.restore(live, arrays, "segments")
        self.members.restore(live, arrays, "members")
        self.key_rows.put(live, rows_from_bytes(arrays["keys"]))
        if len(live):
            self.cursors.place[live] = arrays["cursors.place"]
            self.cursors.ints[live] = arrays["cursors.ints"]
            self.cursors.floats[live] = arrays["cursors.floats"]
        self.due.set(live, arrays["due"].astype(np.int64))
        self.ending.set(live, arrays["ending"].astype(np.int64))
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
