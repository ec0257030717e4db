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
TIMES = (250, 500, 800)
"""At these, too, the answer is compared."""


class Arrivals:
    """The rows of all tables; DuckDB has them, too, with when each is there: `vs` and `ve`."""

    def __init__(self) -> None:
        self.rows, self.others = tables(Random(1)), tables(Random(2))
        self.database = duckdb.connect()
        self.names: list[str] = []

    def of(self, names: Iterable[str], random: Random) -> dict[str, list[Any]]:
        """Rows as events in a random order. Others come among them: some are taken back later, and
        others deleted at some time."""
        self.names = list(names)
        return {name: self._of(name, random) for name in self.names}

    def _of(self, name: str, random: Random) -> list[Any]:
        def insert(row: tuple[Any, ...]) -> dl.Insert:
            payload = dl.Row(dict(zip(TABLES[name], row, strict=True)))
            return dl.Insert(random.randrange(LAST), dl.INFINITY, payload)

        right = [insert(row) for row in self.rows[name]]
        wrong = [insert(row) for row in self.others[name] if random.random() < 0.2]
        gone = [insert(row) for row in self.others[name] if random.random() < 0.3]
        ends = [(each, each.vs) for each in wrong]
        ends += [(each, random.randrange(each.vs + 1, LAST + 1)) for each in gone]
        events: list[Any] = [*right, *wrong, *gone]
        random.shuffle(events)
        taken_back = [dl.Retract(each.vs, each.ve, vn, each.row) for each, vn in ends]
        random.shuffle(taken_back)
        there = [(each, dl.INFINITY) for each in right] + ends[len(wrong) :]
        self._create(name, [(each.row, each.vs, ve) for each, ve in there])
        return events + taken_back

    def _create(self, name: str, rows: list[tuple[dl.Row, int, int]]) -> None:
        """Give DuckDB a table, with when its rows are there."""
        schema = dl.sql(f"{STREAMS} SELECT * FROM {name}").schema.arrow
        columns = [[row[column] for row, _, _ in rows] for column in schema.names]
        times = [pa.array([row[place] for row in rows], pa.int64()) for place in (1, 2)]
        table = pa.table(columns, schema=schema)
        for column, values in zip(("vs", "ve"), times, strict=True):
            table = table.append_column(column, values)
        self.database.execute(f"DROP TABLE IF EXISTS all_{name} CASCADE")
        self.database.from_arrow(table).create(f"all_{name}")

    def check(self, name: str, history: pa.Table) -> None:
        """That the answer to a query is DuckDB's, at some times and in the end."""
        rows = history.to_pylist()
        found = 0
        for time in (*TIMES, LAST):
            for each in self.names:
                self.database.execute(
                    f"CREATE OR REPLACE VIEW {each} AS SELECT * EXCLUDE (vs, ve) FROM all_{each} "
                    f"WHERE vs <= {time} AND {time} < ve"
                )
            alive = [
                row for row in rows if row["vs"] <= time and (row["ve"] is None or time < row["ve"])
            ]
            found += self._check(name, alive)
        assert found

    def _check(self, name: str, rows: list[dict[str, Any]]) -> int:
        emitted = [
            [value for column, value in row.items() if column not in ("vs", "ve")] for row in rows
        ]
        expected = _in_order(self.database.execute(QUERIES[name]).fetchall())
        expected = [row for row in expected if row != [None] * len(row)]  # of nothing at all
        assert len(emitted) == len(expected)
        for one, other in zip(_in_order(emitted), expected, strict=True):
            assert one == [
                pytest.approx(each, rel=1e-5, abs=1e-5) if isinstance(each, float) else each
                for each in other
            ]
        return len(expected)


def _in_order(rows: Any) -> list[list[Any]]:
    plain = [
        [float(each) if isinstance(each, (Decimal, int)) else each for each in row] for row in rows
    ]
    return sorted(
        plain,
        key=lambda row: [f"{each:.3f}" if isinstance(each, float) else str(each) for each in row],
    )
