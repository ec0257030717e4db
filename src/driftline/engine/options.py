"""The options of a run, whichever runner it has."""

from __future__ import annotations

from dataclasses import dataclass

from driftline.engine.limits import DEFAULT_LIMITS, Limits
from driftline.model.level import Level
from driftline.model.time import INFINITY
from driftline.plan.choices import (
    ADAPTIVE,
    Clock,
    Expiry,
    Heartbeat,
    Heeding,
    Loops,
    Outputs,
    Scheduler,
    Tokens,
)

DEFAULT_BATCH = 100_000


@dataclass(frozen=True)
class Options:
    """How a query is run: see `Query.run`. Durations are in ticks. `heartbeat`: whose
    heartbeats a row waits for (see `ingest.holding`). `strict`: the first dead letter raises
    `BadInput`. `final`: every row is emitted once, when it cannot change any more (see
    `plan.finals`). `limits`: what operators may make of a batch. `outputs`: whether updates
    come with the prefixes that they belong to (see `outputs.prefix`); `tokens`: how many events
    there are from one token to the next (see `outputs.tokens`); `heeding`: labels instead of
    tokens (see `outputs.heeding`). `clock`: which time is now, if the answer now is asked for
    (see `outputs.clock`). `expiry`: how operators hear that time has passed (see
    `lifetimes.expire`). `loop`: how loops that run free find how far their answers are final
    (see `loop.flying_fixed_point`). `reads_ahead`: the next batch may be taken from the inputs,
    in another thread, while the operators work on this one."""

    level: Level = Level.ORDERED
    block: int = 0
    remember: int = INFINITY
    batch: int = DEFAULT_BATCH
    scheduler: Scheduler = "drain"
    keep_open: bool = False
    heartbeat: Heartbeat = "source"
    strict: bool = False
    final: bool = False
    limits: Limits = DEFAULT_LIMITS
    outputs: Outputs = "free"
    tokens: Tokens = ADAPTIVE
    heeding: Heeding | None = None
    clock: Clock | None = None
    expiry: Expiry = "piggyback"
    loop: Loops = "hybrid"
    reads_ahead: bool = False

    @property
    def expiry_in_use(self) -> Expiry:
        """Nobody has to hear that time has passed, if the answer now is not asked for."""
        return "ita" if self.clock is None else self.expiry
