"""Several runs for every key, held to lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.state.fields import Fields, Stateful
from driftline.engine.state.free_places import Places
from driftline.engine.state.several_runs import SeveralRuns
from tests.engine.state.test_fields import stored

COUNT = 3
ADDED = st.tuples(st.integers(0, 3), st.integers(0, COUNT - 1), st.integers(0, 99))


class Lists(Stateful):
    """Some lists of numbers for every key."""

    fields = Fields(keys="places", by_key=("lists",))

    def __init__(self) -> None:
        self.places, self.lists = Places(), SeveralRuns(1, COUNT)

    def add(self, key: int, which: int, value: int) -> None:
        self.lists.reserve(np.array([key]), np.array([1]))
        arrays, run = self.lists.arrays, key * COUNT + which
        arrays.ints[arrays.first[run] + arrays.size[run]] = value
        arrays.size[run] += 1

    def of(self, key: int) -> list[list[int]]:
        runs = self.lists.runs
        return [runs.of(run[None])[:, 0].tolist() for run in self.lists.numbers(np.array([key]))]


@settings(deadline=None)
@given(st.lists(ADDED | st.integers(0, 3), max_size=40), st.integers(0, 40))
def test_every_key_has_its_runs(steps: list[tuple[int, int, int] | int], restored: int) -> None:
    lists, model = Lists(), dict[int, list[list[int]]]()
    for number, step in enumerate(steps):
        if isinstance(step, tuple):
            key, which, value = step
            while key not in model:
                model[int(lists.places.take(1)[0])] = [[] for _ in range(COUNT)]
                lists.make_slots()
            lists.add(key, which, value)
            model[key][which].append(value)
        elif step in model:
            lists.remove_slots(np.array([step]))
            del model[step]
        if number == restored:
            arrays = stored(lists)
            lists = Lists()
            lists.restore(arrays)
            model = dict(enumerate(model[key] for key in sorted(model)))
        assert {key: lists.of(key) for key in lists.places.live_slots().tolist()} == model
        assert lists.state_size()[0] == sum(len(each) for runs in model.values() for each in runs)
