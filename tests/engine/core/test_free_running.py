"""Free running: whatever is scheduled when, a token at an output marks the answer for a prefix.

Random plans over two streams, random batches, and a random choice of who works next. Tokens go in
at every source in rounds; the n-th token of a source stands behind the events let in before it.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.core.batch import Batch
from driftline.engine.core.marks import LAST_TOKEN, Mark, MarkKind
from driftline.model.event import CLOSE, Event
from driftline.model.level import Level
from driftline.plan.choices import Scheduler
from tests.engine.core.free_runs import (
    SCHEDULERS,
    Run,
    held_after_a_snapshot,
    held_at_tokens,
    held_in_the_end,
)
from tests.engine.test_plans import ARRIVALS, PLANS, Both


@settings(max_examples=40)
@given(PLANS, ARRIVALS, st.randoms(use_true_random=False), st.booleans())
def test_a_token_marks_the_answer_for_a_prefix(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, move: bool
) -> None:
    held_at_tokens(Run(plan), arrivals, random, tokens=0.5, moves=0.2 * move)


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
    held_in_the_end(Run(plan, scheduler, level), arrivals, random)


@settings(max_examples=40)
@given(PLANS, ARRIVALS, st.randoms(use_true_random=False), st.sampled_from(SCHEDULERS))
def test_a_snapshot_at_a_token_needs_no_stop(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, scheduler: Scheduler
) -> None:
    held_after_a_snapshot(lambda: Run(plan, scheduler), arrivals, random)


def join_of_two() -> Both:
    from tests.engine.test_plans import S, T

    return Both(S.join(T, on="k", how="semi"), lambda s, t: s)


def test_a_source_that_has_ended_holds_no_token_back() -> None:
    run = Run(join_of_two())
    for source in run.graph.sources:
        run.graph.admit(source, Mark(MarkKind.TOKEN, 1))
    run.graph.admit("t", LAST_TOKEN)
    seen: list[int] = []
    last = run.graph.sinks[0][0]
    run.graph.mark_sinks = {last: [lambda mark: seen.append(mark.number)]}
    run.graph.admit("s", Mark(MarkKind.TOKEN, 2))
    run.graph.admit("s", Mark(MarkKind.TOKEN, 3))
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
