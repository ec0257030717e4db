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
    rows = rows_of(7)
    for name, columns in TABLES.items():
        schema = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        spark.createDataFrame(
            [tuple(row.values()) for row in rows[name]], schema
        ).createOrReplaceTempView(name)
    wrong = []
    for seed in range(QUERIES):
        sql = Queries(seed).query().sql
        expected = Counter(tuple(row) for row in spark.sql(sql).collect())
        if (said := driftline_says(sql, rows)) != expected:
            wrong.append(f"{seed}: {sql}\n  says {said}\n  Spark {expected}")
    assert not wrong, "\n".join(wrong)
