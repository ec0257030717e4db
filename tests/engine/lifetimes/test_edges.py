from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.lifetimes.edges import Edges
from driftline.model import reference
from driftline.model.event import CLOSE, Cti, Event
from driftline.testing import streams
from driftline.testing.driving import drive
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import KX, at_one_port, hold

COLUMNS = {"k": st.sampled_from(["a", None]), "x": st.sampled_from([1, 2])}
A = {"k": "a", "x": 1}


def said_by(operator: Edges, events: Sequence[Event]) -> list[Event]:
    return [*drive(operator, at_one_port(events), [KX], 1)][-1][1]


def test_a_row_that_goes_on_in_another_piece_does_not_start_anew() -> None:
    #   1───4           starts at 1, and no more at 4 when the second piece comes
    #       4───∞
    events = [insert(1, 4, A), insert(4, None, A), cti(9), retract(4, None, 12, A)]
    assert said_by(Edges(KX, "starts"), events) == [insert(1, None, A), cti(9)]
    assert said_by(Edges(KX, "ends"), events) == [
        insert(4, None, A),
        retract(4, None, 4, A),
        cti(9),
        insert(12, None, A),
    ]


@given(streams(COLUMNS), st.sampled_from([None, 0, 2, 5]))
@pytest.mark.parametrize("edge", ["starts", "ends"])
def test_edges_are_their_references_after_every_batch(
    edge: str, events: list[Event], renew_after: int | None
) -> None:
    hold(
        lambda: Edges(KX, edge),  # type: ignore[arg-type]
        getattr(reference, edge),
        at_one_port(events),
        renew_after,
    )


@given(streams(COLUMNS), st.sampled_from([1, 3, 100]))
def test_the_cti_goes_on_and_nothing_is_held_behind_it(events: list[Event], size: int) -> None:
    for edge in ("starts", "ends"):
        operator = Edges(KX, edge)
        for came, emitted in drive(operator, at_one_port([*events, CLOSE]), [KX], size):
            ctis = [event.t for _, event in came if isinstance(event, Cti)]
            last = max(ctis, default=None)
            promised = max((event.t for event in emitted if isinstance(event, Cti)), default=None)
            assert promised == last
        assert operator.state_size()[0] == 0
