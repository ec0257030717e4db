"""Align: how long a change waits before the query speculates.

    history(Align(S)) = history(S) in the end: Align delays, it changes nothing.

A change goes out as soon as a cti later than its sync time has come, or when it has waited for
`block` on the clock. While it waits, what follows it in its chain is merged with it. A guess ends
the waiting as a cti does, but promises nothing: what comes later all the same goes out at once.
(Where `block` is ∞, no guess is given to it: see `consistency`.)

What comes in one batch comes at one moment of the clock:

    - Application time. The clock shows the greatest vs of the inserts (with those of this batch)
      and the greatest cti so far. A change waits from min(its sync time, the clock before the
      batch's cti) on.
    - System time. The clock shows the time of the last `advance`, and a change waits from then on.

First the batch's changes are merged with what waits; then what is before the batch's cti goes out,
and what has waited for `block` by the clock after that cti; then the cti. For a batch of one event
that is the reference, event by event. In a larger batch the clock may be later than it was for an
event that came early in it: nothing goes out before it is due in the reference, nothing waits
for more than `block` from the moment of its batch on, and what is final is never held back.

State: the changes that wait, with their rows. A cti releases all that is before it; block = 0
holds nothing, and what is released in the batch it came with never gets into the state.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, Changes, empty, from_changes
from driftline.engine.core.operator import Operator
from driftline.engine.ingest.held_back import Waiting
from driftline.engine.state.fields import Fields
from driftline.engine.state.progress import Progress
from driftline.model.arrays import Int64s, Mask
from driftline.model.columns import INSERT
from driftline.model.time import BEGINNING, INFINITY

Clock = Literal["application", "system"]


class Align(Operator):
    """Holds back changes for `block` ticks of its clock.

    `now`: what the clock shows; `waiting`: the changes held back; `guess`: probably nothing before
    it is still to come; `limit`: nothing from it on goes out before it has waited for `block`,
    because others have not come so far (see `holding`).
    """

    fields = Fields(numbers=("now", "guess"), parts=("progress", "waiting"))

    def __init__(self, schema: pa.Schema, block: int, clock: Clock = "application") -> None:
        if block < 0:
            raise ValueError(f"a change cannot wait for less than no time: block = {block}")
        super().__init__(schema)
        self.block = block
        self.clock = clock
        self.now = BEGINNING
        self.guess = BEGINNING
        self.progress = Progress()
        self.limit = INFINITY
        self.waiting = Waiting(schema, block)

    def advance(self, now: int, batch: Batch | None = None) -> Batch:
        """System time has come to `now`, and at this moment a batch comes (None: nothing)."""
        if self.clock != "system":
            raise ValueError("an Align by application time has no system clock to advance")
        self.now = max(self.now, now)
        return self.receive(0, empty(self.schema) if batch is None else batch)

    def process(self, port: int, batch: Batch) -> Batch:
        if self.block == 0:
            return batch
        changes = batch.changes()
        came = self.now = self._later(batch.high)
        self.now = self._later(batch.cti)
        sync = np.where(changes.kind == INSERT, changes.vs, changes.vn)
        since = np.minimum(sync, came) if self.clock == "application" else np.full_like(sync, came)
        self.progress.receive(port, batch.cti)
        complete = min(self.complete, self.limit)
        at_once = (sync < complete) | self._waited(since)
        if len(self.waiting):  # a retract may follow what waits
            at_once &= changes.kind == INSERT
        self.waiting.add(_some(changes, ~at_once), since[~at_once])
        places = self.waiting.ready(complete, self.now)
        cti = self._promise()
        if len(places) == 0:
            return _batch([_some(changes, at_once)], cti)
        return _batch([_some(changes, at_once), self.waiting.release(places)], cti)

    @property
    def complete(self) -> int:
        """All before it has come, or probably has."""
        return max(self.progress.time, self.guess)

    def _promise(self) -> int:
        """The cti that the output can promise, if that is more than before: that of the input, and
        no more than the limit, behind which rows are held back for other sources."""
        return self.progress.promise(min(self.progress.time, self.limit))

    def _later(self, time: int) -> int:
        return max(self.now, time) if self.clock == "application" else self.now

    def _waited(self, since: Int64s) -> Mask:
        """Who has waited for `block`."""
        latest = self.now - self.block
        return since <= latest if latest >= BEGINNING else np.zeros(len(since), np.bool_)


def _some(changes: Changes, chosen: Mask) -> Changes:
    if chosen.all():
        return changes
    return Changes(
        changes.kind[chosen],
        changes.vs[chosen],
        changes.ve[chosen],
        changes.vn[chosen],
        changes.row[chosen],
        changes.payload,
    )


def _batch(parts: list[Changes], cti: int) -> Batch:
    """Changes that go out together, followed by a cti."""
    parts = [part for part in parts if len(part)] or parts[:1]
    if len(parts) == 1:
        one = parts[0]
        return from_changes(one.kind, one.vs, one.ve, one.vn, one.rows(), cti)
    return from_changes(
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.vs for part in parts]),
        np.concatenate([part.ve for part in parts]),
        np.concatenate([part.vn for part in parts]),
        pa.concat_batches([part.rows() for part in parts]),
        cti,
    )
