"""A plan that hears of time: what was let in at its sources, and what has come out."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph
from driftline.engine.core.plain import batch_of, events_of
from driftline.model.event import CLOSE, Event, ExternalCti
from driftline.model.history import History, canonical_history
from driftline.model.level import Level
from driftline.model.stream import breaches
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import Expiry, Scheduler
from driftline.testing.driving import as_batched
from tests.engine.held_to_reference import KX
from tests.engine.test_plans import Both

ON_TIME: tuple[Expiry, ...] = ("nta", "time-message", "piggyback")
ALL: tuple[Expiry, ...] = ("ita", *ON_TIME)


@dataclass
class Run:
    """A plan that hears of time: what was let in at each source, and what has come out."""

    plan: Both
    expiry: Expiry
    level: Level = Level.ORDERED
    scheduler: Scheduler = "drain"
    came: list[list[Event]] = field(default_factory=lambda: [[], []])
    out: list[Event] = field(default_factory=list)
    clock: int = BEGINNING

    def __post_init__(self) -> None:
        self.graph = self.made()

    def made(self) -> Graph:
        return compile_plan(
            self.plan.query.plan, self._emitted, self.level, self.scheduler, expiry=self.expiry
        )

    def _emitted(self, batch: Batch) -> None:
        self.out += events_of(batch)

    def admit(self, port: int, events: list[Event]) -> None:
        """Let events in; the clock is the greatest time that any source has shown."""
        if "st"[port] in self.graph.sources and events:
            self.came[port] += as_batched(events)
            self.graph.admit("st"[port], batch_of(events, KX))
        changes = [event for event in events if not isinstance(event, ExternalCti)]
        shown = [event.sync for event in changes if event.sync < INFINITY]
        self.clock = max([self.clock, *shown])

    def move(self) -> None:
        states = self.graph.snapshot()
        self.graph.close()
        self.graph = self.made()
        self.graph.restore(states)

    def answer(self) -> History:
        return canonical_history(self.out)

    def reference(self) -> History:
        s, t = (canonical_history(events) for events in self.came)
        return self.plan.meaning(s, t)

    def check_now(self) -> None:
        now = self.clock
        assert self.answer().snapshot(now) == self.reference().snapshot(now)


def cut(arrivals: list[tuple[int, Event]], random: Random) -> list[list[tuple[int, Event]]]:
    stretches, start = [], 0
    while start < len(arrivals):
        size = random.choice([1, 1, 2, 5])
        stretches.append(arrivals[start : start + size])
        start += size
    return stretches


def work_at_random(graph: Graph, random: Random) -> None:
    graph.begin_turn()
    for _ in range(random.randrange(8)):
        step = random.choice(graph.steps)
        if (taken := step.queue.take()) is not None:
            graph.work_on(step, *taken)


def finish(run: Run) -> None:
    for port in (0, 1):
        run.admit(port, [CLOSE])
    run.graph.drain()
    run.graph.close()
    assert run.answer().same_snapshots(run.reference())
    assert not breaches(run.out)


def held_at_every_mark(run: Run, arrivals: list[tuple[int, Event]], random: Random) -> None:
    """Drained, the snapshot at every mark is the reference's."""
    for stretch in cut(arrivals, random):
        for port in (0, 1):
            run.admit(port, [event for which, event in stretch if which == port])
            run.graph.drain()
        run.clock += random.choice([0, 0, 1, 3])  # a source that is silent may show time, too
        run.graph.advance(run.clock)
        run.graph.drain()
        run.check_now()
        if random.random() < 0.2:
            run.move()
    finish(run)
