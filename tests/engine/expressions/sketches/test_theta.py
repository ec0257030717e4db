from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.expressions.sketches.theta import (
    ALL,
    Theta,
    difference,
    from_bytes,
    hashed,
    intersection,
    to_bytes,
    union,
)

_SETS = st.sets(st.integers(0, 60), max_size=40)
_SIZE = 16


def _sketch(values: set[int], size: int = 1 << 20) -> Theta:
    found, _ = hashed(pa.array(sorted(values), pa.int64()))
    own = np.unique(found)
    return Theta(own, ALL, len(own) == 0).trimmed(size)


@given(_SETS, _SETS)
def test_small_sketches_are_sets(one: set[int], other: set[int]) -> None:
    first, second = _sketch(one), _sketch(other)
    for made, wanted in (
        (union([first, second], 1 << 20), one | other),
        (intersection([first, second]), one & other),
        (difference(first, second), one - other),
    ):
        assert to_bytes(made) == to_bytes(_sketch(wanted))


@given(_SETS, _SETS)
def test_a_union_of_sketches_is_the_sketch_of_the_union(one: set[int], other: set[int]) -> None:
    made = union([_sketch(one, _SIZE), _sketch(other, _SIZE)], _SIZE)
    assert to_bytes(made) == to_bytes(_sketch(one | other, _SIZE))
    assert to_bytes(from_bytes(to_bytes(made), "f")) == to_bytes(made)
