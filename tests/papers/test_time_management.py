"""Time management: heartbeats and ctis, and the paper's examples by section.

A heartbeat τ promises that later timestamps are *greater than* τ; a cti t promises that later sync
times are *at or after* t. So a heartbeat τ is a cti τ + 1, and nothing less.
"""

from __future__ import annotations

import pytest

from driftline.model.event import Cti
from driftline.model.stream import breaches
from driftline.model.time import BEGINNING
from driftline.time.bounds import Bounds, timed
from driftline.time.closure import closure, is_idempotent, needs_timeout
from driftline.time.groups import grouped
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.labels import TreeOperator, memory_aware, operator_level, query_level
from driftline.time.presets import few_duplicates, global_counter, sensors
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


def test_sorted_with_at_most_k_copies_section_3_1() -> None:
    # (0, 1) alone tells 7 only when 8 is seen; counting tells it when all copies are there.
    both, sorted_only = few_duplicates([2], [0]), Bounds.of({(0, 0): [timed(0, 1)]}, [0])
    told = []
    for bounds in (both, sorted_only):
        generator = HeartbeatGenerator(bounds)
        for clock, time in enumerate([7, 7, 8]):
            generator.arrive(clock, [0], [time])
            told.append(generator.heartbeat(clock))
    assert told == [6, 7, 7, 6, 6, 7]


def test_indirect_guarantees_section_3_2() -> None:
    b = Bounds.of({(0, 1): [timed(1, 1)], (0, 2): [timed(1, 3)], (1, 2): [timed(1, 1)]}, [0, 4, 4])
    arrived, tau = 10, 100
    generator, direct = HeartbeatGenerator(b), HeartbeatGenerator(b, close=False)
    for each in (generator, direct):
        each.arrive(arrived, [0], [tau])
    assert generator.at(arrived + 1 + 4 - 1).tolist() == [BEGINNING] * 3
    assert generator.at(arrived + 1 + 4).tolist() == [BEGINNING, tau - 1, tau - 3]
    assert generator.at(arrived + 2 + 4).tolist() == [BEGINNING, tau - 1, tau - 2]
    assert direct.at(arrived + 99).tolist() == [BEGINNING, tau - 1, tau - 3]


def test_tuples_that_are_stuck_until_a_timeout_section_3_4() -> None:
    b = Bounds.of({(0, 0): [timed(0, 0)], (0, 1): [timed(0, 5)], (1, 1): [timed(0, 0)]}, [0, 0])
    assert needs_timeout(closure(b))
    generator = HeartbeatGenerator(b, timeout=60)
    tau = 100
    generator.arrive(0, [0, 1], [tau, tau - 5])
    assert generator.at(59).tolist() == [tau, tau - 5]
    assert generator.at(60).tolist() == [tau, tau]


def test_a_global_counter_section_4_1() -> None:
    b = global_counter([2, 3], [10, 20], [0, 0])
    assert [str(pair) for pair in b[0, 1]] == ["(1 tuples, 0)", "(18, 0)"]
    assert [str(pair) for pair in b[1, 0]] == ["(1 tuples, 0)", "(7, 0)"]
    assert [str(pair) for pair in b[0, 0]] == ["(0, 0)"]
    assert is_idempotent(b)
    assert not needs_timeout(b)


def test_distributed_sensors_section_4_2_with_the_missing_tick() -> None:
    b = sensors([2, 3], [0, 0])
    assert [str(pair) for pair in b[0, 1]] == ["(0, 6)"]
    assert [str(pair) for pair in b[0, 0]] == ["(0, 3)"]
    assert needs_timeout(closure(b))
    assert not needs_timeout(closure(sensors([2, 3], [0, 0], rate=[1, 1])))


def test_the_weaker_guarantee_at_every_wait_section_5_2() -> None:
    # {(1, 2), (3, 1)} says (2, 2) as well; beside {(2, 1)} that is what is left.
    b = Bounds.of({(0, 2): [timed(1, 2), timed(3, 1)], (1, 2): [timed(2, 1)]}, [0, 0, 0])
    assert grouped(b, [0, 0, 1])[0, 1] == (timed(2, 2), timed(3, 1))


def test_labels_of_figure_5_section_7_4() -> None:
    first = TreeOperator("O1", streams=frozenset({"S1", "S2"}), selectivity=2.0)
    plan = TreeOperator("O2", (first,), frozenset({"S3"}))
    assert operator_level(plan)["O1"] == {"S1", "S2"}
    assert memory_aware(plan) == query_level(plan)
