"""A plan that runs free: what was let in at its sources, what has come out, what tokens mark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph
from driftline.engine.core.marks import Mark, MarkKind
from driftline.engine.core.plain import batch_of, events_of
from driftline.engine.state.fields import Arrays
from driftline.model.event import CLOSE, Event
from driftline.model.history import canonical_history
from driftline.model.level import Level
from driftline.plan.choices import Loops, Scheduler
from driftline.testing.driving import as_batched
from tests.engine.held_to_reference import KX
from tests.engine.test_plans import Both

SCHEDULERS: tuple[Scheduler, ...] = ("drain", "round-robin", "threads")


@dataclass
class Run:
    """A plan that runs: what was let in at each of its sources, and what has come out."""

    plan: Both
    scheduler: Scheduler = "round-robin"
    level: Level = Level.EAGER
    loop: Loops = "hybrid"
    came: list[list[Event]] = field(default_factory=lambda: [[], []])
    out: list[Event] = field(default_factory=list)
    prefixes: list[tuple[int, int]] = field(default_factory=list)
    whole: list[list[Event]] = field(default_factory=list)
    """What had come out at each token."""

    def __post_init__(self) -> None:
        self.graph = self.made()

    def made(self) -> Graph:
        graph = compile_plan(
            self.plan.query.plan, self._emitted, self.level, self.scheduler, loop=self.loop
        )
        graph.hear_marks(graph.sinks[0][0], self._token)
        return graph

    def _emitted(self, batch: Batch) -> None:
        self.out += events_of(batch)

    def _token(self, mark: Mark) -> None:
        """What has come out is the answer for the events before the token."""
        self.whole.append(list(self.out))
        if self.level is Level.EAGER:
            self.check(self.prefixes[mark.number - 1])

    def check(self, prefix: tuple[int, int]) -> None:
        s, t = (
            canonical_history(events[:count])
            for events, count in zip(self.came, prefix, strict=True)
        )
        assert canonical_history(self.out).same_snapshots(self.plan.meaning(s, t))

    def admit(self, port: int, events: list[Event]) -> None:
        if "st"[port] in self.graph.sources and events:
            self.came[port] += as_batched(events)
            self.graph.admit("st"[port], batch_of(events, KX))

    def insert_tokens(self) -> None:
        self.prefixes.append((len(self.came[0]), len(self.came[1])))
        for source in self.graph.sources:
            self.graph.admit(source, Mark(MarkKind.TOKEN, len(self.prefixes)))

    def work_at_random(self, random: Random) -> None:
        """Let operators that are chosen at random work on one item each."""
        for _ in range(random.randrange(6)):
            step = random.choice(self.graph.steps)
            if (taken := step.queue.take()) is not None:
                self.graph.work_on(step, *taken)
        for step in self.graph.steps:
            if step.operator.runs_free and random.random() < 0.5:
                self.graph.work(step)

    def move(self) -> None:
        """Let a new graph take over, with what lies in queues."""
        states = self.graph.snapshot()
        self.graph = self.made()
        self.graph.restore(states)

    def finish(self) -> None:
        self.graph.drain()
        self.graph.close()
        self.check((len(self.came[0]), len(self.came[1])))


def cut(arrivals: list[tuple[int, Event]], random: Random) -> list[list[list[Event]]]:
    """Arrivals in random stretches, each by port."""
    stretches, start = [], 0
    while start < len(arrivals):
        size = random.choice([1, 1, 2, 5])
        stretch = arrivals[start : start + size]
        stretches.append([[event for port, event in stretch if port == each] for each in (0, 1)])
        start += size
    return stretches


def stretches_of(arrivals: list[tuple[int, Event]], random: Random) -> list[list[list[Event]]]:
    """Arrivals in random stretches, each by port; then both streams are closed."""
    return cut([*arrivals, (0, CLOSE), (1, CLOSE)], random)


def held_at_tokens(
    run: Run, arrivals: list[tuple[int, Event]], random: Random, tokens: float, moves: float
) -> None:
    """Whatever works next, what has come out at a token is the answer for the prefix before it.
    `tokens`, `moves`: how likely one comes in, or a new graph takes over, after a stretch."""
    for stretch in stretches_of(arrivals, random):
        for port, events in enumerate(stretch):
            run.admit(port, events)
        if random.random() < tokens:
            run.insert_tokens()
        run.work_at_random(random)
        if moves and random.random() < moves:
            run.move()
    run.finish()
    assert len(run.whole) == len(run.prefixes)


def held_in_the_end(run: Run, arrivals: list[tuple[int, Event]], random: Random) -> None:
    """The scheduler of a run comes to the answer, and every token comes out."""
    try:
        for stretch in stretches_of(arrivals, random):
            for port, events in enumerate(stretch):
                run.admit(port, events)
            if random.random() < 0.3:
                run.insert_tokens()
            run.graph.turn()
    finally:
        run.graph.drain()
        run.graph.close()
    run.finish()
    assert len(run.whole) == len(run.prefixes)


def held_after_a_snapshot(
    make: Callable[[], Run], arrivals: list[tuple[int, Event]], random: Random
) -> None:
    """A snapshot that is taken as a token passes, without a stop, leads to the answer."""
    run = make()
    taken: list[dict[str, Arrays]] = []
    stretches = stretches_of(arrivals, random)
    for number, stretch in enumerate(stretches):
        for port, events in enumerate(stretch):
            run.admit(port, events)
        if number == len(stretches) // 2:
            run.graph.snapshot_at(1, taken.append)
            run.insert_tokens()
        run.graph.turn()
    run.finish()
    (states,) = taken
    again = Run(run.plan)
    again.graph.restore(states)
    again.came, again.out = [list(events) for events in run.came], run.whole[0]
    for port, events in enumerate(run.came):
        left = events[run.prefixes[0][port] :]
        if "st"[port] in again.graph.sources and left:
            again.graph.admit("st"[port], batch_of(left, KX))
    again.finish()
