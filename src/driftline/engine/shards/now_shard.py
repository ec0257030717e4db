"""A shard of the answer now: the view of the rows that fall into it, behind the last level.

    What the shards emit after a micro-batch is, added up, the difference between the answer now
    after it and before it: each row at most once, with the time from which on that holds.

It is sent the changes of the answer, partitioned by row (or by a key of the answer), and how far
time has come, which every shard has to hear. What it emits are changes again: at is their vs, and
they have no end.

State: that of the view, and the latest cti of every shard of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, empty, joined
from driftline.engine.core.operator import OperatorKey
from driftline.engine.outputs.now_view import NowView, in_one_step
from driftline.engine.shards.messages import (
    OUTPUT,
    Message,
    MessageKind,
    Target,
    packed_batch,
    unpacked_batch,
)
from driftline.engine.state.fields import Arrays
from driftline.engine.state.progress import Progress
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import Clock

VIEW, CTIS = OperatorKey("now"), OperatorKey("ctis")


@dataclass(frozen=True)
class NowStage:
    """What the shards of the answer now have in common: `level`, behind all others; `output`, the
    answer, with its `schema`; `clock`; `shards`, how many there are on every level; `keys`: the
    places of the columns by which the answer is a table, if it is to be one; `query`: the
    fingerprint of the query."""

    level: int
    output: str
    schema: pa.Schema
    clock: Clock
    shards: int
    keys: tuple[int, ...] = ()
    query: str = ""

    def shard(self, number: int) -> NowShard:
        return NowShard(self, number)


class NowShard:
    """See above. `now`: the time that has come."""

    def __init__(self, stage: NowStage, number: int) -> None:
        self.stage, self.number = stage, number
        self.view = NowView(stage.schema, stage.clock)
        self.progress = Progress(stage.shards)
        self.now = BEGINNING

    def step(self, messages: Iterable[Message]) -> list[Message]:
        """Take in a micro-batch; returns what changes in the answer now, if anything does."""
        parts = []
        for message in sorted(messages, key=lambda message: message.origin):
            if message.kind == MessageKind.CLOCK:
                self.now = max(self.now, message.high)
                continue
            self.progress.receive(message.origin, message.cti)
            if message.data:
                parts.append(unpacked_batch(message.data, self.stage.schema))
        whole = joined(parts) if parts else empty(self.stage.schema)
        steps = self.view.update(replace(whole, cti=self.progress.time), self.now)
        changes = in_one_step(steps, self.stage.keys)
        if len(changes) == 0:
            return []
        endless = np.full(len(changes), INFINITY, np.int64)
        batch = Batch(changes.at, endless, changes.weight, changes.rows)
        return list(packed_batch(batch, Target(OUTPUT, self.stage.output), 1, self.number))

    def counters(self) -> dict[OperatorKey, dict[str, int]]:
        """How much it holds."""
        return {VIEW: {"state_rows": len(self.view.held)}}

    def snapshot(self) -> dict[OperatorKey, Arrays]:
        times = {**self.progress.snapshot(), "now": np.array([self.now], np.int64)}
        return {VIEW: self.view.snapshot(), CTIS: times}

    def restore(self, state: dict[OperatorKey, Arrays]) -> None:
        self.view.restore(state[VIEW])
        self.progress.restore(state[CTIS])
        self.now = int(state[CTIS]["now"][0])
