"""The heartbeat that is a cti, but for one tick.

A heartbeat τ promises that later timestamps are *greater than* τ; a cti t promises that later sync
times are *at or after* t. So a heartbeat τ is a cti τ + 1, and nothing less.
"""

from __future__ import annotations

import pytest

from driftline.model.event import Cti
from driftline.model.stream import breaches
from tests.build import insert


@pytest.mark.parametrize(
    ("heartbeat", "timestamp", "kept"), [(7, 6, False), (7, 7, False), (7, 8, True)]
)
def test_a_heartbeat_is_a_cti_one_tick_later(heartbeat: int, timestamp: int, kept: bool) -> None:
    stream = [Cti(heartbeat + 1), insert(timestamp, None, "a")]
    assert (not breaches(stream)) == kept == (timestamp > heartbeat)


def test_a_cti_at_the_heartbeat_itself_would_let_a_broken_promise_pass() -> None:
    assert not breaches([Cti(7), insert(7, None, "a")])


def test_duplicate_timestamps_are_a_disorder_of_one_section_2() -> None:
    # δ = 0: strictly increasing timestamps, so a tuple at τ is itself the heartbeat τ.
    # δ = 1: the same timestamp may come again, so it is only the heartbeat τ - 1.
    again = insert(5, None, "b")
    assert breaches([insert(5, None, "a"), Cti(5 - 0 + 1), again])
    assert not breaches([insert(5, None, "a"), Cti(5 - 1 + 1), again])
