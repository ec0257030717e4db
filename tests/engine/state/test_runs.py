from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.state.runs import Runs

SLOTS = 5
STEPS = st.lists(
    st.tuples(st.integers(0, SLOTS - 1), st.integers(0, 300), st.integers(0, 300)), max_size=40
)


@settings(deadline=None)
@given(STEPS)
def test_runs_keep_their_entries_while_they_grow_and_shrink(
    steps: list[tuple[int, int, int]],
) -> None:
    runs = Runs(2)
    model: list[list[int]] = [[] for _ in range(SLOTS)]
    clock = 0
    for slot, more, leaving in steps:
        slots = np.array([slot])
        runs.reserve(slots, runs.sizes(slots) + more)
        arrays = runs.arrays
        assert arrays.room[slot] >= arrays.size[slot] + more
        for _ in range(more):
            place = arrays.first[slot] + arrays.size[slot]
            arrays.ints[place] = clock, -clock
            arrays.size[slot] += 1
            model[slot].append(clock)
            clock += 1
        gone = min(leaving, len(model[slot]))
        arrays.first[slot] += gone
        arrays.room[slot] -= gone
        arrays.size[slot] -= gone
        del model[slot][:gone]
        runs.make_slots(SLOTS)
        for number, entries in enumerate(model):
            saved = runs.snapshot(np.array([number]), "")[".ints"]
            assert saved.tolist() == [[entry, -entry] for entry in entries]


def test_a_run_that_slides_does_not_make_the_pool_grow() -> None:
    runs = Runs(1)
    slots = np.arange(50)
    for _ in range(200):
        runs.reserve(slots, runs.sizes(slots) + 10)
        runs.arrays.size[slots] += 10
        gone = np.maximum(runs.arrays.size[slots] - 15, 0)
        runs.arrays.first[slots] += gone
        runs.arrays.room[slots] -= gone
        runs.arrays.size[slots] -= gone
    assert len(runs.arrays.ints) < 10_000
