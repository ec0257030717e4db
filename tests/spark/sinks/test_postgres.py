from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

import driftline as dl
from driftline.plan.errors import PlanError
from driftline.running.locks import InUse
from driftline.spark.sinks import Postgres
from tests.spark.saying import CURRENT, TRADES, emitted, volumes
from tests.spark.sinks.postgres_server import server

psycopg = pytest.importorskip("psycopg")


@pytest.fixture(scope="module")
def conninfo() -> Iterator[str]:
    with server() as found:
        yield found


def rows(conninfo: str, table: str) -> list[dict[str, Any]]:
    with psycopg.connect(conninfo, row_factory=psycopg.rows.dict_row) as connection:
        found = connection.execute(
            psycopg.sql.SQL("SELECT * FROM {}").format(psycopg.sql.Identifier(table))
        ).fetchall()
    return sorted(found, key=str)


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_a_table_of_current_values(conninfo: str, batch: int) -> None:
    table = f"volume_{batch}"
    for each in volumes(batch):
        Postgres(conninfo, table, ["symbol"])(each)
        Postgres(conninfo, table, ["symbol"])(each)  # comes again after a crash
    assert rows(conninfo, table) == sorted(CURRENT, key=str)


def test_what_fails_leaves_nothing_behind(conninfo: str) -> None:
    first, *others = volumes()
    sink = Postgres(conninfo, "half", ["symbol"])
    sink(first)
    before = rows(conninfo, "half")
    with psycopg.connect(conninfo) as connection:
        connection.execute("ALTER TABLE half ADD CHECK (n < 2)")
    with pytest.raises(PlanError, match=r"the table half: new row .* violates check constraint"):
        list(map(sink, others))
    assert rows(conninfo, "half") == before
    with psycopg.connect(conninfo) as connection:
        connection.execute("ALTER TABLE half DROP CONSTRAINT half_n_check")
    for each in others:
        sink(each)
    assert rows(conninfo, "half") == sorted(CURRENT, key=str)


def test_what_another_query_has_written_is_refused(conninfo: str) -> None:
    first, *others = volumes()
    for sink in (Postgres(conninfo, "one"), Postgres(conninfo, "keyed", ["symbol"])):
        sink(first)
        name = sink.names[0]
        again = Postgres(conninfo, name, sink.keys)
        with pytest.raises(PlanError, match=f"PostgreSQL: the table {name} holds the results of"):
            again(replace(first, run="another"))
        for each in others:
            sink(each)
        with psycopg.connect(conninfo) as connection:
            connection.execute(f"DROP TABLE {name}")
        for each in volumes():
            again(replace(each, run="another"))
    assert rows(conninfo, "keyed") == sorted(CURRENT, key=str)


def test_tables_that_do_not_fit(conninfo: str) -> None:
    with psycopg.connect(conninfo) as connection:
        connection.execute("CREATE TABLE loose (symbol text, qty bigint, n bigint)")
        connection.execute("CREATE TABLE narrow (symbol text PRIMARY KEY)")
    first, *_ = volumes()
    for name, error in (
        ("loose", r"its key \(symbol\) has no unique index: make one"),
        ("narrow", 'column "qty" does not exist'),
    ):
        with pytest.raises(PlanError, match=f"PostgreSQL: the table {name}: {error}"):
            Postgres(conninfo, name, ["symbol"])(first)


def test_a_key_that_is_none_is_refused_also_over_several_micro_batches(conninfo: str) -> None:
    events = [dl.Insert(time, dl.INFINITY, dl.Row(symbol="A", qty=time)) for time in (1, 2)]
    first, second, *_ = emitted({"result": TRADES}, {"trades": events}, 1)
    sink = Postgres(conninfo, "twice", ["symbol"])
    sink(first)
    with pytest.raises(PlanError, match=r"two current rows have the key symbol = 'A'"):
        sink(second)


def test_names_and_values_of_every_kind(conninfo: str) -> None:
    columns = {
        'a "key"; --': "STRING",
        "flag": "BOOLEAN",
        "small": "SMALLINT",
        "number": "INT",
        "ratio": "DOUBLE",
        "money": "DECIMAL(12, 2)",
        "day": "DATE",
        "at": "TIMESTAMP",
        "raw": "BINARY",
        "tags": "ARRAY<STRING>",
    }
    values = ['x, "y"\n', True, 3, -4, 0.1, Decimal("12.50"), date(2026, 1, 2),
              datetime(2026, 1, 2, 3, 4, 5, 678, UTC), b"\x00\xff", ("a", 'b"')]  # fmt: skip
    first = dict(zip(columns, values, strict=True))
    empty = {**dict.fromkeys(columns), 'a "key"; --': ""}
    missing: dict[str, Any] = dict.fromkeys(columns)
    stream = dl.stream("s", columns)
    events = [dl.Insert(1, dl.INFINITY, dl.Row(row)) for row in (first, empty, missing)]
    sink = Postgres(conninfo, ["public", "odd.name"], ['A "KEY"; --'])
    for each in emitted({"result": stream}, {"s": events}, 100):
        sink(each)
    wanted = [{**first, "tags": ["a", 'b"']}, empty, missing]
    assert rows(conninfo, "odd.name") == sorted(wanted, key=str)


def test_a_result_of_another_name_is_refused() -> None:
    with pytest.raises(PlanError, match=r"there is no result x; there are result"):
        Postgres("", "t", ["symbol"], output="x")(volumes()[0])


def test_the_table_of_a_run_is_refused_to_another(conninfo: str) -> None:
    def sink(table: str = "totals") -> Postgres:
        return Postgres(conninfo, table, ["k"])

    said = rf"the table totals is being written by another run \(process {os.getpid()}\)"
    with sink().hold(), sink("others").hold(), pytest.raises(InUse, match=said), sink().hold():
        pass
    with sink().hold():
        pass
