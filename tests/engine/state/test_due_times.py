from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.due_times import Due
from driftline.model.time import BEGINNING, INFINITY

TIMES = st.integers(0, 20) | st.just(INFINITY)


@given(st.lists(st.tuples(st.integers(0, 5000), TIMES), max_size=20), st.integers(0, 20))
def test_slots_are_due_up_to_a_limit(steps: list[tuple[int, int]], limit: int) -> None:
    due = Due()
    model: dict[int, int] = {}
    for slot, time in steps:
        due.set(np.array([slot]), np.array([time]))
        model[slot] = time
        wanted = sorted(slot for slot, time in model.items() if time <= limit)
        assert due.up_to(limit).tolist() == wanted
    slots = np.array([*model, 9999], np.int64)
    assert due.of(slots).tolist() == [*model.values(), INFINITY]


def test_a_slot_is_raised_to_the_greatest_of_its_times() -> None:
    due = Due()
    due.set(np.array([1, 2]), np.array([5, 9]))
    due.raise_to(np.array([1, 3, 2, 3, 1]), np.array([7, 4, 1, 2, 6]))
    assert due.of(np.arange(4)).tolist() == [INFINITY, 7, 9, 4]
    assert due.up_to(7).tolist() == [1, 3]
    assert due.up_to(BEGINNING - 1).tolist() == []


def test_a_slot_is_lowered_to_the_least_of_its_times() -> None:
    due = Due()
    due.set(np.array([1, 2]), np.array([5, 9]))
    due.lower_to(np.array([1, 3, 2, 3, 1]), np.array([7, 4, 1, 2, 6]))
    assert due.of(np.arange(4)).tolist() == [INFINITY, 5, 1, 2]
    assert due.up_to(2).tolist() == [2, 3]
