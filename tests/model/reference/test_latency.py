"""The timeline of all examples: a counts 1 from 3 on, b from 5 on.

a   3───────────8
b       5───────────10
"""

from __future__ import annotations

from hypothesis import given

from driftline.model.event import CLOSE, Event
from driftline.model.history import History, canonical_history
from driftline.model.reference import (
    Level,
    at_level,
    group_by,
    merged_watermark,
    output_watermark,
)
from driftline.model.reference.aggregates import count_all
from driftline.model.stream import closed_up_to
from driftline.model.time import BEGINNING
from driftline.testing import streams
from tests.build import cti, history, insert, retract

EVENTS = [insert(3, 8, "a"), insert(5, 10, "b"), cti(9)]


def count(events: list[Event]) -> History:
    return group_by(canonical_history(events), {}, {"n": count_all()})


def emitted(level: Level, events: list[Event]) -> History:
    return at_level(level, count(events), output_watermark(events))


def n(vs: int, ve: int | None, value: int) -> tuple[int, int | None, dict[str, int]]:
    return (vs, ve, {"n": value})


def test_the_watermark_follows_inserts_and_the_endpoints_that_a_cti_passes() -> None:
    watermarks = [output_watermark(EVENTS[:length]) for length in range(4)]
    assert watermarks == [BEGINNING, 3, 5, 8]


def test_retractions_never_move_the_watermark() -> None:
    assert output_watermark([insert(3, 8, "a"), retract(3, 8, 6, "a")]) == 3


def test_two_inputs_have_one_watermark() -> None:
    arrivals = [(0, insert(3, 8, "a")), (1, insert(5, 10, "b")), (0, cti(9)), (1, cti(20))]
    assert [merged_watermark(arrivals[:length], ports=2) for length in range(5)] == [
        BEGINNING,
        3,
        5,
        5,
        8,
    ]


def test_perfect_says_what_has_ended() -> None:
    assert emitted(Level.PERFECT, EVENTS[:1]) == history()
    assert emitted(Level.PERFECT, EVENTS[:2]) == history(n(3, 5, 1))
    assert emitted(Level.PERFECT, EVENTS) == history(n(3, 5, 1), n(5, 8, 2))


def test_ordered_also_says_the_present_with_an_open_end() -> None:
    assert emitted(Level.ORDERED, EVENTS[:1]) == history(n(3, None, 1))
    assert emitted(Level.ORDERED, EVENTS[:2]) == history(n(3, 5, 1), n(5, None, 2))
    assert emitted(Level.ORDERED, EVENTS) == history(n(3, 5, 1), n(5, 8, 2), n(8, None, 1))


def test_eager_says_everything() -> None:
    assert emitted(Level.EAGER, EVENTS[:2]) == history(n(3, 5, 1), n(5, 8, 2), n(8, 10, 1))


def test_a_full_retraction_leaves_what_is_still_true() -> None:
    events = [insert(3, 8, "a"), insert(5, 10, "b"), retract(5, 10, 5, "b")]
    assert emitted(Level.PERFECT, events) == history(n(3, 5, 1))
    assert emitted(Level.ORDERED, events).same_snapshots(history(n(3, None, 1)))


def test_what_a_cti_has_passed_stays_when_the_row_that_moved_the_watermark_was_never_there() -> (
    None
):
    events = [insert(3, 8, "a"), insert(5, 10, "b"), cti(5), retract(5, 10, 5, "b")]
    assert emitted(Level.PERFECT, events[:3]) == history(n(3, 5, 1))
    assert emitted(Level.PERFECT, events) == history(n(3, 5, 1))
    assert emitted(Level.PERFECT, [*events, cti(8)]).same_snapshots(history(n(3, 8, 1)))


@given(streams())
def test_what_is_before_the_watermark_and_a_cti_is_never_taken_back(events: list[Event]) -> None:
    for level in Level:
        final, before = BEGINNING, history()
        for length in range(1, len(events) + 1):
            now = emitted(level, events[:length])
            assert now.clip(end=final).same_snapshots(before)
            final = min(closed_up_to(events[:length]), output_watermark(events[:length]))
            before = now.clip(end=final)


@given(streams())
def test_a_closed_stream_has_the_same_answer_at_every_level(events: list[Event]) -> None:
    events = [*events, CLOSE]
    answer = count(events)
    for level in Level:
        assert at_level(level, answer, output_watermark(events)).same_snapshots(answer)


@given(streams())
def test_what_has_ended_is_never_said_differently(events: list[Event]) -> None:
    watermark = output_watermark(events)
    truth = count(events).clip(end=watermark)
    for level in Level:
        assert emitted(level, events).clip(end=watermark).same_snapshots(truth)
