"""Groups of sources: never violated, never earlier than their members, and B̂ by the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.time.bounds import Bounds, counted, timed
from driftline.time.closure import closure
from driftline.time.groups import (
    GroupedHeartbeats,
    grouped,
    grouped_sensors,
    grouping_delay,
)
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.presets import sensors
from tests.time.strategies import bounds, emissions


def by_definition(closed: Bounds, group_of: list[int]) -> Bounds:
    """S⁺ and ⊔ at every wait there is."""
    groups, entries = max(group_of) + 1, {}
    members = [[i for i, g in enumerate(group_of) if g == group] for group in range(groups)]
    for a in range(groups):
        for b in range(groups):
            pairs = []
            for wait in range(int(closed.wait.max(initial=0)) + 1):
                lags = [
                    min(
                        (x.lag for x in closed[i, j] if x.wait <= wait and not x.tuples),
                        default=None,
                    )
                    for i in members[a]
                    for j in members[b]
                ]
                known = [lag for lag in lags if lag is not None]
                if len(known) == len(lags) and known:
                    pairs.append(timed(wait, max(known)))
            entries[a, b] = pairs
    latency = [max((int(closed.latency[i]) for i in group), default=0) for group in members]
    return Bounds.of(entries, latency)


@given(st.data())
def test_groups_by_definition_never_violated_never_earlier(data: st.DataObject) -> None:
    b = data.draw(bounds(sources=4, counted=True))
    group_of = data.draw(st.lists(st.integers(0, 2), min_size=b.sources, max_size=b.sources))
    closed = closure(b)
    shared = grouped(closed, group_of)
    assert shared == by_definition(closed, group_of)
    seen = data.draw(emissions(b))
    alone, together = HeartbeatGenerator(b), GroupedHeartbeats(shared, group_of)
    for clock in range(max(each.arrived for each in seen) + 15):
        now = [each for each in seen if each.arrived == clock]
        for generator in (alone, together):
            generator.arrive(clock, [each.source for each in now], [each.time for each in now])
        assert (together.at(clock) <= alone.at(clock)).all()
    assert not together.violations.any()


def test_a_group_of_one_each_changes_nothing() -> None:
    closed = sensors([1, 2, 3], [4, 5, 6], rate=[1, 1, 1])
    assert grouped(closed, [0, 1, 2]) == closed


def test_a_missing_entry_and_counted_pairs_are_left_out() -> None:
    b = Bounds.of({(0, 2): [timed(0, 1), counted(1, 0)], (1, 2): [counted(1, 0)]}, [0, 0, 0])
    assert grouped(b, [0, 0, 1])[0, 1] == ()
    assert grouped(b, [0, 1, 2])[0, 2] == (timed(0, 1),)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 2)), min_size=1))
def test_groups_of_sensors_without_the_matrix(drawn: list[tuple[int, int, int]]) -> None:
    deviation, latency, names = (list(column) for column in zip(*drawn, strict=True))
    group_of = [sorted(set(names)).index(name) for name in names]
    whole = grouped(sensors(deviation, latency), group_of)
    assert grouped_sensors(deviation, latency, group_of) == whole


def test_a_restart_changes_nothing() -> None:
    shared, group_of = grouped(sensors([1, 2, 3], [2, 0, 2]), [0, 0, 1]), [0, 0, 1]
    first, second = GroupedHeartbeats(shared, group_of), GroupedHeartbeats(shared, group_of)
    first.arrive([1, 2], [0, 2], [50, 60])
    second.restore(first.snapshot())
    assert second.at(4).tolist() == first.at(4).tolist()
    assert second.heartbeat(4) == first.heartbeat(4) == 54


def test_the_delay_of_a_group() -> None:
    closed = sensors([0, 9], [0, 0])
    clocks = np.arange(1, 101)
    delay = grouping_delay(closed, [0, 0], clocks, clocks % 2, clocks)
    assert delay.greatest == 9
    assert 0 < delay.mean < 9
    assert grouping_delay(closed, [0, 1], clocks, clocks % 2, clocks).greatest == 0


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="2 sources have 1 groups"):
        grouped(sensors([0, 9], [0, 0]), [0])
