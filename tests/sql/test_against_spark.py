"""A query without brackets says in the end what Spark SQL says of the table of all rows."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

import driftline as dl
from tests.sql.random_queries import TABLES, Queries

pytestmark = pytest.mark.spark

QUERIES = 30
STREAMS = "".join(
    f"CREATE STREAM {name} ({', '.join(f'{c} {kind}' for c, kind in columns.items())});\n"
    for name, columns in TABLES.items()
)


WINDOWED = [
    "sum(x) OVER (PARTITION BY k ORDER BY y)",
    "avg(y) OVER (ORDER BY y RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)",
    "count(*) OVER (PARTITION BY k)",
    "max(x) OVER (ORDER BY y DESC NULLS FIRST RANGE BETWEEN 2 PRECEDING AND 1 PRECEDING)",
    "min(y) OVER (ORDER BY k, x, y ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
    "count(x) FILTER (WHERE x > 0) OVER (ORDER BY y)",
    "first_value(x) IGNORE NULLS OVER (ORDER BY k, y, x)",
    "last_value(x) OVER (ORDER BY k, y, x ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
    "nth_value(x, 2) OVER (ORDER BY k, y, x)",
    "lag(x, 2, -5) OVER (PARTITION BY k ORDER BY y, x)",
    "lead(k) OVER (ORDER BY k, y, x)",
    "lag(x, -1, 0.5) OVER (ORDER BY k, y, x)",
    "x - sum(x) OVER (ORDER BY x RANGE BETWEEN CURRENT ROW AND 1 FOLLOWING)",
]
"""Window functions of t that have one answer, whatever the order of equal rows."""


def rows_of(seed: int) -> dict[str, list[dict[str, Any]]]:
    random = Random(seed)

    def value(kind: str) -> Any:
        if random.random() < 0.15:
            return None
        return random.choice("abc") if kind == "STRING" else random.randint(-1, 3)

    return {
        name: [{column: value(kind) for column, kind in columns.items()} for _ in range(size)]
        for (name, columns), size in zip(TABLES.items(), (9, 7), strict=True)
    }


def driftline_says(sql: str, rows: dict[str, list[dict[str, Any]]]) -> Counter[Any]:
    query = dl.sql(STREAMS + sql)
    inputs = {
        name: [dl.Insert(number, dl.INFINITY, dl.Row(row)) for number, row in enumerate(rows[name])]
        for name in query.plan.sources()
    }
    history = query.run(inputs, batch=3).history().to_pylist()
    return Counter(
        tuple(value for name, value in row.items() if name not in ("vs", "ve"))
        for row in history
        if row["ve"] is None
    )


def test_random_queries(spark: Any) -> None:
    compare(spark, [Queries(seed).query().sql for seed in range(QUERIES)])


def test_window_functions(spark: Any) -> None:
    compare(spark, [f"SELECT k, x, y, {each} AS w FROM t" for each in WINDOWED])


def compare(spark: Any, queries: list[str]) -> None:
    rows = rows_of(7)
    for name, columns in TABLES.items():
        schema = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        spark.createDataFrame(
            [tuple(row.values()) for row in rows[name]], schema
        ).createOrReplaceTempView(name)
    wrong = []
    for number, sql in enumerate(queries):
        expected = Counter(tuple(row) for row in spark.sql(sql).collect())
        if (said := driftline_says(sql, rows)) != expected:
            wrong.append(f"{number}: {sql}\n  says {said}\n  Spark {expected}")
    assert not wrong, "\n".join(wrong)
