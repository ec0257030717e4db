"""The tables of TPC-H as streams of events in a random order, and DuckDB's answers for them."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import driftline as dl
from tests.sql.tpch import QUERIES, STREAMS, TABLES, tables

LAST = 1_000
"""Rows come to life before this time, in no order."""


class Arrivals:
    """The rows of all tables; DuckDB has them, too."""

    def __init__(self) -> None:
        self.rows = tables(Random(1))
        self.database = duckdb.connect()
        for name in TABLES:
            schema = dl.sql(f"{STREAMS} SELECT * FROM {name}").schema.arrow
            columns = [list(values) for values in zip(*self.rows[name], strict=True)]
            self.database.from_arrow(pa.table(columns, schema=schema)).create(name)

    def of(self, names: Iterable[str], random: Random) -> dict[str, list[Any]]:
        """Rows as events in a random order; others come among them and are taken back later."""
        return {name: self._of(name, random) for name in names}

    def _of(self, name: str, random: Random) -> list[Any]:
        def insert(row: tuple[Any, ...]) -> dl.Insert:
            payload = dl.Row(dict(zip(TABLES[name], row, strict=True)))
            return dl.Insert(random.randrange(LAST), dl.INFINITY, payload)

        wrong = [insert(row) for row in tables(Random(2))[name] if random.random() < 0.2]
        events: list[Any] = [*map(insert, self.rows[name]), *wrong]
        random.shuffle(events)
        taken_back = [dl.Retract(each.vs, each.ve, each.vs, each.row) for each in wrong]
        random.shuffle(taken_back)
        return events + taken_back

    def check(self, name: str, history: pa.Table) -> None:
        """That the rows without an end are DuckDB's answer to a query."""
        emitted = [
            [value for column, value in row.items() if column not in ("vs", "ve")]
            for row in history.to_pylist()
            if row["ve"] is None
        ]
        expected = _in_order(self.database.execute(QUERIES[name]).fetchall())
        assert expected
        assert len(emitted) == len(expected)
        for one, other in zip(_in_order(emitted), expected, strict=True):
            assert one == [
                pytest.approx(each, rel=1e-5, abs=1e-5) if isinstance(each, float) else each
                for each in other
            ]


def _in_order(rows: Any) -> list[list[Any]]:
    plain = [
        [float(each) if isinstance(each, (Decimal, int)) else each for each in row] for row in rows
    ]
    return sorted(
        plain,
        key=lambda row: [f"{each:.3f}" if isinstance(each, float) else str(each) for each in row],
    )
