"""Free running: whatever is scheduled when, a token at an output marks the answer for a prefix.

Random plans over two streams, random batches, and a random choice of who works next. Tokens go in
at every source in rounds; the n-th token of a source stands behind the events let in before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph
from driftline.engine.core.marks import LAST_TOKEN, Kind, Mark
from driftline.engine.core.operator import Arrays
from driftline.engine.core.plain import batch_of, events_of
from driftline.model.event import CLOSE, Event
from driftline.model.history import canonical_history
from driftline.model.level import Level
from driftline.plan.choices import Scheduler
from driftline.testing.driving import as_batched
from tests.engine.held_to_reference import KX
from tests.engine.test_plans import ARRIVALS, PLANS, Both

SCHEDULERS: tuple[Scheduler, ...] = ("drain", "round-robin", "threads")


@dataclass
class Run:
    """A plan that runs: what was let in at each of its sources, and what has come out."""

    plan: Both
    scheduler: Scheduler = "round-robin"
    level: Level = Level.EAGER
    came: list[list[Event]] = field(default_factory=lambda: [[], []])
    out: list[Event] = field(default_factory=list)
    prefixes: list[tuple[int, int]] = field(default_factory=list)
    whole: list[list[Event]] = field(default_factory=list)
    """What had come out at each token."""

    def __post_init__(self) -> None:
        self.graph = self.made()

    def made(self) -> Graph:
        graph = compile_plan(self.plan.query.plan, self._emitted, self.level, self.scheduler)
        graph.mark_sinks = [(graph.sinks[0][0], self._token)]
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
            self.graph.admit(source, Mark(Kind.TOKEN, len(self.prefixes)))

    def work_at_random(self, random: Random) -> None:
        """Let operators that are chosen at random work on one item each."""
        for _ in range(random.randrange(6)):
            step = random.choice(self.graph.steps)
            if (taken := step.queue.take()) is not None:
                self.graph.work_on(step, *taken)

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


@settings(max_examples=40)
@given(PLANS, ARRIVALS, st.randoms(use_true_random=False), st.booleans())
def test_a_token_marks_the_answer_for_a_prefix(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, move: bool
) -> None:
    run = Run(plan)
    for stretch in cut([*arrivals, (0, CLOSE), (1, CLOSE)], random):
        for port, events in enumerate(stretch):
            run.admit(port, events)
        if random.random() < 0.5:
            run.insert_tokens()
        run.work_at_random(random)
        if move and random.random() < 0.2:
            states = run.graph.snapshot()
            run.graph = run.made()
            run.graph.restore(states)
    run.finish()
    assert len(run.whole) == len(run.prefixes)


@settings(max_examples=40)
@given(
    PLANS,
    ARRIVALS,
    st.randoms(use_true_random=False),
    st.sampled_from(SCHEDULERS),
    st.sampled_from(Level),
)
def test_every_scheduler_gives_the_same_in_the_end(
    plan: Both,
    arrivals: list[tuple[int, Event]],
    random: Random,
    scheduler: Scheduler,
    level: Level,
) -> None:
    run = Run(plan, scheduler, level)
    try:
        for stretch in cut([*arrivals, (0, CLOSE), (1, CLOSE)], random):
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


@settings(max_examples=40)
@given(PLANS, ARRIVALS, st.randoms(use_true_random=False), st.sampled_from(SCHEDULERS))
def test_a_snapshot_at_a_token_needs_no_stop(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, scheduler: Scheduler
) -> None:
    run = Run(plan, scheduler)
    taken: list[dict[str, Arrays]] = []
    stretches = cut([*arrivals, (0, CLOSE), (1, CLOSE)], random)
    middle = len(stretches) // 2
    for number, stretch in enumerate(stretches):
        for port, events in enumerate(stretch):
            run.admit(port, events)
        if number == middle:
            run.graph.snapshot_at(1, taken.append)
            run.insert_tokens()
        run.graph.turn()
    run.finish()
    (states,) = taken
    again = Run(plan)
    again.graph.restore(states)
    again.came, again.out = [list(events) for events in run.came], run.whole[0]
    prefix = run.prefixes[0]
    for port, events in enumerate(run.came):
        if "st"[port] in again.graph.sources and events[prefix[port] :]:
            again.graph.admit("st"[port], batch_of(events[prefix[port] :], KX))
    again.finish()


def join_of_two() -> Both:
    from tests.engine.test_plans import S, T

    return Both(S.join(T, on="k", how="semi"), lambda s, t: s)


def test_a_source_that_has_ended_holds_no_token_back() -> None:
    run = Run(join_of_two())
    for source in run.graph.sources:
        run.graph.admit(source, Mark(Kind.TOKEN, 1))
    run.graph.admit("t", LAST_TOKEN)
    seen: list[int] = []
    run.graph.mark_sinks = [(run.graph.sinks[0][0], lambda mark: seen.append(mark.number))]
    run.graph.admit("s", Mark(Kind.TOKEN, 2))
    run.graph.admit("s", Mark(Kind.TOKEN, 3))
    run.graph.drain()
    assert seen == [1, 2, 3]


def test_what_fails_in_a_thread_is_raised_and_stops_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(join_of_two(), "threads")
    step, _ = run.graph.sources["s"][0]

    def fails(port: int, batch: Batch) -> Batch:
        raise OverflowError("a sum does not fit")

    monkeypatch.setattr(step.operator, "receive", fails)
    run.admit(0, [CLOSE])
    with pytest.raises(OverflowError, match="does not fit"):
        run.graph.drain()
    run.graph.close()
