"""Every type of sink with every view that it can have, in one script, on both runners: what each
holds in the end is what the canonical history says.

    totals   rows without an end, which corrections replace
    recent   rows that end, so that they leave the answer now
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from driftline.model.history import History, Lifetime
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.running.kafka import Topic
from driftline.spark.sinks import read_parquet
from tests.cli.run import driftline
from tests.kafka_cluster import cluster
from tests.spark.sinks.postgres_server import server
from tests.spark.sinks.test_databases import in_duckdb, in_sqlite
from tests.spark.sinks.test_kafka import values

pytest.importorskip("deltalake")
pytest.importorskip("confluent_kafka")
psycopg = pytest.importorskip("psycopg")

FIRST = "k,x,t\na,1,1\nb,2,2\na,5,4\nb,4,13\na,2,12\n"
SECOND = "k,x,t\na,1,15\nc,3,16\nb,7,14\n"
LAST = 16
STREAM = """
CREATE STREAM s (k STRING, x INT, t BIGINT) WITH (time = 't', disorder = 5, path = 'in');
"""
QUERIES = {
    "totals": "SELECT k, sum(x) AS x FROM s GROUP BY k",
    "recent": "SELECT k, sum(x) AS x FROM s [RANGE 4] GROUP BY k",
}
TABLES = ("postgres", "delta", "duckdb", "sqlite")
VIEWS = ("changes", "current", "now", "finals", "history")
EVENTS = ("changes", "now", "finals")
OPEN = re.compile("driftline: the streams stay open in state: .*\n")
"""What a run from a checkpoint says that leaves its streams open."""


@dataclass(frozen=True)
class Case:
    """A sink: its type, its view, whether it has keys, and the query that it is of."""

    type: str
    view: str
    keyed: bool = False
    query: str = "totals"

    @property
    def name(self) -> str:
        return f"{self.query}_{self.type}_{self.view}" + ("_keyed" if self.keyed else "")

    def statement(self, url: str, servers: str) -> str:
        places = {
            "postgres": f"url = '{url}'",
            "kafka": f"servers = '{servers}', topic = '{self.name}'",
            "duckdb": "path = 'all.duckdb'",
            "sqlite": "path = 'all.sqlite'",
            "eventlog": f"path = '{self.name}.jsonl'",
            "eventlogs": f"path = '{self.name}'",
            "console": "rows = '50'",
        }
        place = places.get(self.type, f"path = '{self.name}'")
        keys = ", keys = 'K'" if self.keyed else ""
        kind = self.type.replace("eventlogs", "eventlog")
        return (
            f"CREATE SINK {self.name} WITH (type = '{kind}', view = '{self.view}', {place}{keys}) "
            f"AS {QUERIES[self.query]};\n"
        )


CASES = [
    *(Case(kind, view) for kind in (*TABLES, "parquet", "console") for view in VIEWS),
    *(Case(kind, view, keyed=True) for kind in TABLES for view in ("current", "now")),
    *(Case(kind, view) for kind in ("eventlog", "eventlogs", "kafka") for view in EVENTS),
    *(Case("sqlite", view, query="recent") for view in VIEWS),
    *(Case(kind, "now", keyed=True, query="recent") for kind in TABLES),
    *(Case("eventlog", view, query="recent") for view in EVENTS),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with server() as found:
        yield found


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with cluster() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text(FIRST)
    return tmp_path


def test_every_sink_on_the_local_runner(folder: Path, url: str, servers: str) -> None:
    (folder / "in" / "2.csv").write_text(SECOND)
    script = STREAM + "".join(case.statement(url, servers) for case in CASES)
    ran = run(script, "--runner", "local", "--batch", "3")
    check(ran, CASES, url, servers)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_every_sink_on_spark_from_its_checkpoint(
    folder: Path, url: str, servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSECRET", "hush@hush")
    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA spark")
    there = f"{url} options=-csearch_path=spark password=${{PGSECRET}}"
    cases = [case for case in CASES if case.type != "kafka"]  # of which topics are there already
    script = STREAM + "".join(case.statement(there, servers) for case in cases)
    options = ("--runner", "spark", "--checkpoint", "state")
    shown = run(script, *options)
    (folder / "in" / "2.csv").write_text(SECOND)
    shown += run(script, *options, "--close")
    assert "hush" not in shown
    assert not [path for path in files(folder) if b"hush" in path.read_bytes()]
    check(shown, cases, there.replace("${PGSECRET}", "none"), servers)


def files(folder: Path) -> list[Path]:
    """All that a run has written, its checkpoint included."""
    return [path for path in folder.rglob("*") if path.is_file()]


def run(script: str, *options: str) -> str:
    Path("pipeline.sql").write_text(script)
    ran = driftline("run", "pipeline.sql", *options)
    assert (ran.code, OPEN.sub("", ran.err)) == (0, "")
    return ran.out


def check(shown: str, cases: Iterable[Case], url: str, servers: str) -> None:
    histories = {query: canonical(query) for query in QUERIES}
    for case in cases:
        history = histories[case.query]
        if case.type == "console":
            assert f"{case.name}," in shown
            continue
        rows = rows_of(case, url, servers)
        if not rows:  # with a sink of the answer now, Spark has ends in advance
            assert (case.query, case.view) == ("recent", "current")
        elif case.type in ("eventlog", "eventlogs", "kafka") and case.view != "now":
            assert logged(case, rows) == history, case.name
        else:
            holds(case, rows, history)


def canonical(query: str) -> History:
    """The history of a query, as the local runner writes it in the end."""
    Path("plain.sql").write_text(STREAM + QUERIES[query])
    ran = driftline("run", "plain.sql", "--runner", "local", "--table")
    assert ran.err == ""
    return of_lifetimes(map(json.loads, ran.out.splitlines()))


def of_lifetimes(rows: Iterable[dict[str, Any]]) -> History:
    return History(
        Lifetime(
            each["vs"],
            INFINITY if each["ve"] is None else each["ve"],
            Row(each["row"] if "row" in each else {"k": each["k"], "x": each["x"]}),
        )
        for each in rows
    ).coalesced()


def rows_of(case: Case, url: str, servers: str) -> list[dict[str, Any]]:
    """What a sink holds, as rows."""
    match case.type:
        case "postgres":
            with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
                found: list[dict[str, Any]] = connection.execute(
                    f'SELECT * FROM "{case.name}"'
                ).fetchall()
                return found
        case "duckdb":
            return in_duckdb(Path("all.duckdb"), case.name)
        case "sqlite":
            return in_sqlite(Path("all.sqlite"), case.name)
        case "parquet":
            return list(read_parquet(case.name).to_pylist())
        case "delta":
            from deltalake import DeltaTable

            return list(DeltaTable(case.name).to_pyarrow_table().to_pylist())
        case "kafka":
            lines = values(Topic(servers, case.name))
        case "eventlogs":
            paths = sorted(Path(case.name).glob("*.jsonl"))
            lines = [line for path in paths for line in path.read_bytes().splitlines()]
        case _:
            lines = Path(f"{case.name}.jsonl").read_bytes().splitlines()
    return [json.loads(line) for line in lines]


def logged(case: Case, events: list[dict[str, Any]]) -> History:
    """The history of an event log; of final rows nothing is ever taken back."""
    assert {each["kind"] for each in events} <= {"insert", "retract", "cti"}
    if case.view == "finals":
        assert "retract" not in {each["kind"] for each in events}
    Path("log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    ran = driftline("history", "log.jsonl")
    return of_lifetimes(map(json.loads, ran.out.splitlines()))


def holds(case: Case, rows: list[dict[str, Any]], history: History) -> None:
    """Whether a table, or a changelog of the answer now, is what the history says."""
    alive = [
        (each.row["k"], each.row["x"])
        for each in history.lifetimes
        if (each.ve == INFINITY if case.view == "current" else each.vs <= LAST < each.ve)
    ]
    if case.keyed:
        assert sorted((each["k"], each["x"]) for each in rows) == sorted(alive), case.name
    elif "op" in rows[0]:
        plain = [each.get("row", each) for each in rows]
        signs = Counter[tuple[str, int]]()
        for each, row in zip(rows, plain, strict=True):
            signs[row["k"], row["x"]] += 1 if each["op"] == "+" else -1
        assert sorted(signs.elements()) == sorted(alive), case.name
        assert min(signs.values()) >= 0
    elif case.view == "finals":
        assert of_lifetimes(rows) == history, case.name
    else:
        weights = Counter[tuple[Any, ...]]()
        for each in rows:
            row = (each["k"], each["x"])
            if "weight" in each:
                weights[each["vs"], each["ve"], row] += each["weight"]
                continue
            weights[each["vs"], each["ve"], row] += 1 if each["kind"] == "insert" else -1
            if each["kind"] == "retract" and each["vn"] != each["vs"]:
                weights[each["vs"], each["vn"], row] += 1
        assert min(weights.values()) >= 0
        found = ({"vs": vs, "ve": ve, "row": {"k": k, "x": x}}
                 for vs, ve, (k, x) in weights.elements())  # fmt: skip
        assert of_lifetimes(found) == history, case.name
