"""Heartbeats are never violated, and come when the theory says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.model.time import BEGINNING, INFINITY
from driftline.testing.sources import Emission
from driftline.time.arrivals import NO_SOURCE, STRANGER
from driftline.time.bounds import Bounds, counted, timed
from driftline.time.closure import closure
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.presets import disordered, few_duplicates, global_counter, ordered
from tests.time.oracle import plain, tightest
from tests.time.strategies import bounds, emissions

LONG_AFTER = 40


def arrive(generator: HeartbeatGenerator, seen: Sequence[Emission]) -> None:
    generator.arrive(
        [each.arrived for each in seen],
        [each.source for each in seen],
        [each.time for each in seen],
    )


def run(generator: HeartbeatGenerator, seen: Sequence[Emission], until: int) -> list[list[int]]:
    """The heartbeats at every clock."""
    told = []
    for clock in range(until):
        arrive(generator, [each for each in seen if each.arrived == clock])
        told.append(generator.at(clock).tolist())
    return told


def end(seen: Sequence[Emission]) -> int:
    return max(each.arrived for each in seen) + 15


@given(st.data(), st.booleans(), st.integers(1, 7))
def test_never_violated(data: st.DataObject, closed: bool, unit: int) -> None:
    b = data.draw(bounds(counted=True))
    seen = data.draw(emissions(b, closed=closed))
    generator = HeartbeatGenerator(b, unit=unit, close=closed)
    heartbeats = np.full(b.sources, BEGINNING)
    for clock in range(end(seen)):
        now = [each for each in seen if each.arrived == clock]
        assert all(each.time > heartbeats[each.source] for each in now)
        arrive(generator, now)
        later = generator.at(clock)
        assert (later >= heartbeats).all()
        heartbeats = later
    assert not generator.violations.any()


@given(st.data(), st.booleans())
def test_the_formula_at_every_clock(data: st.DataObject, closed: bool) -> None:
    b = data.draw(bounds(counted=True))
    seen = data.draw(emissions(b, closed=closed))
    told = run(HeartbeatGenerator(b, close=closed), seen, end(seen))
    kept = closure(b) if closed else b
    for clock, heartbeats in enumerate(told):
        past = [each for each in seen if each.arrived <= clock]
        assert heartbeats == plain(kept, past, clock)


@settings(max_examples=50)
@given(st.data(), st.none() | st.integers(0, 20))
def test_the_heartbeat_in_force_at_every_arrival(data: st.DataObject, timeout: int | None) -> None:
    """It is the least of those sources that have not been silent for the timeout, at the clock
    before, and never goes back."""
    b = data.draw(bounds(counted=True))
    seen = data.draw(emissions(b))
    strange = data.draw(st.lists(st.booleans(), min_size=len(seen), max_size=len(seen)))
    told = [each for each, out in zip(seen, strange, strict=True) if not out]
    numbers = [STRANGER if out else each.source for each, out in zip(seen, strange, strict=True)]
    times = [each.time for each in seen]
    generator = HeartbeatGenerator(b, timeout=timeout)
    cut = data.draw(st.integers(0, len(seen)))
    clocks = [each.arrived for each in seen]
    found = [
        each
        for part in (slice(0, cut), slice(cut, None))
        for each in generator.arrive(
            clocks[part], numbers[part], times[part], None, times[part]
        ).tolist()
    ]
    in_force, expected = BEGINNING, {}
    for clock in range(max(clocks) + 1):
        expected[clock] = in_force
        past = [each for each in told if each.arrived <= clock]
        in_force = max(in_force, least_of_live(b, past, clock, timeout))
    assert found == [expected[clock] for clock in clocks]


def least_of_live(b: Bounds, past: Sequence[Emission], clock: int, timeout: int | None) -> int:
    heartbeats = plain(closure(b), past, clock)
    if not past or timeout is None:
        return min(heartbeats)
    first, last = past[0].arrived, past[-1].arrived
    if clock - last >= timeout:
        return max(each.time for each in past)
    heard = [max((e.arrived for e in past if e.source == j), default=first)
             for j in range(b.sources)]  # fmt: skip
    live = [mine for mine, at in zip(heartbeats, heard, strict=True) if clock - at < timeout]
    # A silence of all that was long enough has completed what was seen before it.
    over = [
        max(e.time for e in past[: n + 1])
        for n, (one, other) in enumerate(pairwise(past))
        if other.arrived - one.arrived > timeout
    ]
    return max([min(live, default=BEGINNING), *over])


def test_what_is_about_the_whole_stream_and_what_is_of_a_stranger() -> None:
    generator = HeartbeatGenerator(ordered([0, 0]), timeout=10)
    generator.arrive(0, [0, 1], [100, 50])
    none = np.full(1, NO_SOURCE)
    assert generator.arrive(8, none, [0], None, [0]).tolist() == [49]
    assert generator.arrive(15, [STRANGER], [500], None, [500]).tolist() == [49]  # heard at 8
    assert generator.arrive(19, [STRANGER], [501], None, [501]).tolist() == [100]
    assert generator.highest == 100


def test_a_clock_that_was_closed() -> None:
    generator = HeartbeatGenerator(ordered([0]))
    generator.arrive(3, [0], [7])
    assert (generator.in_force, generator.close(3), generator.in_force) == (BEGINNING, 6, 6)
    assert generator.arrive(3, [0], [9]).tolist() == [6]  # judged by what it was closed with
    assert generator.heartbeat(4) == 8


@given(st.data(), st.sampled_from([-5_000, BEGINNING + 50_000, INFINITY - 100_000]))
def test_the_same_wherever_times_lie(data: st.DataObject, moved: int) -> None:
    b = data.draw(bounds(counted=True))
    seen = data.draw(emissions(b))
    there = [replace(each, time=each.time + moved) for each in seen]
    here = run(HeartbeatGenerator(b, timeout=20), seen, end(seen))
    told = run(HeartbeatGenerator(b, timeout=20), there, end(seen))
    expected = [
        [BEGINNING if each == BEGINNING else each + moved for each in heartbeats]
        for heartbeats in here
    ]
    assert told == expected


@settings(max_examples=80)
@given(st.data())
def test_as_early_as_can_be_known(data: st.DataObject) -> None:
    b = data.draw(bounds(latency=2))
    seen = data.draw(emissions(b, tuples=5))
    told = run(HeartbeatGenerator(b), seen, end(seen))
    for clock, heartbeats in enumerate(told):
        past = [each for each in seen if each.arrived <= clock]
        assert heartbeats == tightest(closure(b), past, clock)


@settings(max_examples=40)
@given(st.data())
def test_to_the_letter_never_earlier_than_can_be_known(data: st.DataObject) -> None:
    b = data.draw(bounds(latency=2))
    seen = data.draw(emissions(b, tuples=5, closed=False))
    told = run(HeartbeatGenerator(b, close=False), seen, end(seen))
    for clock, heartbeats in enumerate(told):
        past = [each for each in seen if each.arrived <= clock]
        pairs = zip(heartbeats, tightest(b, past, clock), strict=True)
        assert all(mine <= best for mine, best in pairs)


def test_to_the_letter_a_silent_source_passes_nothing_on() -> None:
    b = Bounds.of({(0, 1): [timed(0, 0)], (1, 2): [timed(0, 0)]}, [0, 0, 0])
    kept = [Emission(0, 0, 0, 10), Emission(2, 1, 1, 5)]
    to_the_letter, by_clocks = HeartbeatGenerator(b, close=False), HeartbeatGenerator(b)
    for generator in (to_the_letter, by_clocks):
        arrive(generator, kept)
    assert to_the_letter.violations.tolist() == [0, 0, 0]
    assert by_clocks.violations.tolist() == [0, 0, 1]


@given(st.data(), st.integers(2, 7), st.none() | st.integers(0, 20))
def test_a_coarse_unit_is_late_by_less_than_a_unit(
    data: st.DataObject, unit: int, timeout: int | None
) -> None:
    b = data.draw(bounds())
    seen = data.draw(emissions(b))
    until = end(seen)
    fine = run(HeartbeatGenerator(b, timeout=timeout), seen, until)
    coarse = run(HeartbeatGenerator(b, unit=unit, timeout=timeout), seen, until)
    for clock in range(until):
        for j in range(b.sources):
            assert coarse[clock][j] <= fine[clock][j]
            if clock >= unit - 1:
                assert coarse[clock][j] >= fine[clock - unit + 1][j]


@given(st.data(), st.integers(1, 7), st.none() | st.integers(0, 20))
def test_any_cut_into_batches_and_any_restart_is_the_same(
    data: st.DataObject, unit: int, timeout: int | None
) -> None:
    b = data.draw(bounds(counted=True))
    seen = data.draw(emissions(b))
    whole = HeartbeatGenerator(b, unit=unit, timeout=timeout)
    arrive(whole, seen)
    pieces = HeartbeatGenerator(b, unit=unit, timeout=timeout)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(seen)), max_size=5)))
    for first, last in zip([0, *cuts], [*cuts, len(seen)], strict=True):
        arrive(pieces, seen[first:last])
        if data.draw(st.booleans()) and last:
            pieces.at(seen[last - 1].arrived)
        again = HeartbeatGenerator(b, unit=unit, timeout=timeout)
        again.restore(pieces.snapshot())
        pieces = again
    for clock in range(seen[-1].arrived, seen[-1].arrived + LONG_AFTER):
        assert whole.at(clock).tolist() == pieces.at(clock).tolist()
    assert whole.violations.tolist() == pieces.violations.tolist()


def test_strictness_and_latency() -> None:
    generator = HeartbeatGenerator(disordered([5], [2]))
    generator.arrive(10, [0], [100])
    assert generator.heartbeat(11) == BEGINNING
    assert generator.heartbeat(12) == 94  # 95 may still come: it is 5 below


def test_at_most_three_copies_of_a_timestamp() -> None:
    generator = HeartbeatGenerator(few_duplicates([3], [0]))
    told = []
    for clock in range(3):
        generator.arrive(clock, [0], [7])
        told.append(generator.heartbeat(clock))
    assert told == [6, 6, 7]


def test_a_global_counter_needs_no_timeout_and_counts_tuples() -> None:
    generator = HeartbeatGenerator(global_counter([1, 1], [5, 50], latency=[0, 0]))
    generator.arrive(0, [0], [10])
    assert generator.at(0).tolist() == [10, BEGINNING]
    generator.arrive(3, [1], [9])  # one tuple of source 1: its next number is above 10
    assert generator.at(3).tolist() == [10, 10]
    generator.arrive(4, [1], [12])
    assert generator.at(7).tolist() == [10, 12]
    assert generator.at(8).tolist() == [12, 12]  # longest[0] - shortest[1] later


def test_tuples_count_only_when_surely_emitted_later() -> None:
    b = Bounds.of({(0, 1): [counted(1, 0)]}, [0, 3])
    generator = HeartbeatGenerator(b)
    generator.arrive(10, [0], [50])
    generator.arrive(13, [1], [7])  # may have been emitted at 10
    assert generator.at(20)[1] == BEGINNING
    generator.arrive(21, [1], [8])
    assert generator.at(23)[1] == BEGINNING  # others of the same clock may be on their way
    assert generator.at(24)[1] == 50


def test_timeout_when_all_pause() -> None:
    generator = HeartbeatGenerator(ordered([0, 0]), timeout=30)
    generator.arrive(0, [0, 1], [100, 40])
    generator.arrive(20, [1], [50])
    assert generator.at(49).tolist() == [99, 49]
    assert generator.at(50).tolist() == [100, 100]
    generator.arrive(51, [1], [60])
    assert generator.violations.tolist() == [0, 1]
    assert generator.at(51).tolist() == [100, 100]


def test_violations_are_counted_by_source_and_against_the_clock_before() -> None:
    generator = HeartbeatGenerator(ordered([0, 0]))
    generator.arrive([5, 5, 6, 6], [0, 0, 0, 1], [10, 3, 9, 1])
    assert generator.violations.tolist() == [1, 0]  # 3 came with 10, 9 after it
    assert [row.lag for row in generator.describe(6).rows()] == [1, 1]


def test_a_clock_that_goes_back_stands_still() -> None:
    generator = HeartbeatGenerator(ordered([4]))
    generator.arrive(10, [0], [1])
    generator.arrive(3, [0], [2])
    assert [generator.heartbeat(clock) for clock in (13, 14)] == [BEGINNING, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda g: g.arrive(0, [2], [1]), "outside 0..0"),
        (lambda g: g.arrive(0, [0], [1, 2]), "1 sources came with 2 times"),
        (lambda g: g.arrive([0, 1], [0], [1]), "2 clocks came with 1 times"),
        (lambda g: g.restore({}), "other bounds"),
    ],
)
def test_mistakes(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(HeartbeatGenerator(ordered([0])))  # type: ignore[operator]


def test_a_unit_that_is_too_fine() -> None:
    with pytest.raises(ValueError, match="give a unit above 1"):
        HeartbeatGenerator(ordered([2**40]))
