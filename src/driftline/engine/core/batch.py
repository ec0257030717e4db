"""Batches: runs of changes to lifetimes, as columns, with at most one cti after them.

Inside the engine a change is a signed lifetime, (vs, ve, row) with a weight:

    insert (vs, ve, r)       =  +1 (vs, ve, r)
    retract (vs, ve, vn, r)  =  -1 (vs, ve, r)  and, if vs < vn,  +1 (vs, vn, r)

so that the canonical history of a stream is just the sum of its batches, operators are maps and
sums, and a change and its undoing cancel by adding up (`consolidated`). The changes of a batch have
no order among themselves. Where a stream leaves the engine, `changes` puts inserts and retracts
together again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from driftline.engine.core.labels import Label
from driftline.engine.state.fingerprints import Fingerprints, fingerprints
from driftline.kernels import compiled
from driftline.model.arrays import Int8s, Int64s, Mask, UInt64s, once_for_each, rows_at
from driftline.model.columns import INSERT, RETRACT
from driftline.model.time import BEGINNING

_NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Batch:
    """Changes, and what is promised after them.

    `vs`, `ve`, `weight`: the signed lifetimes; `payload`: their rows, in the same order. `cti`: no
    later batch changes anything before it (BEGINNING: nothing is promised). `high`: the greatest vs
    among all inserts that came, also those that were consolidated away; it moves the output
    watermark of snapshot operators (BEGINNING: no insert came). `now`: application time has come
    so far after the changes (BEGINNING: not known; see `marks`).
    `label`: what it comes from, where outputs are heeded (see `labels`).
    """

    vs: Int64s
    ve: Int64s
    weight: Int64s
    payload: pa.RecordBatch
    cti: int = BEGINNING
    high: int = BEGINNING
    now: int = BEGINNING
    label: Label | None = None

    def __len__(self) -> int:
        return len(self.vs)

    @property
    def is_empty(self) -> bool:
        """Whether the batch holds neither changes, nor a cti, nor a time."""
        return self.now == BEGINNING and self.is_only_now

    @property
    def is_only_now(self) -> bool:
        """Whether the batch is no more than a now-mark."""
        return self.cti == BEGINNING and self.high == BEGINNING and len(self.vs) == 0

    def take(self, rows: Int64s | Mask) -> Batch:
        """Some of the changes, with the same promises."""
        indices = rows.nonzero()[0] if rows.dtype == np.bool_ else rows.astype(np.int64, copy=False)
        return Batch(
            self.vs[indices],
            self.ve[indices],
            self.weight[indices],
            rows_at(self.payload, indices),
            self.cti,
            self.high,
            self.now,
            self.label,
        )

    def labelled(self, label: Label) -> Batch:
        """The same batch with a label. One without a label is in no queue yet: it gets this one
        itself. (`replace` takes three times as long as a new batch.)"""
        if self.label is None:
            object.__setattr__(self, "label", label)
        elif self.label is not label:
            return Batch(
                self.vs, self.ve, self.weight, self.payload, self.cti, self.high, self.now, label
            )
        return self

    def promising(self, cti: int, high: int) -> Batch:
        """The same changes with another cti and another `high`."""
        if cti == self.cti and high == self.high:
            return self
        return Batch(self.vs, self.ve, self.weight, self.payload, cti, high, self.now, self.label)

    def and_promises(self, other: Batch) -> Batch:
        """The same changes, and after them also what another batch says without its changes."""
        return replace(
            self,
            cti=max(self.cti, other.cti),
            high=max(self.high, other.high),
            now=max(self.now, other.now),
        )

    def with_payload(self, payload: pa.RecordBatch) -> Batch:
        """The same batch with other rows."""
        return Batch(
            self.vs, self.ve, self.weight, payload, self.cti, self.high, self.now, self.label
        )

    def row_fingerprints(self) -> Fingerprints:
        return fingerprints(self.payload.columns, len(self))

    def consolidated(self) -> Batch:
        """The same sum of changes, in which no lifetime comes and goes."""
        return self.added_up() if has_removals(self.weight) else self

    def added_up(self) -> Batch:
        """The same sum of changes, in which every lifetime is there once, with its weight."""
        keys = self.row_fingerprints().with_numbers(self.vs, self.ve)
        rows, sums = added_up(keys.low, keys.high, self.weight)
        if len(rows) == len(self):
            return self
        return replace(self.take(rows), weight=sums)

    def changes(self) -> Changes:
        """The batch as inserts and retracts: the removal of (vs, ve, r) and the addition of
        (vs, vn, r) with vn < ve are one retract; what is left over is inserted, or fully
        retracted. In order of sync time."""
        if not has_removals(self.weight):
            return self._inserts().in_sync_order()
        prints = self.row_fingerprints()
        keys = prints.with_numbers(self.vs, self.ve)
        rows, left = added_up(keys.low, keys.high, self.weight)  # pairing uses up what is left
        if not has_removals(left):
            kept = self if len(rows) == len(self) else self.take(rows)
            return replace(kept, weight=left)._inserts().in_sync_order()
        keys = prints.take(rows).with_numbers(self.vs[rows])
        chains = numbered(keys.low, keys.high)[0]
        order = np.lexsort((-self.ve[rows], chains)).astype(np.int64)
        kind, source, end, new_end = _paired(
            rows[order], chains[order], self.vs, self.ve, left[order], int(np.abs(left).sum())
        )
        return Changes(kind, self.vs[source], end, new_end, source, self.payload).in_sync_order()

    def _inserts(self) -> Changes:
        """Additions alone, as inserts."""
        vs, ve, rows = self.vs, self.ve, np.arange(len(self))
        if len(rows) and self.weight.max() > 1:
            rows = np.repeat(rows, self.weight)
            vs, ve = vs[rows], ve[rows]
        return Changes(np.full(len(rows), INSERT, np.int8), vs, ve, ve, rows, self.payload)


@dataclass(frozen=True, slots=True)
class Changes:
    """Inserts and retracts as columns: vn is ve for an insert; `row` is the place in `payload`."""

    kind: Int8s
    vs: Int64s
    ve: Int64s
    vn: Int64s
    row: Int64s
    payload: pa.RecordBatch

    def __len__(self) -> int:
        return len(self.vs)

    def in_sync_order(self) -> Changes:
        if _is_in_sync_order(self.kind, self.vs, self.vn):
            return self
        sync = np.where(self.kind == INSERT, self.vs, self.vn)
        order = np.lexsort((self.kind == INSERT, sync))  # first what goes, then what comes
        return Changes(
            self.kind[order],
            self.vs[order],
            self.ve[order],
            self.vn[order],
            self.row[order],
            self.payload,
        )

    def rows(self) -> pa.RecordBatch:
        """The payload of every change."""
        return rows_at(self.payload, self.row)


@compiled
def has_removals(weight: Int64s) -> bool:
    """Whether not all weights are additions."""
    least = 1
    for row in range(len(weight)):
        least = min(least, weight[row])
    return least <= 0


@compiled
def added_and_removed(weight: Int64s) -> tuple[int, int]:
    """How much is added, and how much is removed."""
    total, removed = 0, 0
    for row in range(len(weight)):
        total += weight[row]
        removed -= min(weight[row], 0)
    return total + removed, removed


@compiled
def latest_start(vs: Int64s, weight: Int64s) -> int:
    """The greatest vs of the additions; BEGINNING if there is none."""
    latest = BEGINNING
    for row in range(len(vs)):
        if weight[row] > 0:
            latest = max(latest, vs[row])
    return latest


@compiled
def _is_in_sync_order(kind: Int8s, vs: Int64s, vn: Int64s) -> bool:
    for row in range(1, len(kind)):
        before = vs[row - 1] if kind[row - 1] == INSERT else vn[row - 1]
        sync = vs[row] if kind[row] == INSERT else vn[row]
        if sync < before or (sync == before and kind[row] != INSERT and kind[row - 1] == INSERT):
            return False
    return True


@compiled
def numbered(low: UInt64s, high: UInt64s) -> tuple[Int64s, Int64s]:
    """Numbers for fingerprints in order of appearance, and the first row of each."""
    bits = 4
    while (1 << bits) < 2 * len(low):
        bits += 1
    table, mask = np.full(1 << bits, -1, np.int32), (1 << bits) - 1
    number, first, made = np.empty(len(low), np.int64), np.empty(len(low), np.int64), 0
    for row in range(len(low)):
        place = np.int64(low[row] & np.uint64(mask))
        while table[place] >= 0:
            there = first[table[place]]
            if low[there] == low[row] and high[there] == high[row]:
                break
            place = (place + 1) & mask
        if table[place] < 0:
            table[place] = made
            first[made] = row
            made += 1
        number[row] = table[place]
    return number, first[:made].copy()


@compiled
def added_up(low: UInt64s, high: UInt64s, weight: Int64s) -> tuple[Int64s, Int64s]:
    """The first of the rows of each fingerprint whose weights do not cancel, and their sum."""
    number, rows = numbered(low, high)
    sums = np.zeros(len(rows), np.int64)
    for row in range(len(low)):
        sums[number[row]] += weight[row]
    kept = 0
    for each in range(len(rows)):
        if sums[each] != 0:
            rows[kept], sums[kept] = rows[each], sums[each]
            kept += 1
    return rows[:kept].copy(), sums[:kept].copy()


@compiled
def _paired(
    rows: Int64s, chains: Int64s, vs: Int64s, ve: Int64s, weight: Int64s, room: int
) -> tuple[Int8s, Int64s, Int64s, Int64s]:
    """Goes through each chain from the latest end to the earliest, and matches every removal with
    the next earlier addition. `rows`: of each item, in this order, as are `chains` and `weight`."""
    kind, source = np.empty(room, np.int8), np.empty(room, np.int64)
    end, new_end = np.empty(room, np.int64), np.empty(room, np.int64)
    made, first = 0, 0
    while first < len(rows):
        last = first
        while last < len(rows) and chains[last] == chains[first]:
            last += 1
        add = first
        for place in range(first, last):
            row = rows[place]
            if weight[place] > 0:
                continue
            add = max(add, place + 1)
            for _ in range(-weight[place]):
                while add < last and weight[add] <= 0:
                    add += 1
                kind[made], source[made], end[made] = RETRACT, row, ve[row]
                if add < last:
                    weight[add] -= 1
                    new_end[made] = ve[rows[add]]
                else:
                    new_end[made] = vs[row]
                made += 1
        for place in range(first, last):
            row = rows[place]
            for _ in range(weight[place]):
                kind[made], source[made] = INSERT, row
                end[made], new_end[made] = ve[row], ve[row]
                made += 1
        first = last
    return kind[:made], source[:made], end[:made], new_end[:made]


def from_changes(
    kind: Int8s, vs: Int64s, ve: Int64s, vn: Int64s, payload: pa.RecordBatch, cti: int = BEGINNING
) -> Batch:
    """A batch from columns of inserts and retracts, in which nothing else may be."""
    inserts = kind == INSERT
    high = int(vs[inserts].max()) if inserts.any() else BEGINNING
    if inserts.all():
        return Batch(vs, ve, np.ones(len(vs), np.int64), payload, cti, high)
    shortened = np.flatnonzero(~inserts & (vs < vn))
    rows = np.concatenate([np.arange(len(vs)), shortened])
    return Batch(
        vs[rows],
        np.concatenate([ve, vn[shortened]]),
        np.concatenate([np.where(inserts, 1, -1), np.ones(len(shortened), np.int64)]),
        rows_at(payload, rows),
        cti,
        high,
    ).consolidated()


def empty(
    schema: pa.Schema, cti: int = BEGINNING, high: int = BEGINNING, now: int = BEGINNING
) -> Batch:
    return Batch(_NOTHING, _NOTHING, _NOTHING, _no_rows(schema), cti, high, now)


@once_for_each
def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """Making them takes longer than a small batch."""
    return pa.RecordBatch.from_pylist([], schema=schema)


def joined(batches: Sequence[Batch]) -> Batch:
    """Several batches as one; their changes add up, the greatest promise holds."""
    if len(batches) == 1:
        return batches[0]
    return Batch(
        np.concatenate([batch.vs for batch in batches]),
        np.concatenate([batch.ve for batch in batches]),
        np.concatenate([batch.weight for batch in batches]),
        pa.concat_batches([batch.payload for batch in batches]),
        max(batch.cti for batch in batches),
        max(batch.high for batch in batches),
        max(batch.now for batch in batches),
    )
