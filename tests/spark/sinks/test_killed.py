"""Every sink holds every micro-batch once, however often its process is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from driftline.running.kafka import Topic
from driftline.spark import sinks
from tests.kafka_cluster import cluster
from tests.spark.sinks import writing
from tests.spark.sinks.postgres_server import binaries, server
from tests.spark.sinks.test_databases import in_duckdb, in_sqlite
from tests.spark.sinks.test_kafka import expected, values

ROOT = Path(__file__).parents[3]
KILLS = 5
LONGEST = 1.5
"""A process that is to be killed lives at most so many seconds."""


def run_until_killed(folder: Path, servers: str, conninfo: str | None, lives: float | None) -> int:
    """The exit code; `lives`: for how long after it has begun, None: to its end."""
    command = [sys.executable, "-m", "tests.spark.sinks.writing", str(folder), servers]
    command += [] if conninfo is None else [conninfo]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as out:
        assert out.readline() == "ready\n"
        if lives is not None:
            time.sleep(lives)
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
        return process.wait(120)


@pytest.mark.slow
def test_killed_at_any_moment(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    pytest.importorskip("confluent_kafka")
    with cluster() as servers:
        if binaries() is None:
            _killed(tmp_path, servers, None)
        else:
            with server() as conninfo:
                _killed(tmp_path, servers, conninfo)


def _killed(folder: Path, servers: str, conninfo: str | None) -> None:
    from deltalake import DeltaTable

    draw = random.Random()
    for _ in range(KILLS):
        if run_until_killed(folder, servers, conninfo, draw.random() * LONGEST) == 0:
            break
    assert run_until_killed(folder, servers, conninfo, None) == 0

    memory, once = sinks.Memory(), folder / "once"
    once.mkdir()
    undisturbed = sinks.Several(
        memory, sinks.EventLog(once / "log.jsonl"), sinks.EventLogFiles(once / "logs")
    )
    for each in writing.steps():
        undisturbed(each)
    assert (folder / "log.jsonl").read_bytes() == (once / "log.jsonl").read_bytes()
    assert values(Topic(servers, writing.TABLE)) == expected(writing.steps())
    logs = sorted((once / "logs").glob("*.jsonl"))
    assert len(logs) > writing.COUNT
    for path in logs:
        assert (folder / "logs" / path.name).read_bytes() == path.read_bytes()
    assert sinks.read_parquet(folder / "rows").equals(memory.table())

    def delta(name: str) -> list[str]:
        return sorted(map(str, DeltaTable(folder / name).to_pyarrow_table().to_pylist()))

    wanted = memory.table(view="history").to_pylist()
    assert delta("appended") == sorted(map(str, wanted))
    assert delta("table by executors") == sorted(map(str, wanted))
    by_executors = sinks.read_parquet(folder / "rows by executors").to_pylist()
    assert sorted(map(str, by_executors)) == sorted(map(str, wanted))
    endless = [row for row in memory.history().to_pylist() if row.pop("ve") is None]
    current = sorted(str({name: row[name] for name in ("symbol", "qty", "n")}) for row in endless)
    assert len(current) == 7
    assert delta("current") == current
    columns = ("batch", "weight", "vs", "ve", "symbol", "qty", "n")
    history = [{name: row[name] for name in columns} for row in wanted]
    for rows, name in ((in_duckdb, "duck.db"), (in_sqlite, "sqlite.db")):
        assert sorted(map(str, rows(folder / name, "current"))) == current
        appended = [
            {name: row[name] for name in columns} for row in rows(folder / name, "appended")
        ]
        assert sorted(map(str, appended)) == sorted(map(str, history))
    if conninfo is not None:
        import psycopg
        from psycopg.rows import dict_row

        with psycopg.connect(conninfo, row_factory=dict_row) as connection:
            table = connection.execute(f"SELECT * FROM {writing.TABLE}").fetchall()
            changes = connection.execute(f"SELECT * FROM {writing.APPENDED}").fetchall()
        assert sorted(map(str, table)) == current
        assert sorted(map(str, changes)) == sorted(map(str, memory.table().to_pylist()))
