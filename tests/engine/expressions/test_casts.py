"""CAST and TRY_CAST, by examples that were asked of Spark 4.3."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.expressions import EvaluationError, evaluate
from driftline.plan import Schema, parse_expression
from driftline.plan.expressions import Cast, Column
from tests.engine.of_rows import value, values


def at(*fields: int) -> datetime:
    return datetime(*fields, tzinfo=UTC)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("CAST(' 12 ' AS INT)", 12),
        ("CAST(CAST('-0.99999999999999999999999' AS DECIMAL(38, 38)) AS INT)", -1),
        ("CAST(CAST('0.99' AS DECIMAL(18, 2)) AS INT)", 0),
        ("CAST(CAST('0.99999999999999999999999' AS DECIMAL(38, 38)) AS BIGINT)", 0),
        ("CAST('٣.٣e٢' AS DECIMAL(8, 1))", Decimal("330.0")),
        ("CAST(CAST('1.4e-45' AS FLOAT) AS STRING)", "1.4E-45"),
        ("CAST(5e-324D AS STRING)", "4.9E-324"),
        ("CAST('+5' AS INT)", 5),
        ("'12'::INT + 1", 13),
        ("CAST(1.9 AS INT)", 1),
        ("CAST(-1.9D AS INT)", -1),
        ("CAST(TRUE AS INT)", 1),
        ("CAST(0 AS BOOLEAN)", False),
        ("CAST(' T ' AS BOOLEAN)", True),
        ("CAST('1d' AS DOUBLE)", 1.0),
        ("CAST('-Infinity' AS DOUBLE)", -math.inf),
        ("CAST(9007199254740993L AS DOUBLE)", 9007199254740992.0),
        ("CAST('12345.678' AS DECIMAL(10,2))", Decimal("12345.68")),
        ("CAST('1e3' AS DECIMAL(10,2))", Decimal("1000.00")),
        ("CAST(1.005D AS DECIMAL(5,2))", Decimal("1.01")),
        ("CAST(CAST('NaN' AS DOUBLE) AS DECIMAL(5,2))", None),
        ("CAST(1.0D AS STRING)", "1.0"),
        ("CAST(1e7D AS STRING)", "1.0E7"),
        ("CAST(1e-4D AS STRING)", "1.0E-4"),
        ("CAST(0.001D AS STRING)", "0.001"),
        ("CAST(-0.0D AS STRING)", "-0.0"),
        ("CAST(1.5F AS STRING)", "1.5"),
        ("CAST(0.0000001 AS STRING)", "0.0000001"),
        ("CAST(1.50 AS STRING)", "1.50"),
        ("CAST(TIMESTAMP '2020-01-01 00:00:00.120' AS STRING)", "2020-01-01 00:00:00.12"),
        ("CAST(CAST('-2020-01-01' AS DATE) AS STRING)", "-2020-01-01"),
        ("CAST(CAST('12020-01-01' AS DATE) AS STRING)", "+12020-01-01"),
        ("CAST(array(1, NULL) AS STRING)", "[1, null]"),
        ("CAST(struct(1, 'a') AS STRING)", "{1, a}"),
        ("CAST(map('a', 1) AS STRING)", "{a -> 1}"),
        ("CAST(array(1, 2) AS ARRAY<STRING>)", ["1", "2"]),
        ("CAST(named_struct('a', 1) AS STRUCT<b: BIGINT>)", {"b": 1}),
        ("CAST('2020-1-5' AS DATE)", date(2020, 1, 5)),
        ("CAST('2020' AS DATE)", date(2020, 1, 1)),
        ("CAST('2020-01-05T10' AS DATE)", date(2020, 1, 5)),
        ("CAST('2020-01-01 1:2:3.5' AS TIMESTAMP)", at(2020, 1, 1, 1, 2, 3, 500000)),
        ("CAST('2020-01-01T10:20:30+01:00' AS TIMESTAMP)", at(2020, 1, 1, 9, 20, 30)),
        ("CAST('2020-01-01 10:20:30 Europe/Berlin' AS TIMESTAMP)", at(2020, 1, 1, 9, 20, 30)),
        ("CAST(TIMESTAMP '1969-12-31 23:59:59.5' AS BIGINT)", -1),
        ("CAST(TIMESTAMP '1969-12-31 23:59:59.5' AS DOUBLE)", -0.5),
        ("CAST(5.5 AS TIMESTAMP)", at(1970, 1, 1, 0, 0, 5, 500000)),
        ("CAST(TIMESTAMP '1969-12-31 23:59:59.5' AS DATE)", date(1969, 12, 31)),
        ("CAST('abc' AS BINARY)", b"abc"),
        ("CAST(X'6162' AS STRING)", "ab"),
        ("TRY_CAST('abc' AS INT)", None),
        ("TRY_CAST(300 AS TINYINT)", None),
        ("TRY_CAST('2020-13-01' AS DATE)", None),
        ("TRY_CAST(123456 AS DECIMAL(5,2))", None),
    ],
)
def test_casts(text: str, result: Any) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("CAST('abc' AS INT)", "CAST_INVALID_INPUT"),
        ("CAST('1.5' AS INT)", "CAST_INVALID_INPUT"),
        ("CAST('' AS DOUBLE)", "CAST_INVALID_INPUT"),
        ("CAST('maybe' AS BOOLEAN)", "CAST_INVALID_INPUT"),
        ("CAST('2020-02-30' AS DATE)", "CAST_INVALID_INPUT"),
        ("CAST('2020-01-01 10:05Z' AS TIMESTAMP)", "CAST_INVALID_INPUT"),
        ("CAST(300 AS TINYINT)", "CAST_OVERFLOW"),
        ("CAST(1e20 AS INT)", "CAST_OVERFLOW"),
        ("CAST(CAST('NaN' AS DOUBLE) AS INT)", "CAST_OVERFLOW"),
        ("CAST(123456 AS DECIMAL(5,2))", "NUMERIC_VALUE_OUT_OF_RANGE"),
        ("'a' = 1", "CAST_INVALID_INPUT"),
        ("CAST('10:20:30' AS TIMESTAMP)", "CAST_INVALID_INPUT"),
    ],
)
def test_what_cannot_be_cast_is_an_error(text: str, condition: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        value(text)
    assert caught.value.condition == condition


def test_an_error_shows_the_value() -> None:
    with pytest.raises(EvaluationError, match="the value 'x' of type STRING cannot be cast to INT"):
        values("CAST(s AS INT)", s=["1", "x"])


def test_columns_in_plain_and_in_other_forms() -> None:
    assert values("CAST(s AS INT)", s=["1", "-2", None]) == [1, -2, None]
    assert values("TRY_CAST(s AS INT)", s=["1", " 2 ", "x", None]) == [1, 2, None, None]
    assert values("CAST(s AS DATE)", s=["2020-02-29", None]) == [date(2020, 2, 29), None]
    assert values("CAST(s AS DATE)", s=["2020-2-9", None]) == [date(2020, 2, 9), None]
    assert values("CAST(x AS STRING)", x=[1.0, 1e8, None, 0.25]) == ["1.0", "1.0E8", None, "0.25"]
    assert values("CAST(x AS DECIMAL(6,2))", x=[1.005, 2.0, None]) == [
        Decimal("1.01"),
        Decimal("2.00"),
        None,
    ]


def test_a_map_that_is_null_stays_null() -> None:
    maps = pa.array(
        [[("a", 1)], None, [], [("b", None), ("c", 3)]], pa.map_(pa.string(), pa.int32())
    )
    target = pa.map_(pa.string(), pa.int64())
    found = evaluate(Cast(Column("m", maps.type), target), pa.table({"m": maps}))
    assert found.to_pylist() == [[("a", 1)], None, [], [("b", None), ("c", 3)]]
    part = evaluate(Cast(Column("m", maps.type), target), pa.table({"m": maps.slice(1)}))
    assert part.to_pylist() == [None, [], [("b", None), ("c", 3)]]


def test_a_text_of_38_digits_is_a_decimal() -> None:
    text = "9999999999999999999999999999.5000000000"
    assert value(f"CAST('{text}' AS DECIMAL(38,10))") == Decimal(text)


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=40))
def test_an_error_says_in_what_and_for_which_row(values: list[int]) -> None:
    rows = pa.table({"x": values, "k": [f"k{place}" for place in range(len(values))]})
    test = parse_expression("10 % x + length(k)", Schema.from_arrow(rows.schema))
    if 0 not in values:
        evaluate(test, rows)
        return
    first = values.index(0)
    for columns in (rows, rows.to_batches()[0]):
        with pytest.raises(EvaluationError) as error:
            evaluate(test, columns)
        assert str(error.value).endswith(f"where k = 'k{first}', x = 0)")
        assert str(error.value).count("where k") == 1
