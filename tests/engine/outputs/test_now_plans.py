"""After every batch the answer now of a random plan is the reference's snapshot at the clock."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.outputs.now_view import NowView
from driftline.model.event import CLOSE, Event, ExternalCti
from driftline.model.history import canonical_history
from driftline.model.row import Row
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.choices import Clock, Emit, Expiry
from tests.engine.test_plans import ARRIVALS, PLANS_WITH_CONSTANTS, Both


def latest(events: list[Event]) -> int:
    changes = [event for event in events if not isinstance(event, ExternalCti)]
    return max((event.sync for event in changes if event.sync < INFINITY), default=BEGINNING)


@settings(max_examples=80)
@given(
    PLANS_WITH_CONSTANTS,
    ARRIVALS,
    st.integers(1, 4),
    st.sampled_from(["nta", "time-message", "piggyback"]),
    st.sampled_from(["ordered", "eager"]),
    st.sampled_from(["latest", "final"]),
)
def test_the_answer_now_is_the_snapshot_at_the_clock(
    plan: Both,
    arrivals: list[tuple[int, Event]],
    batch: int,
    expiry: Expiry,
    emit: Emit,
    clock: Clock,
) -> None:
    inputs = {
        name: [*(event for port, event in arrivals if port == which), CLOSE]
        for which, name in enumerate("st")
        if name in plan.query.plan.sources()
    }
    view = NowView(plan.query.schema.arrow, clock)
    last = BEGINNING
    for update in plan.query.changes(
        inputs, batch=batch, clock=clock, expiry=expiry, emit=emit, outputs="marked"
    ):
        changes = view.update(update.batch, update.now)
        assert update.prefix is not None
        came = {name: events[: update.prefix.events[name]] for name, events in inputs.items()}
        s, t = (canonical_history(came.get(name, [])) for name in "st")
        answer = plan.meaning(s, t)
        shown = Counter(Row(values) for values in view.shown().to_pylist())
        assert shown == (Counter() if view.clock == BEGINNING else answer.snapshot(view.clock))
        assert all(last <= at for at in changes.at)
        last = max([last, *changes.at.tolist()])
        if clock == "latest":
            assert view.clock >= max(map(latest, came.values()), default=BEGINNING)
