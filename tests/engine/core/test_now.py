"""Now-marks: at every one of them the answer's snapshot is the reference's, and the history is the
same in the end, however operators hear that time has passed."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph
from driftline.engine.core.plain import batch_of, events_of
from driftline.engine.core.queues import Item, Queue
from driftline.model import reference as ref
from driftline.model.event import CLOSE, Event, ExternalCti
from driftline.model.history import History, canonical_history
from driftline.model.level import Level
from driftline.model.reference import Now, Order, aggregates, at_level, merged_watermark
from driftline.model.stream import breaches
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import Expiry, Scheduler
from driftline.testing.driving import as_batched
from tests.engine.held_to_reference import KX
from tests.engine.test_plans import ARRIVALS, PLANS, Both, S, T, k, x

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


@settings(max_examples=150)
@given(
    PLANS,
    ARRIVALS,
    st.randoms(use_true_random=False),
    st.sampled_from(ON_TIME),
    st.sampled_from([Level.ORDERED, Level.EAGER]),
)
def test_drained_the_snapshot_at_every_mark_is_the_references(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, expiry: Expiry, level: Level
) -> None:
    run = Run(plan, expiry, level)
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


@settings(max_examples=60)
@given(PLANS, ARRIVALS, st.randoms(use_true_random=False), st.sampled_from(ON_TIME))
def test_running_free_nothing_is_late_by_more_than_what_lies_in_queues(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, expiry: Expiry
) -> None:
    run = Run(plan, expiry, scheduler="round-robin")
    for stretch in cut(arrivals, random):
        for port in (0, 1):
            run.admit(port, [event for which, event in stretch if which == port])
        if random.random() < 0.7:
            run.graph.advance(run.clock)
        work_at_random(run.graph, random)
        if expiry == "piggyback":
            for step in run.graph.steps:
                assert not piggybacking_breaches(step.queue)
        if random.random() < 0.2:
            run.move()
        if random.random() < 0.2:
            run.graph.advance(run.clock)
            run.graph.drain()
            run.check_now()
    finish(run)


@settings(max_examples=30)
@given(PLANS, ARRIVALS, st.randoms(use_true_random=False), st.sampled_from(ALL))
def test_in_threads_every_policy_comes_to_the_same_history(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, expiry: Expiry
) -> None:
    run = Run(plan, expiry, scheduler="threads")
    for stretch in cut(arrivals, random):
        for port in (0, 1):
            run.admit(port, [event for which, event in stretch if which == port])
        run.graph.advance(run.clock)
    finish(run)


def work_at_random(graph: Graph, random: Random) -> None:
    for _ in range(random.randrange(8)):
        step = random.choice(graph.steps)
        if (taken := step.queue.take()) is not None:
            graph.work_on(step, *taken)


def piggybacking_breaches(queue: Queue) -> list[tuple[int, Item]]:
    """The now-marks of a queue that are not the last of their port."""
    last = dict(queue.waiting())
    return [
        (port, item)
        for port, item in queue.waiting()
        if isinstance(item, Batch) and item.says_only_now and item is not last[port]
    ]


def finish(run: Run) -> None:
    for port in (0, 1):
        run.admit(port, [CLOSE])
    run.graph.drain()
    run.graph.close()
    assert run.answer().same_snapshots(run.reference())
    assert not breaches(run.out)


ONE_OPERATOR = {
    "count": Both(
        S.group_by("k").agg("count(*) AS x"),
        lambda s, t: ref.group_by(s, {"k": k}, {"x": aggregates.count_all()}),
    ),
    "distinct": Both(S.distinct(), lambda s, t: ref.distinct(s)),
    "top": Both(
        S.top(1, by="x DESC", per="k"),
        lambda s, t: ref.top_k(s, 1, [Order(x, descending=True)], [k]),
    ),
    "minus": Both(S.minus(T), ref.minus),
    "intersect": Both(S.intersect(T, all=True), ref.intersect_all),
}


@settings(max_examples=60)
@given(
    st.sampled_from(sorted(ONE_OPERATOR)),
    ARRIVALS,
    st.lists(st.sampled_from([0, 0, 1, 3]), min_size=3, max_size=3),
    st.sampled_from(Level),
    st.sampled_from(["time-message", "piggyback"]),
)
def test_a_now_mark_moves_the_watermark_as_the_reference_says(
    name: str, arrivals: list[tuple[int, Event]], steps: list[int], level: Level, expiry: Expiry
) -> None:
    plan = ONE_OPERATOR[name]
    run = Run(plan, expiry, level)
    ports = len(plan.query.plan.sources())
    came: list[tuple[int, Event | Now]] = []
    for number, (port, event) in enumerate(arrivals):
        if port >= ports:
            continue
        run.admit(port, [event])
        run.graph.drain()
        came.append((port, event))
        run.clock += steps[number % len(steps)]
        run.graph.advance(run.clock)
        run.graph.drain()
        came += [(each, Now(run.clock)) for each in range(ports)]
        emitted = at_level(level, run.reference(), merged_watermark(came, ports))
        assert run.answer().same_snapshots(emitted)
