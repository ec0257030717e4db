"""What of an answer an output has (--view), and how it is written (--format)."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.run import driftline, driftline_on_a_terminal

SCRIPT = """
CREATE STREAM t (k STRING, v BIGINT, ts BIGINT) WITH (time = 'ts', disorder = 5);
SELECT k, sum(v) AS s FROM t GROUP BY k;
"""
RECORDS = "k,v,ts\na,1,1\nb,2,4\na,3,2\n"

COLUMNS = {
    "changes": ["kind", "vs", "ve", "vn", "k", "s"],
    "finals": ["vs", "ve", "k", "s"],
    "history": ["vs", "ve", "k", "s"],
    "current": ["k", "s"],
    "now": ["op", "at", "k", "s"],
}
FINAL = [[1, 2, "a", 1], [2, None, "a", 4], [4, None, "b", 2]]
CURRENT = [["a", 4], ["b", 2]]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.sql").write_text(SCRIPT)
    Path("t.csv").write_text(RECORDS)


def run(*more: str) -> str:
    ran = driftline("run", "q.sql", "-i", "t.csv", "--runner", "local", "--batch", "1", *more)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def refused(*more: str) -> str:
    ran = driftline("run", "q.sql", "-i", "t.csv", "--runner", "local", *more)
    assert ran.code == 2
    return ran.err.removeprefix("driftline: ").removesuffix("\n")


def typed(text: str) -> object:
    return None if text == "" else int(text) if text.lstrip("-").isdigit() else text


@pytest.mark.parametrize("view", COLUMNS)
def test_every_format_has_the_same_columns_and_rows(view: str) -> None:
    header, *lines = csv.reader(io.StringIO(run("--view", view, "--format", "csv")))
    rows = [[typed(value) for value in line] for line in lines]
    run("--view", view, "-o", "out.parquet")
    table = pq.read_table("out.parquet")
    assert header == table.column_names == COLUMNS[view]
    assert rows == [list(row.values()) for row in table.to_pylist()]
    drawn = run("--view", view, "--format", "table").splitlines()
    assert drawn[:2][0] == "result"
    assert drawn[1].split() == COLUMNS[view]
    assert len(drawn) - 2 == sum(row[0] != "cti" for row in rows)


def test_views() -> None:
    def rows(view: str) -> list[list[object]]:
        lines = csv.reader(io.StringIO(run("--view", view, "--format", "csv")))
        return [[typed(value) for value in line] for line in lines][1:]

    assert sorted(rows("finals"), key=str) == sorted(rows("history"), key=str) == FINAL
    assert rows("current") == CURRENT
    log = [json.loads(line) for line in run("--view", "current").splitlines()]
    assert log == [{"k": "a", "s": 4}, {"k": "b", "s": 2}]


def test_a_file_need_not_have_a_name_that_says_its_format() -> None:
    run("--format", "csv", "--table", "-o", "answer.txt")
    assert Path("answer.txt").read_text().splitlines()[0] == '"vs","ve","k","s"'


def test_a_directory_has_a_file_for_each_query() -> None:
    Path("q.sql").write_text(SCRIPT + "SELECT count(*) AS n FROM t;")
    run("--view", "current", "--format", "csv", "-o", "out/")
    found = {path.name: path.read_text() for path in Path("out").glob("[!.]*")}
    assert found == {"result.csv": '"k","s"\n"a",4\n"b",2\n', "result_2.csv": '"n"\n3\n'}


def test_a_table_on_a_terminal_is_drawn_and_in_a_pipe_it_is_whole() -> None:
    Path("t.csv").write_text("k,v,ts\n" + "".join(f"k{n},1,{n}\n" for n in range(60)))
    shown = driftline_on_a_terminal(
        "run", "q.sql", "-i", "t.csv", "--runner", "local", "--view", "current", "--format", "table"
    )
    assert "│" in shown
    assert "… and 20 more; pipe it to see all" in shown
    assert len(run("--view", "current", "--format", "table").splitlines()) == 62


@pytest.mark.parametrize(
    ("more", "error"),
    [
        (["-o", "x.sqlite", "--format", "csv"], "--format is for files and standard output"),
        (["-o", "x.txt", "--format", "table"], "--format table draws on standard output"),
        (["-o", "x.txt"], "--output: x.txt: the format is inferred from .jsonl, .csv, .parquet"),
        (["-o", "out/", "--format", "json"], "--output: an event log is one file"),
        (["--overwrite"], "--overwrite is for tables of databases"),
        (["--outputs", "marked", "--format", "csv"], "outputs = marked: marks stand in"),
    ],
)
def test_what_is_refused(more: list[str], error: str) -> None:
    assert refused(*more).startswith(error)


def test_several_queries_are_not_one_table() -> None:
    Path("q.sql").write_text(SCRIPT + "SELECT count(*) AS n FROM t;")
    assert refused("--format", "csv").startswith("--format csv can hold one query only")


@pytest.mark.parametrize("suffix", ["sqlite", "duckdb"])
def test_a_table_of_another_run_is_replaced_if_that_is_wanted(suffix: str) -> None:
    run("-o", f"x.{suffix}", "--keys", "k")
    assert "holds the results of another query" in refused("-o", f"x.{suffix}", "--keys", "k")
    Path("t.csv").write_text("k,v,ts\nc,5,1\n")
    run("-o", f"x.{suffix}", "--keys", "k", "--overwrite")
    if suffix == "sqlite":
        with sqlite3.connect("x.sqlite") as connection:
            assert connection.execute("SELECT * FROM result").fetchall() == [("c", 5)]
            run("-o", "x.sqlite", "--view", "finals", "--overwrite")  # with other columns
            connection.execute("CREATE TABLE own AS SELECT 1 AS k")
    Path("q.sql").write_text(SCRIPT.replace("sum(v) AS s", "nope"))
    refused("-o", f"x.{suffix}", "--keys", "k", "--overwrite")  # what is refused replaces nothing
    if suffix == "sqlite":
        with sqlite3.connect("x.sqlite") as connection:
            assert connection.execute("SELECT k, s FROM result").fetchall() == [("c", 5)]


def test_explain_is_a_statement() -> None:
    Path("q.sql").write_text(SCRIPT + "EXPLAIN WITH a AS (SELECT k FROM t) SELECT k FROM a;")
    plan, _, answer = run("--view", "current").partition("on Spark:")
    assert plan.startswith("explained: emit ordered")
    assert answer.endswith('{"k":"a","s":4}\n{"k":"b","s":2}\n')
    ran = driftline("run", "-c", "EXPLAIN SELECT 1 AS a", "--runner", "local")
    assert ran.code == 0
    assert "project 1 AS a" in ran.out


@pytest.mark.parametrize(
    "script", ["EXPLAIN", "EXPLAIN INSERT INTO s SELECT 1", "EXPLAIN SET a = 1"]
)
def test_explain_is_for_queries(script: str) -> None:
    ran = driftline("run", "-c", script, "--runner", "local")
    assert ran.code == 2
    assert "EXPLAIN is for a query: EXPLAIN SELECT … FROM …" in ran.err
