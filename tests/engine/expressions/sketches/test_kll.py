from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.expressions.sketches.kll import from_bytes, merged, of_values, to_bytes

_VALUES = st.lists(st.integers(-50, 50), max_size=200)


@given(_VALUES, st.integers(8, 20))
def test_weights_add_up_and_nothing_is_too_large(values: list[int], k: int) -> None:
    sketch = of_values(np.array(values, np.int64), k)
    assert sum(len(level) << height for height, level in enumerate(sketch.levels)) == len(values)
    assert sketch.kept <= sketch.capacity
    assert to_bytes(from_bytes(to_bytes(sketch), "bigint", "f")) == to_bytes(sketch)


@given(_VALUES, _VALUES)
def test_a_sketch_that_has_room_is_exact(one: list[int], other: list[int]) -> None:
    both = sorted([*one, *other])
    sketch = merged([of_values(np.array(values, np.int64), 500) for values in (one, other)])
    for value in range(-51, 52, 10) if both else ():
        assert sketch.rank(value) == sum(each <= value for each in both) / len(both)


@pytest.mark.parametrize("k", [20, 200])
def test_ranks_are_near(k: int) -> None:
    values = np.random.default_rng(1).permutation(100_000)
    whole = of_values(values, k)
    parts = merged([of_values(part, k) for part in np.array_split(values, 7)])
    shares = np.linspace(0.01, 0.99, 50)
    for sketch in (whole, parts):
        found = [sketch.quantile(share) for share in shares]
        assert all(one <= other for one, other in pairwise(found))
        assert max(abs(np.array(found) / 100_000 - shares)) < 2.296 / k**0.9723
