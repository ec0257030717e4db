"""Now-marks: at every one of them the answer's snapshot is the reference's, and the history is the
same in the end, however operators hear that time has passed."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.core.batch import Batch
from driftline.engine.core.queues import Item, Queue
from driftline.model import reference as ref
from driftline.model.event import Event
from driftline.model.level import Level
from driftline.model.reference import NowMark, Order, aggregates, at_level, merged_watermark
from driftline.plan.choices import Expiry
from tests.engine.core.now_runs import (
    ALL,
    ON_TIME,
    Run,
    cut,
    finish,
    held_at_every_mark,
    work_at_random,
)
from tests.engine.test_plans import ARRIVALS, PLANS, Both, S, T, k, x


@settings(max_examples=80)
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
    held_at_every_mark(Run(plan, expiry, level), arrivals, random)


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


def piggybacking_breaches(queue: Queue) -> list[tuple[int, Item]]:
    """The batches without rows in a queue that are not the last of their port."""
    last = dict(queue.waiting())
    return [
        (port, item)
        for port, item in queue.waiting()
        if isinstance(item, Batch) and len(item) == 0 and item is not last[port]
    ]


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
    came: list[tuple[int, Event | NowMark]] = []
    for number, (port, event) in enumerate(arrivals):
        if port >= ports:
            continue
        run.admit(port, [event])
        run.graph.drain()
        came.append((port, event))
        run.clock += steps[number % len(steps)]
        run.graph.advance(run.clock)
        run.graph.drain()
        came += [(each, NowMark(run.clock)) for each in range(ports)]
        emitted = at_level(level, run.reference(), merged_watermark(came, ports))
        assert run.answer().same_snapshots(emitted)
