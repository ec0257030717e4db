"""The columns of DataFrames with the types of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import functions as f

from driftline.plan.errors import PlanError
from driftline.plan.types import parse_type
from driftline.spark.columns import typed

pytestmark = pytest.mark.spark

MISFIT = "does not fit"


@pytest.fixture(params=[True, False])
def session(spark: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """In ANSI mode, and not."""
    spark.conf.set("spark.sql.ansi.enabled", str(request.param).lower())
    yield spark
    spark.conf.unset("spark.sql.ansi.enabled")


def values(spark: Any, expression: str, kind: str) -> list[Any]:
    frame = spark.sql(f"SELECT explode(array({expression})) AS x")
    column, misfits = typed(frame["x"], frame.schema["x"].dataType, parse_type(kind), "x", "s")
    rows = frame.select(column, f.lit(False) if misfits is None else misfits).collect()
    return [MISFIT if row[1] else row[0] for row in rows]


@pytest.mark.parametrize(
    ("expression", "kind", "wanted"),
    [
        ("1, NULL", "INT", [1, None]),
        ("1, NULL", "BIGINT", [1, None]),
        ("1L, -5L", "TINYINT", [1, -5]),
        ("2.0D, 3D", "INT", [2, 3]),
        ("2.0, 3.0", "SMALLINT", [2, 3]),
        ("'7', NULL", "INT", [7, None]),
        ("1, 2", "STRING", ["1", "2"]),
        ("'1.20', ' 7 ', '1e1'", "DECIMAL(5,1)", [Decimal("1.2"), Decimal(7), Decimal(10)]),
        ("1.5D, 0.1D", "DECIMAL(5,2)", [Decimal("1.50"), Decimal("0.10")]),
        ("float('0.1')", "DECIMAL(5,2)", [Decimal("0.10")]),
        ("' 7 '", "INT", [7]),
        ("NULL", "INT", [None]),
        ("array(1L, NULL)", "ARRAY<INT>", [[1, None]]),
        ("map('1', 2L)", "MAP<INT, INT>", [{1: 2}]),
    ],
)
def test_what_fits(session: Any, expression: str, kind: str, wanted: list[Any]) -> None:
    assert values(session, expression, kind) == wanted


def test_structs_go_by_name(session: Any) -> None:
    structs = "named_struct('B', 1, 'a', 2L, 'more', 3), NULL"
    first, second = values(session, structs, "STRUCT<a: INT, b: INT, c: STRING>")
    assert first.asDict() == {"a": 2, "b": 1, "c": None}
    assert second is None
    (inside,) = values(session, f"array({structs})", "ARRAY<STRUCT<a: INT, b: STRING>>")
    assert [item and item.asDict() for item in inside] == [{"a": 2, "b": "1"}, None]


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("NULL, 5000000000", "INT"),
        ("NULL, 1.5", "INT"),
        ("NULL, 1.5D", "BIGINT"),
        ("NULL, double('NaN')", "INT"),
        ("NULL, 'many'", "INT"),
        ("NULL, 'many'", "TIMESTAMP"),
        ("NULL, 123.4", "DECIMAL(3,1)"),
        ("NULL, '1.255'", "DECIMAL(10,2)"),
        ("NULL, ' 12.55e-1 '", "DECIMAL(10,2)"),
        ("NULL, 1.255", "DECIMAL(10,2)"),
        ("NULL, 1.255D", "DECIMAL(10,2)"),
        ("NULL, array('7', 'many')", "ARRAY<INT>"),
        ("NULL, array(array('many'))", "ARRAY<ARRAY<INT>>"),
        ("NULL, map('many', '1')", "MAP<INT, INT>"),
        ("NULL, map('1', 'many')", "MAP<INT, INT>"),
        ("NULL, named_struct('a', 300)", "STRUCT<a: TINYINT>"),
        ("NULL, named_struct('a', array(300))", "STRUCT<a: ARRAY<TINYINT>>"),
    ],
)
def test_a_value_that_does_not_fit(session: Any, expression: str, kind: str) -> None:
    assert values(session, expression, kind) == [None, MISFIT]


@pytest.mark.parametrize(
    ("expression", "kind", "said"),
    [
        ("X'00'", "INT", "the column x of s is a BINARY, which cannot be a INT"),
        ("struct(1 AS a)", "INT", "is a STRUCT<A:INT>, which cannot be a INT"),
        ("array(true)", "ARRAY<TIMESTAMP>", "is a ARRAY<BOOLEAN>, which cannot be a ARRAY"),
        ("map('a', X'00')", "MAP<STRING, INT>", "cannot be a MAP"),
        ("struct(X'00' AS a)", "STRUCT<a: INT>", "cannot be a STRUCT"),
    ],
)
def test_types_that_cannot_be(spark: Any, expression: str, kind: str, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        values(spark, expression, kind)
