from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.event import CLOSE, Cti, Event, Retract
from driftline.model.history import canonical_history
from driftline.model.reference import align
from driftline.model.stream import closed_up_to, is_ordered, is_valid
from driftline.model.time import INFINITY
from driftline.testing import streams
from tests.build import cti, external_cti, insert, retract


def aligned(events: list[Event], block: int) -> list[list[Event]]:
    return list(align(events, block))


def flat(outputs: list[list[Event]]) -> list[Event]:
    return [event for output in outputs for event in output]


def test_without_blocking_everything_passes_at_once() -> None:
    events = [insert(5, None, "a"), insert(3, None, "b"), retract(5, None, 900, "a"), cti(3)]
    assert aligned(events, block=0) == [[event] for event in events]


def test_a_cti_releases_in_sync_order() -> None:
    events = [insert(5, None, "a"), insert(3, None, "b"), insert(9, None, "c"), cti(6)]
    assert aligned(events, INFINITY) == [[], [], [], [events[1], events[0], cti(6)]]


def test_a_waiting_insert_takes_up_its_retractions() -> None:
    events = [insert(1, None, "a"), retract(1, None, 10, "a"), retract(1, 10, 5, "a"), cti(2)]
    assert aligned(events, INFINITY)[-1] == [insert(1, 5, "a"), cti(2)]


def test_what_is_taken_back_while_it_waits_never_shows() -> None:
    events = [insert(1, 9, "a"), retract(1, 9, 1, "a"), cti(20)]
    assert flat(aligned(events, INFINITY)) == [cti(20)]


def test_waiting_retracts_of_one_chain_become_one() -> None:
    events = [
        insert(1, None, "a"),
        cti(2),
        retract(1, None, 10, "a"),
        retract(1, 10, 5, "a"),
        cti(6),
    ]
    assert aligned(events, INFINITY)[-1] == [retract(1, None, 5, "a"), cti(6)]


def test_a_retract_whose_time_is_not_final_waits_on() -> None:
    events = [insert(1, None, "a"), cti(2), retract(1, None, 10, "a"), cti(10), cti(11)]
    assert aligned(events, INFINITY)[2:] == [[], [cti(10)], [retract(1, None, 10, "a"), cti(11)]]


def test_blocking_by_application_time() -> None:
    events = [
        insert(1, None, "a"),
        insert(4, None, "b"),
        insert(3, None, "late"),
        insert(6, None, "c"),
    ]
    assert aligned(events, block=3) == [[], [events[0]], [], [events[2]]]
    assert aligned(events, block=2) == [[], [events[0]], [], [events[2], events[1]]]


def test_blocking_by_system_time_also_ends_when_nothing_comes() -> None:
    first, second = insert(7, None, "a"), insert(3, None, "b")
    outputs = list(align([first, second, None, None], block=10, system_clock=[100, 105, 110, 115]))
    assert outputs == [[], [], [first], [second]]


def test_external_ctis_are_for_finalize() -> None:
    with pytest.raises(ValueError, match="Finalize has to come before"):
        aligned([external_cti(0, 5, 1)], 0)


@given(streams(), st.one_of(st.integers(0, 15), st.just(INFINITY)))
def test_align_gives_a_valid_stream_of_the_same_meaning(events: list[Event], block: int) -> None:
    output = flat(aligned([*events, CLOSE], block))
    assert is_valid(output)
    assert canonical_history(output) == canonical_history(events)


@given(streams(), st.integers(0, 15))
def test_what_is_final_is_never_held_back(events: list[Event], block: int) -> None:
    outputs = aligned(events, block)
    for length in range(len(events) + 1):
        final = closed_up_to(events[:length])
        shown = canonical_history(flat(outputs[:length])).clip(end=final)
        assert shown.same_snapshots(canonical_history(events[:length]).clip(end=final))
        assert closed_up_to(flat(outputs[:length])) == final


@given(streams())
def test_strong_consistency_is_in_order_and_corrects_nothing(events: list[Event]) -> None:
    output = flat(aligned([*events, CLOSE], INFINITY))
    changes = [event for event in output if not isinstance(event, Cti)]
    assert is_ordered(changes)


@given(streams(retractions=False, max_delay=4))
def test_a_block_of_the_real_disorder_leaves_nothing_out_of_order(events: list[Event]) -> None:
    changes = [event for event in flat(aligned(events, block=4)) if not isinstance(event, Cti)]
    assert is_ordered(changes)
    assert not any(isinstance(event, Retract) for event in changes)
