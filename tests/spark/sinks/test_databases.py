from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import driftline as dl
from driftline.plan.errors import PlanError
from driftline.spark.history import as_of
from driftline.spark.sinks import DuckDB, Memory, OneResult, SQLite
from driftline.spark.sinks.databases import Database
from driftline.spark.views import ViewName
from tests.spark.saying import CURRENT, EVENTS, TRADES, VOLUME, coalesced, emitted, volumes
from tests.spark.sinks import writing

duckdb = pytest.importorskip("duckdb")

Rows = Callable[[Path, str], list[dict[str, Any]]]


def in_duckdb(path: Path, table: str) -> list[dict[str, Any]]:
    with duckdb.connect(str(path)) as connection:
        name = table.replace('"', '""')
        found: list[dict[str, Any]] = (
            connection.sql(f'SELECT * FROM "{name}"').to_arrow_table().to_pylist()
        )
    return sorted(found, key=str)


def in_sqlite(path: Path, table: str) -> list[dict[str, Any]]:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    name = table.replace('"', '""')
    found = [dict(row) for row in connection.execute(f'SELECT * FROM "{name}"')]
    connection.close()
    return sorted(found, key=str)


VIEWS: tuple[ViewName, ...] = ("changes", "history")
BOTH = pytest.mark.parametrize(("kind", "rows"), [(DuckDB, in_duckdb), (SQLite, in_sqlite)])


@BOTH
def test_current_values_after_every_micro_batch(
    kind: type[Database], rows: Rows, tmp_path: Path
) -> None:
    memory, path = Memory(), tmp_path / "db"
    for each in writing.steps():
        memory(each)
        kind(path, keys=["SYMBOL"])(each)
        kind(path, keys=["symbol"])(each)  # comes again after a crash
        history = memory.history().to_pylist()
        alive = [line for line in history if line.pop("vs") is not None and line.pop("ve") is None]
        assert rows(path, "result") == sorted(alive, key=str)


@BOTH
@pytest.mark.parametrize("batch", [1, 2, 100])
def test_nulls_in_a_key(kind: type[Database], rows: Rows, tmp_path: Path, batch: int) -> None:
    for each in volumes(batch):
        kind(tmp_path / "db", "volume", keys=["symbol"])(each)
    assert rows(tmp_path / "db", "volume") == sorted(CURRENT, key=str)


@BOTH
def test_views_that_are_appended(kind: type[Database], rows: Rows, tmp_path: Path) -> None:
    memory, path = Memory(), tmp_path / "db"
    for each in volumes(1):
        memory(each)
        for view in VIEWS:
            kind(path, view, view=view)(each)
            kind(path, view, view=view)(each)
        expected = coalesced(memory.history())
        sums: dict[tuple[Any, ...], int] = {}
        for line in rows(path, "history"):
            key = tuple(line[name] for name in ("vs", "ve", "symbol", "qty", "n"))
            sums[key] = sums.get(key, 0) + line["weight"]
        names = ("vs", "ve", "symbol", "qty", "n")
        left = [dict(zip(names, key, strict=True)) for key, count in sums.items() if count]
        assert coalesced(pa.Table.from_pylist(left, memory.history().schema)) == expected
    changes = memory.table().to_pylist()
    assert rows(path, "changes") == sorted(changes, key=str)
    whole = memory.table(view="history")
    assert as_of(whole, valid_time=100).num_rows == len(CURRENT)


@BOTH
def test_each_result_has_its_table(kind: type[Database], rows: Rows, tmp_path: Path) -> None:
    path = tmp_path / "db"
    for each in emitted({"all": TRADES, "volume": VOLUME}, {"trades": EVENTS}, 2):
        OneResult("volume", kind(path, keys=["symbol"], output="volume"))(each)
        OneResult("all", kind(path, output="all"))(each)
    assert rows(path, "volume") == sorted(CURRENT, key=str)
    assert {line["symbol"] for line in rows(path, "all")} == {"A", "B", None}


@BOTH
def test_names_and_values_of_every_kind(kind: type[Database], rows: Rows, tmp_path: Path) -> None:
    columns = {
        'a "key"; --': "STRING",
        "when": "TIMESTAMP",
        "much": "DECIMAL(9, 2)",
        "many": "ARRAY<INT>",
        "raw": "BINARY",
        "yes": "BOOLEAN",
    }
    moment = datetime(2026, 1, 1, 12, tzinfo=UTC)
    values = ["it's; DROP TABLE x", moment, Decimal("1.50"), [1, 2], b"\x00\xff", True]
    table = pa.table({name: [value, None] for name, value in zip(columns, values, strict=True)})
    stream = dl.stream("s", {**columns, "t": "BIGINT"}, time="t")
    given = table.append_column("t", pa.array([1, 2]))
    path, name = tmp_path / "db", 'a "table"; --'
    for each in emitted({"result": stream}, {"s": given}, 1):
        kind(path, name, keys=['a "key"; --', "when"])(each)
    found = rows(path, name)
    assert len(found) == 2
    (line,) = (each for each in found if each['a "key"; --'] is not None)
    own = list(line.values())[:-1]
    if kind is DuckDB:
        assert own == values
    else:
        assert own == [values[0], "2026-01-01T12:00:00Z", "1.50", "[1,2]", b"\x00\xff", 1]


@BOTH
def test_what_fails_leaves_nothing_behind(kind: type[Database], rows: Rows, tmp_path: Path) -> None:
    events = [dl.Insert(time, dl.INFINITY, dl.Row(symbol="A", qty=time)) for time in (1, 2)]
    first, second, *_ = emitted({"result": TRADES}, {"trades": events}, 1)
    sink = kind(tmp_path / "db", keys=["symbol"])
    sink(first)
    with pytest.raises(PlanError, match=r"two current rows have the key symbol = 'A'"):
        sink(second)
    assert len(rows(tmp_path / "db", "result")) == 1


@BOTH
def test_a_table_of_another_query(kind: type[Database], rows: Rows, tmp_path: Path) -> None:
    first, *_ = volumes()
    sink = kind(tmp_path / "db")
    sink(first)
    with pytest.raises(PlanError, match="the table result holds the results of another query"):
        sink(replace(first, run="two"))


@BOTH
def test_what_is_no_database(kind: type[Database], rows: Rows, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"a table with a key has the view current or now"):
        kind(tmp_path / "db", keys=["symbol"], view="history")
    with pytest.raises(PlanError, match=r"there is no result result; there are all"):
        kind(tmp_path / "db")(emitted({"all": TRADES}, {"trades": EVENTS}, 100)[0])
    with pytest.raises(PlanError, match=r"none"):
        kind(tmp_path / "none" / "db")(volumes()[0])


@BOTH
def test_what_the_database_refuses_is_said_with_file_and_table(
    kind: type[Database], rows: Rows, tmp_path: Path
) -> None:
    path = tmp_path / "db"
    with kind(path)._transaction() as session:
        session.run('CREATE TABLE "result" (a INTEGER)')
    first = next(each for each in volumes() if len(each.batches["result"]))
    for keys, column in (((), "kind"), (("symbol",), "symbol")):
        with pytest.raises(PlanError, match=rf"db: the table result: .*{column}"):
            kind(path, keys=keys)(first)
    assert rows(path, "result") == []


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (path := tmp_path / "db").write_text("no database" * 100)
    with pytest.raises(PlanError, match=r"db: .*not a database"):
        SQLite(path)(next(iter(volumes())))
