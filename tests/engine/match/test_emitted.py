"""What was emitted of matches is corrected up to where all is as it was before."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from driftline.engine.match.emitted import AnswersInOrder, EmittedMatches
from driftline.engine.state.emitted_rows import pieces_of
from driftline.engine.state.fingerprints import fingerprints
from driftline.model.time import INFINITY

SCHEMA = pa.schema([("match", pa.string())])
KEY = np.array([0])

Piece = tuple[str, int, int, int]
"""A match, its start and end, and when it is settled."""


def correct(
    emitted: EmittedMatches,
    since: int,
    *pieces: Piece,
    same_from: int = INFINITY,
    keeps: bool = False,
) -> list[tuple[str, int, int, int]]:
    table = pa.RecordBatch.from_pylist([{"match": each[0]} for each in pieces], schema=SCHEMA)
    start, end, settled = (np.array([each[n] for each in pieces], np.int64) for n in (1, 2, 3))
    answers = AnswersInOrder(
        np.array([0, len(pieces)]),
        pieces_of(fingerprints(table.columns, len(pieces)), start, end, settled),
        table,
        np.array([same_from]),
        np.array([keeps]),
    )
    made = emitted.correct_in_order(KEY, np.array([since]), answers)
    values = made.rows.column("match").to_pylist()
    return sorted(
        zip(values, made.vs.tolist(), made.ve.tolist(), made.weight.tolist(), strict=True)
    )


def settled(emitted: EmittedMatches) -> dict[str, int]:
    segments = emitted.of(KEY)
    names = emitted.rows.take(segments[:, -1]).column("match").to_pylist()
    return dict(zip(names, segments[:, 4].tolist(), strict=True))


def test_a_match_that_was_settled_before_stays() -> None:
    emitted = EmittedMatches(SCHEMA)
    correct(emitted, 0, ("a", 1, INFINITY, 3), ("b", 5, INFINITY, INFINITY))
    assert correct(emitted, 4) == [("b", 5, INFINITY, -1)]
    assert settled(emitted) == {"a": 3}


def test_a_match_takes_over_when_it_is_settled() -> None:
    emitted = EmittedMatches(SCHEMA)
    correct(emitted, 0, ("a", 1, INFINITY, INFINITY))
    assert correct(emitted, 2, ("a", 2, INFINITY, 6)) == []
    assert settled(emitted) == {"a": 6}


def test_what_begins_when_all_is_as_before_stays() -> None:
    emitted = EmittedMatches(SCHEMA)
    correct(emitted, 0, ("a", 1, 9, INFINITY), ("b", 6, INFINITY, 7))
    # "a" is found up to 5, from when on all is as it was.
    assert correct(emitted, 2, ("a", 2, 5, INFINITY), same_from=5) == []
    assert correct(emitted, 2, ("c", 2, 5, INFINITY), same_from=5) == [
        ("a", 1, 2, 1), ("a", 1, 9, -1), ("c", 2, 5, 1),
    ]  # fmt: skip
    assert settled(emitted)["b"] == 7


def test_matches_that_go_on_growing_are_kept() -> None:
    emitted = EmittedMatches(SCHEMA)
    correct(emitted, 0, ("a", 1, INFINITY, INFINITY), ("b", 1, 9, INFINITY))
    assert correct(emitted, 2, keeps=True) == [("b", 1, 2, 1), ("b", 1, 9, -1)]


def test_what_is_settled_is_dropped() -> None:
    emitted = EmittedMatches(SCHEMA)
    correct(emitted, 0, ("a", 1, INFINITY, 3), ("b", 2, 5, INFINITY), ("c", 2, INFINITY, 8))
    assert emitted.first_settled(KEY).tolist() == [4]
    emitted.drop_settled(KEY, 5)
    assert settled(emitted) == {"c": 8}
    assert emitted.first_settled(KEY).tolist() == [9]
