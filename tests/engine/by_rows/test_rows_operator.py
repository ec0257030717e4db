from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.by_rows import pieces as by_pieces
from driftline.engine.by_rows.piece_values import Pieces
from driftline.engine.by_rows.pieces import PiecesOperator
from driftline.model.arrays import Int64s
from driftline.model.event import Event
from driftline.model.history import Bag, History, Lifetime, canonical_history
from driftline.model.reference import Level, snapshot_operator
from driftline.model.row import Row
from driftline.testing import streams
from tests.build import cti, history, insert, retract
from tests.engine.held_snapshots import BATCH_SIZES, hold, said_by

KX = pa.schema([("k", pa.string()), ("x", pa.int64())])
K = pa.schema([("k", pa.string())])


class AtLeastTwo(PiecesOperator):
    """Of every partition by k with at least two rows: all of them, each twice."""

    def __init__(self, level: Level) -> None:
        super().__init__(KX, ["k"], ["k", "x"], KX, level, with_keys=False)
        self.evaluated = 0

    def evaluate(self, pieces: Pieces) -> tuple[Int64s, pa.RecordBatch]:
        self.evaluated += len(pieces)
        sizes = np.diff(pieces.offsets)
        kept = np.repeat(sizes >= 2, sizes)
        piece_of = np.repeat(np.repeat(np.arange(len(sizes)), sizes)[kept], 2)
        members = np.repeat(pieces.members[kept], 2)
        return piece_of, pieces.rows.take(pa.array(members))


def at_least_two(so_far: History) -> History:
    def operate(alive: Sequence[Lifetime]) -> Bag:
        sizes = Counter(lifetime.row["k"] for lifetime in alive)
        kept = [lifetime.row for lifetime in alive if sizes[lifetime.row["k"]] >= 2]
        return Counter([*kept, *kept])

    return snapshot_operator(operate, so_far)


class AllKeys(PiecesOperator):
    """Of every partition by k nothing but its key: no column is kept, none is answered."""

    def __init__(self, level: Level) -> None:
        super().__init__(KX, ["k"], [], pa.schema([]), level, with_keys=True)

    def evaluate(self, pieces: Pieces) -> tuple[Int64s, pa.RecordBatch]:
        answer = pa.RecordBatch.from_struct_array(pa.array([{}] * len(pieces), pa.struct([])))
        return np.arange(len(pieces)), answer


def all_keys(so_far: History) -> History:
    return snapshot_operator(
        lambda alive: Counter({Row(k=lifetime.row["k"]): 1 for lifetime in alive}), so_far
    )


def test_rows_come_and_go_with_their_partition() -> None:
    #   1  1─────────7
    #   2      3─────────9         two are there during [3, 7)
    rows = [{"k": "a", "x": x} for x in (1, 2)]
    emitted = said_by(AtLeastTwo(Level.EAGER), [insert(1, 7, rows[0]), insert(3, 9, rows[1])], KX)
    assert canonical_history(emitted) == history(*((3, 7, row) for row in [*rows, *rows]))


def test_a_retraction_affects_only_what_it_cuts_off() -> None:
    #   1  1─────────────────∞, then really 1───────5
    #   2  1───────────────────∞       the piece [1, 5) is not looked at again
    rows = [{"k": "a", "x": x} for x in (1, 2)]
    operator = AtLeastTwo(Level.EAGER)
    said_by(operator, [insert(1, None, row) for row in rows], KX)
    operator.evaluated = 0
    emitted = said_by(operator, [retract(1, None, 5, rows[0])], KX)
    assert operator.evaluated == 1
    assert emitted == [retract(1, None, 5, rows[0])] * 2 + [retract(1, None, 5, rows[1])] * 2


def test_nothing_is_said_of_what_is_undone_in_its_batch() -> None:
    row = {"k": "a", "x": 1}
    operator = AtLeastTwo(Level.EAGER)
    events = [insert(1, 9, row), retract(1, 9, 1, row), insert(2, 5, row), retract(2, 5, 2, row)]
    assert said_by(operator, events, KX, size=4) == []
    assert operator.state_size()[0] == 0


def test_a_cti_lets_go_what_has_ended() -> None:
    operator = AtLeastTwo(Level.ORDERED)
    for start in range(0, 1000, 10):
        rows = [{"k": f"{start}", "x": x} for x in (1, 2)]
        events = [*(insert(start, start + 5, row) for row in rows), cti(start + 7)]
        said_by(operator, events, KX, size=3)
        assert operator.state_size()[0] == 0
    assert operator.slots.used == 1
    assert operator.members.places.used == 2


def test_a_retraction_of_what_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 lifetimes were retracted that are not there"):
        said_by(AtLeastTwo(Level.EAGER), [retract(1, 9, 5, {"k": "a", "x": 1})], KX)


@pytest.mark.parametrize("level", Level)
@settings(max_examples=60)
@given(
    events=streams(), size=st.sampled_from(BATCH_SIZES), renew=st.sampled_from([None, 0, 1, 2, 4])
)
def test_it_is_its_reference_after_every_batch(
    level: Level, events: list[Event], size: int, renew: int | None
) -> None:
    hold(lambda: AtLeastTwo(level), KX, at_least_two, events, level, size, renew)


@pytest.mark.parametrize("level", Level)
@settings(max_examples=30)
@given(
    events=streams(), size=st.sampled_from(BATCH_SIZES), renew=st.sampled_from([None, 0, 1, 2, 4])
)
def test_rows_without_columns_are_rows_too(
    level: Level, events: list[Event], size: int, renew: int | None
) -> None:
    hold(lambda: AllKeys(level), KX, all_keys, events, level, size, renew)


@settings(max_examples=30)
@given(events=streams())
def test_portions_make_no_difference(events: list[Event]) -> None:
    before = by_pieces.ROWS_AT_ONCE
    try:
        by_pieces.ROWS_AT_ONCE = 2
        hold(lambda: AtLeastTwo(Level.EAGER), KX, at_least_two, events, Level.EAGER, 1000)
    finally:
        by_pieces.ROWS_AT_ONCE = before
