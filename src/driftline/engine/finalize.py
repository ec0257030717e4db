"""Finalize: how long the past can be corrected, and how raw events become a valid stream.

    history(Finalize(S)) = history(S without its dead letters)

It takes raw events in order of arrival, and never holds back what is well formed:

    - A retract that comes before its insert or before its predecessor in the chain is kept until
      these come; then the chain is put out in one piece.
    - An external cti that all its events have come for becomes a cti, when nothing before its
      interval can come any more either.
    - When the clock (the greatest vs of the inserts and t of the ctis so far) has come to t +
      `remember`, the past before t is closed: a cti t is forced. A promise that follows from the
      bounds of the source (see `source_time`) is a cti, too.
    - What comes too late for the latest cti is a dead letter; so is what breaks a rule of valid
      streams, and a retract whose time has passed and that never found its lifetime.

Every event is judged by the cti in force when it came, also inside a batch; the batch put out has
all changes first and then the latest cti.

State: what `admission` and `chains` say. The part that grows is 24 bytes for every lifetime that
can still be retracted (about 100 once retracts come): a cti lets those go that end at or before
it, but a lifetime [vs, ∞) can be retracted for ever. For a stream that is known to take nothing
back, and to count nothing, such as plain records, say `inserts_only`: then nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from driftline.engine.admission import Admission, Verdicts
from driftline.engine.batch import Batch, added_and_removed, from_changes
from driftline.engine.chains import Chains
from driftline.engine.dead_letters import FINE, NEVER_FOUND, REASONS, DeadLetters
from driftline.engine.operator import Arrays, Operator
from driftline.model.arrays import to_arrow
from driftline.model.columns import CTI, INSERT, RETRACT
from driftline.model.time import BEGINNING, INFINITY

Int64s = NDArray[np.int64]


class Times(Protocol):
    """The times of raw events in order of arrival."""

    @property
    def kind(self) -> NDArray[np.int8]: ...
    @property
    def vs(self) -> Int64s: ...
    @property
    def ve(self) -> Int64s: ...
    @property
    def vn(self) -> Int64s: ...


class Promises(NamedTuple):
    """The cti that was promised when each event came, and after all of them."""

    before: Int64s
    after: int


class Events(Times, Protocol):
    """Raw events in order of arrival, as `driftline.model.columns.StreamColumns` has them."""

    @property
    def payload(self) -> pa.Table | pa.RecordBatch: ...


@dataclass(frozen=True, slots=True)
class _Raw:
    """Raw events; `payload` need not have rows for the ctis after the last change."""

    kind: NDArray[np.int8]
    vs: Int64s
    ve: Int64s
    vn: Int64s
    payload: pa.RecordBatch

    def take(self, indices: Int64s) -> _Raw:
        if len(indices) == len(self.kind) and self.payload.num_columns:
            return self
        return _Raw(
            self.kind[indices],
            self.vs[indices],
            self.ve[indices],
            self.vn[indices],
            take_rows(self.payload, indices),
        )


class Finalize(Operator):
    """Makes a valid stream of raw events, and closes the past `remember` ticks back.

    `arrived`: how many events have come; `dead`: how many of them died of each reason (by code);
    `undelivered`: the dead letters of batches that came by `receive`.
    """

    def __init__(self, schema: pa.Schema, remember: int, *, inserts_only: bool = False) -> None:
        if remember < 0:
            raise ValueError(f"the past cannot be closed before it is there: remember = {remember}")
        super().__init__(schema)
        self.remember = remember
        self.inserts_only = inserts_only
        self.admission = Admission(remember, inserts_only)
        self.chains = Chains(schema)
        self.arrived = 0
        self.dead = np.zeros(len(REASONS), np.int64)
        self.undelivered: list[DeadLetters] = []

    def receive_events(
        self, events: Events, promises: Promises | None = None
    ) -> tuple[Batch, DeadLetters]:
        """Take raw events in; return what the output changes by, and what is dead."""
        rows = _one_batch(events.payload, self.schema)
        raw = _Raw(events.kind, events.vs, events.ve, events.vn, rows)
        output, dead = self._finalized(raw, promises)
        ctis = int(np.count_nonzero(events.kind == CTI))
        return self._counted(output, len(events.kind) - ctis, ctis), dead

    def _counted(self, output: Batch, changes: int, ctis: int) -> Batch:
        """The output, after it has been counted with what came in for it."""
        counters = self.counters
        counters.ctis_in += ctis
        counters.changes_in += changes
        added, removed = added_and_removed(output.weight)
        counters.inserts_out += max(0, added - removed)
        counters.retracts_out += removed
        counters.ctis_out += output.cti != BEGINNING
        counters.watermark = max(counters.watermark, output.high, output.cti)
        counters.state_rows, counters.state_bytes = self.state_size()
        return output

    def receive_part(
        self,
        times: Times,
        own: Int64s,
        payload: pa.RecordBatch,
        promises: Promises | None = None,
    ) -> tuple[Batch, DeadLetters]:
        """Take the times of all raw events in, and the rows of some of them: `own` says which, in
        order. The output has the changes of these rows, and the promises and `high` of all."""
        closed = self.admission.latest_cti
        verdicts = self._admitted(times, promises)
        fine = (verdicts.code == FINE) & (times.kind == INSERT)
        high = int(times.vs[fine].max()) if fine.any() else BEGINNING
        before = np.concatenate([[closed], verdicts.latest_cti])[:-1]
        raw = _Raw(times.kind[own], times.vs[own], times.ve[own], times.vn[own], payload)
        output, dead = self._judged(raw, verdicts.of(own), before[own], self.arrived + own, closed)
        self.arrived += len(times.kind)
        ctis = int((times.kind == CTI).sum())
        changes = int((raw.kind != CTI).sum())
        return self._counted(replace(output, high=high), changes, ctis), dead

    def receive_moment(
        self, vs: Int64s, payload: pa.RecordBatch, clock: int, cti: int = BEGINNING
    ) -> tuple[Batch, DeadLetters]:
        """Take in some of the inserts [vs, ∞) that have come at one moment, after which the clock
        shows the greatest vs of all of them, and then a cti."""
        closed = self.admission.latest_cti
        count = len(vs)
        endless = np.full(count, INFINITY, np.int64)
        raw = _Raw(np.full(count, INSERT, np.int8), vs, endless, endless, payload)
        verdicts = self.admission.take(raw.kind, vs, endless, endless, clock)
        if cti > BEGINNING:
            one = np.full(1, cti, np.int64)
            self.admission.take(np.full(1, CTI, np.int8), one, one, one)
        numbers = self.arrived + np.arange(count)
        output, dead = self._judged(raw, verdicts, np.full(count, closed), numbers, closed)
        self.arrived += count
        return self._counted(replace(output, high=clock), count, int(cti > BEGINNING)), dead

    def process(self, port: int, batch: Batch) -> Batch:
        """A batch whose changes came in sync order, and then its cti."""
        changes = batch.changes()
        more = int(batch.cti != BEGINNING)
        nothing = np.zeros(more, np.int64)
        raw = _Raw(
            np.concatenate([changes.kind, np.full(more, CTI, np.int8)]),
            np.concatenate([changes.vs, np.full(more, batch.cti, np.int64)]),
            np.concatenate([changes.ve, nothing]),
            np.concatenate([changes.vn, nothing]),
            changes.rows(),
        )
        output, dead = self._finalized(raw)
        if len(dead):
            self.undelivered.append(dead)
        return output

    def take_dead_letters(self) -> list[DeadLetters]:
        """The dead letters of the batches received since this was asked last."""
        letters, self.undelivered = self.undelivered, []
        return letters

    def _admitted(self, times: Times, promises: Promises | None) -> Verdicts:
        if promises is None:
            return self.admission.take(times.kind, times.vs, times.ve, times.vn)
        before = promises.before
        verdicts = self.admission.take(times.kind, times.vs, times.ve, times.vn, None, before)
        self.admission.promise(promises.after)
        return verdicts

    def _finalized(self, raw: _Raw, promises: Promises | None = None) -> tuple[Batch, DeadLetters]:
        closed = self.admission.latest_cti
        verdicts = self._admitted(raw, promises)
        before = np.concatenate([[closed], verdicts.latest_cti])[:-1]
        numbers = self.arrived + np.arange(len(raw.kind))
        self.arrived += len(raw.kind)
        return self._judged(raw, verdicts, before, numbers, closed)

    def _judged(
        self, raw: _Raw, verdicts: Verdicts, before: Int64s, numbers: Int64s, closed: int
    ) -> tuple[Batch, DeadLetters]:
        """What comes of events with their numbers, and the cti before each and before all."""
        final = self.admission.latest_cti
        cti = final if final > closed else BEGINNING
        accepted = np.flatnonzero((verdicts.code == FINE) & (raw.kind <= RETRACT))
        changes = raw.take(accepted)
        if len(accepted) and (self.chains.waiting or (changes.kind == RETRACT).any()):
            output = self._repaired(changes, numbers[accepted], before[accepted], cti)
        else:
            if not self.inserts_only and len(accepted):
                self.chains.inserted(changes.vs, changes.ve, changes.payload, final)
            high = int(changes.vs.max()) if len(accepted) else BEGINNING
            weight = np.ones(len(accepted), np.int64)
            output = Batch(changes.vs, changes.ve, weight, changes.payload, cti, high)
        dead = self._dead(raw, verdicts, numbers)
        self.dead += np.bincount(dead.code, minlength=len(REASONS))
        return output, dead

    def _repaired(self, changes: _Raw, numbers: Int64s, before: Int64s, cti: int) -> Batch:
        """What comes of these changes when each finds its place in its chain."""
        put_out, end = self.chains.repaired(
            changes.kind, changes.vs, changes.ve, changes.vn, changes.payload, numbers, before
        )
        there = np.flatnonzero(put_out)
        made = changes.take(there)
        end = end[there]
        ve = np.where(made.kind == INSERT, end, made.ve)
        return from_changes(made.kind, made.vs, ve, end, made.payload, cti)

    def _dead(self, raw: _Raw, verdicts: Verdicts, numbers: Int64s) -> DeadLetters:
        """What died with these events, in the order in which it did."""
        here = np.flatnonzero(verdicts.code)
        gone = raw.take(here)
        letters = DeadLetters(
            numbers[here],
            gone.kind,
            gone.vs,
            gone.ve,
            gone.vn,
            gone.payload,
            verdicts.code[here],
            verdicts.detail,
        )
        if not self.chains.waiting:
            return letters
        lost = self.chains.expired(self.admission.latest_cti)
        count = len(lost.vs)
        if count == 0:
            return letters
        when = np.searchsorted(verdicts.latest_cti, lost.vn, side="right")
        number = np.concatenate([letters.number, lost.number])
        order = np.lexsort((number, np.concatenate([here, when])))
        detail = np.concatenate([letters.detail, np.zeros((3, count), np.int64)], axis=1)
        return DeadLetters(
            number[order],
            np.concatenate([letters.kind, np.full(count, RETRACT, np.int8)])[order],
            np.concatenate([letters.vs, lost.vs])[order],
            np.concatenate([letters.ve, lost.ve])[order],
            np.concatenate([letters.vn, lost.vn])[order],
            take_rows(pa.concat_batches([letters.payload, lost.rows]), order),
            np.concatenate([letters.code, np.full(count, NEVER_FOUND, np.int8)])[order],
            detail[:, order],
        )

    def state_size(self) -> tuple[int, int]:
        return (
            len(self.chains) + self.admission.kept,
            self.chains.nbytes + self.admission.nbytes,
        )

    def snapshot(self) -> Arrays:
        counts = {"arrived": np.array([self.arrived]), "dead": self.dead.copy()}
        return {**counts, **self.admission.snapshot(), **self.chains.snapshot()}

    def restore(self, arrays: Arrays) -> None:
        self.arrived = int(arrays["arrived"][0])
        self.dead = arrays["dead"].astype(np.int64)[: len(REASONS)]
        self.admission.restore(arrays)
        self.chains.restore(arrays)


def take_rows(rows: pa.RecordBatch, indices: Int64s) -> pa.RecordBatch:
    """The rows at these indices; rows without columns are all the same, however many there are."""
    if rows.num_columns and len(indices) == 0:
        return rows.slice(0, 0)
    if rows.num_columns:
        return rows.take(to_arrow(indices))
    return pa.RecordBatch.from_struct_array(
        pa.Array.from_buffers(pa.struct([]), len(indices), [None])
    )


def _one_batch(payload: pa.Table | pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    if isinstance(payload, pa.RecordBatch):
        return payload
    if payload.num_columns == 0:
        return pa.RecordBatch.from_arrays([], schema=schema)
    columns = [_one_array(column) for column in payload.columns]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
