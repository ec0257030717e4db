"""Runs are the longest stretches with a match, or without one, time by time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.join.coverage import Matches, runs

LATEST = 12
TIMES = st.integers(0, LATEST)
MATCH = st.tuples(TIMES, TIMES, st.sampled_from([1, 1, 2])).map(
    lambda each: (*sorted(each[:2]), each[2])
)
LIFETIMES = st.lists(st.tuples(TIMES, TIMES, st.lists(MATCH, max_size=4)), max_size=4)


def stretches(
    start: int, end: int, matches: list[tuple[int, ...]], wanted: bool
) -> list[list[int]]:
    """The definition, time by time."""
    found: list[list[int]] = []
    for time in range(start, end):
        if any(vs <= time < ve for vs, ve, _ in matches) == wanted:
            if found and found[-1][1] == time:
                found[-1][1] = time + 1
            else:
                found.append([time, time + 1])
    return found


@pytest.mark.parametrize("wanted", [True, False])
@given(LIFETIMES)
def test_runs_are_those_of_the_definition(
    wanted: bool, lifetimes: list[tuple[int, int, list[tuple[int, ...]]]]
) -> None:
    every = [(one, *match) for one, (_, _, some) in enumerate(lifetimes) for match in some]
    columns = np.array(every, np.int64).reshape(-1, 4).T.copy()
    since, until = (np.array([each[at] for each in lifetimes], np.int64) for at in (0, 1))
    found, bounds = runs(since, until, Matches(*columns), wanted)
    for number, (start, end, matches) in enumerate(lifetimes):
        own = found[bounds[number] : bounds[number + 1]].tolist()
        assert own == stretches(start, end, matches, wanted)
