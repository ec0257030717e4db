"""As-of joins: for each row of the left the latest row of the right.

    as_of(L, R), at every time: for every l of the snapshot of L the row r of that of R with equal
        keys, time(r) <= time(l) and the greatest time(r); (l + r) if there is one, and else
        nothing or, of a left join, l padded with nulls

Of several rows with the greatest time it is the one with the greatest fingerprint.

State: the rows of both sides, by key in order of their time. A row of the left that comes or goes
is matched by what is held of the right; one of the right changes the matches of the rows from its
time on up to the next row of the right. A cti of both sides evicts rows that have ended. Where rows
are only added and times are those of the streams (`by_time`), what comes after the cti C matches no
row before it: all rows of the left before C are evicted, and of the right all but the last of each
key.

Where a row of the right goes, the one before it is the match for longer: what is emitted is right
as a sum of lifetimes, and as snapshots up to the cti. `retell` then follows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, added_up, empty, latest_start
from driftline.engine.core.operator import Arrays, Operator, Span, joined_span, span_of
from driftline.engine.join import as_of_kernel as kernel
from driftline.engine.state.due_times import Due
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.growing import grown
from driftline.engine.state.order_keys import valid
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.runs import Runs
from driftline.engine.state.slot_lists import by_slot
from driftline.engine.state.slots import Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.arrays import Int64s, stored, to_arrow
from driftline.model.time import BEGINNING, INFINITY

_LEFT, _RIGHT = range(2)
_NONE = np.empty(0, np.int64)


class _Side:
    """The rows of one side. `slots`: one for every row and lifetime; `runs`: by key, the rows in
    order of their time; `rows`: their columns; `due`: when something of a key can be dropped."""

    def __init__(self, schema: pa.Schema) -> None:
        self.slots, self.runs = Slots(), Runs(kernel.COLUMNS, 0)
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
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        kernel.take_in(touched, bounds, in_order[order], entries, self.runs.arrays)
        return members, entries

    def settle(self, members: Int64s) -> None:
        self.members.before[members] = self.members.copies[members]

    def drop(self, slots: Int64s, cti: int, *, settled: bool, keeps_last: bool) -> None:
        """Drop what is gone, or what a cti evicts."""
        gone = kernel.drop(slots, cti, settled, keeps_last, self.members, self.runs.arrays)
        self.slots.remove(gone)
        self.rows.forget(gone)
        times = kernel.due(slots, settled, keeps_last, self.members, self.runs.arrays)
        self.due.set(slots, times)

    def snapshot(self, keys: Int64s, prefix: str) -> Arrays:
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
        own = {
            name.removeprefix(f"{prefix}."): each
            for name, each in arrays.items()
            if name.startswith(f"{prefix}.")
        }
        self.slots.restore(own)
        live = self.slots.live_slots()
        self.make_room()
        self.rows.put(live, rows_from_bytes(own["rows"]))
        self.members.vs[live], self.members.ve[live] = own["vs"], own["ve"]
        self.members.copies[live] = self.members.before[live] = own["copies"]
        self.time[live] = own["time"]
        self.runs.make_slots(int(keys.max()) + 1 if len(keys) else 0)
        self.runs.restore(keys, own, "runs")


class AsOf(Operator):
    """`keys`, `times`: of each side the columns of the key, and that of the time. `padded`: rows of
    the left without a match come out, too; `strict`: the time of a match is before that of the row.
    `slots`: one for every key of either side."""

    ports = 2
    sets_ends = True
    keeps_labels = True

    def __init__(
        self,
        left: pa.Schema,
        right: pa.Schema,
        keys: tuple[Sequence[str], Sequence[str]],
        times: tuple[str, str],
        *,
        padded: bool = False,
        strict: bool = False,
        by_time: bool = False,
        high_of_inputs: bool = False,
    ) -> None:
        super().__init__(pa.schema([*left, *right]))
        self.schemas, self.keys, self.times = (left, right), keys, times
        self.padded, self.strict, self.by_time = padded, strict, by_time
        self.high_of_inputs = high_of_inputs
        self.ctis = [BEGINNING, BEGINNING]
        self.promised = BEGINNING
        self._start_empty()

    def _start_empty(self) -> None:
        self.slots = Slots()
        self.sides = tuple(_Side(schema) for schema in self.schemas)

    def process(self, port: int, batch: Batch) -> Batch:
        output = empty(self.schema)
        if len(batch):
            changes = batch.consolidated()
            output = self._left(changes) if port == _LEFT else self._right(changes)
        self.ctis[port] = max(self.ctis[port], batch.cti)
        cti = self._promise()
        high = batch.high if self.high_of_inputs else latest_start(output.vs, output.weight)
        return Batch(output.vs, output.ve, output.weight, output.payload, cti, high)

    def _promise(self) -> int:
        """The output's cti, if it advances; what it evicts goes."""
        cti = min(self.ctis)
        if cti <= self.promised:
            return BEGINNING
        self.promised = cti
        if cti == INFINITY:
            self._start_empty()
        else:
            touched = np.union1d(*(side.due.up_to(cti) for side in self.sides))
            self._drop(touched)
        return cti

    def _drop(self, slots: Int64s) -> None:
        for port, side in enumerate(self.sides):
            side.runs.make_slots(self.slots.used)
            side.drop(slots, self.promised, settled=self.by_time, keeps_last=port == _RIGHT)
        nothing = sum(side.runs.sizes(slots) for side in self.sides) == 0
        gone = slots[nothing]
        self.slots.remove(gone)
        for side in self.sides:
            side.runs.clear(gone)
            side.due.set(gone, np.full(len(gone), INFINITY))

    def _known(self, port: int, batch: Batch) -> tuple[Batch, Batch, Int64s]:
        """The rows that have a key and a time, those that do not, and the times."""
        columns = [batch.payload.column(name) for name in (*self.keys[port], self.times[port])]
        known = np.logical_and.reduce([valid(each) for each in columns])
        times = stored(batch.payload.column(self.times[port]).cast(pa.int64()))
        if known.all():
            return batch, batch.take(np.empty(0, np.int64)), times.astype(np.int64)
        return batch.take(known), batch.take(~known), times[known].astype(np.int64)

    def _slots_of(self, port: int, batch: Batch) -> Int64s:
        prints = fingerprints([batch.payload.column(name) for name in self.keys[port]], len(batch))
        self.share(prints.low, self.slots.live)
        return self.slots.find_or_add(prints)[0]

    def _left(self, batch: Batch) -> Batch:
        """Rows of the left come or go: so do their matches."""
        known, unknown, times = self._known(_LEFT, batch)
        slots = self._slots_of(_LEFT, known)
        side, right = self.sides
        right.make_room()
        number, member, start, end = kernel.matches(
            slots, times, known.vs, known.ve, right.members.copies, self.padded, self.strict,
            right.members, right.runs.arrays,
        )  # fmt: skip
        rows = known.payload.take(to_arrow(number))
        weight = known.weight[number]
        if self.padded and len(unknown):
            rows = pa.concat_batches([rows, unknown.payload])
            none = np.full(len(unknown), kernel.NO_MATCH)
            member = np.concatenate([member, none])
            start, end = np.concatenate([start, unknown.vs]), np.concatenate([end, unknown.ve])
            weight = np.concatenate([weight, unknown.weight])
        output = Batch(start, end, weight, self._both(rows, member)).consolidated()
        members, _ = side.take_in(slots, times, known.row_fingerprints(), known, self.slots.used)
        side.settle(members)
        self._drop(by_slot(slots, self.slots.used)[0])
        return output

    def _right(self, batch: Batch) -> Batch:
        """Rows of the right come or go: the matches of some rows of the left are others."""
        known, _, times = self._known(_RIGHT, batch)
        slots = self._slots_of(_RIGHT, known)
        left, side = self.sides
        left.runs.make_slots(self.slots.used)
        members, entries = side.take_in(
            slots, times, known.row_fingerprints(), known, self.slots.used
        )
        touched, counts, order = by_slot(slots, self.slots.used)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        rows, slot_of = kernel.affected(
            touched, bounds, order, entries, self.strict, self.by_time, side.members,
            side.runs.arrays, left.runs.arrays, np.zeros(max(left.slots.used, 1), np.bool_),
        )  # fmt: skip
        output = empty(self.schema)
        if len(rows):
            output = self._changed(rows, slot_of)
        side.settle(members)
        self._drop(touched)
        return output

    def _changed(self, rows: Int64s, slots: Int64s) -> Batch:
        """By what the matches of rows of the left have changed."""
        left, right = self.sides
        found = []
        for present, sign in ((right.members.before, -1), (right.members.copies, 1)):
            number, member, start, end = kernel.matches(
                slots, left.time[rows], left.members.vs[rows], left.members.ve[rows], present,
                self.padded, self.strict, right.members, right.runs.arrays,
            )  # fmt: skip
            weight = sign * left.members.copies[rows[number]]
            found.append(np.stack([rows[number], member, start, end, weight]))
        row, member, start, end, weight = np.concatenate(found, axis=1)
        prints = fingerprints([], len(row)).with_numbers(row, member, start, end)
        kept, sums = added_up(prints.low, prints.high, weight)
        payload = self._both(left.rows.take(row[kept]), member[kept])
        return Batch(start[kept], end[kept], sums, payload).consolidated()

    def _both(self, rows: pa.RecordBatch, member: Int64s) -> pa.RecordBatch:
        """Rows of the left beside their matches."""
        matched = member != kernel.NO_MATCH
        found = self.sides[_RIGHT].rows.take(member[matched]).columns
        if not matched.all():
            places = pa.array(np.cumsum(matched) - 1, mask=~matched)
            found = [column.take(places) for column in found]
        return pa.RecordBatch.from_arrays([*rows.columns, *found], schema=self.schema)

    def state_size(self) -> tuple[int, int]:
        held = sum(each.runs.nbytes + each.rows.nbytes + each.slots.nbytes for each in self.sides)
        return sum(each.slots.live for each in self.sides), held + self.slots.nbytes

    def state_span(self) -> Span:
        return joined_span(
            *(span_of(side.members.vs[side.slots.live_slots()]) for side in self.sides)
        )

    def snapshot(self) -> Arrays:
        live = self.slots.live_slots()
        left, right = self.sides
        for side in self.sides:
            side.make_room()
        return {
            **self.slots.snapshot(),
            **left.snapshot(live, "left"),
            **right.snapshot(live, "right"),
            "times": np.array([*self.ctis, self.promised]),
        }

    def restore(self, arrays: Arrays) -> None:
        self._start_empty()
        self.slots.restore(arrays)
        live = self.slots.live_slots()
        for port, (side, name) in enumerate(zip(self.sides, ("left", "right"), strict=True)):
            side.restore(live, arrays, name)
            last = port == _RIGHT
            times = kernel.due(live, self.by_time, last, side.members, side.runs.arrays)
            side.due.set(live, times)
        *self.ctis, self.promised = map(int, arrays["times"].tolist())
