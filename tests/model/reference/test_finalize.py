from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from driftline.model.event import CLOSE, Cti, Event, ExternalCti
from driftline.model.history import canonical_history
from driftline.model.reference import finalize
from driftline.model.reference.finalize import DeadLetter
from driftline.model.stream import closed_up_to, is_valid
from driftline.model.time import INFINITY
from driftline.testing import streams
from tests.build import cti, external_cti, insert, retract


def run(events: Sequence[Event], remember: int = INFINITY) -> tuple[list[Event], list[DeadLetter]]:
    outputs = list(finalize(events, remember))
    return (
        [event for output in outputs for event in output.events],
        [letter for output in outputs for letter in output.dead],
    )


def test_a_valid_stream_passes_unchanged() -> None:
    events = [insert(1, None, "a"), retract(1, None, 5, "a"), cti(3), insert(3, 4, "b")]
    assert run(events) == (events, [])


def test_a_retract_before_its_insert_shortens_it() -> None:
    assert run([retract(1, 9, 5, "a"), insert(1, 9, "a")]) == ([insert(1, 5, "a")], [])


def test_a_full_retract_before_its_insert_leaves_nothing() -> None:
    assert run([retract(1, 9, 1, "a"), insert(1, 9, "a"), cti(9)]) == ([cti(9)], [])


def test_a_gap_in_the_middle_of_a_chain_is_closed_when_it_comes() -> None:
    events = [insert(1, 9, "a"), retract(1, 7, 3, "a"), retract(1, 9, 7, "a")]
    assert run(events) == ([insert(1, 9, "a"), retract(1, 9, 3, "a")], [])


def test_a_retract_whose_insert_never_came_is_a_dead_letter_when_its_time_has_passed() -> None:
    events = [retract(1, 9, 5, "a"), cti(5), cti(6)]
    output, dead = run(events)
    assert output == [cti(5), cti(6)]
    assert dead == [DeadLetter(events[0], "no insert came for it before its time passed")]


def test_what_comes_too_late_is_a_dead_letter() -> None:
    output, dead = run([cti(5), insert(4, None, "a")])
    assert output == [cti(5)]
    assert [letter.reason for letter in dead] == [
        "too late: its sync time 4 is before the watermark 5"
    ]


def test_remember_closes_the_past() -> None:
    events = [
        insert(10, None, "a"),
        insert(15, None, "b"),
        insert(9, None, "late"),
        insert(10, 12, "c"),
    ]
    output, dead = run(events, remember=5)
    assert output == [
        insert(10, None, "a"),
        cti(5),
        insert(15, None, "b"),
        cti(10),
        insert(10, 12, "c"),
    ]
    assert [letter.event for letter in dead] == [events[2]]


def test_remember_nothing_closes_the_past_at_every_insert() -> None:
    output, dead = run(
        [insert(3, None, "a"), insert(2, None, "b"), insert(3, None, "c")], remember=0
    )
    assert output == [insert(3, None, "a"), cti(3), insert(3, None, "c")]
    assert len(dead) == 1


def test_external_ctis_close_when_their_events_are_there_and_nothing_before_is_missing() -> None:
    events = [
        external_cti(5, 9, 1),
        insert(6, None, "b"),
        external_cti(0, 5, 1),
        insert(2, None, "a"),
    ]
    assert run(events) == ([insert(6, None, "b"), insert(2, None, "a"), cti(9)], [])


def test_a_gap_between_external_ctis_stays_open() -> None:
    events = [external_cti(0, 3, 0), external_cti(5, 9, 0)]
    assert run(events) == ([cti(3)], [])
    assert run([*events, cti(5)]) == ([cti(3), cti(5), cti(9)], [])


def test_an_external_cti_counts_inserts_and_retracts() -> None:
    events = [external_cti(0, 9, 2), insert(2, None, "a"), retract(2, None, 7, "a")]
    assert run(events)[0] == [insert(2, None, "a"), retract(2, None, 7, "a"), cti(9)]


def test_what_no_external_cti_promised_is_a_dead_letter() -> None:
    events = [external_cti(5, 9, 1), insert(6, None, "a"), insert(7, None, "b")]
    output, dead = run(events)
    assert output == [insert(6, None, "a")]
    assert [letter.event for letter in dead] == [insert(7, None, "b")]


def test_a_malformed_or_overlapping_external_cti_is_a_dead_letter() -> None:
    _, dead = run([external_cti(0, 5, 1), external_cti(4, 9, 1), external_cti(9, 9, 1)])
    assert [letter.event for letter in dead] == [external_cti(4, 9, 1), external_cti(9, 9, 1)]


@given(streams())
def test_valid_streams_keep_their_meaning_and_have_no_dead_letters(events: list[Event]) -> None:
    output, dead = run(events)
    assert not dead
    assert canonical_history(output) == canonical_history(events)
    assert closed_up_to(output) == closed_up_to(events)


@given(streams(closed=False), st.randoms(use_true_random=False))
def test_chains_in_any_order_are_repaired(events: list[Event], random: object) -> None:
    changes = [event for event in events if not isinstance(event, Cti)]
    random.shuffle(changes)  # type: ignore[attr-defined]
    output, dead = run(changes)
    assert not dead
    assert is_valid(output)
    assert canonical_history(output) == canonical_history(events)


@given(streams(), st.integers(0, 14))
def test_the_output_is_valid_and_nothing_is_lost_silently(
    events: list[Event], remember: int
) -> None:
    output, dead = run([*events, CLOSE], remember)
    assert is_valid(output)
    lost = [letter.event for letter in dead]
    kept = list(events)
    for event in lost:
        kept.remove(event)
    assert canonical_history(output) == canonical_history(kept)


@given(streams(closed=False), st.integers(0, 30), st.data())
def test_a_true_count_gives_a_cti_when_the_last_of_its_events_has_come(
    events: list[Event], end: int, data: st.DataObject
) -> None:
    changes = [event for event in events if not isinstance(event, Cti)]
    inside = [
        event for event in changes if not isinstance(event, ExternalCti) and event.sync <= end
    ]
    promise = external_cti(0, end + 1, len(inside))
    place = data.draw(st.integers(0, len(changes)))
    output, dead = run([*changes[:place], promise, *changes[place:]])
    assert not dead
    assert is_valid(output)
    assert closed_up_to(output) == end + 1
