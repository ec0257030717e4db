"""Intervals of months, by examples that were asked of Spark 4.3."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

import driftline as dl
from driftline.engine.expressions import EvaluationError
from driftline.plan import ExpressionError
from tests.engine.of_rows import value, values


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("string(INTERVAL '-1-2' YEAR TO MONTH)", "INTERVAL '-1-2' YEAR TO MONTH"),
        ("string(INTERVAL '1' YEAR + INTERVAL '1' MONTH)", "INTERVAL '1-1' YEAR TO MONTH"),
        ("string(INTERVAL '1-2' YEAR TO MONTH * 1.5)", "INTERVAL '1-9' YEAR TO MONTH"),
        ("string(INTERVAL '1-2' YEAR TO MONTH / 3)", "INTERVAL '0-5' YEAR TO MONTH"),
        ("string(2 * make_ym_interval(1, 2))", "INTERVAL '2-4' YEAR TO MONTH"),
        ("string(-make_ym_interval(1, 2))", "INTERVAL '-1-2' YEAR TO MONTH"),
        ("string(make_ym_interval(-1, 1))", "INTERVAL '-0-11' YEAR TO MONTH"),
        ("string(make_ym_interval(NULL, 1))", None),
        ("string(abs(INTERVAL -'1-1' YEAR TO MONTH))", "INTERVAL '1-1' YEAR TO MONTH"),
        ("INTERVAL '1-1' YEAR TO MONTH div INTERVAL '-1' MONTH", -13),
        ("INTERVAL '3' DAY div INTERVAL '5' HOUR", 14),
        ("signum(INTERVAL '-3' MONTH)", -1.0),
        ("INTERVAL '1' YEAR = INTERVAL '12' MONTH", True),
        ("make_ym_interval(1, 0) > INTERVAL '11' MONTH", True),
        ("make_ym_interval(1, 0) IN (INTERVAL '12' MONTH)", True),
        ("extract(YEAR FROM INTERVAL '2-11' YEAR TO MONTH)", 2),
        ("extract(MONTH FROM INTERVAL '-2-11' YEAR TO MONTH)", -11),
        ("TIMESTAMP'2024-01-31 10:00:00' - make_ym_interval(0, 1)",
         datetime(2023, 12, 31, 10, tzinfo=UTC)),
        ("width_bucket(INTERVAL '1' YEAR, INTERVAL '0' YEAR, INTERVAL '10' YEAR, 10)", 2),
        ("width_bucket(INTERVAL '10' DAY, INTERVAL '0' DAY, INTERVAL '10' DAY, 10)", 11),
        ("sequence(DATE'2024-01-31', DATE'2024-04-30', INTERVAL '1' MONTH)",
         [date(2024, 1, 31), date(2024, 2, 29), date(2024, 3, 31), date(2024, 4, 30)]),
        ("sequence(DATE'2024-03-31', DATE'2024-01-31', INTERVAL '-1' MONTH)",
         [date(2024, 3, 31), date(2024, 2, 29), date(2024, 1, 31)]),
        ("sequence(TIMESTAMP'2024-01-31 10:00:00', TIMESTAMP'2024-06-01', INTERVAL '4' MONTH)",
         [datetime(2024, 1, 31, 10, tzinfo=UTC), datetime(2024, 5, 31, 10, tzinfo=UTC)]),
        ("time_bucket(INTERVAL '1' MONTH, TIMESTAMP_NTZ'2024-07-20 14:30:00')",
         datetime(2024, 7, 1)),
        ("time_bucket(INTERVAL '1' MONTH, TIMESTAMP'2024-07-10', TIMESTAMP'2024-06-15 09:00:00')",
         datetime(2024, 6, 15, 9, tzinfo=UTC)),
        ("hash(INTERVAL '13' MONTH)", -1057351352),
        ("extract(SECOND FROM INTERVAL '1' SECOND * 1.5)", Decimal("1.500000")),
    ],
)  # fmt: skip
def test_months(text: str, result: Any) -> None:
    assert value(text) == result


def test_months_of_a_column() -> None:
    moved = values("DATE'2024-01-31' + make_ym_interval(0, n)", n=[1, 2, None])
    assert moved == [date(2024, 2, 29), date(2024, 3, 31), None]


def test_columns_of_months_are_grouped_ordered_and_added_up() -> None:
    rows = "VALUES (1, INTERVAL '1' MONTH), (1, INTERVAL '4' MONTH), (2, NULL) AS t (k, i)"

    def asked(text: str) -> list[Any]:
        found = dl.sql(text.format(rows)).run().history().drop_columns(["vs", "ve"])
        return sorted(map(repr, zip(*(each.to_pylist() for each in found.columns), strict=True)))

    assert asked("SELECT k, string(sum(i)), string(avg(i)), string(max(i)) FROM {} GROUP BY k") == [
        "(1, \"INTERVAL '0-5' YEAR TO MONTH\", \"INTERVAL '0-3' YEAR TO MONTH\", "
        "\"INTERVAL '0-4' YEAR TO MONTH\")",
        "(2, None, None, None)",
    ]
    assert asked("SELECT string(i), count(*) FROM {} GROUP BY i") == [
        "(\"INTERVAL '0-1' YEAR TO MONTH\", 1)",
        "(\"INTERVAL '0-4' YEAR TO MONTH\", 1)",
        "(None, 1)",
    ]
    assert asked("SELECT extract(month FROM i) FROM {} ORDER BY i DESC LIMIT 1") == ["(4,)"]
    assert asked("SELECT string(percentile(i, 0.5)) FROM {}") == [
        "(\"INTERVAL '0-2' YEAR TO MONTH\",)"
    ]
    assert asked("SELECT extract(month FROM sum(i) OVER (ORDER BY i)) FROM {} WHERE k = 1") == [
        "(1,)",
        "(5,)",
    ]


def test_percentiles_of_intervals_of_days() -> None:
    query = (
        "SELECT percentile(i, array(0.2, 0.33)) AS p, approx_percentile(i, 0.5) AS a "
        "FROM VALUES (INTERVAL '0' SECOND), (INTERVAL '10' SECOND) AS t (i)"
    )
    (row,) = dl.sql(query).run().history().to_pylist()
    assert row["p"] == [timedelta(seconds=2), timedelta(seconds=3, milliseconds=300)]
    assert row["a"] == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "make_ym_interval(178956970, 8)",
        "INTERVAL '1' YEAR / 0",
        "sequence(DATE'2024-01-31', DATE'2024-05-31', INTERVAL '-1' MONTH)",
        "sequence(DATE'2024-01-31', DATE'2024-01-31', INTERVAL '0' MONTH)",
    ],
)
def test_failures(text: str) -> None:
    with pytest.raises(EvaluationError):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        "extract(DAY FROM INTERVAL '2-11' YEAR TO MONTH)",
        "CAST(INTERVAL '14' MONTH AS INT)",
        "INTERVAL '1' MONTH + INTERVAL '1' DAY",
        "INTERVAL '1' MONTH < INTERVAL '1' DAY",
        "time_bucket(INTERVAL '0' MONTH, TIMESTAMP'2024-07-20')",
        "typeof(INTERVAL '1' MONTH)",
    ],
)
def test_what_has_no_meaning(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(text)
