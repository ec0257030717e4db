import os
import subprocess
import sys
from pathlib import Path

import pytest

from driftline import __version__
from tests.cli.run import driftline


def test_the_version() -> None:
    ran = driftline("--version")
    assert (ran.code, ran.out) == (0, f"driftline {__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["check", "--help"],
        ["history", "--help"],
        ["run", "--help"],
        ["explain", "--help"],
    ],
)
def test_help(arguments: list[str]) -> None:
    ran = driftline(*arguments)
    assert ran.code == 0
    assert "Usage: driftline" in ran.out


def test_shell_completion() -> None:
    environment = {
        **os.environ,
        "_DRIFTLINE_COMPLETE": "complete_bash",
        "COMP_WORDS": "driftline ex",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "driftline.cli.main"],
        env=environment,
        capture_output=True,
        check=True,
    )
    assert done.stdout.split() == [b"explain"]


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys; from driftline.cli.main import load; load(); "
        "print([m for m in ('numba', 'pyarrow', 'pandas', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["chekc"], "No such command"),
        (["check"], "Missing argument"),
        (["check", "--no"], "No such option"),
        (["history", "a", "--prefix", "x"], "Invalid value"),
        (["history", "a", "--format", "xml"], "Invalid value"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], complaint: str) -> None:
    ran = driftline(*arguments)
    assert (ran.code, ran.out) == (2, "")
    [line] = ran.err.splitlines()
    assert line.startswith(f"driftline: {complaint}")
    assert line.endswith("--help)")


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    ran = driftline("check", tmp_path / "none.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"{tmp_path / 'none.jsonl'}: there is no such file\n"


def test_a_stack_trace_only_on_request(tmp_path: Path) -> None:
    assert "Traceback" not in driftline("check", tmp_path).err
    for arguments in (["--debug", "check", str(tmp_path)], ["check", str(tmp_path), "--debug"]):
        ran = driftline(*arguments)
        assert (ran.code, ran.err.startswith("Traceback")) == (1, True)


def test_dead_letters_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    ran = driftline("check", tmp_path / "a.jsonl", "--dead-letters", tmp_path / "no" / "bad.jsonl")
    assert ran.code == 2
    [line] = ran.err.splitlines()
    assert "No such file or directory" in line


def test_without_a_command_there_is_help_alone() -> None:
    ran = driftline()
    assert "Usage: driftline" in ran.out
    assert ran.err == ""
