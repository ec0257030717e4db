"""Plans with loops that run free: marks are true, and every scheduler comes to the same answer.

At a token, and with labels after every batch, a loop is drained: an answer that is still inside it
would be missing. Otherwise it works when it has its turn.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.model import reference as ref
from driftline.model.event import Event
from driftline.model.history import History
from driftline.model.level import Level
from driftline.model.row import Row
from driftline.plan.choices import CHOICES, Loops, Scheduler
from tests.engine.core.free_runs import (
    SCHEDULERS,
    Run,
    held_after_a_snapshot,
    held_at_tokens,
    held_in_the_end,
)
from tests.engine.outputs.test_prefix import WAYS, held_to_its_marks
from tests.engine.test_plans import ARRIVALS, LEAVES, ONE, TWO, Both, renamed

METHODS = st.sampled_from(CHOICES["loop"])


def next_number(one: Row, other: Row) -> bool | None:
    if one["x"] is None or other["x2"] is None:
        return True if other["x2"] == 0 else None
    return other["x2"] in (one["x"] + 1, 0)


def recursion(base: Both, further: Both) -> Both:
    """From x to the rows of `further` with x + 1, and from all to those with 0: circles."""
    query = dl.recursive(
        "found",
        {"k": "STRING", "x": "BIGINT"},
        base.query,
        lambda found: found.join(further.query.alias("r"), "r.x IN (found.x + 1, 0)").select(
            "r.k", "r.x"
        ),
    )

    def body(found: History, start: History, rows: History) -> History:
        pairs = ref.inner_join(found, renamed(rows), next_number)
        steps = ref.project(pairs, lambda row: {"k": row["k2"], "x": row["x2"]})
        return ref.distinct(ref.union_all(start, steps))

    return Both(query, lambda s, t: ref.recursive(body, base.meaning(s, t), further.meaning(s, t)))


LOOPS = st.builds(recursion, LEAVES, LEAVES)
PLANS = st.one_of(
    LOOPS,
    st.builds(lambda name, p: ONE[name](p), st.sampled_from(["sum", "distinct", "sliding"]), LOOPS),
    st.builds(
        lambda name, p, q: TWO[name](p, q),
        st.sampled_from(["join", "left join", "union"]),
        LOOPS,
        st.one_of(LEAVES, LOOPS),
    ),
)


@settings(max_examples=15)
@given(PLANS, ARRIVALS, st.sampled_from(WAYS), METHODS, st.sampled_from([1, 3]))
def test_every_mark_of_a_plan_with_a_loop_is_true(
    plan: Both,
    arrivals: list[tuple[int, Event]],
    free: dict[str, Any],
    method: Loops,
    batch: int,
) -> None:
    inputs: dict[str, list[Any]] = {
        name: [event for which, event in arrivals if which == port]
        for port, name in enumerate("st")
        if name in plan.query.plan.sources()
    }
    held_to_its_marks(plan.query, inputs, free, emit="eager", batch=batch, loop=method)


@settings(max_examples=15)
@given(PLANS, ARRIVALS, st.randoms(use_true_random=False), METHODS, st.booleans())
def test_a_token_marks_the_answer_for_a_prefix_with_work_inside_loops(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, method: Loops, move: bool
) -> None:
    run = Run(plan, loop=method)
    held_at_tokens(run, arrivals, random, tokens=0.3, moves=0.3 * move)


@settings(max_examples=15)
@given(
    PLANS,
    ARRIVALS,
    st.randoms(use_true_random=False),
    st.sampled_from(SCHEDULERS),
    st.sampled_from(Level),
    METHODS,
)
def test_every_scheduler_and_method_gives_the_same_in_the_end(
    plan: Both,
    arrivals: list[tuple[int, Event]],
    random: Random,
    scheduler: Scheduler,
    level: Level,
    method: Loops,
) -> None:
    held_in_the_end(Run(plan, scheduler, level, method), arrivals, random)


@settings(max_examples=8)
@given(PLANS, ARRIVALS, st.randoms(use_true_random=False))
def test_a_snapshot_at_a_token_with_loops_needs_no_stop(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random
) -> None:
    held_after_a_snapshot(lambda: Run(plan), arrivals, random)
