from __future__ import annotations

from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.core.output_events import output_events, output_lines
from driftline.event_log.writer import event_lines, text_bytes
from driftline.model.event import Event
from driftline.testing import streams
from driftline.testing.driving import batch_of
from tests.build import cti, insert, retract

P = pa.schema([("p", pa.string())])
KX = pa.schema([("k", pa.string()), ("x", pa.int64())])


def test_changes_and_then_a_cti() -> None:
    changes = [retract(1, None, 4, "a"), insert(4, 9, "b")]
    stream = output_events("s", batch_of(changes, P), timestamps=False, cti=5)
    assert stream.to_events() == [*changes, cti(5)]
    assert len(output_events("s", batch_of([], P), timestamps=False)) == 0


@given(streams(), st.none() | st.integers(0, 20))
def test_the_lines_are_those_of_the_events_however_many_there_are(
    events: list[Event], cti: int | None
) -> None:
    batch = batch_of(events, KX)
    lines = bytes(output_lines("s", batch, timestamps=False, cti=cti))
    columns = output_events("s", batch, timestamps=False, cti=cti)
    assert lines == bytes(text_bytes(event_lines(columns)))
    with patch("driftline.engine.core.output_events.FEW", -1):
        assert bytes(output_lines("s", batch, timestamps=False, cti=cti)) == lines


def test_of_many_changes_that_cancel_few_lines_are_left() -> None:
    batch = batch_of([insert(1, 5, "a"), *[insert(2, 5, "b"), retract(2, 5, 2, "b")] * 9], P)
    assert bytes(output_lines("s", batch, timestamps=False)) == (
        b'{"stream":"s","kind":"insert","vs":1,"ve":5,"row":{"p":"a"}}\n'
    )
