"""Sources that are alike, held to the definition, to the general generator, and to their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.model.time import BEGINNING, INFINITY
from driftline.testing.sources import Emission, simulate
from driftline.time.arrivals import arrivals
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.presets import uniform
from driftline.time.uniform import UniformHeartbeats

LONG_AFTER = 30

arrival_lists = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 3), st.integers(0, 40)), min_size=1, max_size=20
)
"""How long after the last, on which source, with which time."""

optional = st.none() | st.integers(0, 8)


def placed(arrivals: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    clocks = np.cumsum([arrival[0] for arrival in arrivals]).tolist()
    return [
        (clock, source, time) for clock, (_, source, time) in zip(clocks, arrivals, strict=True)
    ]


def by_definition(
    arrivals: Sequence[tuple[int, int, int]], until: int, like: UniformHeartbeats
) -> list[int]:
    """The heartbeat of the stream at every clock, from the table in the module's docstring."""
    told, answers = BEGINNING, []
    below = like.disorder + 1
    for clock in range(until):
        seen = [arrival for arrival in arrivals if arrival[0] <= clock]
        effective = [arrival for arrival in seen if arrival[0] + like.latency <= clock]
        heard = {source for _, source, _ in seen}
        silent = set()
        if like.timeout is not None:
            silent = {
                j for j in heard if clock - max(c for c, s, _ in seen if s == j) >= like.timeout
            }
        own = [
            max((t - below for _, s, t in effective if s == j), default=BEGINNING)
            for j in heard - silent
        ]
        known = like.skew is None if like.sources is None else len(heard) >= like.sources
        patient = seen and like.timeout is not None and clock - seen[0][0] >= like.timeout
        if known or patient:
            told = max(told, min(own, default=BEGINNING))
        if like.skew is not None:
            told = max([told, *(t - below - like.skew for _, _, t in effective)])
        if like.timeout is not None and seen and clock - seen[-1][0] >= like.timeout:
            told = max([told, *(t for _, _, t in seen)])
        answers.append(told)
    return answers


def make(
    disorder: int, skew: int | None, latency: int, timeout: int | None, sources: int | None
) -> UniformHeartbeats:
    return UniformHeartbeats(
        disorder=disorder, skew=skew, latency=latency, timeout=timeout, sources=sources
    )


@given(
    arrival_lists, st.integers(0, 5), optional, st.integers(0, 5), optional,
    st.none() | st.integers(1, 4),
)  # fmt: skip
def test_the_definition_at_every_clock(
    drawn: list[tuple[int, int, int]],
    disorder: int,
    skew: int | None,
    latency: int,
    timeout: int | None,
    sources: int | None,
) -> None:
    arrivals = placed(drawn)
    until = arrivals[-1][0] + LONG_AFTER
    heartbeats = make(disorder, skew, latency, timeout, sources)
    expected = by_definition(arrivals, until, heartbeats)
    told = []
    for clock in range(until):
        now = [arrival for arrival in arrivals if arrival[0] == clock]
        heartbeats.arrive(clock, [s for _, s, _ in now], [t for _, _, t in now])
        told.append(heartbeats.heartbeat(clock))
    assert told == expected


@given(
    arrival_lists, st.integers(0, 5), optional, st.integers(0, 5), optional,
    st.none() | st.integers(1, 4), st.integers(1, 5), st.data(),
)  # fmt: skip
def test_any_cut_into_batches_and_any_restart_is_the_same(
    drawn: list[tuple[int, int, int]],
    disorder: int,
    skew: int | None,
    latency: int,
    timeout: int | None,
    sources: int | None,
    unit: int,
    data: st.DataObject,
) -> None:
    arrivals = np.array(placed(drawn))
    given_ = {"disorder": disorder, "skew": skew, "latency": latency, "timeout": timeout}
    whole = UniformHeartbeats(**given_, sources=sources, unit=unit)  # type: ignore[arg-type]
    whole.arrive(arrivals[:, 0], arrivals[:, 1], arrivals[:, 2])
    pieces = UniformHeartbeats(**given_, sources=sources, unit=unit)  # type: ignore[arg-type]
    for piece in np.split(arrivals, sorted(data.draw(st.lists(st.integers(0, len(arrivals)))))):
        pieces.arrive(piece[:, 0], piece[:, 1], piece[:, 2])
        again = UniformHeartbeats(**given_, sources=sources, unit=unit)  # type: ignore[arg-type]
        again.restore(pieces.snapshot())
        pieces = again
    assert whole.violations.tolist() == pieces.violations.tolist()
    for clock in range(arrivals[-1, 0], arrivals[-1, 0] + LONG_AFTER):
        assert whole.at(clock).tolist() == pieces.at(clock).tolist()


@settings(max_examples=30)
@given(st.data(), st.integers(1, 4), st.integers(0, 4), st.integers(0, 6), st.integers(0, 4))
def test_as_the_general_generator_and_never_violated(
    data: st.DataObject, sources: int, disorder: int, skew: int, latency: int
) -> None:
    b = uniform(sources, disorder, skew, latency)
    random = Random(data.draw(st.integers(0, 2**32)))
    seen: list[Emission] = simulate(b, random, 20, adversarial=data.draw(st.booleans()))
    general = HeartbeatGenerator(b)
    known = make(disorder, skew, latency, None, sources)
    unknown = make(disorder, skew, latency, None, None)
    for clock in range(seen[-1].arrived + LONG_AFTER):
        now = [each for each in seen if each.arrived == clock]
        columns = [each.source for each in now], [each.time for each in now]
        for generator in (general, known, unknown):
            generator.arrive(clock, *columns)
        assert known.heartbeat(clock) == general.heartbeat(clock)
        assert unknown.heartbeat(clock) <= general.heartbeat(clock)
        heard = len(known.at(clock))
        assert known.at(clock).tolist() == general.at(clock)[:heard].tolist()
    assert not known.violations.any()
    assert not unknown.violations.any()


@given(arrival_lists, st.integers(0, 5), optional, st.integers(0, 5), st.integers(2, 5))
def test_a_coarse_unit_is_late_by_less_than_a_unit(
    drawn: list[tuple[int, int, int]], disorder: int, skew: int | None, latency: int, unit: int
) -> None:
    arrivals = placed(drawn)
    fine = UniformHeartbeats(disorder=disorder, skew=skew, latency=latency, sources=4)
    coarse = UniformHeartbeats(disorder=disorder, skew=skew, latency=latency, sources=4, unit=unit)
    told = []
    for clock in range(arrivals[-1][0] + LONG_AFTER):
        now = [arrival for arrival in arrivals if arrival[0] == clock]
        for generator in (fine, coarse):
            generator.arrive(clock, [s for _, s, _ in now], [t for _, _, t in now])
        told.append((fine.heartbeat(clock), coarse.heartbeat(clock)))
        assert told[-1][1] <= told[-1][0]
        if clock >= unit - 1:
            assert told[-1][1] >= told[clock - unit + 1][0]


def test_a_source_that_pauses_alone_does_not_stall_the_others() -> None:
    heartbeats = UniformHeartbeats(timeout=10)
    heartbeats.arrive(0, [0, 1], [5, 5])
    for clock in range(1, 20):
        heartbeats.arrive(clock, [0], [5 + clock])
    assert heartbeats.heartbeat(19) == 23
    heartbeats.arrive(20, [1], [9])  # it is back, and too late
    assert heartbeats.violations.tolist()[:2] == [0, 1]
    heartbeats.arrive(21, [0], [40])
    assert heartbeats.heartbeat(21) == 23  # and waited for again: what was told stays


@given(
    arrival_lists, st.integers(0, 5), st.integers(0, 5), optional, st.integers(1, 4),
    st.none() | st.integers(0, 40), st.integers(0, 5), optional,
)  # fmt: skip
def test_a_further_bound_never_gives_less_progress(
    drawn: list[tuple[int, int, int]],
    disorder: int,
    latency: int,
    timeout: int | None,
    sources: int,
    skew: int | None,
    tighter: int,
    sooner: int | None,
) -> None:
    """A skew, a lesser disorder or latency, an earlier timeout: sources that break them only make
    their own rows late."""
    arrivals = placed(drawn)
    until = arrivals[-1][0] + LONG_AFTER
    loose = make(disorder, None, latency, timeout, sources)
    sooner = timeout if sooner is None else min(sooner, sooner if timeout is None else timeout)
    tight = make(min(disorder, tighter), skew, min(latency, tighter), sooner, sources)
    more = by_definition(arrivals, until, tight)
    less = by_definition(arrivals, until, loose)
    assert all(map(int.__ge__, more, less))


@pytest.mark.parametrize("sources", [None, 2, 3])
@pytest.mark.parametrize("skew", [None, 500, 0])
def test_a_source_past_its_timeout_is_not_waited_for_skew_or_not(
    sources: int | None, skew: int | None
) -> None:
    heartbeats = UniformHeartbeats(sources=sources, skew=skew, timeout=50)
    heartbeats.arrive(0, [0, 1], [0, 0])
    for clock in range(10, 600, 10):
        heartbeats.arrive(clock, [0], [clock])
    assert heartbeats.heartbeat(590) == 589


def test_new_and_retired_sources() -> None:
    heartbeats = UniformHeartbeats()
    heartbeats.arrive(0, [0], [50])
    assert heartbeats.heartbeat(0) == 49
    heartbeats.arrive(1, [70_000], [60])
    heartbeats.arrive(2, [0], [90])
    assert heartbeats.heartbeat(2) == 59
    heartbeats.retire([70_000])
    assert heartbeats.heartbeat(3) == 89
    assert [(row.source, row.lag) for row in heartbeats.describe(3).rows()] == [
        (0, 1),
        (70_000, -29),
    ]


def test_a_known_number_of_sources_is_waited_for_until_the_timeout() -> None:
    heartbeats = UniformHeartbeats(sources=2, timeout=30)
    heartbeats.arrive(0, [0], [1])
    heartbeats.arrive(20, [0], [2])
    assert heartbeats.heartbeat(29) == BEGINNING
    assert heartbeats.heartbeat(30) == 1


def test_many_sources_cost_little_each() -> None:
    heartbeats = UniformHeartbeats(disorder=3, timeout=1_000)
    everyone = np.arange(100_000)
    heartbeats.arrive(0, everyone, everyone)
    for clock in range(1, 200):
        heartbeats.arrive(clock, everyone[:500] + 500 * clock, np.full(500, 100_000 + clock))
        heartbeats.heartbeat(clock)
    assert heartbeats.heartbeat(199) == -4  # source 0 still holds it
    assert heartbeats.heartbeat(1_000) == 100_000 - 3


@pytest.mark.parametrize("skew", [None, 0, INFINITY])
def test_bounds_and_times_at_the_ends_of_64_bits(skew: int | None) -> None:
    """Nothing overflows: a promise is never above what it follows from."""
    times = [INFINITY - 1, BEGINNING + 1, 0, INFINITY - 1]
    for disorder in (0, 1, INFINITY - 1, INFINITY):
        heartbeats = UniformHeartbeats(disorder=disorder, skew=skew, timeout=2**61, latency=2)
        for clock, time in enumerate(times):
            heartbeats.arrive(clock, [clock % 2], [time])
            told = heartbeats.heartbeat(clock)
            most = INFINITY - 1 - min(disorder + 1, INFINITY)
            assert BEGINNING <= told <= most
            assert (heartbeats.at(clock) <= most).all()
        assert heartbeats.heartbeat(2**61 + 3) == INFINITY - 1


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="the skew is -1"):
        UniformHeartbeats(skew=-1)
    with pytest.raises(ValueError, match="number them from 0"):
        UniformHeartbeats().arrive(0, [-1], [0])


def test_arrays_that_can_only_be_read_are_copied_so_that_no_kernel_is_compiled_for_them() -> None:
    times = np.arange(3)
    times.flags.writeable = False
    given = arrivals(np.arange(3), times, times, times, times, 0)
    assert all(column.flags.writeable for column in given)
