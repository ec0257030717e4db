"""Whatever the year of a date or a timestamp is, a table has it, or its sink refuses it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.event_log.text import moments_text
from driftline.plan.errors import PlanError
from driftline.spark.sinks import Delta, DuckDB, Postgres, SQLite
from tests.spark.saying import emitted
from tests.spark.sinks.postgres_server import server

psycopg = pytest.importorskip("psycopg")
duckdb = pytest.importorskip("duckdb")
deltalake = pytest.importorskip("deltalake")

Row = tuple[int, int]
STREAM = dl.stream(
    "s", {"k": "BIGINT", "moment": "TIMESTAMP", "day": "DATE", "t": "BIGINT"}, time="t"
)
YEAR_67562 = 2_069_901_860_767_000_000
"""+67562-03-04T05:06:07Z, which is 2026 in 16 bits."""

MOMENTS = [0, -1, YEAR_67562, -62_135_596_800_000_001, -62_167_219_200_000_001,
           253_402_300_800_000_000, 2**62, -(2**62), 2**63 - 2, 2**63 - 1, -(2**63)]  # fmt: skip
DAYS = [0, 23_957_000, -719_163, -719_529, 2_932_897, -(2**20), 2**22, 2**30, 2**31 - 1, -(2**31)]
ROWS = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(MOMENTS), st.integers(-(2**63), 2**63 - 1)),
        st.one_of(st.sampled_from(DAYS), st.integers(-(2**31), 2**31 - 1)),
    ),
    min_size=1,
    max_size=4,
    unique_by=(lambda row: row[0], lambda row: row[1]),
)
BORDERS = [(moment, DAYS[place % len(DAYS)]) for place, moment in enumerate(MOMENTS)]


def table(rows: list[Row], first: int = 0) -> pa.Table:
    places = pa.array(range(first, first + len(rows)), pa.int64())
    moments = pa.array([moment for moment, _ in rows], pa.int64()).cast(pa.timestamp("us", "UTC"))
    days = pa.array([day for _, day in rows], pa.int32()).cast(pa.date32())
    return pa.table({"k": places, "moment": moments, "day": days, "t": places})


def numbers(found: pa.Table) -> list[Row]:
    return [
        (row["m"], row["d"])
        for row in pa.table(
            {"m": found.column("moment").cast(pa.int64()), "d": found.column("day").cast("int32")}
        ).to_pylist()
    ]


def in_duckdb(path: Path) -> list[Row]:
    with duckdb.connect(str(path)) as connection:
        return numbers(connection.sql("SELECT moment, day FROM t").to_arrow_table())


def in_sqlite(path: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    found = connection.execute("SELECT moment, day FROM t").fetchall()
    connection.close()
    return found


def in_postgres(conninfo: str, name: str) -> list[Row]:
    since = "extract(epoch FROM moment - TIMESTAMPTZ '1970-01-01Z')"  # which is exact
    query = f"SELECT ({since} * 1000000)::numeric(20), day - DATE '1970-01-01' FROM"
    with psycopg.connect(conninfo) as connection:
        found = connection.execute(f"{query} {name}").fetchall()
    return [(int(moment), day) for moment, day in found]


@pytest.fixture(scope="module")
def conninfo() -> Iterator[str]:
    with server() as found:
        yield found


KEYS = st.sampled_from([[], ["k"], ["moment"], ["day"]])


def write(sink: Any, rows: list[Row], keys: list[str]) -> bool:
    """Whether a sink has taken rows, all at once; those of another key it takes only once."""
    try:
        for update in emitted({"result": STREAM}, {"s": table(rows)}, len(rows)):
            sink(update)
    except PlanError as error:
        assert "\n" not in str(error)  # noqa: PT017 - what is written is compared
        assert any(word in str(error) for word in ("out of range", "years 0001 to 9999")), error  # noqa: PT017
        return False
    if keys and keys != ["k"]:
        both = pa.concat_tables([table(rows), table(rows, len(rows))])
        _, again, *_ = emitted({"result": STREAM}, {"s": both}, len(rows))
        with pytest.raises(PlanError, match="two current rows have the key"):
            sink(replace(again, batch_id=9))
    return True


@given(rows=ROWS, keys=KEYS)
@example(rows=[(YEAR_67562, 0)], keys=[])
@example(rows=BORDERS[:10], keys=["moment"])
@settings(max_examples=25, deadline=None)
def test_tables_of_files(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], keys: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("far")
    assert write(DuckDB(folder / "d", "t", keys=keys), rows, keys)
    assert sorted(in_duckdb(folder / "d")) == sorted(rows)
    assert write(SQLite(folder / "s", "t", keys=keys), rows, keys)
    columns = table(rows)
    texts: Callable[[str], list[str]] = lambda name: moments_text(  # noqa: E731
        columns.column(name).combine_chunks()
    ).to_pylist()
    assert sorted(in_sqlite(folder / "s")) == sorted(
        zip(texts("moment"), texts("day"), strict=True)
    )
    if write(Delta(str(folder / "delta"), keys=keys), rows, keys):
        found = deltalake.DeltaTable(str(folder / "delta")).to_pyarrow_table()
        assert sorted(numbers(found)) == sorted(rows)


@given(rows=ROWS, keys=KEYS)
@example(rows=[(YEAR_67562, 0)], keys=[])
@example(rows=[(-62_167_219_200_000_001, -719_529), (0, -719_163)], keys=["moment"])
@settings(max_examples=25, deadline=None)
def test_postgres(conninfo: str, rows: list[Row], keys: list[str]) -> None:
    name = f"far_{uuid4().hex}"
    taken = write(Postgres(conninfo, name, keys), rows, keys)
    fit = all(
        moment >= MOMENTS_BC_4713 and -2_440_588 <= day < 2_145_031_949 for moment, day in rows
    )
    assert taken == fit
    if taken:
        assert sorted(in_postgres(conninfo, name)) == sorted(rows)


MOMENTS_BC_4713 = -210_866_803_200_000_000
"""The first one that PostgreSQL has."""
