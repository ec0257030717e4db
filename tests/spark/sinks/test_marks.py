"""Marks in what sinks write: each in its own way, and in the history of an answer."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from driftline.model.prefix import Prefix
from driftline.plan.errors import PlanError
from driftline.spark.history import as_of, intervals, prefix_of
from driftline.spark.sinks import Delta, EventLog, Memory, Parquet, Postgres, Several, read_parquet
from driftline.spark.update import SparkUpdate
from tests.spark.saying import MINUTE, START, volumes


def marked() -> list[SparkUpdate]:
    """Micro-batches of two events, the last of which closes the stream."""
    found = volumes(2)
    last = len(found) - 1
    return [
        replace(each, prefix=Prefix({"trades": 2 * number, "silent": 0}, number == last))
        for number, each in enumerate(found)
    ]


def test_event_logs_and_files_have_the_mark_of_every_micro_batch(tmp_path: Path) -> None:
    log, parquet = tmp_path / "log.jsonl", tmp_path / "parquet"
    for each in marked():
        sink = Several(EventLog(log), Parquet(parquet))
        sink(each)
        sink(each)  # comes again after a crash
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    marks = [line for line in lines if line["kind"] == "consistent"]
    assert [mark["prefix"]["trades"] for mark in marks] == [2 * n for n in range(len(marked()))]
    assert lines[-1] == marks[-1]
    assert marks[-1]["closed"] is True
    beside = sorted((parquet / "_marks").iterdir())
    assert [json.loads(path.read_text()) for path in beside] == marks


def test_the_history_of_an_answer_names_the_prefix_at_any_time(tmp_path: Path) -> None:
    memory, plain = Memory(), Memory()
    sink = Several(memory, Parquet(tmp_path, "history"))
    for each in marked():
        sink(each)
        plain(replace(each, prefix=None))
    assert memory.prefix() == marked()[-1].prefix
    table, without = read_parquet(tmp_path), plain.table(view="history")
    assert table.equals(memory.table(view="history"))
    for number in range(len(marked())):
        at = datetime.fromtimestamp((START + number * MINUTE) / 1000, UTC)
        assert prefix_of(table, system_time=at) == {"trades": 2 * number, "silent": 0}
        for valid in (1, 5, 9):
            known, expected = (
                as_of(each, valid_time=valid, system_time=at) for each in (table, without)
            )
            assert known.equals(expected)
    assert intervals(table).equals(intervals(without))
    frame = pl.from_arrow(table)
    assert prefix_of(frame) == prefix_of(table)
    assert prefix_of(table, system_time="2020-01-01T00:00:00Z") is None
    with pytest.raises(PlanError, match="by a query with outputs='marked'"):
        prefix_of(without)


def test_a_commit_of_delta_has_its_prefix(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    for each in marked():
        Delta(str(tmp_path), "history")(each)
    commits = deltalake.DeltaTable(tmp_path).history()
    found = [json.loads(commit["driftline.prefix"])["trades"] for commit in commits]
    assert sorted(found) == [2 * number for number in range(len(marked()))]


def test_postgres_has_the_prefix_of_its_table(tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    from tests.spark.sinks.postgres_server import server

    with server() as conninfo, psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(  # as an earlier version has made it
            "CREATE TABLE driftline_progress (run text, target text, batch bigint NOT NULL, "
            "PRIMARY KEY (run, target))"
        )
        for number, each in enumerate(marked()):
            Postgres(conninfo, "volume", ["symbol"])(each)
            Postgres(conninfo, "volume", ["symbol"])(each)
            found = connection.execute("SELECT batch, prefix FROM driftline_progress").fetchall()
            assert found == [(number, {"trades": 2 * number, "silent": 0})]
