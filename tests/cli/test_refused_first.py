"""A run that is refused has written nothing, prints no secret, and special files can be written."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import COMMAND, driftline

SCRIPT = """
CREATE STREAM s (k STRING, ts BIGINT) WITH (time = 'ts', path = 's.csv');
CREATE SINK one WITH (type = 'eventlog', path = 'one.jsonl') AS SELECT k FROM s;
CREATE SINK two WITH ({}) AS SELECT k FROM s;
"""
QUERY = "CREATE STREAM s (k STRING, ts BIGINT) WITH (time = 'ts', path = 's.csv'); SELECT k FROM s"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("k,ts\na,1\n")
    Path("file").touch()
    with sqlite3.connect("y.sqlite") as connection:
        connection.execute("CREATE TABLE two (other INT)")


@pytest.mark.parametrize(
    ("two", "error"),
    [
        ("type = 'sqlite', path = 'y.sqlite'", "the table two: no such column: t.kind"),
        ("type = 'parquet', path = 'file'", "file is a file: give a directory"),
        ("type = 'delta', path = 'file'", "file is a file: give a directory"),
        ("type = 'eventlog', path = 'file'", "file is a file: give a directory"),
        ("type = 'sqlite', path = 'z.sqlite', table = 'Driftline_progress'", "is one of our own"),
    ],
)
def test_the_second_sink_refuses_before_the_first_has_rows(two: str, error: str) -> None:
    before = {path.name for path in Path().iterdir()}
    ran = driftline("run", "-c", SCRIPT.format(two), "--runner", "local")
    assert ran.code == 2
    assert error in ran.err
    assert {path.name for path in Path().iterdir()} == before


@pytest.mark.parametrize(
    "options",
    [
        "'kafka.sasl.password' = 'hunter2'",
        "'s3.secret_access_key' = 'hunter2'",
        "'azure.account_key'='hunter2'",
        "url = 'postgresql://u:hunter2@h/db'",
        "url = 'postgresql://u:hunter2/x y@h/db'",
        "url = 'postgresql://u:@hunter2@h/db'",
        "url = 'host=h password=hunter2'",
    ],
)
def test_no_secret_is_printed(options: str) -> None:
    script = f"CREATE SINK o WITH (type = 'postgres', {options}, tabel = 't') AS SELECT nope;"
    ran = driftline("run", "-c", script, "--runner", "local")
    assert ran.code == 2
    assert "***" in ran.err
    assert "hunter2" not in ran.err + ran.out


def test_what_is_no_secret_is_printed() -> None:
    script = (
        "SET tokens = 5; CREATE STREAM s (k INT) WITH (path = 'kafka://h:9092/t', frmat = 'a@b')"
    )
    assert "kafka://h:9092/t', frmat = 'a@b'" in driftline("run", "-c", script).err


@pytest.mark.parametrize("keys", [",,", "k,,ts", ",k"])
def test_keys_without_a_name(keys: str) -> None:
    ran = driftline("run", "-c", QUERY, "--runner", "local", "-o", "x.sqlite", "--keys", keys)
    assert ran.err.startswith(f"driftline: --keys: {keys!r} lacks the name of a column")


def test_a_pipe_is_written_to_by_its_name() -> None:
    command = [*COMMAND, "run", "-c", QUERY, "--runner", "local", "--view", "current"]
    for name in ("/dev/stdout", "/dev/fd/1"):
        done = subprocess.run([*command, "-o", name], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, '{"k":"a"}\n'), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_a_file_that_is_written_anew_keeps_its_mode_and_a_link_what_it_is() -> None:
    Path("out.csv").touch()
    Path("out.csv").chmod(0o640)
    Path("link.csv").symlink_to("out.csv")
    before = os.umask(0o077)
    try:
        assert driftline("run", "-c", QUERY, "--runner", "local", "-o", "link.csv").code == 0
    finally:
        os.umask(before)
    assert Path("link.csv").is_symlink()
    assert stat.S_IMODE(Path("out.csv").stat().st_mode) == 0o640
    assert Path("out.csv").stat().st_size
