"""Presets, held to simulations of what they describe, at the very edge of what is allowed."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.testing.sources import Emission
from driftline.time.bounds import Bounds, timed
from driftline.time.closure import is_idempotent, needs_timeout
from driftline.time.presets import (
    disordered,
    few_duplicates,
    global_counter,
    ordered,
    sensors,
    uniform,
)


def keeps(b: Bounds, emissions: list[Emission]) -> bool:
    """Do these, in the order of their emission, keep the bounds, by definition?"""
    for at, later in enumerate(emissions):
        mine = [each for each in emissions[:at] if each.source == later.source]
        for earlier in emissions[:at]:
            for bound in b[earlier.source, later.source]:
                after = earlier.emitted + bound.wait
                counted = sum(each.emitted > after for each in mine) >= bound.tuples
                if later.emitted > after and counted and later.time <= earlier.time - bound.lag:
                    return False
    return True


@given(st.integers(0, 2**32).map(Random), st.integers(0, 4), st.integers(0, 4))
def test_sensors_with_deviating_clocks(random: Random, first: int, second: int) -> None:
    deviation = [first, second]
    rate = Fraction(1, 2)
    emissions = []
    local = [0, 0]
    for clock in range(30):
        world = clock // 2  # the global clock: one tick in two units
        for j in (0, 1):
            # Local clocks follow it, drift as far as allowed, and are set back to it at times.
            local[j] = max(local[j], world - deviation[j])
            if random.random() < 0.3:
                local[j] = world
            elif random.random() < 0.5:
                local[j] = max(local[j], world + deviation[j])
            emissions.append(Emission(j, clock, clock, local[j]))
    assert keeps(sensors(deviation, [0, 0]), emissions)
    only_apart = [each for each in emissions if each.source == 0 or each.emitted % 7 == 0]
    assert keeps(sensors(deviation, [0, 0], set_back=[8, 8]), only_apart)
    between = {(i, 1 - i): sensors(deviation, [0, 0], rate=[rate, rate])[i, 1 - i] for i in (0, 1)}
    assert keeps(Bounds.of(between, [0, 0]), emissions)


def test_the_sum_of_the_deviations_is_not_enough() -> None:
    # The global clock stands at 10 for two instants: one sensor is 3 ahead, the other 4 behind.
    emissions = [Emission(0, 0, 0, 13), Emission(1, 1, 1, 6)]
    assert keeps(sensors([3, 4], [0, 0]), emissions)
    papers = Bounds.of({(0, 1): [timed(0, 7)]}, [0, 0])
    assert not keeps(papers, emissions)


@given(st.integers(0, 2**32).map(Random), st.integers(0, 3), st.integers(0, 6), st.integers(0, 6))
def test_a_global_counter(random: Random, least: int, first: int, second: int) -> None:
    shortest, longest = [least, least], [least + first, least + second]
    emissions, ready, number = [], [0, 0], 0
    while number < 20:
        j = random.choice((0, 1)) if ready[0] == ready[1] else int(ready[1] < ready[0])
        emitted = ready[j] + random.randint(shortest[j], longest[j])
        emissions.append(Emission(j, emitted, emitted, number))
        number += 1
        ready[j] = emitted
    emissions.sort(key=lambda each: (each.emitted, each.time))
    b = global_counter(shortest, longest, [0, 0])
    assert keeps(b, emissions)
    assert is_idempotent(b)
    assert not needs_timeout(b)


def test_copies_of_a_timestamp() -> None:
    times = [1, 1, 1, 2, 2, 5, 5, 5]
    emissions = [Emission(0, clock, clock, time) for clock, time in enumerate(times)]
    assert keeps(few_duplicates([3], [0]), emissions)
    assert not keeps(few_duplicates([2], [0]), emissions)
    assert keeps(ordered([0]), emissions)
    assert not keeps(ordered([0], duplicates=False), emissions)


def test_disorder_is_inclusive() -> None:
    emissions = [Emission(0, 0, 0, 10), Emission(0, 1, 1, 5)]
    assert keeps(disordered([5], [0]), emissions)
    assert not keeps(disordered([4], [0]), emissions)


def test_presets_are_idempotent_and_most_need_a_timeout() -> None:
    assert is_idempotent(uniform(3, 2, 5, 0))
    assert needs_timeout(uniform(3, 0, 0, 0))
    assert is_idempotent(sensors([1, 2, 3], [0, 0, 0]))
    assert not needs_timeout(sensors([1, 2, 3], [0, 0, 0], rate=[1, 0.5, 2]))
    assert not needs_timeout(ordered([0], duplicates=False))


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="swap them"):
        global_counter([3], [2], [0])
    with pytest.raises(ValueError, match="a rate is 0"):
        sensors([1], [0], rate=[0])
    with pytest.raises(ValueError, match="copies of 1"):
        few_duplicates(np.array([0]), [0])
    with pytest.raises(ValueError, match="2 sources have 1 latencies"):
        sensors([1, 2], [0])
    with pytest.raises(ValueError, match="1 shortest times and 2 longest"):
        global_counter([1], [5, 6], [0])
    with pytest.raises(ValueError, match="the lag of a skew bound"):
        uniform(2, 2**62, 2**62, 0)
