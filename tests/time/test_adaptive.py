"""One adaptive estimate, against figure 4 observation by observation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.time.adaptive import (
    FOREVER,
    NO_RATE,
    Adaptivity,
    Estimates,
    adaptivity,
    observe,
    shortfall,
)
from driftline.time.bounds import LONGEST
from tests.time.figure_4 import Figure4


@given(
    st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=200),
    st.integers(1, 12),
    st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]),
    st.none() | st.sampled_from([0.1, 0.3, 0.9]),
)
def test_figure_4(
    observed: list[tuple[int, bool]], window: int, alpha: float, rate: float | None
) -> None:
    limit = NO_RATE if rate is None else rate
    mine, plain = Estimates.new(1, window, limit), Figure4(window, alpha, rate)
    for each, too_late in observed:
        late = int(too_late or each > mine.delta[0])
        observe(0, float(each), 1, late, Adaptivity(alpha, limit), mine)
        plain.observe(each, too_late)
        assert mine.delta[0] == plain.delta
        assert mine.window[0] == plain.window
        mine = Estimates.restored(mine.snapshot())


def test_an_estimate_rises_at_once_and_falls_by_windows() -> None:
    plain = Figure4(window=2, alpha=0.5)
    told = []
    for each in [8, 2, 4, 0, 0, 0, 0]:
        plain.observe(each)
        told.append(plain.delta)
    assert told == [8, 8, 8, 6, 6, 6, 3]


def test_windows_grow_with_raises_and_shrink_without() -> None:
    estimates, how = Estimates.new(1, 10, 0.1), Adaptivity(0.5, 0.1)
    for each in range(1, 16):  # more than 4 raises of the 40 in a period, three times
        observe(0, float(each), 1, 1, how, estimates)
    assert estimates.window[0] == 80
    for _ in range(1_000):
        observe(0, 0.0, 1, 0, how, estimates)
    assert estimates.window[0] == 8
    assert estimates.delta[0] < 1


def test_a_shortfall_is_the_least_lag_that_allows_a_time() -> None:
    assert [shortfall(10, time) for time in (11, 10, 7)] == [0, 1, 4]
    assert shortfall(2**62, -(2**62)) == LONGEST


def test_parameters() -> None:
    assert adaptivity(None, 0.5, None) == (FOREVER, (0.5, NO_RATE))
    assert adaptivity(None, 0.5, 0.01) == (200, (0.5, 0.005))
    assert adaptivity(7, 0.5, 0.01) == (7, (0.5, 0.005))
    for no_event in (0.0, 1e-300):
        assert adaptivity(None, 0.5, no_event) == (FOREVER, (0.5, NO_RATE))
    for wrong in [(0, 0.5, None), (None, 2.0, None), (None, 0.5, 1.0)]:
        with pytest.raises(ValueError, match="give"):
            adaptivity(*wrong)
    assert np.array_equal(Estimates.new(2, 5).lags(), [0, 0])
