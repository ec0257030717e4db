from __future__ import annotations

import pyarrow as pa
from hypothesis import given

from driftline.engine.core.batch import empty, joined
from driftline.model.event import Cti, Event
from driftline.model.history import canonical_history
from driftline.model.time import BEGINNING
from driftline.testing import streams
from driftline.testing.driving import batch_of, events_of
from tests.build import cti, insert, retract

P = pa.schema([("p", pa.string())])
KX = pa.schema([("k", pa.string()), ("x", pa.int64())])


def test_a_change_and_its_undoing_cancel() -> None:
    batch = batch_of([insert(1, 9, "a"), retract(1, 9, 1, "a"), insert(2, 5, "b")], P)
    assert events_of(batch) == [insert(2, 5, "b")]
    assert batch.high == 2


def test_a_chain_of_changes_becomes_one() -> None:
    events = [retract(1, None, 9, "a"), retract(1, 9, 4, "a")]
    assert events_of(batch_of(events, P)) == [retract(1, None, 4, "a")]
    shortened = [insert(1, None, "a"), *events]
    assert events_of(batch_of(shortened, P)) == [insert(1, 4, "a")]


def test_copies_are_kept_apart() -> None:
    events = [retract(1, 9, 4, "a"), retract(1, 9, 4, "a"), retract(1, 9, 1, "a")]
    assert sorted(map(str, events_of(batch_of(events, P)))) == sorted(map(str, events))


def test_the_cti_comes_last() -> None:
    batch = batch_of([cti(3), insert(4, None, "a"), cti(2)], P)
    assert events_of(batch) == [insert(4, None, "a"), cti(3)]


def test_rows_without_columns() -> None:
    nothing = pa.schema([])
    batch = batch_of([insert(1, 5, {}), insert(1, 5, {}), retract(1, 5, 3, {})], nothing)
    assert len(events_of(batch)) == 2


def test_an_empty_batch() -> None:
    assert empty(P).is_empty
    assert events_of(empty(P, cti=7)) == [Cti(7)]
    assert empty(P).cti == BEGINNING


@given(streams())
def test_a_batch_has_the_history_of_its_events(events: list[Event]) -> None:
    batch = batch_of(events, KX)
    assert canonical_history(events_of(batch)) == canonical_history(events)


@given(streams())
def test_batches_add_up(events: list[Event]) -> None:
    parts = joined([batch_of(events[:5], KX), batch_of(events[5:], KX)])
    assert canonical_history(events_of(parts)) == canonical_history(events)


def test_a_batch_stays_as_it_is_when_its_changes_are_asked_for() -> None:
    batch = batch_of([insert(1, 7, "a"), retract(2, 9, 3, "b")], P)
    batch.weight.flags.writeable = False  # as what comes from Arrow is
    before = batch.weight.tolist()
    first, second = batch.changes(), batch.changes()
    assert batch.weight.tolist() == before
    assert first.kind.tolist() == second.kind.tolist()
    assert first.vn.tolist() == second.vn.tolist()
