from __future__ import annotations

import pyarrow as pa
from hypothesis import given

from driftline.engine.core.plain import batch_of
from driftline.engine.loop.change_times import change_times
from driftline.model.event import Cti, Event, Insert, Retract
from driftline.model.row import Row
from driftline.model.time import BEGINNING, INFINITY
from driftline.testing import streams

SCHEMA = pa.schema([("k", pa.string())])
A = Row(k="a")


def times(*events: Event) -> tuple[int, int]:
    return change_times(batch_of(events, SCHEMA))


def test_an_insert_changes_something_from_its_start_and_a_retract_from_its_new_end() -> None:
    assert times(Insert(3, 9, A), Insert(5, INFINITY, A)) == (3, 5)
    assert times(Retract(3, 9, 7, A)) == (7, 7)
    assert times(Retract(3, 9, 3, A), Insert(4, 5, A)) == (3, 4)


def test_what_comes_and_goes_changes_nothing() -> None:
    assert times() == (INFINITY, BEGINNING)
    assert times(Cti(4)) == (INFINITY, BEGINNING)
    assert times(Insert(3, 9, A), Retract(3, 9, 3, A)) == (INFINITY, BEGINNING)


@given(streams({}))
def test_no_change_is_before_the_earliest_sync_time(events: list[Event]) -> None:
    changes = [each for each in events if isinstance(each, (Insert, Retract))]
    batch = batch_of(changes, pa.schema([]))
    earliest, latest = change_times(batch)
    assert earliest >= min((each.sync for each in changes), default=INFINITY)
    assert latest <= max((each.sync for each in changes), default=BEGINNING)
