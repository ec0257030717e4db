"""Which generator of heartbeats a stream gets."""

from __future__ import annotations

from typing import Any

import pytest

from driftline.engine.ingest.generators import FINEST, closed_bounds, generator, needs_timeout
from driftline.plan.timing import Timing, timing
from driftline.plan.types import Schema
from driftline.time.estimate import Estimated
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.uniform import UniformHeartbeats

SCHEMA = Schema.of({"id": "STRING", "region": "STRING", "ts": "BIGINT"})


def of(**options: Any) -> Timing:
    return timing(SCHEMA, False, **options)


def test_one_for_everything_that_can_be_declared() -> None:
    assert isinstance(generator(of()), Estimated)
    alike = generator(of(disorder=5, source="id", skew=3, rate=2))
    assert isinstance(alike, UniformHeartbeats)
    assert (alike.disorder, alike.skew, alike.rate) == (5, 3, (2, 1))
    grouped = generator(of(disorder=5, source="id", groups="region", skew=3))
    assert isinstance(grouped, UniformHeartbeats)
    assert (grouped.disorder, grouped.skew) == (8, None)
    between = generator(of(source="id", bounds=[("a", "a", 0, 2), ("a", "b", 1, 3)]))
    assert isinstance(between, HeartbeatGenerator)
    assert between.sources == 2


def test_bounds_that_wait_for_long_are_kept_in_coarser_units() -> None:
    rows = [("a", "a", 0, 2), ("a", "b", "10 min", 0)]
    waiting = generator(of(source="id", bounds=rows))
    assert isinstance(waiting, HeartbeatGenerator)
    assert waiting.unit == -(-600_000 // FINEST)
    assert waiting.snapshot()["ring"].shape[1] <= FINEST + 2


def test_the_latency_of_those_that_have_none_of_their_own() -> None:
    rows = [("a", "a", 0, 2, 9), ("a", "b", 0, 3)]
    assert closed_bounds(of(source="id", bounds=rows, latency=4)).latency.tolist() == [9, 4]


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({}, False),  # a guess makes nothing final
        ({"disorder": 0}, True),
        ({"disorder": 0, "timeout": 5}, False),
        ({"disorder": 0, "rate": 1}, False),
        ({"source": "id", "bounds": [("a", "a", 0, 0)]}, True),
        ({"source": "id", "bounds": [("a", "a", 4, "later")]}, False),
        ({"source": "id", "bounds": [("a", "b", 4, "later"), ("b", "a", 4, "later")]}, False),
    ],
)
def test_whether_a_timeout_is_needed(options: dict[str, Any], needed: bool) -> None:
    assert needs_timeout(of(**options)) == needed
