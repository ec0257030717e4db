from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.additive.cells import Contribution, gathered
from driftline.engine.additive.layout import ValueRules

CHANGES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(3, 5),
        st.sampled_from([-2, -1, 1, 3]),
        st.sampled_from([0.0, 0.1, -1e16, 3.5]),
    ),
    max_size=30,
)


@given(CHANGES)
def test_changes_add_up_by_slot_and_lifetime(
    changes: list[tuple[int, int, int, int, float]],
) -> None:
    slots, vs, ve, weight = (
        np.array([change[part] for change in changes], np.int64) for part in range(4)
    )
    floats = np.array([[change[4] for change in changes]])
    nothing = np.zeros((0, len(changes)), np.int64)
    values = ValueRules(np.zeros((0, 6), np.int64), np.zeros(1, np.int64), np.zeros(1, np.bool_))
    brought = Contribution(weight[None, :].copy(), floats, nothing, nothing.astype(np.bool_), False)
    cells = gathered(slots, vs, ve, weight, brought, values, False, 3)
    wanted: dict[tuple[int, int, int], list[Fraction]] = {}
    for slot, start, end, copies, number in changes:
        sums = wanted.setdefault((slot, start, end), [Fraction(), Fraction()])
        sums[0] += copies
        sums[1] += copies * Fraction(number)
    found = zip(cells.slot.tolist(), cells.vs.tolist(), cells.ve.tolist(), strict=True)
    assert list(found) == list(wanted)
    assert (
        cells.words[:, 0].tolist()
        == cells.words[:, 1].tolist()
        == [int(sums[0]) for sums in wanted.values()]
    )
    totals = [sum(map(Fraction, row.tolist()), Fraction()) for row in cells.reals[:, 2:]]
    assert totals == [sums[1] for sums in wanted.values()]
    assert [list(wanted).index(change[:3]) for change in changes] == cells.number.tolist()
