"""A trace is corrected in the longest segments as one of lists is, time by time."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state import longest, trace
from driftline.engine.state.allotted import Allotted
from driftline.engine.state.runs import Runs
from driftline.model.arrays import Int64Table
from driftline.model.time import INFINITY
from tests.engine.state.test_trace import KEYS, LATEST, Segment, changes_between, pieces

LINES = 3
LINE = trace.VALUE + 1
Pieces = tuple[int, list[Segment]]


def corrected(old: list[Segment], final: int, new: list[Segment]) -> list[Segment]:
    """The definition, time by time."""

    def goes_on(segment: Segment, time: int) -> bool:
        return any(
            piece.start <= time < piece.end and piece.value == segment.value for piece in new
        )

    kept, covered = [segment for segment in old if segment.end <= final], final
    for segment in old:
        if segment.start < final < segment.end:
            while covered < segment.end and goes_on(segment, covered):
                covered += 1
            kept.append(segment._replace(end=covered))
    rest = [piece._replace(start=max(piece.start, covered)) for piece in new if piece.end > covered]
    return kept + rest


class Traced:
    """The traces of some keys; the words of a segment's value are the value and its line."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs

    def correct(self, changes: dict[int, Pieces], final: int) -> dict[int, dict[Segment, int]]:
        keys = np.array(list(changes))
        new = [table(made, 0) for _, made in changes.values()]
        bounds = np.cumsum([0, *map(len, new)])
        found = longest.corrected(self.runs, keys, final, np.concatenate(new), bounds)
        return {key: net(found[:, found[trace.KEY] == key]) for key in changes}

    def correct_line(
        self, key: int, line: int, final: int, new: list[Segment]
    ) -> dict[Segment, int]:
        keys, rows = np.array([key]), table(new, line)
        size = int(self.runs.sizes(keys)[0])
        self.runs.reserve(keys, np.array([size + len(new)]))
        arrays = self.runs.arrays
        lines = arrays.ints[arrays.first[key] :][:size, LINE]
        begin, stop = (arrays.first[key] + np.searchsorted(lines, at) for at in (line, line + 1))
        changes = trace.room_for(2 * size + len(new), 2)
        old = np.empty((size, LINE + 1), np.int64)
        made = longest.correct_longest(
            arrays, key, int(begin), int(stop), final, rows, 0, len(rows), old, changes, 0
        )
        return net(changes[:, :made])

    def segments(self, key: int, line: int = 0) -> list[Segment]:
        if self.runs.sizes(np.array([key]))[0] == 0:
            return []
        first, size = self.runs.arrays.first[key], self.runs.arrays.size[key]
        rows = self.runs.arrays.ints[first : first + size]
        assert (np.diff(rows[:, LINE]) >= 0).all()
        return [Segment(*row[:3]) for row in rows[rows[:, LINE] == line].tolist()]

    def restored(self, fresh: Runs) -> Traced:
        live = np.arange(KEYS)
        fresh.restore(live, self.runs.snapshot(live, "trace"), "trace")
        return Traced(fresh)


def table(segments: list[Segment], line: int) -> Int64Table:
    return np.array([(*each, line) for each in segments], np.int64).reshape(-1, LINE + 1)


def net(changes: Int64Table) -> dict[Segment, int]:
    """The changes, which come in the order of time and are not more than needed."""
    made = [Segment(*row) for row in changes[[trace.VS, trace.VE, trace.VALUES]].T.tolist()]
    assert [each[:2] for each in made] == sorted(each[:2] for each in made)
    found = dict(zip(made, changes[trace.WEIGHT].tolist(), strict=True))
    assert len(found) == len(made)
    return found


def runs_of(kind: str) -> Runs:
    return Allotted(LINE + 1) if kind == "allotted" else Runs(LINE + 1)


@given(
    st.sampled_from(["runs", "allotted"]),
    st.lists(
        st.tuples(st.integers(0, LATEST), st.dictionaries(st.integers(0, KEYS - 1), pieces()))
    ),
    st.integers(0, 8),
)
def test_corrections_are_those_of_the_definition(
    kind: str, steps: list[tuple[int, dict[int, Pieces]]], restored: int
) -> None:
    traced, expected = Traced(runs_of(kind)), [list[Segment]() for _ in range(KEYS)]
    for number, (final, given_pieces) in enumerate(steps):
        some = {key: (since, cut(made, final)) for key, (since, made) in given_pieces.items()}
        if not some:
            continue
        found = traced.correct(some, final)
        for key, (_, new) in some.items():
            after = corrected(expected[key], final, new)
            assert found[key] == changes_between(expected[key], after)
            expected[key] = after
        if number == restored:
            traced = traced.restored(runs_of(kind))
        assert [traced.segments(key) for key in range(KEYS)] == expected


@given(st.lists(st.tuples(st.integers(0, LATEST), st.integers(0, LINES - 1), pieces())))
def test_one_line_is_corrected_and_the_others_stay(steps: list[tuple[int, int, Pieces]]) -> None:
    traced, expected = Traced(Allotted(LINE + 1)), [list[Segment]() for _ in range(LINES)]
    for final, line, (_, made) in steps:
        new = cut(made, final)
        after = corrected(expected[line], final, new)
        found = traced.correct_line(1, line, final, new)
        assert found == changes_between(expected[line], after)
        expected[line] = after
        assert [traced.segments(1, each) for each in range(LINES)] == expected


def cut(made: list[Segment], final: int) -> list[Segment]:
    """Pieces from a time on."""
    return [each._replace(start=max(each.start, final)) for each in made if each.end > final]


@given(st.lists(pieces(), min_size=1), st.lists(st.integers(0, LATEST)))
def test_nothing_before_the_final_time_changes(steps: list[Pieces], finals: list[int]) -> None:
    traced = Traced(Runs(LINE + 1))
    for (_, made), final in zip(steps, sorted(finals), strict=False):
        changed: Counter[tuple[int, int]] = Counter()
        for segment, weight in traced.correct({0: (0, cut(made, final))}, final)[0].items():
            for time in range(segment.start, segment.end):
                changed[time, segment.value] += weight
        assert all(weight == 0 for (time, _), weight in changed.items() if time < final)


@given(st.integers(0, LATEST), st.lists(st.integers(1, LATEST), min_size=1))
def test_a_stretch_of_which_nothing_is_final_is_one_segment(start: int, lengths: list[int]) -> None:
    traced = Traced(Runs(LINE + 1))
    for length in lengths:
        segment = Segment(start, start + length, 7)
        traced.correct({0: (0, [segment])}, start)
        assert traced.segments(0) == [segment]


def test_what_goes_on_after_the_final_time_is_a_segment_of_its_own() -> None:
    #          0        5 final     9
    # before   |----------- 1 ------|
    # after    |--------------|          up to 7, and again up to 12
    traced = Traced(Runs(LINE + 1))
    traced.correct({0: (0, [Segment(0, 9, 1)])}, 0)
    shorter = traced.correct({0: (0, [Segment(5, 7, 1)])}, 5)[0]
    assert shorter == {Segment(0, 7, 1): 1, Segment(0, 9, 1): -1}
    longer = traced.correct({0: (0, [Segment(5, 12, 1)])}, 5)[0]
    assert longer == {Segment(7, 12, 1): 1}
    gone = traced.correct({0: (0, [])}, 6)[0]
    assert gone == {Segment(0, 6, 1): 1, Segment(0, 7, 1): -1, Segment(7, 12, 1): -1}


@given(pieces(), st.integers(0, LATEST))
def test_what_ends_by_a_cti_is_dropped(made: Pieces, cti: int) -> None:
    traced, keys, ends = Traced(Runs(LINE + 1)), np.array([0]), np.array([INFINITY])
    traced.correct({0: made}, 0)
    longest.evict(traced.runs, keys, cti, ends)
    left = [segment for segment in made[1] if segment.end > cti]
    assert traced.segments(0) == left
    assert ends.tolist() == [min((segment.end for segment in left), default=INFINITY)]
