from __future__ import annotations

import pytest

from driftline.model.event import Cti, Event, Insert, Retract, malformed
from driftline.model.row import Row
from driftline.model.time import BEGINNING
from tests.build import cti, external_cti, insert, retract


def test_sync_times() -> None:
    events = Insert(1, 5, Row()), Retract(1, 5, 3, Row()), Cti(4)
    assert [event.sync for event in events] == [1, 3, 4]


def test_a_full_retraction_leaves_nothing() -> None:
    assert Retract(1, 5, 1, Row()).full
    assert not Retract(1, 5, 2, Row()).full


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (insert(5, 5, "a"), "vs < ve, but vs = 5, ve = 5"),
        (insert(6, 5, "a"), "vs < ve, but vs = 6, ve = 5"),
        (retract(5, 5, 5, "a"), "vs < ve"),
        (retract(1, 5, 0, "a"), "vs <= vn < ve, but vs = 1, ve = 5, vn = 0"),
        (retract(1, 5, 5, "a"), "vs <= vn < ve"),
        (external_cti(3, 3, 1), "from < to, but from = 3, to = 3"),
        (external_cti(0, 3, -1), "count >= 0"),
        (insert(BEGINNING, 0, "a"), "a lifetime starts after -∞"),
    ],
)
def test_malformed_events_and_why(event: Event, reason: str) -> None:
    assert reason in (malformed(event) or "")


def test_times_are_shown_as_the_stream_has_them() -> None:
    assert malformed(insert(1_000_000, 0, "a"), timestamps=True) == (
        "an insert needs vs < ve, but vs = 1970-01-01T00:00:01Z, ve = 1970-01-01T00:00:00Z"
    )


def test_well_formed_events() -> None:
    for event in (insert(1, None, "a"), retract(1, None, 1, "a"), cti(0), external_cti(0, 1, 0)):
        assert malformed(event) is None


def test_events_as_people_read_them() -> None:
    assert [str(event) for event in (insert(1, None, "a"), retract(1, None, 4, "a"), cti(7))] == [
        "insert [1, ∞) {'p': 'a'}",
        "retract [1, ∞) to 4 {'p': 'a'}",
        "cti 7",
    ]
    assert str(external_cti(0, 8, 5)) == "external cti: 5 events in [0, 8)"
