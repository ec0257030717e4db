from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.stateless.clip import Clip
from driftline.model.event import Event
from driftline.model.reference import clip_since, clip_until
from driftline.model.row import Row
from driftline.testing import streams
from driftline.testing.driving import batch_of, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import KX, at_one_port, hold

P = pa.schema([("p", pa.int64())])


def test_what_comes_after_the_cut_changes_nothing() -> None:
    operator = Clip(P, "p", 1, until=True)
    batches = [[insert(1, None, 5), insert(7, None, 5)], [retract(1, None, 8, 5), cti(6)]]
    emitted = [events_of(operator.receive(0, batch_of(batch, P))) for batch in batches]
    assert emitted == [[insert(1, 6, 5)], [cti(6)]]


def test_a_row_that_starts_later_moves_the_watermark_to_its_start() -> None:
    output = Clip(P, "p", 0, until=False).receive(0, batch_of([insert(1, None, 5)], P))
    assert (events_of(output), output.high) == ([insert(5, None, 5)], 5)


@pytest.mark.parametrize("until", [True, False])
@given(events=streams(), delay=st.integers(-3, 3))
def test_clip_is_the_reference(until: bool, events: list[Event], delay: int) -> None:
    def bound(row: Row) -> int | None:
        return None if row["x"] is None else row["x"] + delay

    reference = clip_until if until else clip_since
    hold(
        lambda: Clip(KX, "x", delay, until=until),
        partial(reference, bound=bound),
        at_one_port(events),
    )
