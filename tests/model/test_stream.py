from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from driftline.model.event import CLOSE, Cti, Event
from driftline.model.history import canonical_history
from driftline.model.stream import (
    breaches,
    closed_up_to,
    is_closed,
    is_closed_at,
    is_ordered,
    is_perfect,
    is_valid,
    up_to,
)
from driftline.model.time import BEGINNING
from driftline.testing import streams
from tests.build import cti, external_cti, insert, retract


def reasons(*events: Event) -> dict[int, str]:
    return {breach.position: breach.reason for breach in breaches(events)}


def test_a_cti_is_never_contradicted() -> None:
    assert reasons(cti(10), insert(9, None, "a"), insert(10, None, "b")) == {
        1: "an insert with sync time 9 comes after cti 10"
    }
    assert reasons(insert(1, None, "a"), cti(10), retract(1, None, 9, "a")) == {
        2: "a retract with sync time 9 comes after cti 10"
    }


def test_an_old_lifetime_may_end_after_the_cti() -> None:
    assert reasons(insert(1, None, "a"), cti(10), retract(1, None, 10, "a")) == {}


def test_a_cti_that_says_less_than_an_earlier_one_changes_nothing() -> None:
    assert reasons(cti(10), cti(5), insert(7, None, "a")) == {
        2: "an insert with sync time 7 comes after cti 10"
    }


def test_a_retract_finds_its_insert_or_its_predecessor() -> None:
    assert reasons(insert(1, 9, "a"), retract(1, 9, 5, "a"), retract(1, 5, 3, "a")) == {}
    [(position, reason)] = reasons(insert(1, 9, "a"), retract(1, 8, 5, "a")).items()
    assert position == 1
    assert reason == (
        "a retract of the lifetime [1, 8), but no insert or earlier retract left this row "
        "with that lifetime"
    )


def test_a_lifetime_is_retracted_only_once() -> None:
    assert list(reasons(insert(1, 9, "a"), retract(1, 9, 5, "a"), retract(1, 9, 4, "a"))) == [2]
    twice = [insert(1, 9, "a"), insert(1, 9, "a"), retract(1, 9, 5, "a"), retract(1, 9, 4, "a")]
    assert reasons(*twice) == {}


def test_a_retract_names_the_whole_row() -> None:
    one, other = {"k": "a", "x": 1}, {"k": "a", "x": 2}
    assert list(reasons(insert(1, 9, one), retract(1, 9, 5, other))) == [1]


def test_a_bad_event_is_left_out_and_what_hangs_on_it_is_bad_too() -> None:
    events = [cti(5), insert(1, 9, "a"), retract(1, 9, 7, "a"), insert(6, 9, "b")]
    assert list(reasons(*events)) == [1, 2]


def test_external_ctis_neither_overlap_nor_miscount() -> None:
    assert reasons(external_cti(0, 8, 1), external_cti(8, 9, 1), insert(3, 5, "a")) == {}
    assert reasons(external_cti(0, 8, 1), external_cti(7, 9, 1)) == {
        1: "an external cti for [7, 9) overlaps an earlier one for [0, 8)"
    }
    assert reasons(external_cti(0, 8, 0), insert(7, 9, "a")) == {
        1: "an insert with sync time 7 is one more than the 0 that an external cti promised "
        "in [0, 8)"
    }
    assert reasons(insert(7, 9, "a"), external_cti(0, 8, 0)) == {
        1: "an external cti counts 0 events in [0, 8), but 1 have come already"
    }


def test_ordered_and_perfect() -> None:
    assert is_ordered(
        [insert(1, None, "a"), insert(1, None, "b"), retract(1, None, 4, "a"), cti(4)]
    )
    assert not is_ordered([insert(2, None, "a"), insert(1, None, "b")])
    assert not is_perfect([insert(1, None, "a"), retract(1, None, 4, "a")])
    assert is_perfect([insert(1, 4, "a"), cti(1), insert(2, None, "b")])
    assert is_perfect([])


def test_closed() -> None:
    assert closed_up_to([]) == BEGINNING
    assert closed_up_to([cti(3), cti(9), cti(4)]) == 9
    assert is_closed_at([cti(3)], 3)
    assert not is_closed_at([cti(3)], 4)
    assert is_closed([insert(2, None, "a"), cti(3)])
    assert not is_closed([insert(3, None, "a"), cti(3)])
    assert not is_closed([cti(3), insert(3, None, "a")])


def test_up_to_is_by_sync_time() -> None:
    events = [insert(1, None, "a"), insert(6, None, "b"), retract(1, None, 8, "a"), cti(5)]
    assert up_to(events, 6) == [events[0], events[3]]


@given(streams(), st.data())
def test_random_streams_and_all_their_prefixes_are_valid(
    events: list[Event], data: st.DataObject
) -> None:
    assert is_valid(events)
    assert is_valid(events[: data.draw(st.integers(0, len(events)))])
    assert is_valid([*events, CLOSE])


@given(streams(closed=False), st.data())
def test_history_before_a_cti_is_final(events: list[Event], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(events)))
    final = closed_up_to(events[:place])
    so_far = canonical_history(events[:place]).clip(end=final)
    assert so_far.same_snapshots(canonical_history(events).clip(end=final))


@given(streams(retractions=False, max_delay=0))
def test_ordered_streams_without_retractions_are_perfect(events: list[Event]) -> None:
    assert is_perfect([event for event in events if not isinstance(event, Cti)])
