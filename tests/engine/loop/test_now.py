"""The answer now of recursive queries over windows: rows that a path has led to leave with the
first edge of it that ends, however operators hear that time has passed."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.api import Query
from driftline.model import reference as ref
from driftline.model.event import Event
from driftline.model.history import History
from driftline.model.level import Level
from driftline.model.row import Row
from driftline.plan import nodes
from driftline.plan.choices import Expiry
from driftline.plan.recursion import fixed_point
from tests.engine.core.now_runs import (
    ALL,
    ON_TIME,
    Run,
    cut,
    finish,
    held_at_every_mark,
    work_at_random,
)
from tests.engine.test_plans import ARRIVALS, LEAVES, ONE, Both, S, T, plans_of, renamed

_BACK = Query(nodes.Back("r", S.schema))


def reach(roots: Both, edges: Both) -> Both:
    """The roots, and all rows of the edges that have the key of a row reached and another x: most
    rows lead to each other in circles."""
    step = _BACK.alias("r").join(edges.query.alias("e"), "r.k = e.k AND r.x <> e.x")
    body = roots.query.union(step.select("e.k AS k", "e.x AS x"))
    rule = nodes.Rule("r", S.schema, body.plan, distinct=True)

    def meaning(s: History, t: History) -> History:
        return ref.recursive(_grown, roots.meaning(s, t), renamed(edges.meaning(s, t)))

    return Both(Query(fixed_point([rule])["r"]), meaning)


def _grown(reached: History, roots: History, edges: History) -> History:
    further = ref.project(
        ref.inner_join(reached, edges, _leads_to), lambda row: {"k": row["k2"], "x": row["x2"]}
    )
    return ref.distinct(ref.union_all(roots, further))


def _leads_to(row: Row, edge: Row) -> bool | None:
    if None in (row["k"], row["x"], edge["k2"], edge["x2"]):
        return None
    return bool(row["k"] == edge["k2"] and row["x"] != edge["x2"])


_WINDOWS = [
    Both(S.window(range=3), lambda s, t: ref.sliding(s, 3)),
    Both(T.window(range=4, slide=2), lambda s, t: ref.hopping(t, 4, 2)),
    Both(T.window(range=2), lambda s, t: ref.sliding(t, 2)),
]
_INPUTS = st.one_of(
    st.sampled_from(_WINDOWS),
    st.tuples(st.sampled_from(["count", "distinct", "top"]), LEAVES).map(
        lambda made: ONE[made[0]](made[1])
    ),
)
LOOPS = st.builds(reach, _INPUTS, _INPUTS)
RECURSIVE = st.one_of(LOOPS, plans_of(st.one_of(LOOPS, LEAVES), ONE))


@settings(max_examples=60)
@given(
    RECURSIVE,
    ARRIVALS,
    st.randoms(use_true_random=False),
    st.sampled_from(ON_TIME),
    st.sampled_from([Level.ORDERED, Level.EAGER]),
)
def test_drained_the_snapshot_at_every_mark_is_the_references(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, expiry: Expiry, level: Level
) -> None:
    held_at_every_mark(Run(plan, expiry, level), arrivals, random)


@settings(max_examples=30)
@given(
    RECURSIVE,
    ARRIVALS,
    st.randoms(use_true_random=False),
    st.sampled_from(ALL),
    st.sampled_from(Level),
)
def test_running_free_every_policy_comes_to_the_same_history(
    plan: Both, arrivals: list[tuple[int, Event]], random: Random, expiry: Expiry, level: Level
) -> None:
    run = Run(plan, expiry, level, scheduler="round-robin")
    for stretch in cut(arrivals, random):
        for port in (0, 1):
            run.admit(port, [event for which, event in stretch if which == port])
        run.graph.advance(run.clock)
        work_at_random(run.graph, random)
    finish(run)
