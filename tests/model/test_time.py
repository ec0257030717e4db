from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.time import (
    BEGINNING,
    INFINITY,
    format_timestamp,
    parse_timestamp,
    plus,
    show,
)


def test_infinity_absorbs() -> None:
    assert plus(INFINITY, -1) == INFINITY
    assert plus(0, INFINITY) == INFINITY
    assert plus(INFINITY - 1, 5) == INFINITY
    assert plus(BEGINNING, -5) == BEGINNING


@pytest.mark.parametrize(
    ("text", "ticks"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01", 0),
        ("1970-01-01 00:00:01", 1_000_000),
        ("1970-01-01T00:01", 60_000_000),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("1970-01-01T00:00:00.120", 120_000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:00:00-0100", 0),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("2024-02-29T12:00:00.123456000Z", 1_709_208_000_123_456),
    ],
)
def test_iso_times(text: str, ticks: int) -> None:
    assert parse_timestamp(text) == ticks


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "12",
        "2024-1-1",
        "2024-13-01",
        "2023-02-29",
        " 1970-01-01",
        "2024-01-01T25:00:00Z",
        "1970-01-01T00:00:00+25:00",
        "1970-01-01T00:00:00.0000001Z",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not|finer"):
        parse_timestamp(text)


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)))
def test_every_time_survives_being_written(moment: datetime) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    ticks = (moment.replace(tzinfo=UTC) - epoch) // timedelta(microseconds=1)
    assert parse_timestamp(format_timestamp(ticks)) == ticks


def test_showing_times() -> None:
    assert [show(t) for t in (BEGINNING, -3, INFINITY)] == ["-∞", "-3", "∞"]
    assert show(-1, timestamps=True) == "1969-12-31T23:59:59.999999Z"


@given(st.integers(BEGINNING + 1, INFINITY - 1))
def test_every_time_is_read_back(ticks: int) -> None:
    assert parse_timestamp(format_timestamp(ticks)) == ticks
