from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.stateless.linear_times import Linear, greatest_cti
from driftline.model.time import BEGINNING, INFINITY, plus

Life = tuple[int, int] | None


def test_infinity_absorbs() -> None:
    assert Linear(1, 1, -5)(3, INFINITY) == INFINITY
    assert Linear(1, 0, -5)(3, INFINITY) == -2
    assert Linear(0, 0, INFINITY)(3, 4) == INFINITY


def test_nothing_goes_past_the_ends_of_time() -> None:
    assert Linear(3, 0, 0)(2**62, INFINITY) == INFINITY
    assert Linear(3, 0, 0)(-(2**62), INFINITY) == BEGINNING


def test_a_time_that_falls_with_ve_is_refused() -> None:
    with pytest.raises(ValueError, match="no meaning"):
        Linear(0, -1, 0)


TIMES = st.one_of(st.integers(-5, 20), st.integers(-(2**62), 2**62), st.just(INFINITY))
FORMS = st.builds(
    Linear,
    st.integers(-3, 3),
    st.integers(0, 3),
    st.one_of(st.integers(-9, 9), st.just(INFINITY)),
)


@given(FORMS, st.lists(st.tuples(TIMES, TIMES), max_size=4))
def test_arrays_are_the_plain_form(form: Linear, pairs: list[tuple[int, int]]) -> None:
    vs = np.array([vs for vs, _ in pairs], np.int64)
    ve = np.array([ve for _, ve in pairs], np.int64)
    assert form.of(vs, ve).tolist() == [form(*pair) for pair in pairs]


def altered(start: Linear, duration: Linear, vs: int, ve: int) -> Life:
    first = start(vs, ve)
    last = plus(first, duration(vs, ve))
    return (first, last) if first < last else None


def touched(before: Life, after: Life) -> list[int]:
    """The sync times of the events that turn one lifetime of the output into another."""
    if before == after:
        return []
    if before and after and before[0] == after[0]:
        return [min(before[1], after[1])]
    return [life[0] for life in (before, after) if life]


def earliest_touched(start: Linear, duration: Linear, t: int, reach: int) -> int:
    """The least time touched by any change allowed after cti t, `reach` ticks around t."""
    times = [INFINITY]
    starts, ends = range(t - reach, t + reach), [*range(t - reach, t + reach + 1), INFINITY]
    for vs, ve in product(starts, ends):
        if vs >= ve:
            continue
        life = altered(start, duration, vs, ve)
        if vs >= t:
            times += touched(None, life)  # an insert, or its full retraction
        for vn in range(max(t, vs + 1), min(ve, t + reach)):
            times += touched(life, altered(start, duration, vs, vn))
    return min(times)


@st.composite
def windows(draw: st.DrawFn) -> tuple[Linear, Linear]:
    start = Linear(draw(st.integers(0, 2)), draw(st.integers(0, 2)), draw(st.integers(-4, 4)))
    constant = st.one_of(st.integers(-6, 6), st.just(INFINITY))
    duration = Linear(draw(st.integers(-start.a, 2)), draw(st.integers(0, 2)), draw(constant))
    return start, duration


@given(windows(), st.integers(-4, 4))
def test_the_cti_is_the_greatest_correct_one(window: tuple[Linear, Linear], t: int) -> None:
    """By trying every change that may still come."""
    near = earliest_touched(*window, t, reach=14)
    if greatest_cti(*window, t) == BEGINNING:
        assert earliest_touched(*window, t, reach=18) < near  # the wider, the earlier
    else:
        assert greatest_cti(*window, t) == near


def test_windows_that_move_back_as_time_goes_on_are_never_final_before_the_end() -> None:
    falling = (Linear(1, 0, 0), Linear(-2, 1, 0))
    assert greatest_cti(*falling, 10) == BEGINNING
    assert greatest_cti(*falling, INFINITY) == INFINITY
