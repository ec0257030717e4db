"""As-of joins: for each row of the left the latest row of the right.

    as_of(L, R), at every time: for every l of the snapshot of L the row r of that of R with equal
        keys, time(r) <= time(l) and the greatest time(r); (l + r) if there is one, and else
        nothing or, of a left join, l padded with nulls

Of several rows with the greatest time it is the one with the greatest fingerprint.

State: the rows of both sides, by key in order of their time. A row of the left that comes or goes
is matched by what is held of the right; one of the right changes the matches of the rows from its
time on up to the next row of the right. A cti of both sides evicts rows that have ended. Where rows
are only added, never end, and start at their time (`by_time`), what comes after the cti C matches
no row before it: all rows of the left before C are evicted, or not held at all, and of the right
all but the last of each key. Where times are negative, so that the match is the next row
(`forward`), C evicts all rows of the right before it, and the rows of the left that these match.

Where a row of the right goes, the one before it is the match for longer: what is emitted is right
as a sum of lifetimes, and as snapshots up to the cti. `retell` then follows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, added_up, empty, latest_start
from driftline.engine.core.operator import Operator
from driftline.engine.join import as_of_kernel as kernel
from driftline.engine.join.as_of_sides import AsOfSide, SideByTime
from driftline.engine.state.fields import Fields
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.order_keys import valid
from driftline.engine.state.progress import Progress
from driftline.engine.state.slot_lists import by_slot, in_order
from driftline.engine.state.slots import NO_SLOT, Slots
from driftline.model.arrays import Int64s, stored, to_arrow
from driftline.model.time import BEGINNING, INFINITY

_LEFT, _RIGHT = range(2)


class AsOf(Operator):
    """`keys`, `times`: of each side the columns of the key, and that of the time. `padded`: rows of
    the left without a match come out, too; `strict`: the time of a match is before that of the row.
    `forward`: rows are only added, never end, and start at the negative of their time.
    `slots`: one for every key of either side; `sides`, or with `by_time` `sides_by_time`: the rows
    of each; `names`: the columns of each that are read downstream."""

    ports = 2
    fields = Fields(
        keys="slots",
        by_key=("left.runs", "right.runs"),
        derived=("left.due", "right.due"),
        parts=("left", "right", "progress"),
    )
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
        forward: bool = False,
        high_of_inputs: bool = False,
    ) -> None:
        super().__init__(pa.schema([*left, *right]))
        self.schemas, self.keys, self.times = (left, right), keys, times
        self.padded, self.strict, self.by_time, self.forward = padded, strict, by_time, forward
        self.high_of_inputs = high_of_inputs
        self.names = tuple(left.names), tuple(right.names)
        self.progress = Progress(ports=2)
        self.slots = Slots()
        self.sides = AsOfSide(left), AsOfSide(right, by_start=self.forward)
        self.sides_by_time = SideByTime(left, is_right=False), SideByTime(right, is_right=True)

    def build_only(self, names: frozenset[str]) -> None:
        left, right = ([each for each in own.names if each in names] for own in self.schemas)
        self.names = tuple(left), tuple(right)
        self.schema = pa.schema(
            [each for own in self.schemas for each in own if each.name in names]
        )

    def process(self, port: int, batch: Batch) -> Batch:
        self.progress.receive(port, batch.cti)
        output = empty(self.schema)
        if len(batch):
            changes = batch.consolidated()
            if self.by_time:
                output = (
                    self._left_by_time(changes) if port == _LEFT else self._right_by_time(changes)
                )
            else:
                output = self._left(changes) if port == _LEFT else self._right(changes)
        cti = self._promise()
        high = batch.high if self.high_of_inputs else latest_start(output.vs, output.weight)
        return Batch(output.vs, output.ve, output.weight, output.payload, cti, high)

    def _promise(self) -> int:
        """The output's cti, if it advances; what it evicts goes."""
        cti = self.progress.promise(self.progress.time)
        if cti == INFINITY:
            self.remove_all()
        elif cti > BEGINNING:
            self._evict(in_order(*(side.due.up_to(cti) for side in self._held)))
        return cti

    @property
    def _held(self) -> tuple[AsOfSide, AsOfSide] | tuple[SideByTime, SideByTime]:
        return self.sides_by_time if self.by_time else self.sides

    @property
    def left(self) -> AsOfSide | SideByTime:
        return self._held[_LEFT]

    @property
    def right(self) -> AsOfSide | SideByTime:
        return self._held[_RIGHT]

    def _evict(self, slots: Int64s) -> None:
        """Drop what is gone of some slots, and what the cti evicts."""
        cti = self.progress.promised
        if self.forward:
            left, right = self.sides
            kernel.settle_forward(
                slots, cti, self.strict, left.members, left.runs.arrays, right.members,
                right.runs.arrays,
            )  # fmt: skip
        for side in self._held:
            side.evict(slots, cti)
        nothing = sum(side.runs.sizes(slots) for side in self._held) == 0
        self.remove_slots(slots[nothing])

    def _known(self, port: int, batch: Batch) -> tuple[Batch, Batch, Int64s]:
        """The rows that have a key and a time, those that do not, and the times."""
        columns = [batch.payload.column(name) for name in (*self.keys[port], self.times[port])]
        known = np.logical_and.reduce([valid(each) for each in columns])
        times = stored(batch.payload.column(self.times[port]).cast(pa.int64()))
        if known.all():
            return batch, empty(batch.payload.schema), times.astype(np.int64)
        return batch.take(known), batch.take(~known), times[known].astype(np.int64)

    def _keys_of(self, port: int, batch: Batch) -> Fingerprints:
        keys = fingerprints([batch.payload.column(name) for name in self.keys[port]], len(batch))
        self.share(keys.low, self.slots.live)
        return keys

    def _left(self, batch: Batch) -> Batch:
        """Rows of the left come or go: so do their matches."""
        known, unknown, times = self._known(_LEFT, batch)
        slots, _ = self.slots.find_or_add(self._keys_of(_LEFT, known))
        side, right = self.sides
        self.make_slots()
        number, member, start, end = kernel.matches(
            slots, times, known.vs, known.ve, right.members.copies, self.padded, self.strict,
            right.members, right.runs.arrays,
        )  # fmt: skip
        matched = Batch(start, end, known.weight[number], known.payload.take(to_arrow(number)))
        output = self._matched(matched, member, unknown).consolidated()
        members, _ = side.take_in(slots, times, known.row_fingerprints(), known, self.slots.used)
        side.settle(members)
        self._evict(by_slot(slots, self.slots.used)[0])
        return output

    def _left_by_time(self, batch: Batch) -> Batch:
        """Rows of the left come; those whose match can become another one are held."""
        known, unknown, times = self._known(_LEFT, batch)
        keys = self._keys_of(_LEFT, known)
        slots = self.slots.find(keys)
        left, right = self.sides_by_time
        member = kernel.latest(slots, times, self.strict, right.runs.arrays)
        open_ = np.flatnonzero(times >= self.progress.time)
        if len(open_):
            new = open_[slots[open_] == NO_SLOT]
            slots[new], _ = self.slots.find_or_add(keys.take(new))
            self.make_slots()
            held = known if len(open_) == len(known) else known.take(open_)
            left.take_in(
                slots[open_], times[open_], np.zeros(len(open_), np.int64), held, self.slots.used
            )
        if not self.padded and (member == kernel.NO_MATCH).any():
            there = np.flatnonzero(member != kernel.NO_MATCH)
            known, member = known.take(there), member[there]
        return self._matched(known, member, unknown)

    def _matched(self, rows: Batch, member: Int64s, unknown: Batch) -> Batch:
        """Rows of the left with their matches, and of a left join those that can have none."""
        vs, ve, weight, payload = rows.vs, rows.ve, rows.weight, rows.payload
        if self.padded and len(unknown):
            payload = pa.concat_batches([payload, unknown.payload])
            member = np.concatenate([member, np.full(len(unknown), kernel.NO_MATCH)])
            vs, ve = np.concatenate([vs, unknown.vs]), np.concatenate([ve, unknown.ve])
            weight = np.concatenate([weight, unknown.weight])
        return Batch(vs, ve, weight, self._both(payload, member))

    def _right(self, batch: Batch) -> Batch:
        """Rows of the right come or go: the matches of some rows of the left are others."""
        known, _, times = self._known(_RIGHT, batch)
        slots, _ = self.slots.find_or_add(self._keys_of(_RIGHT, known))
        self.make_slots()
        left, side = self.sides
        members, entries = side.take_in(
            slots, times, known.row_fingerprints(), known, self.slots.used
        )
        touched, counts, order = by_slot(slots, self.slots.used)
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        rows, slot_of = kernel.affected(
            touched, bounds, order, entries, self.strict, side.members,
            side.runs.arrays, left.runs.arrays, np.zeros(max(left.slots.used, 1), np.bool_),
        )  # fmt: skip
        output = empty(self.schema)
        if len(rows):
            output = self._changed(rows, slot_of)
        side.settle(members)
        self._evict(touched)
        return output

    def _changed(self, rows: Int64s, slots: Int64s) -> Batch:
        """By what the matches of rows of the left have changed."""
        left, right = self.sides
        found = []
        for present, sign in ((right.members.before, -1), (right.members.copies, 1)):
            number, member, start, end = kernel.matches(
                slots, left.time.values[rows], left.vs.of(rows), left.ve.of(rows), present,
                self.padded, self.strict, right.members, right.runs.arrays,
            )  # fmt: skip
            weight = sign * left.copies.values[rows[number]]
            found.append(np.stack([rows[number], member, start, end, weight]))
        row, member, start, end, weight = np.concatenate(found, axis=1)
        prints = fingerprints([], len(row)).with_numbers(row, member, start, end)
        kept, sums = added_up(prints.low, prints.high, weight)
        payload = self._both(left.rows.take(row[kept]), member[kept])
        return Batch(start[kept], end[kept], sums, payload).consolidated()

    def _right_by_time(self, batch: Batch) -> Batch:
        """Rows of the right come: each is the match of the rows of the left up to the next one."""
        known, _, times = self._known(_RIGHT, batch)
        slots, _ = self.slots.find_or_add(self._keys_of(_RIGHT, known))
        self.make_slots()
        left, right = self.sides_by_time
        ties = known.row_fingerprints().low.view(np.int64)
        added = right.take_in(slots, times, ties, known, self.slots.used)
        row, before, now = kernel.rematched(
            *added, self.strict, right.runs.arrays, left.runs.arrays
        )
        if not len(row):
            return empty(self.schema)
        had = np.flatnonzero(before != kernel.NO_MATCH) if not self.padded else np.arange(len(row))
        copies = left.copies.values
        weight = np.concatenate([-copies[row[had]], copies[row]])
        row, member = np.concatenate([row[had], row]), np.concatenate([before[had], now])
        payload = self._both(left.rows.take(row), member)
        return Batch(
            left.time.values[row], np.full(len(row), INFINITY), weight, payload
        ).consolidated()

    def _both(self, rows: pa.RecordBatch, member: Int64s) -> pa.RecordBatch:
        """Rows of the left beside their matches, in the columns that are read."""
        own, others = self.names
        matched = member != kernel.NO_MATCH
        all_are = bool(matched.all())
        held = self._held[_RIGHT].rows
        found = held.take_some(member if all_are else member[matched], others).columns
        if not all_are:
            places = pa.array(np.cumsum(matched) - 1, mask=~matched)
            found = [column.take(places) for column in found]
        columns = [*(rows.column(name) for name in own), *found]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def derive(self) -> None:
        live = self.slots.live_slots()
        for side in self._held:
            side.set_due(live)

    def state_size(self) -> tuple[int, int]:
        _, taken = super().state_size()
        return sum(side.state_size()[0] for side in self._held), taken
