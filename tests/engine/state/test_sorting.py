from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.sorting import sort_by


@given(st.lists(st.integers(0, 99), max_size=200))
def test_rows_come_in_order_of_their_times_and_ties_stay(times: list[int]) -> None:
    rows = np.arange(len(times))[::-1].copy()
    order = sorted(rows.tolist(), key=times.__getitem__)
    sort_by(np.array(times, np.int64), rows, np.empty_like(rows))
    assert rows.tolist() == order
