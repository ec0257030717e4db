from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.due_times import Due
from driftline.model.time import INFINITY

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
