"""Nothing that is read is written over, whatever it is called."""

import os
from pathlib import Path

import pytest

from driftline.event_log.apart import STDOUT
from tests.cli.run import driftline

SCRIPT = """
CREATE STREAM s (k STRING, t INT) WITH (time = 't');
SELECT k, count(*) AS n FROM s GROUP BY k;
"""
ROWS = "k,t\na,1\nb,2\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.sql").write_text(SCRIPT)
    (tmp_path / "in.csv").write_text(ROWS)
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "one.csv").write_text(ROWS)
    (tmp_path / "link.csv").symlink_to("in.csv")
    (tmp_path / "up").symlink_to(tmp_path)
    os.link(tmp_path / "in.csv", tmp_path / "hard.csv")
    os.link(tmp_path / "many" / "one.csv", tmp_path / "second.csv")
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    return {str(each): each.read_text() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("runner", ["local", "spark"])
@pytest.mark.parametrize(
    "arguments",
    [
        "-i s=in.csv -o in.csv",
        "-i s=in.csv -o ./in.csv",
        "-i s=in.csv -o up/in.csv",
        "-i s=link.csv -o in.csv",
        "-i s=in.csv -o link.csv",
        "-i in.csv -o hard.csv",
        "-i s=many -o many/one.csv",
        "-i s=many -o many/new.csv",
        "-i s=many -o second.csv",
        "-i s=many?format=csv -o many/",
        "-i s=in.csv -o q.sql",
        "-i s=in.csv --dead-letters q.sql",
        "-i s=in.csv --dead-letters in.csv",
        "-i s=many --dead-letters many/new.jsonl",
        "-i s=in.csv -o new.jsonl --dead-letters up/new.jsonl",
        "-i s=in.csv -o new.csv --table --dead-letters ./new.csv",
        "-i s=in.csv --time-chart in.csv",
        "-i s=in.csv -o new.svg --time-chart new.svg",
        "-i s=in.csv --checkpoint in.csv",
        "-i s=in.csv --checkpoint .",
        "-i s=many --checkpoint many/state",
        "-i s=in.csv --checkpoint state -o state/",
        "-i s=in.csv --checkpoint state --dead-letters state",
    ],
)
def test_a_run_is_refused(folder: Path, arguments: str, runner: str) -> None:
    before = contents(folder)
    ran = driftline("run", "q.sql", *arguments.split(), "--runner", runner)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("driftline: ")
    assert ran.err.count("\n") == 1
    assert contents(folder) == before


def test_bounds_are_read(folder: Path) -> None:
    bounds = "from,to,after,delta\na,a,0,0\n"
    (folder / "bounds.csv").write_text(bounds)
    (folder / "b.sql").write_text(
        "CREATE STREAM s (t BIGINT, k STRING) "
        "WITH (time = 't', source = 'k', bounds = 'bounds.csv');\nSELECT * FROM s;\n"
    )
    ran = driftline("run", "b.sql", "-i", "s=in.csv", "-o", "up/bounds.csv", "--runner", "local")
    assert ran.err == (
        "driftline: --output up/bounds.csv is the same file as the bounds bounds.csv: give another "
        "one\n"
    )
    assert (folder / "bounds.csv").read_text() == bounds


def test_files_that_are_apart(folder: Path) -> None:
    for output in ("new.csv", "new.csv", "/dev/null", "many/_answers/", "-"):
        ran = driftline("run", "q.sql", "-i", "s=many", "-o", output, "--dead-letters", "/dev/null")
        assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("command", ["check", "history"])
def test_logs_are_not_written_over(folder: Path, command: str) -> None:
    text = '{"stream":"s","kind":"cti","t":10}\noops\n'
    log = folder / "log.jsonl"
    log.write_text(text)
    (folder / "log.link").symlink_to(log)
    for letters in (log, "up/log.jsonl", "log.link"):
        ran = driftline(command, "log.jsonl", "--dead-letters", letters)
        assert ran.code == 2
        assert "is the same file as the input log.jsonl: give another one" in ran.err
    assert log.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        ("run q.sql -i s=in.csv", "in.csv"),
        ("run q.sql -i s=many", "many/new.csv"),
        ("run q.sql -i s=in.csv --dead-letters new.jsonl", "new.jsonl"),
        ("explain q.sql", "q.sql"),
        ("history log.jsonl", "log.jsonl"),
    ],
)
def test_standard_output_is_a_file_too(folder: Path, arguments: str, output: str) -> None:
    (folder / "log.jsonl").write_text('{"stream":"s","kind":"cti","t":10}\n')
    before = (folder / output).read_text() if (folder / output).exists() else ""
    usual = os.dup(STDOUT)
    with (folder / output).open("a") as file:  # as after >>
        os.dup2(file.fileno(), STDOUT)
        try:
            ran = driftline(*arguments.split())
        finally:
            os.dup2(usual, STDOUT)
            os.close(usual)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("driftline: standard output is ") or output == "new.jsonl"
    assert ran.err.count("\n") == 1
    assert (folder / output).read_text() == before
