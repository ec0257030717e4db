"""B′ from arrivals, against figure 4 for every pair and wait, arrival by arrival."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.time import BEGINNING
from driftline.time.estimated_bounds import EstimatedBounds
from tests.time.figure_4 import Figure4

WAITS = (0, 2, 5)
SOURCES = 2

arrival_lists = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, SOURCES - 1), st.integers(0, 40)),
    min_size=1,
    max_size=40,
)


def placed(arrivals: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    clocks = np.cumsum([arrival[0] for arrival in arrivals]).tolist()
    return [
        (clock, source, time) for clock, (_, source, time) in zip(clocks, arrivals, strict=True)
    ]


@given(arrival_lists, st.none() | st.integers(1, 6), st.sampled_from([0.0, 0.5]))
def test_figure_4_arrival_by_arrival(
    drawn: list[tuple[int, int, int]], window: int | None, alpha: float
) -> None:
    arrivals = placed(drawn)
    learned = EstimatedBounds(SOURCES, waits=WAITS, window=window, alpha=alpha)
    every = [(i, j, t) for i in range(SOURCES) for j in range(SOURCES) for t in range(len(WAITS))]
    plain = {each: Figure4(float("inf") if window is None else window, alpha) for each in every}
    for at, (clock, source, time) in enumerate(arrivals):
        learned.arrive(clock, [source], [time])
        for i, j, t in every:
            if j == source:
                before = [x for c, s, x in arrivals[:at] if s == i and c < clock - WAITS[t]]
                plain[i, j, t].observe(max(max(before) - time + 1, 0) if before else 0)
            assert learned.delta()[i, j, t] == plain[i, j, t].delta


@given(arrival_lists)
def test_the_greatest_skew_ever_seen_would_have_kept_all(drawn: list[tuple[int, int, int]]) -> None:
    # What was learned from a stream is never violated when it comes once more.
    arrivals = np.array(placed(drawn))
    learned = EstimatedBounds(SOURCES, waits=WAITS)
    learned.arrive(arrivals[:, 0], arrivals[:, 1], arrivals[:, 2])
    again = EstimatedBounds(SOURCES, waits=WAITS)
    fresh = again.snapshot()
    again.restore(fresh | {"delta": learned.snapshot()["delta"]})
    again.arrive(arrivals[:, 0], arrivals[:, 1], arrivals[:, 2])
    assert not again.violations.any()


@given(arrival_lists, st.integers(1, 4), st.none() | st.integers(0, 9), st.data())
def test_any_cut_into_batches_and_any_restart_is_the_same(
    drawn: list[tuple[int, int, int]], unit: int, timeout: int | None, data: st.DataObject
) -> None:
    def new() -> EstimatedBounds:
        return EstimatedBounds(
            SOURCES, waits=WAITS, window=4, target=0.3, unit=unit, timeout=timeout
        )

    arrivals = np.array(placed(drawn))
    whole, pieces = new(), new()
    whole.arrive(arrivals[:, 0], arrivals[:, 1], arrivals[:, 2])
    for piece in np.split(arrivals, sorted(data.draw(st.lists(st.integers(0, len(arrivals)))))):
        pieces.arrive(piece[:, 0], piece[:, 1], piece[:, 2])
        if len(piece) and data.draw(st.booleans()):
            pieces.at(int(piece[-1, 0]))
        again = new()
        again.restore(pieces.snapshot())
        pieces = again
    for clock in range(arrivals[-1, 0], arrivals[-1, 0] + 12):
        assert whole.at(clock).tolist() == pieces.at(clock).tolist()
    assert whole.violations.tolist() == pieces.violations.tolist()


def test_waits_tighten_a_bound() -> None:
    # A straggler comes two clocks after the tuple it is below; none comes later than that.
    learned = EstimatedBounds(1, waits=(0, 1, 2))
    learned.arrive([0, 2, 3, 6], [0, 0, 0, 0], [10, 4, 20, 30])
    assert [str(pair) for pair in learned.bounds()[0, 0]] == ["(0, 7)", "(2, 0)"]
    assert learned.at(6).tolist() == [23]
    assert learned.at(8).tolist() == [30]


def test_a_source_that_was_never_heard_has_no_heartbeat_of_its_own() -> None:
    learned = EstimatedBounds(2)
    assert learned.at(5).tolist() == [BEGINNING, BEGINNING]
    learned.arrive(6, [0], [10])
    assert learned.at(6).tolist() == [10, 10]  # as nothing else is known
    assert learned.describe(6).guessed
