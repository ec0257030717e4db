"""A trace is corrected as one of lists is, point by point."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state import trace
from driftline.engine.state.runs import Runs

LATEST = 12
VALUES = st.integers(0, 2)
KEYS = 3


class Segment(NamedTuple):
    start: int
    end: int
    value: int


@st.composite
def pieces(draw: st.DrawFn) -> tuple[int, list[Segment]]:
    """A time, and what the answer is from then on; pieces that meet differ."""
    since = draw(st.integers(0, LATEST - 1))
    times = sorted(draw(st.sets(st.integers(since, LATEST), max_size=7)))
    made: list[Segment] = []
    for start, end in pairwise(times):
        value = draw(st.none() | VALUES)
        if value is None:
            continue
        if made and made[-1].end == start and made[-1].value == value:
            made[-1] = made[-1]._replace(end=end)
        else:
            made.append(Segment(start, end, value))
    return since, made


def corrected(old: list[Segment], since: int, new: list[Segment]) -> list[Segment]:
    """The definition, time by time."""

    def agree(segment: Segment, time: int) -> bool:
        return any(
            piece.start <= time < piece.end and piece.value == segment.value for piece in new
        )

    kept = []
    for segment in old:
        end = max(segment.start, min(segment.end, since))
        while end < segment.end and agree(segment, end):
            end += 1
        if segment.start < end:
            kept.append(segment._replace(end=end))
    covered = {time for segment in kept for time in range(segment.start, segment.end)}
    cuts = {segment.start for segment in old if segment.end > since}
    made = list(kept)
    for piece in new:
        begin = None
        for time in range(piece.start, piece.end + 1):
            is_free = time < piece.end and time not in covered
            if begin is not None and (not is_free or time in cuts):
                made.append(Segment(begin, time, piece.value))
                begin = None
            if begin is None and is_free:
                begin = time
    return sorted(made)


def changes_between(old: list[Segment], new: list[Segment]) -> dict[Segment, int]:
    return {segment: (segment in new) - (segment in old) for segment in set(old) ^ set(new)}


class Traced:
    """The traces of some keys; a value is two words."""

    def __init__(self) -> None:
        self.runs = Runs(trace.VALUE + 2)

    def correct(self, key: int, since: int, new: list[Segment]) -> dict[Segment, int]:
        keys = np.array([key])
        size = int(self.runs.sizes(keys)[0])
        self.runs.reserve(keys, np.array([2 * size + len(new)]))
        rows = np.array([(*each, -each.value) for each in new], np.int64).reshape(-1, 4)
        changes = trace.room_for(3 * size + len(new), 2)
        old = np.empty((size, 4), np.int64)
        made = trace.correct(self.runs.arrays, key, since, rows, len(rows), old, changes, 0)
        net: dict[Segment, int] = {}
        for number, start, end, weight, value, negated in changes[:, :made].T.tolist():
            assert (number, negated) == (key, -value)
            segment = Segment(start, end, value)
            net[segment] = net.get(segment, 0) + weight
        return {segment: weight for segment, weight in net.items() if weight}

    def segments(self, key: int) -> list[Segment]:
        first, size = self.runs.arrays.first[key], self.runs.arrays.size[key]
        rows = self.runs.arrays.ints[first : first + size]
        return [Segment(*row[:3]) for row in rows.tolist()]


@given(st.lists(st.tuples(st.integers(0, KEYS - 1), pieces()), max_size=12))
def test_corrections_are_those_of_the_definition(
    given_pieces: list[tuple[int, tuple[int, list[Segment]]]],
) -> None:
    traced, expected = Traced(), [list[Segment]() for _ in range(KEYS)]
    for key, (since, new) in given_pieces:
        after = corrected(expected[key], since, new)
        net = traced.correct(key, since, new)
        assert net == changes_between(expected[key], after)
        expected[key] = after
        assert [traced.segments(each) for each in range(KEYS) if expected[each]] == [
            each for each in expected if each
        ]


@given(pieces(), st.integers(0, LATEST))
def test_what_ends_by_a_cti_is_dropped(made: tuple[int, list[Segment]], cti: int) -> None:
    traced = Traced()
    traced.correct(0, *made)
    before = traced.segments(0) if made[1] else []
    if before:
        trace.evict(traced.runs.arrays, 0, cti)
        assert traced.segments(0) == [segment for segment in before if segment.end > cti]


def test_changes_get_more_room() -> None:
    changes = trace.room_for(3, 2)
    changes[:] = np.arange(18).reshape(6, 3)
    wider = trace.wider(changes, 2, 9)
    assert (wider.shape, wider[:, :2].tolist()) == ((6, 9), changes[:, :2].tolist())
