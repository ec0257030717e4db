"""The now view: the snapshot of an answer at a clock T, as changes.

    at T                                    snapshot(H′, T) - snapshot(H, T)
    at every endpoint t of H′ in (T, T′]    snapshot(H′, t) - snapshot(H′, t - 1)

when the answer's history goes from H to H′ and the clock from T to T′ (see the reference).

State: the lifetimes that end after the clock, found by fingerprint, and when each of them starts or
ends next. One that has ended is evicted as it leaves, and one that has ended when it comes is never
stored. So an update costs what it changes, and what starts or ends as the clock moves; lifetimes
that do neither are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import Arrays
from driftline.engine.outputs.clock import reached
from driftline.engine.state.due_times import Due
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.growing import grown
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, UInt64s, to_arrow
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import Clock


@dataclass(frozen=True)
class NowChanges:
    """`rows`, and from when on (`at`) so many more copies of each are there (`weight`; fewer, if it
    is negative). In order of time; at one time, first what goes and then what comes."""

    at: Int64s
    weight: Int64s
    rows: pa.RecordBatch

    def __len__(self) -> int:
        return len(self.at)


def in_one_step(changes: NowChanges, keys: Sequence[int] = ()) -> NowChanges:
    """The same without the steps between: of each row how many more or fewer copies there are after
    all changes, since the last of them. `keys`: the places of columns of which no two rows have the
    same values at once; since the last change of a row with the same key, then: from then on the
    key has had its row, or none."""
    slots, first = Slots().find_or_add(fingerprints(changes.rows.columns, len(changes)))
    weight = np.zeros(len(first), np.int64)
    np.add.at(weight, slots, changes.weight)
    groups = slots
    if keys:
        prints = fingerprints([changes.rows.column(place) for place in keys], len(changes))
        groups, _ = Slots().find_or_add(prints)
    last = np.full(len(changes), BEGINNING, np.int64)
    np.maximum.at(last, groups, changes.at)
    at = last[groups[first]]
    kept = np.flatnonzero(weight)
    kept = kept[np.lexsort((weight[kept] > 0, at[kept]))]
    return NowChanges(at[kept], weight[kept], changes.rows.take(to_arrow(first[kept])))


class NowView:
    """`kind`: which clock it goes by; `clock`: T; `cti`: how far the answer is final; `past`: how
    many changes came to lifetimes that had ended already."""

    def __init__(self, schema: pa.Schema, kind: Clock = "latest") -> None:
        self.schema, self.kind = schema, kind
        self.clock, self.cti = BEGINNING, BEGINNING
        self.past = 0
        self.slots, self.rows, self.due = Slots(), RowStore(schema), Due()
        self.vs, self.ve = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.copies = np.zeros(0, np.int64)
        self.low, self.high = np.zeros(0, np.uint64), np.zeros(0, np.uint64)  # of the row alone

    def update(self, batch: Batch, now: int) -> NowChanges:
        """Take in what the answer changes by, when the time has come to `now` (see `clock`)."""
        self.cti = max(self.cti, batch.cti)
        before = self.clock
        self.clock = max(before, reached(self.kind, now, self.cti))
        has_ended = batch.ve <= before
        self.past += int(np.abs(batch.weight[has_ended]).sum())
        batch = (batch.take(~has_ended) if has_ended.any() else batch).consolidated()
        prints = batch.row_fingerprints()
        removed, added = np.flatnonzero(batch.weight < 0), np.flatnonzero(batch.weight > 0)
        self._remove_copies(batch, prints, removed)
        starting, ending = self._moved(before)
        stored = np.concatenate([ending, starting])
        starts = np.maximum(batch.vs[added], before)
        shown = removed[batch.vs[removed] <= before]
        over, begun = added[batch.ve[added] <= self.clock], added[starts <= self.clock]
        # First all that goes, then all that comes; the rows of the store before the batch's.
        first, rest = len(stored), len(stored) + np.arange(len(batch))
        place = np.concatenate(
            [
                np.arange(len(ending)),
                rest[shown],
                rest[over],
                np.arange(len(ending), first),
                rest[begun],
            ]
        )
        at = np.concatenate(
            [
                self.ve[ending],
                np.full(len(shown), before),
                batch.ve[over],
                self.vs[starting],
                starts[starts <= self.clock],
            ]
        )
        weight = np.concatenate(
            [
                -self.copies[ending],
                batch.weight[shown],
                -batch.weight[over],
                self.copies[starting],
                batch.weight[begun],
            ]
        )
        low = np.concatenate([self.low[stored], prints.low])
        high = np.concatenate([self.high[stored], prints.high])
        rows = batch.payload
        if first:
            rows = pa.concat_batches([self.rows.take(stored), rows])
        self.due.set(starting, self.ve[starting])
        self._remove(ending)
        lasting = added[batch.ve[added] > self.clock]
        self._store(batch, prints, lasting)
        order = np.argsort(at, kind="stable")
        kept, left = _cancelled(at, weight, low, high, place, order)
        return NowChanges(at[kept], left, rows.take(to_arrow(place[kept])))

    def shown(self) -> pa.RecordBatch:
        """The rows that are alive at the clock."""
        live = self.slots.live_slots()
        alive = live[self.vs[live] <= self.clock]
        return self.rows.take(np.repeat(alive, self.copies[alive]))

    def _remove_copies(self, batch: Batch, prints: Fingerprints, removed: Int64s) -> None:
        """Let lifetimes of the store be there less often."""
        slots = self.slots.find(
            prints.take(removed).with_numbers(batch.vs[removed], batch.ve[removed])
        )
        self.copies[slots] += batch.weight[removed]
        self._remove(slots[self.copies[slots] == 0])

    def _moved(self, before: int) -> tuple[Int64s, Int64s]:
        """The lifetimes of the store that start, and those that end, as the clock moves."""
        due = self.due.up_to(self.clock) if self.clock > before else np.empty(0, np.int64)
        return due[self.vs[due] > before], due[self.ve[due] <= self.clock]

    def _store(self, batch: Batch, prints: Fingerprints, lasting: Int64s) -> None:
        """Keep lifetimes that end after the clock."""
        if len(lasting) == 0:
            return
        vs, ve, own = batch.vs[lasting], batch.ve[lasting], prints.take(lasting)
        slots, new = self.slots.find_or_add(own.with_numbers(vs, ve))
        needed = int(slots.max()) + 1
        self.vs, self.ve = grown(self.vs, needed), grown(self.ve, needed)
        self.copies = grown(self.copies, needed)
        self.low, self.high = grown(self.low, needed), grown(self.high, needed)
        added = slots[new]
        self.vs[added], self.ve[added], self.copies[added] = vs[new], ve[new], 0
        self.low[added], self.high[added] = own.low[new], own.high[new]
        self.rows.put(added, batch.payload.take(to_arrow(lasting[new])))
        self.due.set(added, np.where(vs[new] > self.clock, vs[new], ve[new]))
        np.add.at(self.copies, slots, batch.weight[lasting])

    def _remove(self, slots: Int64s) -> None:
        self.slots.remove(slots)
        self.rows.forget(slots)
        self.due.set(slots, np.full(len(slots), INFINITY))

    def snapshot(self) -> Arrays:
        """The whole state."""
        live = self.slots.live_slots()
        return {
            "times": np.array([self.clock, self.cti, self.past], np.int64),
            "lifetimes": np.stack([self.vs[live], self.ve[live], self.copies[live]]),
            "rows": rows_to_bytes(self.rows.take(live)),
        }

    def restore(self, arrays: Arrays) -> None:
        """Become what `snapshot` was taken of."""
        self.clock, self.cti, self.past = map(int, arrays["times"].tolist())
        vs, ve, copies = arrays["lifetimes"].astype(np.int64)
        batch = Batch(vs, ve, copies, rows_from_bytes(arrays["rows"]))
        self._store(batch, batch.row_fingerprints(), np.arange(len(batch)))


@compiled
def _cancelled(
    at: Int64s, weight: Int64s, low: UInt64s, high: UInt64s, place: Int64s, order: Int64s
) -> tuple[Int64s, Int64s]:
    """The changes that are left, in order, when a row that goes and an equal one that comes at the
    same time have cancelled; and their weights. At one time, those that go come first."""
    left = weight.copy()
    first = 0
    while first < len(order):
        time, middle = at[order[first]], first
        while middle < len(order) and at[order[middle]] == time and weight[order[middle]] < 0:
            middle += 1
        last = middle
        while last < len(order) and at[order[last]] == time:
            last += 1
        if first < middle < last:
            _cancel(order[first:middle], order[middle:last], left, low, high, place)
        first = last
    kept, made = np.empty(len(order), np.int64), 0
    for number in order:
        if left[number] != 0:
            kept[made] = number
            made += 1
    return kept[:made].copy(), left[kept[:made]]


@compiled
def _cancel(
    going: Int64s, coming: Int64s, left: Int64s, low: UInt64s, high: UInt64s, place: Int64s
) -> None:
    """Let what goes and what comes cancel where the rows are equal."""
    size = 2
    while size < 2 * len(going):
        size *= 2
    table = np.full(size, -1, np.int64)
    for number in going:
        spot = np.int64(low[place[number]] & np.uint64(size - 1))
        while table[spot] >= 0:
            spot = (spot + 1) & (size - 1)
        table[spot] = number
    for number in coming:
        row = place[number]
        spot = np.int64(low[row] & np.uint64(size - 1))
        while table[spot] >= 0 and left[number] > 0:
            other = place[table[spot]]
            if low[other] == low[row] and high[other] == high[row]:
                both = min(left[number], -left[table[spot]])
                left[number] -= both
                left[table[spot]] += both
            spot = (spot + 1) & (size - 1)
