from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driftline.engine.step_outputs import Outputs
from driftline.running.options import NamedQuery, RunOptions
from driftline.spark.sinks import read_parquet
from tests.cli.run import Ran, driftline
from tests.spark.sinks.postgres_server import binaries, server

RECORDS = """k,x,t
a,1,1
b,2,2
a,5,3
b,4,13
a,1,15
"""
STREAM = "CREATE STREAM s (k STRING, x INT, t BIGINT) WITH (time = 't', path = 's.csv', {});\n"
TOTALS = "SELECT k, sum(x) AS x FROM s GROUP BY k"
WINDOWS = "SELECT window_end, count(*) AS n FROM TUMBLE(s, 10) GROUP BY window_end"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text(RECORDS)
    return tmp_path


def run(script: str, *more: str, declared: str = "disorder = 2", batch: int = 2) -> Ran:
    Path("pipeline.sql").write_text(STREAM.format(declared) + script)
    options = ("--runner", "local", "--batch", str(batch))
    return driftline("run", "pipeline.sql", *options, *more)


def sqlite(query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect("out.sqlite")
    found = connection.execute(query).fetchall()
    connection.close()
    return found


def test_a_script_stands_alone() -> None:
    ran = run(
        f"""
        CREATE SINK totals WITH (type = 'sqlite', path = 'out.sqlite', keys = 'k') AS {TOTALS};
        CREATE SINK shown WITH (type = 'sqlite', path = 'out.sqlite', keys = 'k', view = 'now') AS
          SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k;
        CREATE SINK w WITH (type = 'eventlog', path = 'w.jsonl', view = 'finals') AS {WINDOWS};
        CREATE SINK files WITH (type = 'parquet', path = 'files', view = 'history');
        INSERT INTO files {TOTALS};
        {TOTALS};
        """,
        "--table",
    )
    assert (ran.code, ran.err) == (0, "")
    history = [json.loads(line) for line in ran.out.splitlines()]
    endless = sorted(tuple(line["row"].values()) for line in history if line["ve"] is None)
    assert sorted(sqlite("SELECT * FROM totals")) == endless == [("a", 7), ("b", 6)]
    assert sorted(sqlite("SELECT * FROM shown")) == [("a", 1), ("b", 1)]
    kinds = [json.loads(line)["kind"] for line in Path("w.jsonl").read_text().splitlines()]
    assert kinds.count("insert") == 2
    assert "retract" not in kinds
    weights = read_parquet("files").column("weight").to_pylist()
    assert sum(weights) == len(history)


def test_the_example_of_the_page_on_pipelines(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs/pipelines.md").read_text()
    Path("trades.csv").write_text(page.split("```csv\n")[1].split("```")[0])
    Path("pipeline.sql").write_text(page.split("```sql\n")[1].split("```")[0])
    monkeypatch.setenv("DATA", ".")
    ran = driftline("run", "pipeline.sql", "--runner", "local")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    Path("answers.sqlite").rename("out.sqlite")
    assert sorted(sqlite("SELECT * FROM totals")) == [("A", 3), ("B", 7)]
    assert sorted(sqlite("SELECT * FROM busy")) == [("B", 1)]
    assert Path("minutes.jsonl").read_text().count("insert") == 2


def test_final_on_the_command_line_in_sql_and_as_a_view() -> None:
    for script, more in (
        (WINDOWS, ["--final"]),
        (f"SET final = true; {WINDOWS}", []),
        (WINDOWS, ["--view", "finals"]),
    ):
        ran = run(script, *more)
        events = [json.loads(line) for line in ran.out.splitlines()]
        rows = [each["row"] for each in events if each["kind"] == "insert"]
        assert rows == [{"window_end": 10, "n": 3}, {"window_end": 20, "n": 2}]
        assert {each["kind"] for each in events} == {"insert", "cti"}
    assert "retract" in run(f"SET final = true; {WINDOWS}", "--no-final").out


def test_final_rows_and_others_run_as_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a pipeline that is followed may have both."""
    seen: list[NamedQuery] = []

    def runner(queries: list[NamedQuery], inputs: Any, options: RunOptions) -> Iterator[Outputs]:
        seen.extend(queries)
        assert (options.follow, options.is_kept, options.written) == (True, False, frozenset())
        yield from ()

    monkeypatch.setattr("driftline.cli.run.runner", lambda name: runner)
    Path("pipeline.sql").write_text(
        "CREATE STREAM s (timestamp TIMESTAMP, value BIGINT) WITH (time = 'timestamp', "
        "path = 'rate://');"
        "CREATE SINK a WITH (type = 'console', view = 'finals') AS SELECT value FROM s [NOW];"
        "CREATE SINK b WITH (type = 'console') AS SELECT value FROM s;"
    )
    ran = driftline("run", "pipeline.sql", "--follow", "--checkpoint", "state", "--runner", "spark")
    assert (ran.code, ran.err) == (0, "")
    assert len({query.consistency for query in seen}) == 1
    assert "final" in seen[0].plan.tree()


def test_a_database_as_the_output() -> None:
    assert run(TOTALS, "--output", "out.sqlite", "--keys", "k").err == ""
    assert sorted(sqlite("SELECT * FROM result")) == [("a", 7), ("b", 6)]
    again = run(TOTALS, "--output", "out.sqlite", "--keys", "k")
    assert again.err.startswith("driftline: out.sqlite: the table result holds the results of")
    assert run(TOTALS, "--output", "out.duckdb", "--view", "history").err == ""


def test_postgres_as_the_output_and_as_a_sink() -> None:
    if binaries() is None:
        pytest.skip("there is no PostgreSQL")
    psycopg = pytest.importorskip("psycopg")
    with server() as conninfo:
        parts = psycopg.conninfo.conninfo_to_dict(conninfo)
        url = f"postgresql:///{parts.pop('dbname', 'postgres')}?" + "&".join(
            f"{name}={value}" for name, value in parts.items()
        )
        assert run(TOTALS, "--output", f"{url}&table=quick", "--keys", "k").err == ""
        sink = f"CREATE SINK declared WITH (type = 'postgres', url = '{url}') AS {TOTALS}"
        assert run(sink).err == ""
        with psycopg.connect(conninfo) as connection:
            quick = connection.execute("SELECT * FROM quick").fetchall()
            kinds = connection.execute("SELECT DISTINCT kind FROM declared ORDER BY 1").fetchall()
    assert sorted(quick) == [("a", 7), ("b", 6)]
    assert kinds == [("insert",), ("retract",)]


@pytest.mark.parametrize("debug", [[], ["--debug"]])
def test_a_secret_is_never_printed(debug: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("PGSECRET", "hush=hush")
    sink = "CREATE SINK a WITH (type = 'postgres', url = 'host=/none pass ${PGSECRET}') AS "
    ran = run(sink + TOTALS, *debug)
    assert ran.code != 0
    assert "hush" not in ran.out + ran.err
    explained = driftline("explain", "pipeline.sql", *debug)
    assert explained.out.startswith("a: emit ordered, block 0, remember inf, to a sink of type")
    assert "hush" not in explained.out + explained.err
    url = "postgresql://me:hush=hush@127.0.0.1:1/db"
    ran = run(TOTALS, "--output", url, "--keys", "k", *debug)
    assert ran.code != 0
    assert "hush" not in ran.out + ran.err


def test_a_password_with_any_characters_and_a_bad_record_show_no_secret(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("PGSECRET", "hu@sh/ hush'")
    for url in ("postgresql://me:${PGSECRET}@127.0.0.1:1/db", "host=/none password=${PGSECRET}"):
        ran = run(f"CREATE SINK a WITH (type = 'postgres', url = '{url}') AS {TOTALS}")
        assert ran.err.startswith("driftline: PostgreSQL: connection ")
        assert "sh" not in ran.err.replace("PostgreSQL", "")
    monkeypatch.setenv("PLACE", "hush")
    Path("hush.csv").write_text("k,x,t\na,many,1\n")
    script = STREAM.format("disorder = 2").replace("s.csv", "${PLACE}.csv") + TOTALS
    Path("pipeline.sql").write_text(script)
    ran = driftline("run", "pipeline.sql", "--runner", "local")
    assert "${PLACE}.csv:2" in ran.err
    assert "hush" not in ran.err


def test_a_variable_in_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAY", "monday")
    Path("s.csv").rename("monday.csv")
    Path("pipeline.sql").write_text(
        STREAM.format("disorder = 2").replace("s.csv", "${DAY}.csv") + TOTALS
    )
    assert driftline("run", "pipeline.sql", "--runner", "local").code == 0
    monkeypatch.delenv("DAY")
    ran = driftline("run", "pipeline.sql", "--runner", "local")
    error = "CREATE STREAM s: path: DAY is not set: set this environment variable"
    assert ran.err == f"driftline: {error}\n"


def test_an_input_goes_before_what_the_script_says() -> None:
    Path("other.csv").write_text("k,x,t\nz,1,1\n")
    ran = run(TOTALS, "--input", "s=other.csv", "--table")
    assert [json.loads(line)["row"]["k"] for line in ran.out.splitlines()] == ["z"]


def test_a_directory_with_a_format() -> None:
    Path("in").mkdir()
    script = STREAM.format("format = 'csv'").replace("s.csv", "in") + TOTALS
    Path("pipeline.sql").write_text(script)
    assert driftline("run", "pipeline.sql", "--runner", "local").code == 0
    Path("s.csv").rename("in/1.csv")
    ran = driftline(
        "run", "pipeline.sql", "--runner", "local", "--output", "out.parquet", "--table"
    )
    assert ran.err == ""
    assert pq.read_table("out.parquet").num_rows > 1


A = "CREATE SINK a WITH (type = 'sqlite', path = 'out.sqlite', table = 'T') AS SELECT k FROM s;\n"


@pytest.mark.parametrize(
    ("script", "more", "error"),
    [
        (A, ["--output", "x.jsonl"], "--output: all answers of the script go to sinks"),
        (A, ["--table"], "--table: all answers of the script go to sinks"),
        (A + A.replace("SINK a", "SINK b"), [], "the sinks a and b have the same table"),
        (TOTALS, ["--keys", "k"], "--keys is for a database"),
        (
            A.replace("out.sqlite", "s.csv"),
            [],
            "the database s.csv is the same file as",
        ),
        (TOTALS, ["--output", "mysql://me@host/db"], "--output: mysql:// cannot be written to"),
        (
            "CREATE SINK a WITH (type = 'console', view = 'now') AS SET final = true",
            [],
            "pipeline.sql:2:",
        ),
        (
            "SET final = true; CREATE SINK a WITH (type = 'console', view = 'now') AS " + TOTALS,
            [],
            "a: an answer now is not final",
        ),
        (
            "CREATE SINK a WITH (type = 'sqlite', path = 'o.db', keys = 'z') AS " + TOTALS,
            [],
            "pipeline.sql:2:60: the key column z is not in the result, which has k, x",
        ),
    ],
)
def test_what_is_refused(script: str, more: list[str], error: str) -> None:
    ran = run(script, *more)
    assert ran.code == 2
    assert ran.err.removeprefix("driftline: ").startswith(error)
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("path", "declared", "error"),
    [
        ("none.csv", "", "CREATE STREAM s: path: none.csv: there is no such file"),
        (
            "s.csv",
            "format = 'xml'",
            "CREATE STREAM s: path: format is one of json, csv, parquet, log, not xml",
        ),
        ("kafka://host", "", "CREATE STREAM s: path: kafka://host: give kafka://HOST:PORT/TOPIC"),
    ],
)
def test_inputs_that_are_none(path: str, declared: str, error: str) -> None:
    script = STREAM.format(declared or "disorder = 2").replace("s.csv", path) + TOTALS
    Path("pipeline.sql").write_text(script)
    ran = driftline("run", "pipeline.sql", "--runner", "local")
    assert ran.err == f"driftline: {error}\n"


KINDS = {
    "log": "type = 'eventlog', path = '{}/log.jsonl'",
    "logs": "type = 'eventlog', path = '{}/logs'",
    "parquet": "type = 'parquet', path = '{}/parquet'",
    "sqlite": "type = 'sqlite', path = '{}/x.sqlite'",
    "keyed": "type = 'sqlite', path = '{}/keyed.sqlite', keys = 'k'",
    "duckdb": "type = 'duckdb', path = '{}/x.duckdb'",
}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.permutations(list(KINDS)), several=st.integers(2, 4))
def test_a_run_that_one_sink_refuses_has_written_to_none(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], several: int
) -> None:
    """The last one has the results of another run already, wherever it stands among them."""
    folder = tmp_path_factory.mktemp("refused")
    (folder / "s.csv").write_text("k,o\na,1\nb,2\n")
    last, *others = kinds[:several]

    def run_with(names: list[str]) -> Ran:
        sinks = "".join(
            f"CREATE SINK {name} WITH ({KINDS[name].format(folder)}) AS SELECT k FROM s;\n"
            for name in names
        )
        script = folder / "q.sql"
        script.write_text(f"CREATE STREAM s (k STRING, o BIGINT) WITH (time = 'o');\n{sinks}")
        return driftline("run", script, "--input", f"s={folder / 's.csv'}")

    assert run_with([last]).code == 0
    before = contents(folder)
    ran = run_with([*others, last])
    assert ran.code == 2
    assert "another query" in ran.err or "is there already" in ran.err
    assert contents(folder).keys() == before.keys()
    assert {n: data for n, data in contents(folder).items() if n != "q.sql"} == {
        n: data for n, data in before.items() if n != "q.sql"
    }


def test_keys_are_those_of_every_query(tmp_path: Path) -> None:
    script = tmp_path / "q.sql"
    script.write_text(
        "CREATE STREAM t (k STRING, x INT, ts BIGINT) WITH (time = 'ts');"
        "CREATE VIEW a AS SELECT k, count(*) AS n FROM t GROUP BY k; SELECT * FROM a;"
        "SELECT x FROM t;"
    )
    (tmp_path / "t.csv").write_text("k,x,ts\na,1,1\n")
    ran = driftline(
        "run", script, "-i", f"t={tmp_path / 't.csv'}", "-o", tmp_path / "o.duckdb", "--keys", "k"
    )
    assert ran.code == 2
    assert "--keys is for each of the 2 queries, and result_2 has no column k: " in ran.err
    assert not (tmp_path / "o.duckdb").exists()
