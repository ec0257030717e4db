"""A source while a query runs: the one way in, for the local runner and for shards.

    raw events → SourceTime → Finalize → Align → the query

`SourceIngest` owns the three, and what follows from the options of the run: for how long the past
can be corrected, and whether the time of the source is watched. It is fed with `ArrivedEvents`; the
local runner reads them, a shard unpacks them. A step has two halves, because sources wait for each
other: first each source receives what has come, then `emitted` brings all of them to one clock and
emits what no source holds back any more.

State: that of the three.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from driftline.engine.core.batch import Batch, joined
from driftline.engine.ingest.arrivals import ArrivedEvents, nothing
from driftline.engine.ingest.consistency import consistency
from driftline.engine.ingest.dead_letters import DeadLetters
from driftline.engine.ingest.finalize import Promises
from driftline.engine.ingest.source_time import NO_CLOCK, SourceTime, is_watched
from driftline.engine.options import Options
from driftline.engine.outputs.clock import latest
from driftline.engine.state.fields import Arrays
from driftline.model.columns import CTI, RETRACT
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.timing import Timing, remembered

PARTS = ("finalize", "align", "time")
"""The parts of a source that keep state."""


class SourceIngest:
    """`plain`: all events are inserts [vs, ∞); `time`: None if nothing needs the source's time;
    `latest`: the greatest time that it has shown since it runs (see `outputs.clock`), and `ended`
    that of its retracts and ctis, as far as a batch does not tell them."""

    def __init__(self, schema: pa.Schema, timing: Timing, options: Options, *, plain: bool) -> None:
        self.schema = schema
        remember = remembered(timing, options.remember)
        self.finalize, self.align = consistency(schema, options.block, remember, inserts_only=plain)
        self.time = SourceTime(timing) if has_time(timing, options, plain=plain) else None
        self.latest, self.ended = BEGINNING, BEGINNING

    def receive(self, events: ArrivedEvents) -> tuple[Batch, DeadLetters]:
        """Take events in; return what Finalize emits for them, and what is dead."""
        batch, dead = self.finalize.receive_events(events, self._promises(events))
        self.ended = max(self.ended, _latest_end(events, dead))
        return batch, dead

    def _promises(self, events: ArrivedEvents) -> Promises | None:
        """What the arrival of events promises to Finalize; an estimate goes to Align instead, if
        that may speculate at all."""
        time = self.time
        if time is None:
            return None
        if events.moment is None:
            before = time.take(events, events.sources, events.clock)
        else:
            before = nothing(self.schema).vs
            if events.moment.summary is not None:
                time.take_moment(*events.moment.summary)
        if not time.is_guess:
            return Promises(before, time.cti)
        if self.align.block < INFINITY:
            self.align.guess = max(self.align.guess, time.cti)
        return None

    @property
    def now(self) -> int:
        """What the arrival clock shows that sources share, as far as this one knows."""
        return NO_CLOCK if self.time is None else self.time.clock

    def advanced(self, batch: Batch, now: int) -> Batch:
        """A batch, and what follows when the clock that sources share has come to `now`."""
        if self.time is None or now <= self.time.now:
            return batch
        self.time.advance(now)
        more, _ = self.receive(nothing(self.schema))
        return joined([batch, more])

    def complete(self, batch: Batch) -> int:
        """How far all has come, or probably has, with a batch."""
        return max(self.align.complete, batch.cti)

    def aligned(self, batch: Batch, limit: int) -> Batch:
        """What Align emits when a batch has come, and other sources have come to the limit."""
        self.align.limit = limit
        emitted = self.align.receive(0, batch)
        self.latest = latest([emitted], self.latest)
        if not len(self.align.waiting):
            self.latest = max(self.latest, self.ended)
        return emitted

    def counters(self) -> dict[str, dict[str, int]]:
        """What Finalize and Align have done, and what they hold."""
        more = {"dead_letters": sum(self.finalize.dead.tolist()), "latest": self.latest}
        more |= {} if self.time is None else self.time.learned()
        return {
            "finalize": self.finalize.counts() | more,
            "align": self.align.counts(),
        }

    def snapshot(self) -> dict[str, Arrays]:
        """The whole state, by the part that keeps it."""
        state = {"finalize": self.finalize.snapshot(), "align": self.align.snapshot()}
        return state if self.time is None else {**state, "time": self.time.snapshot()}

    def restore(self, state: Mapping[str, Arrays]) -> None:
        """Become what `snapshot` was taken of."""
        self.finalize.restore(state["finalize"])
        self.align.restore(state["align"])
        if self.time is not None and "time" in state:  # an estimate may start anew
            self.time.restore(state["time"])


def _latest_end(events: ArrivedEvents, dead: DeadLetters) -> int:
    """The greatest time of the retracts that are not dead, and of the ctis; ∞ is none."""
    if not np.count_nonzero(events.kind):  # all are inserts
        return BEGINNING
    ends = events.vn[events.kind == RETRACT]
    gone = dead.vn[dead.kind == RETRACT]
    if len(ends) and len(gone):
        both, sign = np.concatenate([ends, gone]), np.repeat([1, -1], [len(ends), len(gone)])
        values, place = np.unique(both, return_inverse=True)
        ends = values[np.bincount(place, sign) > 0]
    ctis = events.vs[(events.kind == CTI) & (events.vs < INFINITY)]
    return max(int(ends.max(initial=BEGINNING)), int(ctis.max(initial=BEGINNING)))


def emitted(
    sources: Mapping[str, SourceIngest],
    received: Mapping[str, Batch],
    limits: Callable[[dict[str, int]], dict[str, int]],
    clock: int = NO_CLOCK,
    not_after: Mapping[str, int] | None = None,
) -> dict[str, Batch]:
    """What each source emits to the query after a step in which all have received a batch.

    `limits`: how far each may emit, by how far each is complete (see `holding`); `clock`: what the
    arrival clock shows, apart from what the sources know; `not_after`: of a source that has read
    ahead, when its next event arrived: its clock does not pass that."""
    now = max([clock, *(source.now for source in sources.values())])
    ends = {} if not_after is None else not_after
    came = {
        name: source.advanced(received[name], min(now, ends.get(name, now)))
        for name, source in sources.items()
    }
    until = limits({name: source.complete(came[name]) for name, source in sources.items()})
    return {name: source.aligned(came[name], until[name]) for name, source in sources.items()}


def has_time(timing: Timing, options: Options, *, plain: bool) -> bool:
    """Whether promises or estimates follow from when the events of a source arrive."""
    return (plain or timing.by_source) and is_watched(timing, options.block)
