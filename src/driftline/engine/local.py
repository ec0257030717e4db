"""The local runner: a plan in this process, batch by batch, over inputs that end or do not.

Each source goes through Finalize (which makes raw events a valid stream, closes the past after
`remember`, and sends what comes too late to the dead letters) and Align. A batch is the events
whose place in arrival order lies in one stretch of `batch` places; what comes out after it is the
answer for exactly the events so far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from driftline.engine.batch import Batch, Changes, empty, joined
from driftline.engine.chunks import chunks
from driftline.engine.coalesce import coalesced
from driftline.engine.compile import compile_plans
from driftline.engine.consistency import consistency, promised, warn_of_waiting
from driftline.engine.dead_letters import DeadLetters, unreadable
from driftline.engine.finalize import Finalize, Promises
from driftline.engine.graph import Scheduler
from driftline.engine.holding import Heartbeat, Holding
from driftline.engine.inputs import RawEvents, joined_events
from driftline.engine.source_time import NO_CLOCK, SourceTime, is_watched
from driftline.model.columns import CTI
from driftline.model.columns import INSERT as INSERT_KIND
from driftline.model.event import Cti, Insert
from driftline.model.log.bad import BadEvent, BadInput
from driftline.model.reference.latency import Level
from driftline.model.row import Row
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.nodes import ROW, Constant, Node, Source
from driftline.plan.sizes import DEFAULT_EXPANSION, size_of

DEFAULT_BATCH = 50_000

ENOUGH = 1_000_000
"""So many records at least satisfy the curiosity about guesses that nobody waits for."""


@dataclass(frozen=True)
class Options:
    """How a query is run: see `Query.run`. Durations are in ticks. `curious`: what is guessed of
    the time of streams is wanted, although nobody waits for it (see `SourceTime.learned`).
    `strict`: the first dead letter raises `BadInput`. `max_expansion`: bytes that a batch may
    become (see `expressions.expansion`)."""

    level: Level = Level.ORDERED
    block: int = 0
    remember: int = INFINITY
    batch: int = DEFAULT_BATCH
    scheduler: Scheduler = "drain"
    keep_open: bool = False
    heartbeat: Heartbeat = "source"
    curious: bool = False
    strict: bool = False
    max_expansion: int = size_of(DEFAULT_EXPANSION)


class _Feed:
    """One source while it is read: its events, and the operators that make them a stream."""

    def __init__(self, source: Source, data: Any, options: Options) -> None:
        self.source, self.options, self.schema = source, options, source.schema.arrow
        self.chunks = chunks(source, data, options.batch)
        self.read: deque[RawEvents] = deque()  # and not yet taken
        self.bad: list[BadEvent] = []  # could not be read, and was not yet reported
        self.finalize: Finalize | None = None
        self.time: SourceTime | None = None
        self.is_needed = False  # its time, by somebody who waits or is promised something

    def is_exhausted(self) -> bool:
        """Whether nothing more comes; an iterator is asked for its next rows to find out."""
        while not self.read:
            events = next(self.chunks, None)
            if events is None:
                return True
            self.bad += events.bad
            if len(events):
                self.read.append(events)
        return False

    def next(self, until: int) -> tuple[Batch, DeadLetters | None]:
        """What the events before a place in arrival order bring."""
        taken: list[RawEvents] = []
        while not self.is_exhausted():
            events = self.read.popleft()
            last = int(np.searchsorted(events.position, until))
            if last:
                taken.append(events.slice(0, last))
            if last < len(events):
                self.read.appendleft(events.slice(last, len(events)))
                break
            if int(events.position[-1]) + 1 >= until:
                break  # without asking for more than is needed
        batch, dead = self._through(joined_events(taken)) if taken else (empty(self.schema), None)
        return batch, self._with_bad(dead)

    def _with_bad(self, dead: DeadLetters | None) -> DeadLetters | None:
        """Dead letters, and what could not be read meanwhile."""
        if not self.bad:
            return dead
        unread, self.bad = unreadable(self.schema, self.bad), []
        return unread if dead is None else dead.with_more([unread])

    def inserts_only(self) -> bool:
        """Whether all that comes are plain records, of which none is ever taken back."""
        return not self.is_exhausted() and not self.read[0].is_log

    def close(self) -> tuple[Batch, DeadLetters | None]:
        end = replace(
            _no_events(self.schema, 1),
            kind=np.full(1, CTI, np.int8),
            vs=np.full(1, INFINITY, np.int64),
        )
        batch, dead = self._through(end)
        return batch, self._with_bad(dead)

    def _through(self, events: RawEvents) -> tuple[Batch, DeadLetters]:
        if self.finalize is None:
            self._start(plain=not events.is_log)
        assert self.finalize is not None
        promises = None
        if self.time is not None and (self.is_needed or self.time.came < ENOUGH):
            promises = self._watched(self.time, events)
        return self.finalize.receive_events(events, promises)

    def _watched(self, time: SourceTime, events: RawEvents) -> Promises | None:
        """What the arrival of events promises; a guess goes to Align."""
        name = time.timing.source
        sources = None if name is None else events.payload.column(name)
        return promised(time, time.take(events, sources, events.clock), self.align)

    @property
    def now(self) -> int:
        """What the arrival clock shows, as far as this source knows."""
        return NO_CLOCK if self.time is None else self.time.clock

    def complete(self, batch: Batch) -> int:
        """How far all has come, or probably has, with a batch."""
        return BEGINNING if self.finalize is None else max(self.align.complete, batch.cti)

    def aligned(self, batch: Batch, limit: int) -> Batch:
        """What goes on when a batch has come, and others have come as far as the limit."""
        if self.finalize is None:
            return batch
        self.align.limit = limit
        return self.align.receive(0, batch)

    def advanced(self, batch: Batch, now: int) -> Batch:
        """A batch, and what more is known now that the clock, which all share, has come so far."""
        if self.time is None or self.finalize is None:
            return batch
        if self.read and (clock := self.read[0].clock) is not None:
            now = min(now, int(clock[0]))  # another log is farther on in time, not in lines
        if now <= self.time.now:
            return batch
        self.time.advance(now)
        more, _ = self._through(_no_events(self.schema))
        return joined([batch, more])

    def counters(self) -> dict[str, dict[str, int]]:
        if self.finalize is None:
            return {}
        more = {"dead_letters": int(self.finalize.dead.sum())}
        more |= {} if self.time is None else self.time.learned()
        return {
            "finalize": self.finalize.counters.as_dict() | more,
            "align": self.align.counters.as_dict(),
        }

    def _start(self, plain: bool) -> None:
        timing, remember = self.source.timing, self.options.remember
        if timing.disorder is not None and not timing.by_source:
            remember = min(remember, timing.disorder)
        self.is_needed = is_watched(timing, self.options.block)
        curious = is_watched(timing, self.options.block, curious=self.options.curious)
        if (plain or timing.by_source) and curious:
            self.time = SourceTime(timing)
        self.finalize, self.align = consistency(
            self.schema, self.options.block, remember, inserts_only=plain
        )


@dataclass
class Output:
    """What one batch of the input leads to."""

    batch: Batch
    dead: dict[str, DeadLetters]
    counters: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass
class Outputs:
    """What one batch of the input leads to in several queries, by their names."""

    batches: dict[str, Batch]
    dead: dict[str, DeadLetters]
    counters: dict[str, dict[str, int]] = field(default_factory=dict)


def run(plan: Node, inputs: Mapping[str, Any], options: Options) -> Iterator[Output]:
    """Run a plan over its inputs; yields what every batch leads to."""
    for outputs in run_all({"": plan}, inputs, options):
        yield Output(outputs.batches[""], outputs.dead, outputs.counters)


def run_all(
    plans: Mapping[str, Node], inputs: Mapping[str, Any], options: Options
) -> Iterator[Outputs]:
    """Run several plans over the same inputs, as one graph: their answers after a batch are
    those for the same events."""
    sources = sources_of(plans.values())
    inputs = {**inputs, **constants(sources)}
    for name in sources:
        if name not in inputs:
            raise PlanError(f"the query reads the stream {name}, but no input for it was given")
    for name in inputs:
        if name not in sources:
            known = ", ".join(sources)
            raise PlanError(f"there is an input {name}, but the query reads only {known}")
    said: dict[str, list[Batch]] = {name: [] for name in plans}
    feeds = {name: _Feed(source, inputs[name], options) for name, source in sources.items()}
    plain = [name for name, feed in feeds.items() if feed.inserts_only()]
    warn_of_waiting([sources[name] for name in plain], options.block, options.remember)
    graph = compile_plans(
        [(plan, said[name].append) for name, plan in plans.items()],
        options.level,
        options.scheduler,
        plain,
    )
    graph.threads = True
    graph.max_expansion = options.max_expansion
    holding = Holding(graph, options.heartbeat)

    def step(ready: dict[str, tuple[Batch, DeadLetters | None]]) -> Outputs:
        for batches in said.values():
            batches.clear()
        now = max(feed.now for feed in feeds.values())
        came = {name: feed.advanced(ready[name][0], now) for name, feed in feeds.items()}
        limits = holding.limits({name: feed.complete(came[name]) for name, feed in feeds.items()})
        for name, feed in feeds.items():
            batch = feed.aligned(came[name], limits[name])
            if not batch.is_empty:
                graph.push(name, batch)
        whole = {
            name: joined(batches) if batches else empty(plans[name].schema.arrow)
            for name, batches in said.items()
        }
        dead = {name: letters for name, (_, letters) in ready.items() if letters}
        if options.strict:
            for name, letters in dead.items():
                raise BadInput(letters.first(name, sources[name].timestamps))
        counters = graph.counters()
        for name, feed in feeds.items():
            counters |= {f"{name}: {part}": counted for part, counted in feed.counters().items()}
        return Outputs(whole, dead, counters)

    until = options.batch
    while not all(feed.is_exhausted() for feed in feeds.values()):
        yield step({name: feed.next(until) for name, feed in feeds.items()})
        until += options.batch
    if any(feed.bad for feed in feeds.values()):
        yield step({name: feed.next(until) for name, feed in feeds.items()})
    if not options.keep_open:
        yield step({name: feed.close() for name, feed in feeds.items()})


def _no_events(schema: pa.Schema, count: int = 0) -> RawEvents:
    """Events without rows."""
    nothing, kind = np.zeros(count, np.int64), np.zeros(count, np.int8)
    return RawEvents(kind, nothing, nothing, nothing, schema.empty_table(), nothing, is_log=True)


def sources_of(plans: Iterable[Node]) -> dict[str, Source]:
    """The streams that several plans read, by name."""
    found: dict[str, Source] = {}
    for plan in plans:
        for name, source in plan.sources().items():
            if found.setdefault(name, source) != source:
                raise PlanError(f"the stream {name} is used with two definitions")
    return found


def constants(sources: Mapping[str, Source]) -> dict[str, list[Insert | Cti]]:
    """The events of sources that are no streams but rows of the query itself."""
    return {
        name: [
            *(Insert(each.start, INFINITY, Row({ROW: number})) for number in range(each.count)),
            Cti(INFINITY),
        ]
        for name, each in sources.items()
        if isinstance(each, Constant)
    }


def changes_table(changes: Changes) -> pa.Table:
    """Inserts and retracts as a table: kind, vs, ve, vn, and the columns of the rows."""
    kinds = np.where(changes.kind == INSERT_KIND, "insert", "retract")
    inserts = changes.kind == INSERT_KIND
    times = {
        "kind": pa.array(kinds.tolist(), pa.string()),
        "vs": pa.array(changes.vs),
        "ve": pa.array(changes.ve, mask=changes.ve == INFINITY),
        "vn": pa.array(changes.vn, mask=inserts),
    }
    rows = changes.rows()
    columns = {name: rows.column(place) for place, name in enumerate(rows.schema.names)}
    return pa.table({**times, **columns})


def history_table(batches: list[Batch], schema: pa.Schema, *, loose: bool = False) -> pa.Table:
    """The canonical history of everything that was said: vs, ve (null: ∞), and the rows. Where only
    snapshots have a meaning (`loose`), in the longest stretches, however it was said."""
    whole = joined(batches) if batches else empty(schema)
    left = coalesced(whole) if loose else whole.netted()
    if len(left) and left.weight.min() < 0:
        raise ValueError("more was retracted than was said")
    rows = np.repeat(np.arange(len(left)), left.weight)
    order = rows[np.lexsort((left.ve[rows], left.vs[rows]))]
    payload = left.payload.take(pa.array(order))
    columns = {name: payload.column(place) for place, name in enumerate(payload.schema.names)}
    ve = left.ve[order]
    return pa.table({"vs": left.vs[order], "ve": pa.array(ve, mask=ve == INFINITY), **columns})
