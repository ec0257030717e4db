"""Rows that were emitted are corrected as the lines of one list are, each by itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.state.emitted_rows import EmittedRows, pieces_of
from driftline.engine.state.fingerprints import fingerprints
from tests.engine.state.test_trace import LATEST, Segment, changes_between, corrected

KEYS = 3
SCHEMA = pa.schema([("value", pa.string())])
Line = tuple[str, int]
"""A row, and the number of the copy."""

ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, LATEST - 1), st.integers(1, LATEST)).map(
        lambda row: (row[0], row[1], min(LATEST, row[1] + row[2]))
    ),
    max_size=5,
)
CORRECTIONS = st.lists(
    st.tuples(st.integers(0, KEYS - 1), st.integers(0, LATEST - 1), ROWS), max_size=10
)


def lines(rows: list[tuple[str, int, int]], since: int) -> dict[Line, list[Segment]]:
    """The n-th line of a row holds whenever at least n copies of it do; stretches are whole."""
    found: dict[Line, list[Segment]] = {}
    for value in {row[0] for row in rows}:
        for copy in range(len(rows)):
            begin = None
            for time in range(since, LATEST + 1):
                holds = sum(row[0] == value and row[1] <= time < row[2] for row in rows) > copy
                if holds and begin is None:
                    begin = time
                elif not holds and begin is not None:
                    found.setdefault((value, copy), []).append(Segment(begin, time, 0))
                    begin = None
    return found


class Emitted:
    def __init__(self) -> None:
        self.rows = EmittedRows(SCHEMA)

    def correct(
        self, key: int, since: int, rows: list[tuple[str, int, int]]
    ) -> dict[tuple[str, int, int], int]:
        """What the history changes by."""
        rows = [(value, max(start, since), end) for value, start, end in rows if end > since]
        table = pa.RecordBatch.from_pylist([{"value": row[0]} for row in rows], schema=SCHEMA)
        start, end = (np.array([row[each] for row in rows], np.int64) for each in (1, 2))
        pieces = pieces_of(fingerprints(table.columns, len(rows)), start, end)
        bounds = np.array([0, len(rows)])
        made = self.rows.correct(np.array([key]), np.array([since]), bounds, pieces, table)
        assert set(made.key.tolist()) <= {key}
        found: dict[tuple[str, int, int], int] = {}
        values = made.rows.column("value").to_pylist()
        for value, vs, ve, weight in zip(
            values, made.vs.tolist(), made.ve.tolist(), made.weight.tolist(), strict=True
        ):
            found[value, vs, ve] = found.get((value, vs, ve), 0) + weight
        return {lifetime: weight for lifetime, weight in found.items() if weight}

    def taken_over(self) -> None:
        keys = np.arange(KEYS)
        saved = self.rows.snapshot(keys, "emitted")
        self.rows = EmittedRows(SCHEMA)
        self.rows.restore(keys, saved, "emitted")

    def held(self, key: int) -> list[tuple[str, int, int]]:
        segments = self.rows.of(np.array([key]))
        values = self.rows.rows.take(segments[:, -1]).column("value").to_pylist()
        return sorted(
            (value, *times) for value, times in zip(values, segments[:, 2:4].tolist(), strict=True)
        )


@given(CORRECTIONS, st.integers(0, 10), st.integers(0, LATEST))
def test_corrections_are_those_of_the_definition(
    corrections: list[tuple[int, int, list[tuple[str, int, int]]]], taken_over: int, final: int
) -> None:
    emitted = Emitted()
    expected: list[dict[Line, list[Segment]]] = [{} for _ in range(KEYS)]
    for number, (key, since, rows) in enumerate(corrections):
        if number == taken_over:
            emitted.taken_over()
        new, old = lines(rows, since), expected[key]
        after = {
            line: corrected(old.get(line, []), since, new.get(line, [])) for line in {*old, *new}
        }
        net: dict[tuple[str, int, int], int] = {}
        for line, segments in after.items():
            for segment, weight in changes_between(old.get(line, []), segments).items():
                lifetime = (line[0], segment.start, segment.end)
                net[lifetime] = net.get(lifetime, 0) + weight
        expected[key] = after
        made = emitted.correct(key, since, rows)
        assert made == {lifetime: weight for lifetime, weight in net.items() if weight}
        for each, held in enumerate(expected):
            assert emitted.held(each) == sorted(
                (line[0], segment.start, segment.end)
                for line, segments in held.items()
                for segment in segments
            )
    before = [emitted.held(key) for key in range(KEYS)]
    emitted.rows.drop(np.arange(KEYS), final)
    for key in range(KEYS):
        assert emitted.held(key) == [row for row in before[key] if row[2] > final]
    assert emitted.rows.places.used - len(emitted.rows.places.free) == emitted.rows.entries()
