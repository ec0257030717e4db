import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from driftline.event_log.iso import NO_TIME, iso_ticks
from driftline.model.time import parse_timestamp


def kernel(text: str) -> int:
    data = text.encode()
    return iso_ticks(np.frombuffer(data + b'"', np.uint8), 0, len(data))


def plain(text: str) -> int:
    try:
        return parse_timestamp(text)
    except ValueError:
        return NO_TIME


@pytest.mark.parametrize(
    "text",
    [
        "1970-01-01",
        "1970-01-01T00:00",
        "1970-01-01 00:00:01",
        "2024-02-29T23:59:59.123456Z",
        "2024-05-01T09:30:00.5+02:00",
        "2024-05-01T09:30:00-0530",
        "0000-02-29",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59.999999-23:59",
        "2024-05-01T09:30:00.100000000Z",
    ],
)
def test_times(text: str) -> None:
    assert kernel(text) == plain(text) != NO_TIME


@pytest.mark.parametrize(
    "text",
    [
        "",
        "noon",
        "2023-02-29",
        "2024-13-01",
        "2024-05-01T24:00:00Z",
        "2024-05-01T09:30:60Z",
        "2024-05-01T9:30",
        "2024-05-01T09:30:00.0000001Z",
        "2024-05-01T09:30:00.",
        "2024-05-01T09:30:00z",
        "2024-05-01T09:30:00+24:00",
        "2024-05-01T09:30:00+0",
        "2024-05-01Z",
        "２０２４-05-01",
    ],
)
def test_not_times(text: str) -> None:
    assert kernel(text) == plain(text) == NO_TIME


TWO = st.integers(0, 99).map("{:02d}".format)
PIECES = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["2024", "1900", "0001", "9999", "1969", "0000"]),
        st.just("-"),
        st.one_of(TWO, st.integers(1, 12).map("{:02d}".format)),
        st.just("-"),
        st.one_of(TWO, st.integers(1, 31).map("{:02d}".format)),
        st.sampled_from(["", "T", " ", "x"]),
        st.one_of(st.just(""), st.integers(0, 24).map("{:02d}:30".format)),
        st.one_of(st.just(""), st.integers(0, 61).map(":{:02d}".format)),
        st.one_of(st.just(""), st.text("0123456789", max_size=10).map(".{}".format)),
        st.sampled_from(["", "Z", "+01:00", "-2359", "+24:00", "+00:60", "+1", "-"]),
    ),
)


@settings(max_examples=1000)
@given(PIECES)
@example("2024-02-30T00:00")
def test_the_same_as_the_plain_reader(text: str) -> None:
    assert kernel(text) == plain(text)


@given(PIECES, st.integers(0, 30), st.sampled_from("0:-+TZ. ٣"))
def test_the_same_with_a_character_changed(text: str, at: int, character: str) -> None:
    changed = text[:at] + character + text[at + 1 :]
    assert kernel(changed) == plain(changed)
