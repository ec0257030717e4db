"""What people are told of each source."""

from __future__ import annotations

from driftline.time.describe import SourceReport
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.presets import disordered


def test_a_row_for_each_source() -> None:
    generator = HeartbeatGenerator(disordered([5, 5], [0, 0]))
    generator.arrive([1, 2, 3], [0, 0, 0], [100, 90, 110])
    told = generator.describe(3)
    assert len(told) == 2
    first, silent = told.rows()
    assert first == SourceReport(0, 3, 110, 3, 104, 1)
    assert first.lag == 6
    assert silent.arrivals == 0
    assert silent.lag is None
    assert told.stream == silent.heartbeat
    assert told.bounds.startswith("0 → 0: (0, 6)")
    assert not told.guessed
