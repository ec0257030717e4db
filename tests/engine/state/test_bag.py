"""A bag of lifetimes, held to a dictionary of them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.core.batch import Batch
from driftline.engine.state.bag import Bag
from driftline.model.time import INFINITY
from tests.engine.state.test_fields import stored

X = pa.schema([("x", pa.int64()), ("s", pa.string())])
Lifetime = tuple[int, int, int]
"""When it begins and ends, and what its row goes by."""

LIFETIME = st.tuples(st.integers(0, 9), st.integers(10, 14) | st.just(INFINITY), st.integers(0, 3))
CHANGES = st.lists(st.tuples(LIFETIME, st.integers(-2, 2)), min_size=1, max_size=6)


def batch(changes: list[tuple[Lifetime, int]]) -> Batch:
    table = np.array([[*lifetime, copies] for lifetime, copies in changes], np.int64)
    vs, ve, numbers, weight = np.ascontiguousarray(table.T)
    rows = pa.RecordBatch.from_arrays(
        [pa.array(numbers), pa.array([str(each) for each in numbers.tolist()])], schema=X
    )
    return Batch(vs, ve, weight, rows)


def plain(held: Batch) -> Counter[Lifetime]:
    """The lifetimes of a batch, with their copies."""
    found = Counter[Lifetime]()
    rows = held.payload.to_pylist()
    for vs, ve, copies, row in zip(held.vs, held.ve, held.weight, rows, strict=True):
        assert row["s"] == str(row["x"])
        found[int(vs), int(ve), row["x"]] += int(copies)
    return found


@settings(deadline=None)
@given(st.lists(CHANGES | st.integers(9, 15) | st.just(INFINITY), max_size=12), st.integers(0, 12))
def test_a_bag_is_the_sum_of_what_was_added(
    steps: list[list[tuple[Lifetime, int]] | int], restored: int
) -> None:
    bag, model = Bag(X), Counter[Lifetime]()
    for number, step in enumerate(steps):
        if isinstance(step, int):
            ended = bag.ended(step)
            gone = {each: copies for each, copies in model.items() if each[1] <= step}
            assert plain(Batch(*bag.take(ended))) == gone
            bag.remove(ended)
            model = Counter({each: copies for each, copies in model.items() if each[1] > step})
        else:
            bag.add(batch(step))
            for lifetime, copies in step:
                model[lifetime] += copies
            model = Counter({each: copies for each, copies in model.items() if copies})
        if number == restored:
            arrays = stored(bag)
            bag = Bag(X)
            bag.restore(arrays)
        assert plain(Batch(*bag.take(bag.slots.live_slots()))) == model
        assert len(bag) == bag.state_size()[0] == len(model)
        starts = [vs for vs, _, _ in model]
        assert bag.first_start(5) == min((vs for vs in starts if vs < 5), default=INFINITY)
        if model:
            assert bag.state_span() == (min(starts), max(starts))


def test_what_is_only_counted_stays_without_copies() -> None:
    bag = Bag(X)
    slots, new = bag.count(batch([((1, 12, 0), 2), ((1, 12, 0), -2), ((3, 12, 0), 1)]))
    assert slots[0] == slots[1] != slots[2]
    assert new.tolist() == [0, 2]
    assert len(bag) == 2
    assert bag.copies.values[slots].tolist() == [0, 0, 1]
