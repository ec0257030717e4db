"""The now view: the snapshot of an answer at a clock T, as changes.

    at T                                    snapshot(H′, T) - snapshot(H, T)
    at every endpoint t of H′ in (T, T′]    snapshot(H′, t) - snapshot(H′, t - 1)

when the answer's history goes from H to H′ and the clock from T to T′ (see the reference).

State: the lifetimes that end after the clock, found by fingerprint, and when each of them starts or
ends next. One that has ended is evicted as it leaves. So an update costs what it changes, and what
starts or ends as the clock moves; lifetimes that do neither are not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import Arrays
from driftline.engine.outputs.clock import reached
from driftline.engine.state.due_times import Due
from driftline.engine.state.fingerprints import fingerprints
from driftline.engine.state.growing import grown
from driftline.engine.state.row_store import RowStore
from driftline.engine.state.slots import Slots
from driftline.engine.state.stored_rows import rows_from_bytes, rows_to_bytes
from driftline.model.arrays import Int64s, to_arrow
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


class NowView:
    """`kind`: which clock it goes by; `clock`: T; `cti`: how far the answer is final; `past`: how
    many changes came to lifetimes that had ended already."""

    def __init__(self, schema: pa.Schema, kind: Clock = "latest") -> None:
        self.schema, self.kind = schema, kind
        self.clock, self.cti = BEGINNING, BEGINNING
        self.past = 0
        self.slots, self.rows, self.due = Slots(), RowStore(schema), Due()
        self.vs = np.zeros(0, np.int64)
        self.ve = np.zeros(0, np.int64)
        self.copies = np.zeros(0, np.int64)

    def update(self, batch: Batch, now: int) -> NowChanges:
        """Take in what the answer changes by, when the time has come to `now` (see `clock`)."""
        self.cti = max(self.cti, batch.cti)
        clock = max(self.clock, reached(self.kind, now, self.cti))
        has_ended = batch.ve <= self.clock
        self.past += int(np.abs(batch.weight[has_ended]).sum())
        lasting = (batch.take(~has_ended) if has_ended.any() else batch).consolidated()
        parts = [self._at_clock(lasting)]
        self._store(lasting)
        parts.append(self._advance(clock))
        return NowChanges(
            np.concatenate([part.at for part in parts]),
            np.concatenate([part.weight for part in parts]),
            pa.concat_batches([part.rows for part in parts]),
        )

    def shown(self) -> pa.RecordBatch:
        """The rows that are alive at the clock."""
        live = self.slots.live_slots()
        alive = live[self.vs[live] <= self.clock]
        return self.rows.take(np.repeat(alive, self.copies[alive]))

    def _at_clock(self, batch: Batch) -> NowChanges:
        """What changes in the snapshot at the clock."""
        alive = np.flatnonzero(batch.vs <= self.clock)
        rows = batch.payload.take(to_arrow(alive))
        return _consolidated(np.full(len(alive), self.clock), batch.weight[alive], rows)

    def _store(self, batch: Batch) -> None:
        keys = batch.row_fingerprints().with_numbers(batch.vs, batch.ve)
        slots, new = self.slots.find_or_add(keys)
        if len(slots) == 0:
            return
        needed = int(slots.max()) + 1
        self.vs, self.ve = grown(self.vs, needed), grown(self.ve, needed)
        self.copies = grown(self.copies, needed)
        added = slots[new]
        self.vs[added], self.ve[added], self.copies[added] = batch.vs[new], batch.ve[new], 0
        self.rows.put(added, batch.payload.take(to_arrow(new)))
        self.due.set(added, np.where(batch.vs[new] > self.clock, batch.vs[new], batch.ve[new]))
        np.add.at(self.copies, slots, batch.weight)
        self._remove(np.unique(slots[self.copies[slots] == 0]))

    def _advance(self, clock: int) -> NowChanges:
        """Let the clock come to a time: what starts and what ends until then."""
        due = self.due.up_to(clock) if clock > self.clock else np.empty(0, np.int64)
        starting = due[self.vs[due] > self.clock]
        ending = due[self.ve[due] <= clock]
        self.clock = clock
        moved = np.concatenate([starting, ending])
        weight = np.concatenate([self.copies[starting], -self.copies[ending]])
        at = np.concatenate([self.vs[starting], self.ve[ending]])
        changes = _consolidated(at, weight, self.rows.take(moved))
        self.due.set(starting, self.ve[starting])
        self._remove(ending)
        return changes

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
        self._store(Batch(vs, ve, copies, rows_from_bytes(arrays["rows"])))


def _consolidated(at: Int64s, weight: Int64s, rows: pa.RecordBatch) -> NowChanges:
    """Changes in which no row is there twice at one time, in order."""
    keys = fingerprints(rows.columns, rows.num_rows).with_numbers(at)
    slots, first = Slots().find_or_add(keys)
    sums = np.zeros(len(first), np.int64)
    np.add.at(sums, slots, weight)
    kept = np.flatnonzero(sums)
    kept = kept[np.lexsort((sums[kept] > 0, at[first[kept]]))]
    return NowChanges(at[first[kept]], sums[kept], rows.take(to_arrow(first[kept])))
