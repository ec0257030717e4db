"""Clocks that advance at a least rate: silence makes progress, and heartbeats are never false."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.model.time import BEGINNING, INFINITY
from driftline.testing.sources import Emission
from driftline.time.bounds import Bounds, counted, timed
from driftline.time.closure import closure
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.presets import disordered, uniform
from driftline.time.rate import LATEST, Rate, advanced, moved
from driftline.time.uniform import UniformHeartbeats
from tests.time.oracle import plain
from tests.time.strategies import bounds, emissions

RATES = st.sampled_from([Fraction(1), Fraction(3), Fraction(2, 3), Fraction(1, 7), Fraction(19, 8)])


@given(st.integers(-(2**62), 2**62), st.integers(0, 2**62), RATES)
def test_what_is_added_is_never_more_than_the_rate(first: int, later: int, rate: Fraction) -> None:
    ticks, units = Rate.of(rate)
    there = min(first + later, 2**62)
    gained = advanced(there, ticks, units) + advanced(-first, ticks, units)
    assert gained <= rate * (there - first)
    if abs(first) < 2**50 and abs(there) < 2**50:
        assert gained > rate * (there - first) - 2


def test_times_at_both_ends() -> None:
    assert moved(BEGINNING, 5) == BEGINNING
    assert moved(BEGINNING + 3, -5) == BEGINNING
    assert moved(INFINITY - 9, 2**60) == LATEST
    assert moved(LATEST + 1, 7) == LATEST + 1


@settings(max_examples=40)
@given(st.data(), RATES, st.integers(1, 5))
def test_the_formula_at_every_clock(data: st.DataObject, rate: Fraction, unit: int) -> None:
    b = data.draw(bounds(counted=True))
    seen = data.draw(emissions(b))
    generator = HeartbeatGenerator(b, rate=rate, unit=unit)
    for clock in range(max(each.arrived for each in seen) + 12):
        now = [each for each in seen if each.arrived == clock]
        generator.arrive(clock, [each.source for each in now], [each.time for each in now])
        past = [each for each in seen if each.arrived <= clock]
        expected = plain(closure(b), past, clock, rate)
        found = generator.at(clock).tolist()
        if unit == 1:
            assert found == expected
        assert all(mine <= best for mine, best in zip(found, expected, strict=True))


def drifting(
    random: Random, sources: int, rate: Fraction, disorder: int, skew: int, latency: int
) -> list[Emission]:
    """Sources whose clocks are at most a skew apart and advance at the rate, or faster."""
    emitted = []
    offsets = [random.randint(0, skew) for _ in range(sources)]
    faster = Fraction(random.choice([0, 0, 1]))
    for clock in range(40):
        for source in range(sources):
            if random.random() < 0.2:
                shown = (rate + faster) * clock + offsets[source]
                least = int(shown) + 1
                time = least + random.choice([0, disorder])
                way = random.choice([0, latency])
                emitted.append(Emission(source, clock, clock + way, time))
    return sorted(emitted, key=lambda each: each.arrived)


def check(
    generator: HeartbeatGenerator | UniformHeartbeats, seen: Sequence[Emission], sources: int
) -> None:
    heartbeats = np.full(sources, BEGINNING)
    stream = BEGINNING
    for clock in range(60):
        now = [each for each in seen if each.arrived == clock]
        assert all(each.time > max(heartbeats[each.source], stream) for each in now)
        numbers, times = [each.source for each in now], [each.time for each in now]
        in_force = generator.arrive(clock, numbers, times)
        assert (in_force >= stream).all()
        own = generator.at(clock)
        heartbeats = np.concatenate([own, np.full(sources - len(own), BEGINNING)])
        assert generator.heartbeat(clock) >= stream
        stream = generator.heartbeat(clock)
    assert not generator.violations.any()


@settings(max_examples=40)
@given(st.integers(0, 2**32), RATES, st.integers(0, 5), st.integers(0, 6), st.integers(0, 4))
def test_never_false(seed: int, rate: Fraction, disorder: int, skew: int, latency: int) -> None:
    seen = drifting(Random(seed), 3, rate, disorder, skew, latency)
    b = uniform(3, disorder, skew, latency)
    check(HeartbeatGenerator(b, rate=rate), seen, 3)
    alike = UniformHeartbeats(disorder=disorder, skew=skew, latency=latency, sources=3, rate=rate)
    check(alike, seen, 3)


@settings(max_examples=30)
@given(st.data(), RATES, st.integers(0, 9), st.none() | st.integers(1, 20))
def test_many_alike_are_as_the_matrix_has_them(
    data: st.DataObject, rate: Fraction, skew: int, timeout: int | None
) -> None:
    b = uniform(3, 2, skew, 1)
    seen = data.draw(emissions(b))
    many = UniformHeartbeats(
        disorder=2, skew=skew, latency=1, timeout=timeout, sources=3, rate=rate
    )
    few = HeartbeatGenerator(b, timeout=timeout, rate=rate)
    for clock in range(max(each.arrived for each in seen) + 30):
        now = [each for each in seen if each.arrived == clock]
        numbers, times = [each.source for each in now], [each.time for each in now]
        one, other = (each.arrive(clock, numbers, times).tolist() for each in (many, few))
        assert one == other
        assert many.heartbeat(clock) == few.heartbeat(clock)


def test_silence_makes_progress_beyond_what_was_seen() -> None:
    generator = HeartbeatGenerator(disordered([5], [2]), rate=Fraction(1, 2))
    generator.arrive(10, [0], [100])
    assert [generator.heartbeat(clock) for clock in (11, 12, 13, 14, 40)] == [
        BEGINNING, 94, 94, 95, 108,
    ]  # fmt: skip


def test_a_timeout_completes_what_was_seen_and_no_more() -> None:
    generator = HeartbeatGenerator(disordered([50], [0]), rate=1, timeout=10)
    generator.arrive(0, [0], [100])
    assert [generator.heartbeat(clock) for clock in (9, 10, 40, 60)] == [58, 100, 100, 109]


def test_rates_with_tuples_and_groups_of_pairs() -> None:
    b = Bounds.of({(0, 1): [timed(4, 0), counted(1, 0)], (1, 1): [timed(0, 9)]}, [0, 0])
    generator = HeartbeatGenerator(b, rate=2)
    generator.arrive(0, [0], [50])
    assert generator.at(4).tolist()[1] == 50
    assert generator.at(7).tolist()[1] == 56


def test_a_rate_of_nothing() -> None:
    with pytest.raises(ValueError, match="the rate is 0"):
        Rate.of(0)
