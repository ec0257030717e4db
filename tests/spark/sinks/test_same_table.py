"""Two results are in one table if the database says so, however its name is written: the second is
refused, whether it is of another run or of the same one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from driftline.cli.sinks import DeclaredSink, _apart
from driftline.plan.errors import PlanError
from driftline.running.problems import Problem
from driftline.spark.sinks import DuckDB, Postgres, SQLite
from driftline.spark.sinks.tables import PROGRESS
from tests.spark.saying import volumes
from tests.spark.sinks.postgres_server import server

psycopg = pytest.importorskip("psycopg")
duckdb = pytest.importorskip("duckdb")

NAMES = [
    "totals",
    "Totals",
    "TOTALS",
    "public.totals",
    "public.Totals",
    "other.totals",
    "main.totals",
]
RUNS = st.sampled_from(["one", "two"])


def is_refused(first: Any, second: Any, run: str) -> bool:
    update = volumes(100)[0]
    first(replace(update, run="one"))
    try:
        second(replace(update, run=run))
    except PlanError as error:
        assert "holds the results of another query" in str(error)  # noqa: PT017
        return True
    return False


def is_refused_before(kind: str, place: dict[str, str], names: list[str]) -> bool:
    declared = [DeclaredSink({"type": kind, "table": name, **place}) for name in names]
    try:
        _apart(dict(zip("ab", declared, strict=True)))
    except Problem:
        return True
    return False


@given(first=st.sampled_from(NAMES), second=st.sampled_from(NAMES), run=RUNS)
@example(first="totals", second="Totals", run="two")
@settings(max_examples=15, deadline=None)
def test_files(tmp_path_factory: pytest.TempPathFactory, first: str, second: str, run: str) -> None:
    if first == second and run == "one":
        return
    folder = tmp_path_factory.mktemp("same")
    lite, duck = str(folder / "lite"), str(folder / "duck")
    refused = is_refused(SQLite(lite, first), SQLite(lite, second), run)
    connection = sqlite3.connect(lite)
    query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name <> ?"
    assert refused == (connection.execute(query, [PROGRESS]).fetchone() == (1,))
    connection.close()
    assert is_refused_before("sqlite", {"path": lite}, [first, second]) == refused
    refused = is_refused(DuckDB(duck, first), DuckDB(duck, second), run)
    with duckdb.connect(duck) as connection:
        query = "SELECT count(*) FROM information_schema.tables WHERE table_name <> ?"
        assert refused == (connection.execute(query, [PROGRESS]).fetchone() == (1,))
    assert is_refused_before("duckdb", {"path": duck}, [first, second]) == refused


@pytest.fixture(scope="module")
def conninfo() -> Iterator[str]:
    with server() as found:
        with psycopg.connect(found) as connection:
            connection.execute("CREATE SCHEMA other; CREATE SCHEMA main")
        yield found


@given(first=st.sampled_from(NAMES), second=st.sampled_from(NAMES), run=RUNS)
@example(first="totals", second="public.totals", run="two")
@example(first="public.totals", second="totals", run="one")
@settings(max_examples=15, deadline=None)
def test_postgres(conninfo: str, first: str, second: str, run: str) -> None:
    if first == second and run == "one":
        return
    refused = is_refused(Postgres(conninfo, first), Postgres(conninfo, second), run)
    assert is_refused_before("postgres", {"url": conninfo}, [first, second]) == refused
    with psycopg.connect(conninfo) as connection:
        query = "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables"
        made = connection.execute(f"{query} WHERE lower(tablename) = 'totals'").fetchall()
        for (table,) in made:
            connection.execute(f"DROP TABLE {table}")
        connection.execute(f"DROP TABLE {PROGRESS}")
    assert refused == (len(made) == 1)


def test_who_connects_does_not_matter() -> None:
    urls = ["postgresql://me:secret@host/db", "postgresql://you@host/db", "host=host dbname=db"]
    tables = {DeclaredSink({"type": "postgres", "url": url}).table("t") for url in urls}
    assert len(tables) == 1
    other = DeclaredSink({"type": "postgres", "url": "postgresql://me@host/other"})
    assert other.table("t") not in tables


def test_a_link_to_a_database(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    places = [{"path": str(tmp_path / name)} for name in ("link", "real")]
    assert len({DeclaredSink({"type": "sqlite", **place}).table("T") for place in places}) == 1
