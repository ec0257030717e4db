"""Merging into an arrangement is adding up, over sorted lists."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.arrangement import (
    Shape,
    added_up,
    insert,
    merge,
    read_ahead,
    sort_each,
)
from driftline.engine.state.runs import Runs
from driftline.engine.state.slot_lists import by_slot
from driftline.engine.state.words import sort

ORDER, FLOATS, WORDS = 2, 4, 7
SHAPE = Shape(ORDER, FLOATS, WORDS)
"""An entry: two words of order, two whole numbers, and a sum of floats."""

Changes = list[tuple[int, tuple[int, int], int, int, float]]
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.tuples(st.integers(-2, 2), st.integers(-2, 2)),
        st.sampled_from([-1, 1, 2]),
        st.integers(-3, 3),
        st.sampled_from([0.0, 0.1, -1e16, 2.5]),
    ),
    max_size=30,
)


class Arranged:
    """The runs of some keys."""

    def __init__(self) -> None:
        self.runs = Runs(WORDS)

    def merge(self, changes: Changes) -> None:
        for key in sorted({change[0] for change in changes}):
            mine = [change[1:] for change in changes if change[0] == key]
            rows = np.zeros((len(mine), WORDS), np.int64)
            reals, numbers = rows.view(np.float64), np.arange(len(mine))
            for row, (place, first, second, number) in enumerate(mine):
                rows[row, :FLOATS] = [*place, first, second]
                reals[row, FLOATS] = number
            room = np.empty(len(mine), np.int64)
            keys = np.array([key])
            self.runs.reserve(keys, self.runs.sizes(keys) + len(mine))
            sort(rows, numbers, len(mine), ORDER, room)
            count = added_up(rows, reals, numbers, len(mine), SHAPE)
            arrays = self.runs.arrays
            merge(
                arrays, arrays.ints.view(np.float64), key, rows, reals, numbers, count, SHAPE,
                room, room,
            )  # fmt: skip

    def entries(self, key: int) -> list[tuple[tuple[int, int], int, int, Fraction]]:
        self.runs.make_slots(key + 1)
        first, size = self.runs.arrays.first[key], self.runs.arrays.size[key]
        found = self.runs.arrays.ints[first : first + size]
        return [
            ((row[0], row[1]), row[2], row[3], sum(map(Fraction, floats), Fraction()))
            for row, floats in zip(
                found.tolist(), found.view(np.float64)[:, FLOATS:].tolist(), strict=True
            )
        ]


@given(st.lists(CHANGES, max_size=5))
def test_a_merge_adds_up(batches: list[Changes]) -> None:
    arranged = Arranged()
    expected: dict[int, dict[tuple[int, int], list[Fraction]]] = {key: {} for key in range(3)}
    for changes in batches:
        arranged.merge(changes)
        for key, place, first, second, number in changes:
            sums = expected[key].setdefault(place, [Fraction()] * 3)
            brought = map(Fraction, (first, second, number))
            expected[key][place] = [one + other for one, other in zip(sums, brought, strict=True)]
        for key, held in expected.items():
            expected[key] = {place: sums for place, sums in held.items() if sums[0]}
            assert arranged.entries(key) == [
                (place, *sums) for place, sums in sorted(expected[key].items())
            ]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), max_size=100),
    st.integers(0, 2),
)
def test_rows_are_sorted_and_equal_ones_stay_in_their_order(
    rows: list[tuple[int, int]], words: int
) -> None:
    table = np.array(rows, np.int64).reshape(-1, 2)
    order = np.arange(len(rows))
    sort(table, order, len(rows), words, np.empty(len(rows), np.int64))
    assert order.tolist() == sorted(range(len(rows)), key=lambda row: rows[row][:words])


def test_reading_ahead_reads_runs_that_are_empty() -> None:
    runs = Runs(WORDS)
    runs.make_slots(3)
    read_ahead(runs.arrays, np.arange(3), 0, np.empty(1, np.int64))


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 9)), max_size=8),
        max_size=4,
    )
)
def test_new_entries_come_behind_those_that_are_equal(
    batches: list[list[tuple[int, int, int]]],
) -> None:
    runs, expected = Runs(2), {key: list[list[int]]() for key in range(3)}
    for batch in batches:
        entries = np.array([each[1:] for each in batch], np.int64).reshape(-1, 2)
        keys = np.array([each[0] for each in batch], np.int64)
        touched, counts, order = by_slot(keys, 3)
        bounds = np.concatenate([[0], np.cumsum(counts)])
        runs.reserve(touched, runs.sizes(touched) + counts)
        sort_each(bounds, order, entries, 1)
        places = insert(touched, bounds, order, entries, 1, runs.arrays)
        for key, begin, stop in zip(touched.tolist(), bounds[:-1], bounds[1:], strict=True):
            new = [entry[1:] for entry in batch if entry[0] == key]
            expected[key] = sorted([*expected[key], *map(list, new)], key=lambda entry: entry[0])
            held = runs.of(np.array([key])).tolist()
            assert held == expected[key]
            assert [held[place] for place in places[begin:stop]] == entries[
                order[begin:stop]
            ].tolist()
