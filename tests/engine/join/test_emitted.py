"""What has come out of lifetimes is corrected as if all of their runs were compared."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.join.emitted import Emitted
from driftline.engine.state.slots import NO_SLOT
from driftline.model.arrays import Int64Table
from tests.engine.state.test_longest import corrected, cut
from tests.engine.state.test_trace import LATEST, Segment, changes_between

PLACES = 3
TIMES = st.integers(0, LATEST)
RUNS = st.lists(st.booleans(), min_size=LATEST, max_size=LATEST)
"""For every time, whether a lifetime has a match then."""


def segments_of(there: list[bool], start: int = 0, end: int = LATEST) -> list[Segment]:
    """The longest stretches in which a lifetime has a match."""
    found: list[Segment] = []
    for time in range(start, end):
        if there[time] and found and found[-1].end == time:
            found[-1] = found[-1]._replace(end=time + 1)
        elif there[time]:
            found.append(Segment(time, time + 1, 0))
    return found


def table(segments: list[Segment]) -> Int64Table:
    return np.array([each[:2] for each in segments], np.int64).reshape(-1, 2)


class Running:
    """Some lifetimes, each with a match at some times."""

    def __init__(self) -> None:
        self.emitted = Emitted()
        self.emitted.trace.make_slots(PLACES)
        self.there = [[False] * LATEST for _ in range(PLACES)]
        self.expected = [list[Segment]() for _ in range(PLACES)]

    def correct(self, place: int, window: tuple[int, int], there: list[bool], final: int) -> None:
        start, end = max(window[0], final), window[1]
        for time in range(start, end):
            self.there[place][time] = there[time]
        found = segments_of(self.there[place], start, end)
        changed = self.emitted.corrected(
            np.array([place]), np.array([start]), np.array([end]), table(found),
            np.array([0, len(found)]), final,
        )  # fmt: skip
        if start >= end:
            assert len(changed[0]) == 0
            return
        after = corrected(self.expected[place], final, cut(segments_of(self.there[place]), final))
        net = changes_between(self.expected[place], after)
        columns = np.stack(changed).T.tolist()
        assert {Segment(vs, ve, 0): weight for _, vs, ve, weight in columns} == net
        assert [each[0] for each in columns] == [place] * len(net)
        self.expected[place] = after

    def held(self, place: int, final: int) -> list[Segment]:
        """What is known of a place, of which what ends before the final time may be gone."""
        trace = self.emitted.trace.arrays
        rows = trace.ints[trace.first[place] :][: trace.size[place]].tolist()
        return [Segment(start, end, 0) for start, end in rows if end >= final]


@given(
    st.lists(st.tuples(st.integers(0, PLACES - 1), st.tuples(TIMES, TIMES), RUNS, TIMES)),
)
def test_only_a_window_is_looked_at(
    steps: list[tuple[int, tuple[int, int], list[bool], int]],
) -> None:
    running, final = Running(), 0
    for place, window, there, more in steps:
        running.correct(place, window, there, final)
        final = max(final, more // 3)
        for each in range(PLACES):
            expected = [one for one in running.expected[each] if one.end >= final]
            assert running.held(each, final) == expected


def test_a_shorter_lifetime_comes_out_in_the_segments_of_the_longer_one() -> None:
    #           0        4 final   7      10
    # emitted   |------------|  |---------|
    # shorter   |------------|  |----|          up to 9, and a new one beside it
    emitted, final = Emitted(), 4
    emitted.trace.make_slots(PLACES)
    whole, bounds = table([Segment(0, 6, 0), Segment(7, 10, 0)]), np.array([0, 2])
    emitted.put(np.array([1]), np.array([0]), whole, bounds)
    runs = table([Segment(4, 6, 0), Segment(7, 9, 0), Segment(0, 9, 0)])
    found, bounds = emitted.inherited(np.array([1, NO_SLOT]), runs, np.array([0, 2, 3]), final)
    assert (found.tolist(), bounds.tolist()) == ([[0, 6], [7, 9], [0, 9]], [0, 2, 3])
