"""All queries of TPC-H as streams, in any order of arrival, against DuckDB over the same tables."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import driftline as dl
from tests.sql.tpch import QUERIES, STREAMS, TABLES, Rows, tables

LAST = 1_000
"""Rows come to life before this time, in no order."""


@pytest.fixture(scope="module")
def rows() -> dict[str, Rows]:
    return tables(Random(1))


@pytest.fixture(scope="module")
def database(rows: dict[str, Rows]) -> Any:
    connection = duckdb.connect()
    for name in TABLES:
        schema = dl.sql(f"{STREAMS} SELECT * FROM {name}").schema.arrow
        columns = [list(values) for values in zip(*rows[name], strict=True)]
        connection.from_arrow(pa.table(columns, schema=schema)).create(name)
    return connection


def arriving(name: str, rows: Rows, random: Random) -> list[Any]:
    """The rows as events in a random order; others come among them and are taken back later."""

    def insert(row: tuple[Any, ...]) -> dl.Insert:
        payload = dl.Row(dict(zip(TABLES[name], row, strict=True)))
        return dl.Insert(random.randrange(LAST), dl.INFINITY, payload)

    wrong = [insert(row) for row in tables(Random(2))[name] if random.random() < 0.2]
    events: list[Any] = [*map(insert, rows), *wrong]
    random.shuffle(events)
    taken_back = [dl.Retract(each.vs, each.ve, each.vs, each.row) for each in wrong]
    random.shuffle(taken_back)
    return events + taken_back


def in_order(rows: Any) -> list[list[Any]]:
    plain = [
        [float(each) if isinstance(each, (Decimal, int)) else each for each in row] for row in rows
    ]
    return sorted(
        plain,
        key=lambda row: [f"{each:.3f}" if isinstance(each, float) else str(each) for each in row],
    )


@pytest.mark.parametrize("name", QUERIES)
def test_the_end_of_the_streams_is_the_answer_for_the_tables(
    name: str, rows: dict[str, Rows], database: Any
) -> None:
    random = Random(name)
    query = dl.sql(STREAMS + QUERIES[name])
    inputs = {each: arriving(each, rows[each], random) for each in query.plan.sources()}
    history = query.run(inputs, batch=200, emit=random.choice(["eager", "ordered", "perfect"]))
    emitted = [
        [value for column, value in row.items() if column not in ("vs", "ve")]
        for row in history.history().to_pylist()
        if row["ve"] is None
    ]
    expected = in_order(database.execute(QUERIES[name]).fetchall())
    assert expected
    assert len(emitted) == len(expected)
    for one, other in zip(in_order(emitted), expected, strict=True):
        assert one == [
            pytest.approx(each, rel=1e-5, abs=1e-5) if isinstance(each, float) else each
            for each in other
        ]
