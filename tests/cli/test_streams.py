"""Inputs that are read as they come, as far as they can be read without Spark."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driftline.cli.streams import streamed
from driftline.running.problems import Problem
from driftline.running.streams import Streamed, files_of
from tests.cli.run import driftline

QUERY = """
CREATE STREAM trades (symbol STRING, qty INT, ts BIGINT) WITH (time = 'ts');
SELECT symbol, sum(qty) AS qty FROM trades GROUP BY symbol;
"""
TABLE = [
    '{"vs":1,"ve":7,"row":{"symbol":"A","qty":3}}',
    '{"vs":7,"ve":null,"row":{"symbol":"A","qty":8}}',
]


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "query.sql"
    path.write_text(QUERY)
    return path


def write(folder: Path, form: str) -> None:
    """Two files, of which the first by name is the later one."""
    folder.mkdir()
    for time, (name, row) in enumerate([("b", ("A", 3, 1)), ("a", ("A", 5, 7))], 1):
        record = dict(zip(("symbol", "qty", "ts"), row, strict=True))
        path = folder / f"{name}.{form}"
        if form == "parquet":
            pq.write_table(pa.Table.from_pylist([record]), path)
        elif form == "csv":
            path.write_text(f"symbol,qty,ts\n{row[0]},{row[1]},{row[2]}\n")
        else:
            path.write_text(f'{{"symbol":"{row[0]}","qty":{row[1]},"ts":{row[2]}}}\n')
        os.utime(path, (time, time))
    (folder / "_SUCCESS").touch()
    (folder / ".half.csv").write_text("not yet")


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_directory_of_records(query: Path, tmp_path: Path, form: str) -> None:
    write(tmp_path / "in", form)
    done = driftline("run", query, "--input", f"trades={tmp_path / 'in'}", "--table")
    assert (done.code, done.out.splitlines(), done.err) == (0, TABLE, "")


def test_files_come_in_the_order_of_their_times(tmp_path: Path) -> None:
    write(tmp_path / "in", "csv")
    assert [path.name for path in files_of(tmp_path / "in")] == ["b.csv", "a.csv"]


def test_a_directory_of_event_logs_is_read_file_after_file(query: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    insert = (
        '{{"stream":"{0}","kind":"insert","vs":{1},"ve":null,"row":{{"symbol":"A","qty":{2}}}}}\n'
    )
    (folder / "1.jsonl").write_text(insert.format("trades", 1, 3))
    (folder / "2.jsonl").write_text(insert.format("trades", 7, 5) + insert.format("other", 8, 1))
    for given in (str(folder), f"trades={folder}"):
        done = driftline("run", query, "--input", given, "--table")
        assert (done.code, done.out.splitlines()) == (0, TABLE)
    other = driftline("run", query, "--input", f"trades={folder}?stream=other", "--table")
    assert other.out == '{"vs":8,"ve":null,"row":{"symbol":"A","qty":1}}\n'


def test_what_arguments_say(tmp_path: Path) -> None:
    assert streamed("rate://?rowsPerSecond=5") == Streamed(
        "rate", "", "rows", {"rowsPerSecond": "5"}
    )
    assert streamed(f"{tmp_path}?format=log&stream=a&maxFilesPerTrigger=2") == Streamed(
        "files", str(tmp_path), "log", {"maxFilesPerTrigger": "2"}, "a"
    )
    assert streamed("s3a://bucket/in?format=parquet") == Streamed(
        "files", "s3a://bucket/in", "parquet", {}
    )
    assert streamed("no such file") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("kafka://host:9092", "give kafka://HOST:PORT/TOPIC"),
        ("s3a://bucket/in", r"say what its files are: s3a://bucket/in\?format=json"),
        ("kafka://host:9092/topic?format=xml", "format is one of json, csv, parquet, log, not xml"),
    ],
)
def test_what_arguments_cannot_say(text: str, reason: str) -> None:
    with pytest.raises(Problem, match=reason):
        streamed(text)


def test_empty_files_do_not_tell_what_a_directory_holds(tmp_path: Path) -> None:
    def form(*, holds_events: bool) -> str:
        found = streamed(str(tmp_path), holds_events=holds_events)
        assert found is not None
        return found.form

    (tmp_path / "a.jsonl").touch()
    assert form(holds_events=True) == "log"
    assert form(holds_events=False) == "json"
    (tmp_path / "b.jsonl").write_text('{"x":1}\n', encoding="utf-8")
    os.utime(tmp_path / "a.jsonl", (1, 1))  # it comes first
    assert form(holds_events=True) == "json"


def test_directories_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="is empty: say what will come"):
        streamed(str(tmp_path))
    (tmp_path / "a.csv").touch()
    (tmp_path / "b.parquet").touch()
    with pytest.raises(Problem, match="one format is needed"):
        streamed(str(tmp_path))
    (tmp_path / "a.xml").touch()
    with pytest.raises(Problem, match="its format is inferred from"):
        streamed(str(tmp_path))


@pytest.mark.parametrize(
    ("form", "reason"),
    [("parquet", "Parquet magic bytes not found"), ("csv", "its first line names no column")],
)
def test_a_file_that_cannot_be_read_is_named(
    query: Path, tmp_path: Path, form: str, reason: str
) -> None:
    write(tmp_path / "in", form)
    empty, broken = (tmp_path / "in" / f"{name}.{form}" for name in ("empty", "broken"))
    empty.touch()
    assert driftline("run", query, "-i", f"trades={tmp_path / 'in'}").code == 0
    broken.write_text("broken, indeed\n")
    done = driftline("run", query, "-i", f"trades={tmp_path / 'in'}")
    assert done.code == 2
    assert done.err.startswith(f"driftline: {broken}: ")
    assert reason in done.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-i", "trades=rate://"], "rate:// has no end: add --follow"),
        (["-i", "trades=rate://", "--runner", "spark"], "rate:// has no end: add --follow"),
        (["-i", "trades=in", "--follow", "--checkpoint", "c"], "--checkpoint, --master and --conf"),
        (["-i", "trades=in", "--follow", "--pace", "2x", "--now"], "leave --follow out"),
        (["-i", "trades=x.csv", "--follow", "--runner", "spark"], "--follow needs an input that"),
        (["-i", "trades=in", "--conf", "a", "--runner", "spark"], "--conf: a: give KEY=VALUE"),
    ],
)
def test_wrong_usage(
    query: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "in", "csv")
    (tmp_path / "x.csv").write_text("symbol,qty,ts\n")
    done = driftline("run", query, *arguments)
    assert done.code == 2
    assert reason in done.err
    assert done.err.count("\n") == 1


def test_a_run_that_follows_reads_what_comes(
    query: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines are read when they have been ended, files when they are there, until Ctrl-C."""
    folder, file, out = tmp_path / "in", tmp_path / "t.csv", tmp_path / "out.jsonl"
    folder.mkdir()
    file.write_text("symbol,qty,ts\nA,1,1\nA,")
    query.write_text(
        QUERY.replace("FROM trades", "FROM (SELECT * FROM trades UNION ALL SELECT * FROM more)")
        .replace("SELECT", "CREATE STREAM more (symbol STRING, qty INT, ts BIGINT) "
                 "WITH (time = 'ts', path = '" + str(folder) + "?format=json');\nSELECT", 1)
    )  # fmt: skip
    seen: list[int] = []

    def wait(_: float) -> None:
        seen.append(len(out.read_text().splitlines()))
        if len(seen) == 1:
            with file.open("a") as text:
                text.write('2,2\n"B",many,3\n"C\nD",4,')
            (folder / "1.jsonl").write_text('{"symbol": "A", "qty": 10, "ts": 4}')
        elif len(seen) == 2:
            with file.open("a") as text:
                text.write("5\n")
        elif len(seen) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("driftline.running.local.sleep", wait)
    dead = tmp_path / "dead.jsonl"
    done = driftline(
        "run", query, "-i", f"trades={file}", "--follow", "-o", out, "--dead-letters", dead,
    )  # fmt: skip
    assert done.code == 130
    assert seen[0] < seen[1] < seen[2] == seen[3]
    table = [json.loads(line) for line in driftline("history", out).out.splitlines()]
    assert [(row["vs"], row["ve"], *row["row"].values()) for row in table] == [
        (1, 2, "A", 1), (2, 4, "A", 3), (4, None, "A", 13), (5, None, "C\nD", 4),
    ]  # fmt: skip
    assert f"{file}:4: " in done.err
    assert "many" in dead.read_text()


def test_event_logs_are_followed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, query = tmp_path / "log.jsonl", tmp_path / "q.sql"
    query.write_text("CREATE STREAM s (x INT); SELECT sum(x) AS x FROM s;")
    log.touch()
    came = iter([
        '{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{"x":1}}\n',
        '{"stream":"s","kind":"retract","vs":1,"ve":null,"vn":3,"row":{"x":1}}\n'
        '{"stream":"other","kind":"cti","t":9}\n{"stream":"s","kind":"cti","t":5}\n',
    ])  # fmt: skip

    def wait(_: float) -> None:
        with log.open("a") as text:
            text.write(next(came, None) or stop())

    def stop() -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("driftline.running.local.sleep", wait)
    done = driftline("run", query, "-i", f"s={log}", "--follow")
    assert done.code == 130
    assert [json.loads(line) for line in done.out.splitlines()][-1]["t"] == 5
    assert '"retract","vs":1,"ve":null,"vn":3,"row":{"x":1}' in done.out


def test_the_time_of_day_passes_while_nothing_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row leaves the answer now when its window is over."""
    file, query = tmp_path / "s.jsonl", tmp_path / "q.sql"
    query.write_text(
        "CREATE STREAM s (x INT, ts TIMESTAMP) WITH (time = 'ts');"
        "SELECT x FROM s [RANGE 5 SECONDS];"
    )
    file.write_text('{"x": 1, "ts": "2024-01-01T00:00:00Z"}\n')
    hour = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())
    clock = [hour]

    def wait(_: float) -> None:
        clock[0] += 2
        if clock[0] > hour + 8:
            raise KeyboardInterrupt

    monkeypatch.setattr("driftline.running.local.sleep", wait)
    monkeypatch.setattr("driftline.engine.outputs.clock.time.time_ns", lambda: clock[0] * 10**9)
    done = driftline("run", query, "-i", f"s={file}", "--follow", "--now", "--clock", "wall")
    assert done.code == 130
    assert [json.loads(line)["op"] for line in done.out.splitlines()] == ["+", "-"]
