"""The local runner: a plan in this process, batch by batch, over inputs that end or do not.

It reads the inputs, and each source (see `ingest.source`) makes a valid stream of what was read. A
batch is the events whose place in arrival order lies in one stretch of `batch` places. With the
scheduler `drain` what comes out after it is the answer for exactly the events so far; with the
others the next batch is read while this one is still in the queues (see `core.graph`), and where an
answer belongs to a prefix of the inputs is marked on request (see `outputs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from operator import methodcaller
from typing import Any

import numpy as np

from driftline.engine.compile import compile_plans
from driftline.engine.core.batch import Batch, empty, joined
from driftline.engine.core.graph import Step
from driftline.engine.core.labels import Label, Vector, greatest
from driftline.engine.core.marks import Mark, MarkKind
from driftline.engine.core.operator import OperatorKey
from driftline.engine.ingest.arrivals import ArrivedEvents, one_cti
from driftline.engine.ingest.consistency import warn_of_waiting
from driftline.engine.ingest.dead_letters import DeadLetters, no_letters
from driftline.engine.ingest.holding import Holding
from driftline.engine.ingest.source import SourceIngest, emitted
from driftline.engine.options import Options
from driftline.engine.outputs.clock import wall_time
from driftline.engine.outputs.heeding import Heeding
from driftline.engine.outputs.prefix import Collector
from driftline.engine.outputs.tokens import Tokens
from driftline.engine.plan_sources import constants, in_order_of_work, sources_of
from driftline.engine.readers.ahead import ahead
from driftline.engine.readers.growing import GrowingReader
from driftline.engine.readers.inputs import RawEvents
from driftline.engine.readers.source_reader import SourceReader
from driftline.engine.step_outputs import Counts, Outputs
from driftline.event_log.bad import BadInput
from driftline.model.columns import INSERT
from driftline.model.prefix import Prefix
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.finals import only_final
from driftline.plan.nodes import Constant, Node, Source

READS_AHEAD_FROM = 1_000
"""Batches of so many events are taken in by another thread; to hand over smaller ones costs more
than it saves."""

_key = lru_cache(4_096)(OperatorKey)


@dataclass(frozen=True)
class _Received:
    """What the sources have let in of a batch, and how far they are: `read`: how many events of
    each input have come; `late`: how many of these after `now`."""

    streams: Mapping[str, Batch]
    dead: dict[str, DeadLetters]
    counters: dict[OperatorKey, dict[str, int]]
    read: dict[str, int]
    now: int
    late: int


def run(plan: Node, inputs: Mapping[str, Any], options: Options) -> Iterator[Outputs]:
    """Run a plan over its inputs; yields what every batch leads to."""
    return run_all({"": plan}, inputs, options)


def run_all(
    plans: Mapping[str, Node], inputs: Mapping[str, Any], options: Options
) -> Iterator[Outputs]:
    """Run several plans over the same inputs, as one graph: their answers after a batch are
    those for the same events."""
    return started(plans, inputs, options).outputs()


def started(
    plans: Mapping[str, Node],
    inputs: Mapping[str, Any],
    options: Options,
    wall: Callable[[], int] = wall_time,
) -> Run:
    """A run of plans over their inputs that has read nothing yet; `wall` tells the time of day."""
    sources = sources_of(plans.values())
    inputs = {**inputs, **constants(sources)}
    for name in sources:
        if name not in inputs:
            others = ", ".join(each for each in inputs if each not in sources)
            given = f"only {others} was given: name it {name}" if others else "no input was given"
            raise PlanError(f"the query reads the stream {name}, but {given}")
    for name in inputs:
        if name not in sources:
            known = ", ".join(sources)
            raise PlanError(f"there is an input {name}, but the query reads only {known}")
    return Run(plans, sources, inputs, options, wall)


class Run:
    """A run: what reads the sources, what makes streams of them, the graph, and what it emits.
    `constants`: what comes before all else; `order`: that in which streams are worked on; `now`:
    the time that has come, if the answer now is asked for (see `outputs.clock`); `replayed`: the
    time up to which inputs were replayed at their pace (see `replay_until`)."""

    def __init__(
        self,
        plans: Mapping[str, Node],
        sources: Mapping[str, Source],
        inputs: Mapping[str, Any],
        options: Options,
        wall: Callable[[], int],
    ) -> None:
        self.sources, self.options, self.wall = sources, options, wall
        order = in_order_of_work(plans.values())
        self.constants = [name for name in order if isinstance(sources[name], Constant)]
        self.order = [name for name in order if name not in self.constants]
        self.readers = {
            name: SourceReader.of(source, inputs[name], options.batch)
            for name, source in sources.items()
        }
        plain = [name for name, reader in self.readers.items() if reader.inserts_only()]
        if options.final:
            plans = {name: only_final(plan, plain) for name, plan in plans.items()}
        self.plans = plans
        warn_of_waiting([sources[name] for name in plain], options.block, options.remember)
        self.ingests = {
            name: SourceIngest(source.schema.arrow, source.timing, options, plain=name in plain)
            for name, source in sources.items()
        }
        self.nothing = {name: empty(plan.schema.arrow) for name, plan in plans.items()}
        self.emitted = Collector(plans, options.outputs, every_mark=options.heeding is None)
        self.graph = compile_plans(
            [(plan, self.emitted.sink(name)) for name, plan in plans.items()],
            options.level,
            options.scheduler,
            plain,
            expiry=options.expiry_in_use,
            loop=options.loop,
        )
        self.graph.branches = True
        self.graph.limits = options.limits
        for name, (step, _) in zip(plans, self.graph.sinks, strict=True):
            self.graph.hear_marks(step, partial(self._token, name))
        self.holding = Holding(self.graph, options.heartbeat)
        self.is_drained = options.scheduler == "drain"
        marks = options.outputs != "free" and not self.is_drained
        uses_tokens = marks and options.heeding is None
        self.tokens = Tokens(options.tokens, options.batch, plans) if uses_tokens else None
        self.heeding: Heeding | None = None
        if marks and options.heeding is not None:
            self.heeding = Heeding(self.graph, options.heeding, self._consistent)
        self.named: dict[Step, list[str]] = {}  # the queries that a step is the last of
        for name, (step, _) in zip(plans, self.graph.sinks, strict=True):
            self.named.setdefault(step, []).append(name)
        self.together = options.heartbeat != "source" or any(
            ingest.time is not None for ingest in self.ingests.values()
        )
        self.is_closing = False
        self.now, self.replayed, self.late = BEGINNING, BEGINNING, 0
        self.read = {  # how many events of each input
            name: 0 for name in sources if name not in self.constants
        }
        self.read_at = {0: dict(self.read)}  # by the number of what sources let in (see `_labels`)
        self.oldest = 0  # of these

    def outputs(self) -> Iterator[Outputs]:
        """What every batch leads to."""
        try:
            came = self._came()
            for each in ahead(came, parts=1) if self._reads_ahead else came:
                yield from self._worked(each)
            yield from self.end()
        finally:
            self.close()

    def _came(self) -> Iterator[_Received]:
        """What comes from the sources, batch by batch."""
        until = 0
        while not self.is_exhausted():
            until += self._size()
            yield self._received(self._read(methodcaller("next", until)))

    @property
    def _reads_ahead(self) -> bool:
        """Whether the sources can take the next batch in while the graph works on this one: what
        they let through does not depend on what it has done."""
        options = self.options
        alone = options.heartbeat != "memory" and options.clock is None
        is_worth_it = options.reads_ahead and options.batch >= READS_AHEAD_FROM
        return is_worth_it and self.is_drained and alone

    def follow(self, wait: Callable[[], None]) -> Iterator[Outputs]:
        """What inputs that go on lead to, without end: it waits when all that has come is worked
        on. The other inputs are closed when they end."""
        growing = [each for each in self.readers.values() if isinstance(each, GrowingReader)]
        ends = {
            name: None if reader in growing else one_cti(self.ingests[name].schema, INFINITY)
            for name, reader in self.readers.items()
        }
        until = 0
        try:
            while True:
                for reader in growing:
                    reader.look(until)
                nothing_came = self.is_exhausted()
                while not self.is_exhausted():
                    until += self._size()
                    yield from self._step(self._read(methodcaller("next", until)))
                if any(ends.values()):
                    yield from self._step(ends)
                    ends = dict.fromkeys(ends)
                elif nothing_came and (
                    self.options.clock is not None  # time has passed
                    or any(reader.bad for reader in growing)
                ):
                    yield from self._step(dict.fromkeys(self.readers))
                wait()
        finally:
            self.close()

    def is_exhausted(self) -> bool:
        """Whether nothing more comes from any input."""
        return all(reader.is_exhausted() for reader in self.readers.values())

    def next_time(self) -> int | None:
        """The least time of the next events of all inputs, if there is one."""
        least = min((self.readers[name].next_time for name in self.read), default=INFINITY)
        return None if least == INFINITY else least

    def replay_until(self, time: int) -> Iterator[Outputs]:
        """Let the events in that were due at a time, or nothing but the time itself."""
        self.replayed = max(self.replayed, time)
        yield from self._step(self._read(methodcaller("next_due", time)))

    def end(self) -> Iterator[Outputs]:
        """What the end of the inputs leads to."""
        if any(reader.bad for reader in self.readers.values()):
            yield from self._step(dict.fromkeys(self.readers))
        if not self.options.keep_open:
            ends = {name: one_cti(ingest.schema, INFINITY) for name, ingest in self.ingests.items()}
            self.is_closing = True
            yield from self._step(ends, is_last=True)
        elif not self.is_drained:
            yield from self._step(dict.fromkeys(self.readers), is_last=True)

    def close(self) -> None:
        """Stop what still works."""
        self.graph.close()

    def _size(self) -> int:
        """The places in arrival order that the next batch takes: none reaches over a token."""
        if self.tokens is None:
            return self.options.batch
        return min(self.options.batch, self.tokens.length)

    def _read(
        self, taken: Callable[[SourceReader], RawEvents | None]
    ) -> dict[str, ArrivedEvents | None]:
        events = {name: taken(self.readers[name]) for name in self.order}
        events |= {name: self.readers[name].next(INFINITY) for name in self.constants}
        for name in self.read:
            each = events[name]
            self.read[name] += 0 if each is None else len(each)
        return {
            name: None if each is None else _arrivals(each, self.sources[name])
            for name, each in events.items()
        }

    def _step(
        self, came: Mapping[str, ArrivedEvents | None], *, is_last: bool = False
    ) -> Iterator[Outputs]:
        return self._worked(self._received(came), is_last=is_last)

    def _received(self, came: Mapping[str, ArrivedEvents | None]) -> _Received:
        """Let the sources take in what has come."""
        received: dict[str, Batch] = {}
        dead: dict[str, DeadLetters] = {}
        for name, ingest in self.ingests.items():
            events = came[name]
            if events is None:
                received[name], letters = empty(ingest.schema), no_letters(ingest.schema)
            else:
                received[name], letters = ingest.receive(events)
            if len(letters := self.readers[name].with_bad(letters, ingest.schema)):
                dead[name] = letters
        clocks = {name: reader.next_clock for name, reader in self.readers.items()}
        streams = emitted(self.ingests, received, self.holding.limits, not_after=clocks)
        self._look_at_clock(came)
        labels = self._labels(streams)
        if labels or self.now > BEGINNING:
            streams = {
                name: replace(batch, now=self.now, label=labels.get(name))
                for name, batch in streams.items()
            }
        counters = {
            _key(part, name, name): counted
            for name, ingest in self.ingests.items()
            for part, counted in ingest.counters().items()
        }
        return _Received(streams, dead, counters, dict(self.read), self.now, self.late)

    def _worked(self, received: _Received, *, is_last: bool = False) -> Iterator[Outputs]:
        """What the graph emits for what the sources have let in."""
        for name in self.constants:
            self._admit(name, received.streams[name], drain=True)
        for name in self.order:
            self._admit(name, received.streams[name], drain=self.is_drained)
        self._work(received.read, is_last=is_last)
        dead = received.dead
        if self.options.strict:
            for name, letters in dead.items():
                raise BadInput(letters.first(name, self.sources[name].timestamps))
        counters = Counts(partial(self._counted, received.counters))
        for piece in self.emitted.take():
            whole = {
                name: joined(batches) if (batches := piece.batches.get(name)) else nothing
                for name, nothing in self.nothing.items()
            }
            yield Outputs(whole, dead, counters, piece.prefixes, received.now, received.late)
            dead = {}

    def _counted(
        self, sources: dict[OperatorKey, dict[str, int]]
    ) -> dict[OperatorKey, dict[str, int]]:
        """What operators have counted, with what the sources had with the latest step."""
        steps = self.graph.counters()
        return {_key(step): counted for step, counted in steps.items()} | sources

    def _admit(self, name: str, admitted: Batch, *, drain: bool) -> None:
        if not admitted.is_empty:
            self.graph.admit(name, admitted)
            if drain:
                self.graph.drain()
        elif self.heeding is not None and admitted.label is not None:
            self.heeding.leave_out(admitted.label)

    def _look_at_clock(self, came: Mapping[str, ArrivedEvents | None]) -> None:
        """The time that has come with what the inputs let in now, and what was late for it."""
        if self.options.clock is None:
            return
        for name in self.read:
            events = came[name]
            if events is not None:
                self.late += _late(events, self.now)
        if self.options.clock == "wall":
            self.now = max(self.now, self.wall())
        else:
            shown = (self.ingests[name].latest for name in self.read)
            self.now = max([self.now, self.replayed, *shown])

    def _labels(self, streams: Mapping[str, Batch]) -> dict[str, Label]:
        """The labels of what the sources let in now. Where one source waits for another, or all
        go by one clock, all of them have taken part in each."""
        if self.heeding is None:
            return {}
        with self.heeding.lock:  # marks are made in other threads
            labels = {name: self.heeding.admit(name) for name in streams}
            self.read_at[max(self.heeding.admitted)] = dict(self.read)  # all have the same number
        if self.together:
            vector = reduce(greatest, (label.vector for label in labels.values()))
            labels = {name: Label(vector, *label[1:]) for name, label in labels.items()}
        return labels

    def _consistent(self, step: Step, vector: Vector) -> None:
        """What an output has emitted is the answer for what the sources have let in so far."""
        assert self.heeding is not None
        numbers = dict(zip(self.heeding.sources, vector, strict=True))
        if not all(numbers[name] for name in self.constants):
            return  # not yet the answer for anything
        read_at, closed = self.read_at, False
        if self.is_closing:
            ended = [each == last for each, last in zip(vector, self.heeding.admitted, strict=True)]
            closed = all(ended)
            if any(ended) and not closed:
                return  # the end of some inputs was worked on: numbers of events do not say that
        events = {
            name: read_at[number][name] for name, number in numbers.items() if name in self.read
        }
        least = min(vector)
        while self.oldest < least:  # prefixes only grow
            del read_at[self.oldest]
            self.oldest += 1
        prefix = Prefix(events, closed)
        for name in self.named[step]:
            self.emitted.mark(name, prefix)

    def _work(self, read: Mapping[str, int], *, is_last: bool) -> None:
        """Put a token in if it is time for one, and let the graph work."""
        prefix = Prefix(read, closed=is_last and not self.options.keep_open)
        if self.tokens is not None:
            token = self.tokens.next(prefix, self.graph.backlog, at_once=is_last)
            if token is not None:
                for name in self.graph.sources:
                    self.graph.admit(name, token)
        if is_last:
            self.graph.drain()
        else:
            self.graph.turn()
        if self.is_drained:
            for name in self.plans:
                self.emitted.mark(name, prefix)

    def _token(self, name: str, token: Mark) -> None:
        if self.tokens is not None and token.kind is MarkKind.TOKEN:
            self.emitted.mark(name, self.tokens.came_out(name, token))


def _late(events: ArrivedEvents, now: int) -> int:
    """How many inserts came when a later time had come already."""
    starts = events.vs[events.kind == INSERT]
    latest_before = np.maximum.accumulate(np.concatenate([[now], starts]))[:-1]
    return int(np.count_nonzero(starts < latest_before))


def _arrivals(events: RawEvents, source: Source) -> ArrivedEvents:
    arrivals = ArrivedEvents.of(events, source.schema.arrow, source.timing.apart_by, events.clock)
    return arrivals.at_one_moment() if events.at_once else arrivals
