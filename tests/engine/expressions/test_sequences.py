"""sequence and time zones, by examples that were asked of Spark 4.3."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest

from driftline.engine.expressions import EvaluationError
from driftline.plan import ExpressionError
from tests.engine.of_rows import type_of, value, values


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("sequence(1, 4)", [1, 2, 3, 4]),
        ("sequence(3, 1)", [3, 2, 1]),
        ("sequence(1, 10, 4)", [1, 5, 9]),
        ("sequence(10, 1, -4)", [10, 6, 2]),
        ("sequence(1, 1, 0)", [1]),
        ("sequence(1, NULL)", None),
        ("sequence(DATE'2024-02-28', DATE'2024-03-01')", [date(2024, 2, 28 + i) for i in (0, 1)]
         + [date(2024, 3, 1)]),
        ("sequence(DATE'2024-01-30', DATE'2024-02-02', INTERVAL 2 DAYS)",
         [date(2024, 1, 30), date(2024, 2, 1)]),
        ("size(sequence(TIMESTAMP'2024-01-01 00:00:00', TIMESTAMP'2024-01-01 03:30:00', "
         "INTERVAL 1 HOUR))", 4),
    ],
)  # fmt: skip
def test_sequences(text: str, result: Any) -> None:
    assert value(text) == result


def test_sequences_of_rows() -> None:
    assert values("sequence(1, i)", i=[2, None, 0]) == [[1, 2], None, [1, 0]]
    assert type_of("sequence(1L, 3)") == "ARRAY<BIGINT>"


@pytest.mark.parametrize("text", ["sequence(1, 5, -1)", "sequence(1, 5, 0)"])
def test_steps_that_lead_nowhere(text: str) -> None:
    with pytest.raises(EvaluationError, match="does not reach 5 from 1"):
        value(text)


@pytest.mark.parametrize(
    "text",
    ["sequence('a', 'b')", "sequence(1.5, 3)", "sequence(DATE'2024-01-01', DATE'2024-01-02', 1)"],
)  # fmt: skip
def test_what_has_no_sequence(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(text)


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("from_utc_timestamp('2024-07-01 12:00:00', 'Europe/Berlin')", "2024-07-01 14:00"),
        ("to_utc_timestamp('2024-07-01 12:00:00', 'Europe/Berlin')", "2024-07-01 10:00"),
        # The clock is put forward: there is no 02:30. It is put back: there are two.
        ("to_utc_timestamp('2024-03-31 02:30:00', 'Europe/Berlin')", "2024-03-31 01:30"),
        ("to_utc_timestamp('2024-10-27 02:30:00', 'Europe/Berlin')", "2024-10-27 00:30"),
        ("from_utc_timestamp('2050-07-01 12:00:00', 'Europe/Berlin')", "2050-07-01 14:00"),
        ("from_utc_timestamp('2024-07-01 12:00:00', '+09:30')", "2024-07-01 21:30"),
        ("from_utc_timestamp('2024-07-01 12:00:00', 'GMT-3')", "2024-07-01 09:00"),
    ],
)
def test_clocks_of_zones(text: str, clock: str) -> None:
    assert value(text).replace(tzinfo=None) == datetime.fromisoformat(clock)


def test_far_from_now() -> None:
    assert value("year(from_utc_timestamp(TIMESTAMP'9999-12-31 23:30:00', '+01:00'))") == 10000
    late = "unix_seconds(from_utc_timestamp(timestamp_seconds(253402300800 + {}), 'Europe/Berlin'))"
    winter, summer = 0, 182 * 86_400
    assert value(late.format(winter)) - 253402300800 == 3600
    assert value(late.format(summer)) - 253402300800 - summer == 7200


def test_no_such_zone() -> None:
    with pytest.raises(EvaluationError, match="there is no time zone 'No/Where'"):
        value("from_utc_timestamp('2024-07-01', 'No/Where')")
