from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.model.columns import StreamColumns
from driftline.model.event import Event
from driftline.model.stream import breaches
from driftline.model.validity import check_columns
from driftline.testing import streams
from tests.build import cti, external_cti, insert, retract
from tests.disorder import any_events


def check(*events: Event, timestamps: bool = False) -> list[tuple[int, str]]:
    return check_columns(StreamColumns.from_events("s", events, timestamps=timestamps))


def test_a_valid_stream() -> None:
    assert check(insert(1, None, "A"), retract(1, None, 4, "A"), cti(4)) == []
    assert check() == []


def test_an_event_before_the_cti() -> None:
    assert check(cti(10), insert(5, 9, "A")) == [
        (1, "an insert with sync time 5 comes after cti 10")
    ]


def test_a_retract_without_its_insert() -> None:
    [(index, reason)] = check(insert(1, 9, "A"), retract(1, 9, 3, "B"))
    assert index == 1
    assert reason.startswith("a retract of the lifetime [1, 9), but no insert")


def test_what_a_bad_event_would_have_given_is_not_there() -> None:
    found = check(cti(4), insert(1, 9, "A"), retract(1, 9, 5, "A"))
    assert [index for index, _ in found] == [1, 2]


def test_a_promise_of_two_that_three_come_for() -> None:
    found = check(insert(1, 9, "A"), external_cti(0, 5, 2), insert(2, 9, "A"), insert(3, 9, "A"))
    assert found == [
        (
            3,
            "an insert with sync time 3 is one more than the 2 that an external cti promised in "
            "[0, 5)",
        )
    ]


def test_times_are_shown_as_the_stream_has_them() -> None:
    [(_, reason)] = check(cti(1_000_000), insert(0, 9, "A"), timestamps=True)
    assert reason == (
        "an insert with sync time 1970-01-01T00:00:00Z comes after cti 1970-01-01T00:00:01Z"
    )


@settings(max_examples=500)
@given(any_events, st.booleans())
def test_the_same_verdicts_as_the_plain_definition(events: list[Event], timestamps: bool) -> None:
    plain = [(breach.position, breach.reason) for breach in breaches(events, timestamps)]
    for _, reason in plain:
        note(" ".join(reason.split()[:4]))
    assert check(*events, timestamps=timestamps) == plain


@given(streams())
def test_valid_streams_are_valid(events: list[Event]) -> None:
    assert check(*events) == []
