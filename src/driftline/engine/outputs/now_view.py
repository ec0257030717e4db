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
from driftline.engine.outputs.clock import reached
from driftline.engine.state.bag import Bag
from driftline.engine.state.due_times import Due
from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.engine.state.growing import KeyColumn
from driftline.engine.state.slots import Slots
from driftline.kernels import compiled
from driftline.model.arrays import Int64s, UInt64s, to_arrow
from driftline.model.time import BEGINNING
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


class NowView(Stateful):
    """`kind`: which clock it goes by; `clock`: T; `cti`: how far the answer is final; `past`: how
    many changes came to lifetimes that had ended already; `held`: what the state is."""

    fields = Fields(numbers=("clock", "cti", "past"), parts=("held",))

    def __init__(self, schema: pa.Schema, kind: Clock = "latest") -> None:
        self.schema, self.kind = schema, kind
        self.clock, self.cti = BEGINNING, BEGINNING
        self.past = 0
        self.held = _Held(schema)

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
        held = self.held
        held.add(batch.take(removed), prints.take(removed))
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
                held.ve.of(ending),
                np.full(len(shown), before),
                batch.ve[over],
                held.vs.of(starting),
                starts[starts <= self.clock],
            ]
        )
        weight = np.concatenate(
            [
                -held.copies.values[ending],
                batch.weight[shown],
                -batch.weight[over],
                held.copies.values[starting],
                batch.weight[begun],
            ]
        )
        low = np.concatenate([held.low.values[stored], prints.low])
        high = np.concatenate([held.high.values[stored], prints.high])
        rows = batch.payload
        if first:
            rows = pa.concat_batches([held.rows.take(stored), rows])
        held.due.set(starting, held.ve.of(starting))
        held.remove(ending)
        lasting = added[batch.ve[added] > self.clock]
        held.store(batch.take(lasting), prints.take(lasting), self.clock)
        order = np.argsort(at, kind="stable")
        kept, left = _cancelled(at, weight, low, high, place, order)
        return NowChanges(at[kept], left, rows.take(to_arrow(place[kept])))

    def shown(self) -> pa.RecordBatch:
        """The rows that are alive at the clock."""
        held = self.held
        live = held.slots.live_slots()
        alive = live[held.vs.of(live) <= self.clock]
        return held.rows.take(np.repeat(alive, held.copies.values[alive]))

    def _moved(self, before: int) -> tuple[Int64s, Int64s]:
        """The lifetimes that are held and start, and those that end, as the clock moves."""
        held = self.held
        due = held.due.up_to(self.clock) if self.clock > before else np.empty(0, np.int64)
        return due[held.vs.of(due) > before], due[held.ve.of(due) <= self.clock]


class _Held(Bag):
    """The lifetimes that end after the clock. `due`: when each starts or ends next; `low`, `high`:
    the fingerprint of its row."""

    fields = Bag.fields | Fields(by_key=("due", "low", "high"))

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema)
        self.due = Due()
        self.low, self.high = KeyColumn(np.uint64), KeyColumn(np.uint64)

    def store(self, batch: Batch, prints: Fingerprints, clock: int) -> None:
        """Keep lifetimes that are added."""
        slots, new = self.count(batch, prints)
        added, vs, ve = slots[new], batch.vs[new], batch.ve[new]
        self.low.values[added], self.high.values[added] = prints.low[new], prints.high[new]
        self.due.set(added, np.where(vs > clock, vs, ve))


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
