from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.lifetimes.expire import OrderedExpiry
from driftline.model.event import CLOSE, Cti, Event
from driftline.model.history import canonical_history
from driftline.model.reference import Level, at_level, output_watermark
from driftline.model.stream import breaches
from driftline.testing import streams
from driftline.testing.driving import drive
from tests.build import insert, retract
from tests.engine.held_snapshots import BATCH_SIZES, said_by

SCHEMA = pa.schema([("a", pa.int64())])
ROWS = {"a": st.integers(0, 2)}


@given(streams(ROWS), st.sampled_from(BATCH_SIZES))
def test_an_answer_is_ordered_up_to_the_watermark_or_the_cti(
    events: list[Event], size: int
) -> None:
    operator = OrderedExpiry(SCHEMA)
    for came, emitted in drive(operator, [(0, each) for each in [*events, CLOSE]], [SCHEMA], size):
        so_far = [event for _, event in came]
        ctis = [event.t for event in so_far if isinstance(event, Cti)]
        time = max([output_watermark(so_far), *ctis])
        expected = at_level(Level.ORDERED, canonical_history(so_far), time)
        assert canonical_history(emitted).same_snapshots(expected)
        assert breaches(emitted) == []
    assert operator.state_size()[0] == 0


def test_an_end_is_emitted_when_a_row_starts_at_or_after_it() -> None:
    events = [insert(1, 6, {"a": 1}), insert(3, 9, {"a": 2}), insert(7, 8, {"a": 3})]
    assert said_by(OrderedExpiry(SCHEMA), events, SCHEMA) == [
        insert(1, None, {"a": 1}),
        insert(3, None, {"a": 2}),
        retract(1, None, 6, {"a": 1}),
        insert(7, None, {"a": 3}),
    ]
