"""Functions of dates and times, by examples that were asked of Spark 4.3."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from driftline.engine.expressions import EvaluationError
from tests.engine.of_rows import value, values

SIX_TENTHS = datetime(2020, 1, 2, 3, 4, 5, 600_000, tzinfo=UTC)
MOMENT = "TIMESTAMP '2020-05-06 07:08:09.123456'"


def at(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=UTC)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("year(DATE '2020-01-01')", 2020),
        ("year(CAST('294247-01-10' AS DATE))", 294247),
        ("date_format(CAST('123456-01-10' AS DATE), 'yyyy-MM-dd')", "+123456-01-10"),
        ("date_format('-0001-12-31', 'y|yy|yyy|yyyy|yyyyy')", "-1|01|-001|-0001|-00001"),
        ("date_format('12345-12-31', 'y|yyy|yyyy|yyyyyy')", "12345|12345|+12345|012345"),
        ("date_format('-0001-12-31', 'yyyy G GGGG')", "0002 BC Before Christ"),
        ("date_format('2020-12-31', 'yyyy G')", "2020 AD"),
        ("hour('2020-01-01 10:20:30')", 10),
        ("quarter(DATE '2020-05-01')", 2),
        ("dayofweek(DATE '2020-05-01')", 6),
        ("weekday(DATE '2020-05-01')", 4),
        ("dayofyear(DATE '2020-05-01')", 122),
        ("weekofyear(DATE '2021-01-01')", 53),
        ("extract(YEAROFWEEK FROM DATE '2021-01-01')", 2020),
        ("extract(SECOND FROM TIMESTAMP '2020-01-01 00:00:05.5')", Decimal("5.500000")),
        ("date_part('mon', DATE '2020-03-01')", 3),
        (f"date_trunc('WEEK', {MOMENT})", at(2020, 5, 4)),
        (f"date_trunc('quarter', {MOMENT})", at(2020, 4, 1)),
        (f"date_trunc('millisecond', {MOMENT})", at(2020, 5, 6, 7, 8, 9, 123000)),
        (f"date_trunc('decade', {MOMENT})", None),
        ("trunc(DATE '2020-05-06', 'month')", date(2020, 5, 1)),
        ("trunc(DATE '2020-05-06', 'day')", None),
        ("date_add(DATE '2020-02-28', 2)", date(2020, 3, 1)),
        ("DATE '2020-01-01' - 1", date(2019, 12, 31)),
        ("datediff(DATE '2020-01-05', '2020-01-01')", 4),
        ("add_months(DATE '2020-01-31', 1)", date(2020, 2, 29)),
        ("last_day(DATE '2020-02-01')", date(2020, 2, 29)),
        ("next_day(DATE '2020-02-01', 'MON')", date(2020, 2, 3)),
        ("months_between(TIMESTAMP '1997-02-28 10:30:00', '1996-10-30')", 3.94959677),
        ("months_between(DATE '2020-03-31', DATE '2020-02-29')", 1.0),
        ("to_date('05/01/2020', 'dd/MM/yyyy')", date(2020, 1, 5)),
        ("to_timestamp('20200501 1230', 'yyyyMMdd HHmm')", at(2020, 5, 1, 12, 30)),
        ("to_timestamp('2020-05-01T10:00:00+02:00')", at(2020, 5, 1, 8)),
        ("unix_timestamp('2020-01-01', 'yyyy-MM-dd')", 1577836800),
        ("unix_timestamp(TIMESTAMP '1969-12-31 23:59:59.5')", 0),
        ("unix_seconds(TIMESTAMP '1969-12-31 23:59:59.5')", -1),
        ("from_unixtime(0)", "1970-01-01 00:00:00"),
        ("make_date(2020, 2, 29)", date(2020, 2, 29)),
        ("make_timestamp(2020, 1, 2, 3, 4, 5.678)", at(2020, 1, 2, 3, 4, 5, 678000)),
        ("timestamp_seconds(5.5D)", at(1970, 1, 1, 0, 0, 5, 500000)),
        ("timestampdiff(MONTH, '2020-01-31', '2020-02-29')", 0),
        ("timestampdiff(HOUR, '2020-01-01', '2020-01-02 05:59:00')", 29),
        ("datediff(DAY, DATE '2020-01-05', DATE '2020-01-01')", -4),
        ("timestampadd(MONTH, 1, DATE '2020-01-31')", at(2020, 2, 29)),
        ("dateadd(HOUR, 1, DATE '2020-01-01')", at(2020, 1, 1, 1)),
        ("TIMESTAMP '2020-01-31 00:00:00' + INTERVAL 1 MONTH", at(2020, 2, 29)),
        ("DATE '2020-01-01' + INTERVAL 5 MINUTES", at(2020, 1, 1, 0, 5)),
        ("DATE '2020-01-01' + INTERVAL 5 DAYS", date(2020, 1, 6)),
        ("DATE '2020-01-05' - DATE '2020-01-01'", timedelta(days=4)),
        ("INTERVAL 5 MINUTES / 0.7D", timedelta(seconds=428, microseconds=571429)),
        ("INTERVAL '1.000001' SECOND * 0.5D", timedelta(microseconds=500001)),
        ("INTERVAL '-1 2:03:04' DAY TO SECOND", -timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("'2020-01-01' + INTERVAL 1 DAY", "2020-01-02 00:00:00"),
        ("try_divide(INTERVAL 1 DAY, 0)", None),
        ("to_timestamp('2020-01-02 03:04:05.6', 'yyyy-MM-dd HH:mm:ss.SSSSSS')", SIX_TENTHS),
        ("to_timestamp('2020-01-02 03:04:05.6', 'yyyy-MM-dd[ HH:mm[:ss[.SSS]]]')", SIX_TENTHS),
        ("to_timestamp('2020-01-02', 'yyyy-MM-dd[ HH:mm[:ss[.SSS]]]')", at(2020, 1, 2)),
        ("to_timestamp('20200102030405600', 'yyyyMMddHHmmssSSS')", SIX_TENTHS),
        ("try_to_timestamp('2020010203040560', 'yyyyMMddHHmmssSSS')", None),
        ("to_date('2020[01', 'yyyy''[''MM')", date(2020, 1, 1)),
    ],
)
def test_functions(text: str, result: Any) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    ("pattern", "result"),
    [
        ("yyyy-MM-dd HH:mm:ss.SSS", "2020-05-06 07:08:09.123"),
        ("E EEEE MMM MMMM", "Wed Wednesday May May"),
        ("h:mm a", "7:08 AM"),
        ("yy D Q QQQ", "20 127 2 Q2"),
        ("yyyy-MM-dd''T''HH:mm:ssXXX", "2020-05-06T07:08:09Z"),
        ("d/M/y k K", "6/5/2020 7 7"),
        ("yyyyMMddHHmmssSSSSSS", "20200506070809123456"),
        ("yyyy[-MM[-dd]]", "2020-05-06"),
    ],
)
def test_date_format(pattern: str, result: str) -> None:
    assert value(f"date_format({MOMENT}, '{pattern}')") == result


@pytest.mark.parametrize(
    "text",
    [
        "make_date(2021, 2, 29)",
        "to_date('xx', 'yyyy')",
        "to_date('2020-02-30', 'yyyy-MM-dd')",
        "TIMESTAMP '9999-12-31 00:00:00' + INTERVAL '106751991' DAY * 2",
        "INTERVAL 5 MINUTES / 0",
        "date_format(DATE '2020-01-01', 'N')",
        "to_date('2020-01', 'yyyy-MM]')",
        "next_day(DATE '2020-01-01', 'XX')",
    ],
)
def test_what_has_no_value_is_an_error(text: str) -> None:
    with pytest.raises(EvaluationError):
        value(text)


def test_columns() -> None:
    times = [at(1969, 12, 31, 23, 59, 59, 999999), None, at(2024, 2, 29, 12)]
    assert values("year(t)", t=times) == [1969, None, 2024]
    assert values("date_trunc('hour', t)", t=times) == [
        at(1969, 12, 31, 23),
        None,
        at(2024, 2, 29, 12),
    ]
    assert values("CAST(t AS STRING)", t=times) == [
        "1969-12-31 23:59:59.999999",
        None,
        "2024-02-29 12:00:00",
    ]
    assert values("t + INTERVAL 1 DAY > '2024-01-01'", t=times) == [False, None, True]
