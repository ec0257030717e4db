from __future__ import annotations

import pyarrow as pa

from driftline.engine.core.output_events import output_events
from driftline.testing.driving import batch_of
from tests.build import cti, insert, retract

P = pa.schema([("p", pa.string())])


def test_changes_and_then_a_cti() -> None:
    changes = [retract(1, None, 4, "a"), insert(4, 9, "b")]
    stream = output_events("s", batch_of(changes, P), timestamps=False, cti=5)
    assert stream.to_events() == [*changes, cti(5)]
    assert len(output_events("s", batch_of([], P), timestamps=False)) == 0
