from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.lifetimes.coalesce import Coalesce
from driftline.engine.lifetimes.restate import Retell
from driftline.model.event import Cti, Event
from driftline.model.history import canonical_history
from driftline.model.stream import breaches
from driftline.model.time import BEGINNING
from driftline.testing import streams
from driftline.testing.driving import as_batched, batch_of, events_of
from tests.build import cti, insert
from tests.engine.held_to_reference import KX

COLUMNS = {"k": st.sampled_from(["a", None]), "x": st.sampled_from([1, 2])}
A = {"k": "a", "x": 1}


def told(events: list[Event], size: int, renew_after: int = -1) -> list[Event]:
    """What is told of stretches that grow, after every batch with the right snapshots."""
    stretches, retell = Coalesce(KX), Retell(KX)
    emitted: list[Event] = []
    for number, start in enumerate(range(0, len(events), size)):
        if number == renew_after:
            state = retell.snapshot()
            retell = Retell(KX)
            retell.restore(state)
        batch = batch_of(as_batched(events[start : start + size]), KX)
        emitted += events_of(retell.receive(0, stretches.receive(0, batch)))
        so_far = canonical_history(events[: start + size])
        assert canonical_history(emitted).same_snapshots(so_far)
    return emitted


def test_a_stretch_that_grows_goes_on_in_another_piece() -> None:
    events = [insert(1, 4, A), cti(4), insert(4, 6, A), cti(9)]
    assert told(events, 1) == [insert(1, 4, A), cti(4), insert(4, 6, A), cti(9)]


@given(streams(COLUMNS), st.sampled_from([1, 2, 100]), st.integers(-1, 4))
def test_stretches_that_grow_are_told_as_a_valid_stream(
    events: list[Event], size: int, renew_after: int
) -> None:
    emitted = told(events, size, renew_after)
    assert not breaches(emitted)
    came = max((event.t for event in events if isinstance(event, Cti)), default=BEGINNING)
    promised = max((event.t for event in emitted if isinstance(event, Cti)), default=BEGINNING)
    assert promised == came
