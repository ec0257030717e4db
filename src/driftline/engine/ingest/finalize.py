"""Finalize: how long the past can be corrected, and how raw events become a valid stream.

    history(Finalize(S)) = history(S without its dead letters)

It takes raw events in order of arrival, and never holds back what is well formed:

    - A retract that comes before its insert or before its predecessor in the chain is kept until
      these come; then the chain is put out in one piece.
    - An external cti that all its events have come for becomes a cti, when nothing before its
      interval can come any more either, and no retract from before waits for one that can.
    - When the clock (the greatest vs of the inserts and t of the ctis so far) has come to t +
      `remember`, the past before t is closed: a cti t is forced. A promise that follows from the
      bounds of the source (see `source_time`) is a cti, too.
    - What comes too late for the latest cti is a dead letter; so is what breaks a rule of valid
      streams, and a retract that never found its lifetime, when nothing can come for it.

Every event is judged by the cti in force when it came, also inside a batch; the batch put out has
all changes first and then the latest cti.

State: what `admission` and `chains` say. The part that grows is 24 bytes for every lifetime that
can still be retracted (about 100 once retracts come): a cti lets those go that end at or before
it, but a lifetime [vs, ∞) can be retracted for ever. For a stream that is known to take nothing
back, and to count nothing, such as plain records, say `inserts_only`: then nothing is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, from_changes
from driftline.engine.core.operator import Component
from driftline.engine.ingest.admission import Admission, Verdicts
from driftline.engine.ingest.arrivals import ArrivedEvents
from driftline.engine.ingest.chains import Chains
from driftline.engine.ingest.dead_letters import FINE, NEVER_FOUND, REASONS, DeadLetters, no_letters
from driftline.engine.state.fields import Fields
from driftline.model.arrays import Int64s, rows_at
from driftline.model.columns import CTI, INSERT, RETRACT
from driftline.model.time import BEGINNING


class Promises(NamedTuple):
    """The cti that was promised when each event came, and after all of them."""

    before: Int64s
    after: int


class Finalize(Component):
    """Makes a valid stream of raw events, and closes the past `remember` ticks back.

    `arrived`: how many events have come; `dead`: how many of them died of each reason (by code).
    """

    fields = Fields(numbers=("arrived",), arrays=("dead",), parts=("admission", "chains"))

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

    def receive_events(
        self, events: ArrivedEvents, promises: Promises | None = None
    ) -> tuple[Batch, DeadLetters]:
        """Take raw events in; return what the output changes by, and what is dead. Where only some
        of the events are its own, the output has their changes, and the cti and `high` of all."""
        latest, closed = self.admission.latest_cti, self.admission.closed
        emitted = self.chains.held_back(latest)
        verdicts = self._admitted(events, promises)
        high = self._high(events, verdicts)
        mine = events.mine()
        changes, ctis = len(mine), 0
        if events.own is None and self._takes_all(events, verdicts):
            output, dead = self._inserted(events), no_letters(self.schema)
        else:
            changes = int(np.count_nonzero(mine.kind != CTI))
            ctis = int(np.count_nonzero(events.kind == CTI))
            before = np.concatenate([[closed], verdicts.closed])[:-1]
            if events.own is None:
                numbers = self.arrived + np.arange(len(events))
            else:
                numbers, before = self.arrived + events.own, before[events.own]
                verdicts = verdicts.of(events.own)
            output, dead = self._judged(mine, verdicts, before, numbers, latest)
        ctis += events.moment is not None and events.moment.cti > BEGINNING
        self.arrived += len(events)
        cti = self.chains.held_back(self.admission.latest_cti)
        if cti <= emitted:
            cti = BEGINNING
        return self.counted(output.promising(cti, high), changes, ctis), dead

    def _takes_all(self, events: ArrivedEvents, verdicts: Verdicts) -> bool:
        """Whether all events are inserts in time, and no retract waits for one."""
        any_other = np.count_nonzero(events.kind) or np.count_nonzero(verdicts.code)
        return not any_other and not self.chains.waiting

    def _admitted(self, events: ArrivedEvents, promises: Promises | None) -> Verdicts:
        moment = events.moment
        verdicts = self.admission.take(
            events.kind,
            events.vs,
            events.ve,
            events.vn,
            None if moment is None else moment.high,
            None if promises is None else promises.before,
        )
        if moment is not None:
            self.admission.promise(moment.cti)
        if promises is not None:
            self.admission.promise(promises.after)
        return verdicts

    @staticmethod
    def _high(events: ArrivedEvents, verdicts: Verdicts) -> int:
        """The greatest vs of the inserts, also of such as a retract that came before takes back:
        only the shard that has the row knows of that, and all shards have one clock."""
        if events.moment is not None:
            return events.moment.high
        if len(events) == 0:
            return BEGINNING
        if not np.count_nonzero(verdicts.code) and not np.count_nonzero(events.kind):
            return int(events.vs.max())
        fine = (verdicts.code == FINE) & (events.kind == INSERT)
        return int(events.vs.max(initial=BEGINNING, where=fine))

    def _judged(
        self, raw: ArrivedEvents, verdicts: Verdicts, before: Int64s, numbers: Int64s, latest: int
    ) -> tuple[Batch, DeadLetters]:
        """What comes of events with their numbers, how far the past was closed before each, and the
        latest cti before all."""
        accepted = np.flatnonzero((verdicts.code == FINE) & (raw.kind <= RETRACT))
        changes = raw.take(accepted)
        if len(accepted) and (self.chains.waiting or (changes.kind == RETRACT).any()):
            output = self._repaired(changes, numbers[accepted], before[accepted], latest)
        else:
            output = self._inserted(changes)
        dead = self._dead(raw, verdicts, numbers)
        self.dead += np.bincount(dead.code, minlength=len(REASONS))
        return output, dead

    def _inserted(self, inserts: ArrivedEvents) -> Batch:
        """What comes of inserts for which no retract waits."""
        if not self.inserts_only and len(inserts):
            final = self.admission.latest_cti
            self.chains.inserted(inserts.vs, inserts.ve, inserts.payload, final)
        return Batch(inserts.vs, inserts.ve, np.ones(len(inserts), np.int64), inserts.payload)

    def _repaired(
        self, changes: ArrivedEvents, numbers: Int64s, before: Int64s, latest: int
    ) -> Batch:
        """What comes of these changes when each finds its place in its chain."""
        put_out, end = self.chains.repaired(
            changes.kind,
            changes.vs,
            changes.ve,
            changes.vn,
            changes.payload,
            numbers,
            before,
            latest,
        )
        there = np.flatnonzero(put_out)
        made = changes.take(there)
        end = end[there]
        ve = np.where(made.kind == INSERT, end, made.ve)
        return from_changes(made.kind, made.vs, ve, end, made.payload)

    def _dead(self, raw: ArrivedEvents, verdicts: Verdicts, numbers: Int64s) -> DeadLetters:
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
        lost = self.chains.expired(self.admission.latest_cti, self.admission.closed)
        count = len(lost.vs)
        if count == 0:
            return letters
        when = np.minimum(
            np.searchsorted(verdicts.closed, lost.vn, side="right"),
            np.searchsorted(verdicts.latest_cti, lost.awaited, side="right"),
        )
        number = np.concatenate([letters.number, lost.number])
        order = np.lexsort((number, np.concatenate([here, when])))
        detail = np.concatenate([letters.detail, np.zeros((3, count), np.int64)], axis=1)
        return DeadLetters(
            number[order],
            np.concatenate([letters.kind, np.full(count, RETRACT, np.int8)])[order],
            np.concatenate([letters.vs, lost.vs])[order],
            np.concatenate([letters.ve, lost.ve])[order],
            np.concatenate([letters.vn, lost.vn])[order],
            rows_at(pa.concat_batches([letters.payload, lost.rows]), order),
            np.concatenate([letters.code, np.full(count, NEVER_FOUND, np.int8)])[order],
            detail[:, order],
        )
