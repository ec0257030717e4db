from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.lifetimes.coalesce import Coalesce
from driftline.model import reference
from driftline.model.event import CLOSE, Cti, Event
from driftline.model.history import canonical_history
from driftline.model.time import BEGINNING
from driftline.testing import streams
from driftline.testing.driving import as_batched, batch_of, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import KX

COLUMNS = {"k": st.sampled_from(["a", None]), "x": st.sampled_from([1, 2])}
A = {"k": "a", "x": 1}


def said_by(operator: Coalesce, events: list[Event]) -> tuple[list[Event], int]:
    batch = operator.receive(0, batch_of(as_batched(events), KX))
    return [event for event in events_of(batch) if not isinstance(event, Cti)], batch.cti


def test_a_stretch_may_still_grow_from_the_cti_on() -> None:
    #   1───4           one stretch since 1, as long as the next piece starts where the last ended
    #       4───6
    operator = Coalesce(KX)
    assert said_by(operator, [insert(1, 4, A), cti(4)]) == ([insert(1, 4, A)], 4)
    grown = [retract(1, 4, 1, A), insert(1, 6, A)]
    assert said_by(operator, [insert(4, 6, A), cti(6)]) == (grown, 6)
    assert operator.state_size()[0] > 0
    assert said_by(operator, [cti(7)]) == ([], 7)
    assert operator.state_size()[0] == 0


@given(streams(COLUMNS), st.sampled_from([1, 2, 100]), st.integers(-1, 4))
def test_it_is_its_reference_and_changes_nothing_before_the_cti(
    events: list[Event], size: int, renew_after: int
) -> None:
    operator, final = Coalesce(KX), BEGINNING
    emitted: list[Event] = []
    for number, start in enumerate(range(0, len(events), size)):
        before = canonical_history(emitted)
        more, cti = said_by(operator, events[start : start + size])
        emitted += more
        so_far = canonical_history(events[: start + size])
        assert canonical_history(emitted) == reference.coalesce(so_far)
        assert canonical_history(emitted).clip(end=final).same_snapshots(before.clip(end=final))
        final = max(final, cti)
        if number == renew_after:
            state = operator.snapshot()
            operator = Coalesce(KX)
            operator.restore(state)
    said_by(operator, [CLOSE])
    assert operator.state_size()[0] == 0
