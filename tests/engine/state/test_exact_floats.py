"""Sums of floats are exact: what was added and taken away again leaves nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.by_rows.exact_numbers import nearest
from driftline.engine.state import exact_floats
from driftline.kernels import compiled
from driftline.model.arrays import Floats, FloatTable

FLOATS = st.floats(-1e9, 1e9, allow_subnormal=False).map(lambda value: value + 0.0)
FLOATS = FLOATS.filter(lambda value: value == 0 or abs(value) > 1e-9)


@compiled
def _add_all(sums: FloatTable, values: Floats, sign: float) -> None:
    for value in values:
        exact_floats.add(sums, 0, 0, sign * value)
        square, rest = exact_floats.two_product(value, value)
        exact_floats.add(sums, 0, 3, sign * square)
        exact_floats.add(sums, 0, 3, sign * rest)


@compiled
def _total(sums: FloatTable, place: int) -> float:
    return exact_floats.total(sums, 0, place)


@given(st.lists(FLOATS, max_size=30), st.lists(FLOATS, max_size=30))
def test_what_is_taken_away_leaves_nothing(kept: list[float], gone: list[float]) -> None:
    sums = np.zeros((1, 6))
    _add_all(sums, np.array(gone, np.float64), 1.0)
    _add_all(sums, np.array(kept, np.float64), 1.0)
    _add_all(sums, np.array(gone[::-1], np.float64), -1.0)
    assert _total(sums, 0) == float(sum(map(Fraction, kept)))


def test_no_drift_however_long_it_goes_on() -> None:
    sums, values = np.zeros((1, 6)), np.full(1, 0.1)
    for _ in range(2_000):
        _add_all(sums, values * 3, 1.0)
        _add_all(sums, values, 1.0)
        _add_all(sums, values * 3, -1.0)
        _add_all(sums, values, -1.0)
    assert (_total(sums, 0), _total(sums, 3)) == (0.0, 0.0)


GREAT_OR_NOT = st.one_of(FLOATS, st.floats(1e285, 1e300), st.floats(1e300, 1.7e308))


@compiled
def _add_great(sums: FloatTable, values: Floats, sign: float) -> None:
    for value in values:
        if value >= exact_floats.GREAT:
            exact_floats.add_great(sums, 0, 3, value, sign, False)
        else:
            exact_floats.add(sums, 0, 0, sign * value)


@compiled
def _total_with_great(sums: FloatTable) -> float:
    return exact_floats.total_with_great(sums, 0, 0, 3)


@given(st.lists(GREAT_OR_NOT, max_size=20), st.lists(GREAT_OR_NOT, max_size=20))
def test_totals_past_the_greatest_float_come_back(kept: list[float], gone: list[float]) -> None:
    sums = np.zeros((1, 6))
    _add_great(sums, np.array(gone, np.float64), 1.0)
    _add_great(sums, np.array(kept, np.float64), 1.0)
    assert math.isclose(_total_with_great(sums), nearest(sum(map(Fraction, kept + gone))))
    _add_great(sums, np.array(gone[::-1], np.float64), -1.0)
    assert math.isclose(_total_with_great(sums), nearest(sum(map(Fraction, kept))))


@pytest.mark.parametrize("degrees", [0, 1])
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=20), st.sampled_from([0, 10**8]))
def test_variances(degrees: int, numbers: list[int], far: int) -> None:
    values = [float(number + far) for number in numbers]
    sums = np.zeros((1, 6))
    _add_all(sums, np.array(values), 1.0)
    count = len(values)
    mean = Fraction(sum(map(int, values)), count)
    exact = sum((int(value) - mean) ** 2 for value in values) / (count - degrees)
    found = exact_floats.variance(sums, 0, 0, 3, count, count - degrees)
    assert found == pytest.approx(float(exact), rel=1e-12, abs=1e-9)
