"""The README, taken as a reader takes it: in order, in one directory."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.run import driftline

PAGE = Path(__file__).parent.parent / "README.md"


def typed(command: str) -> str | None:
    """What a command shows; None if it is not one of ours."""
    words = shlex.split(command, comments=True)
    if words[0] == "echo":
        *_, text, sign, path = words
        assert sign == ">>"
        with Path(path).open("a") as file:
            file.write(f"{text}\n")
        return ""
    if words[0] != "driftline":
        return None
    end = words.index("|") if "|" in words else len(words)
    ran = driftline(*words[1:end])
    shown = ran.out + ran.err
    return shown if end == len(words) else shown.splitlines(keepends=True)[0]


def test_the_page_read_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRIFTLINE_RUNNER", "local")
    page = PAGE.read_text(encoding="utf-8")
    tried = 0
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", page, re.M | re.S):
        if language == "python":
            exec(compile(text, PAGE, "exec"), {})
            out = capsys.readouterr().out
            assert re.findall(r"^# (.*)$", text, re.M) == out.splitlines()[-1:]
            assert len(out.splitlines()) > 3
            tried += 1
            continue
        parts = re.split(r"^\$ (.*)\n", text, flags=re.M)
        for command, shown in zip(parts[1::2], parts[2::2], strict=True):
            if command.startswith("cat "):
                Path(command.removeprefix("cat ")).write_text(shown, encoding="utf-8")
                continue
            found = typed(command)
            if found is not None and shown:
                assert found == shown, command
            tried += found is not None
    assert tried >= 7
