from __future__ import annotations

from dataclasses import replace

import pytest

from bench.soak import Point, soak, stored_trend, trend

HOUR = 3600.0
LIVES = (150.0, 300.0)
RUN = 200
PERIOD = RUN + 20


@pytest.mark.spark
@pytest.mark.long
def test_an_hour_in_which_nothing_grows() -> None:
    report = soak(HOUR, LIVES)
    assert report.growing == []
    assert report.keeps_up


def points(by_time: float, by_age: float) -> list[Point]:
    """A measure of 100, which jitters, and grows with the time or with the age of processes."""
    found = []
    for run in range(6):
        for age in range(0, RUN, 10):
            at = run * PERIOD + age
            jitter = 8 * ((at // 10) % 3 - 1) + (50 if age == 0 else 0)
            found.append(Point(at, age, 100 + jitter + by_time * at + by_age * age))
    return found


@pytest.mark.parametrize(
    ("by_time", "by_age", "is_flat"),
    [(0.0, 0.0, True), (0.03, 0.0, False), (0.0, 0.3, False), (-0.03, -0.1, True)],
)
def test_what_grows_is_found(by_time: float, by_age: float, is_flat: bool) -> None:
    found = trend(points(by_time, by_age))
    assert found.is_flat == is_flat
    assert (found.by_time > 0.2) == (by_time > 0)


def test_a_first_run_with_nothing_to_catch_up_with_is_no_growth() -> None:
    first, rest = points(0.0, 0.0)[: RUN // 10], points(0.0, 0.0)[RUN // 10 :]
    smaller = [replace(each, value=each.value / 2) for each in first]
    assert trend([*smaller, *rest]).is_flat
    once = [replace(each, value=each.value * 2) if each.at >= 5 * PERIOD else each for each in rest]
    assert trend([*smaller, *once]).is_flat  # nor is one run that is out of the ordinary


def test_what_is_stored_is_compared_minute_by_minute() -> None:
    """It goes up and down, and a first run fills it."""
    for growth, is_flat in ((0.0, True), (0.05, False)):
        stored = [
            Point(at, at % PERIOD, min(at, 40 + at % 35) + growth * at) for at in range(4 * PERIOD)
        ]
        assert stored_trend(stored).is_flat == is_flat


def test_of_one_run_time_and_age_are_the_same() -> None:
    alone = [each for each in points(0.0, 0.3) if each.at < RUN]
    assert not trend(alone).is_flat
