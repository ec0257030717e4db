"""The tutorial, taken as a reader takes it: every file is saved, every command typed, and what is
shown compared with the page to the letter."""

from __future__ import annotations

import io
import re
import shlex
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from driftline.cli.main import main

PAGE = Path(__file__).parent.parent / "docs" / "tutorial.md"
STEPS = 6


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the name of the file that it is, if any, and its text."""

    language: str
    title: str | None
    text: str

    def commands(self) -> list[tuple[str, str]]:
        """What is typed after `$`, and what is shown then."""
        parts = re.split(r"^\$ (.*)\n", self.text, flags=re.M)
        assert parts[0] == "", f"a console block begins with a command: {self.text}"
        return list(zip(parts[1::2], parts[2::2], strict=True))


def blocks(page: str) -> list[Block]:
    found = re.findall(r'^```(\w+)(?: title="(.*?)")?\n(.*?)^```$', page, re.M | re.S)
    return [Block(language, title or None, text) for language, title, text in found]


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def typed(command: str) -> str:
    """What a terminal shows: first the answer, then remarks."""
    words = shlex.split(command)
    if words[0] == "cat":
        return "".join(Path(name).read_text(encoding="utf-8") for name in words[1:])
    if words[0] == "export":
        return ""
    assert words[0] == "driftline", f"the test does not know {words[0]}"
    shown, err = io.BytesIO(), io.StringIO()
    out = Terminal(shown, encoding="utf-8")
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", words):
        with pytest.raises(SystemExit) as end:
            main()
        out.flush()
    assert end.value.code == 0, err.getvalue()
    return shown.getvalue().decode() + err.getvalue()


def taken(page: str) -> int:
    """Goes through a page in the current directory; gives how many commands of ours it has."""
    tried = 0
    for block in blocks(page):
        if block.title is not None:
            Path(block.title).write_text(block.text, encoding="utf-8")
            continue
        assert block.language == "console", f"neither a file nor commands: {block.text}"
        for command, shown in block.commands():
            assert typed(command) == shown, command
            tried += command.startswith("driftline")
    return tried


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory, and a terminal that draws tables without colour."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRIFTLINE_RUNNER", "local")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.usefixtures("reader")
def test_every_command_shows_what_the_page_says() -> None:
    assert taken(PAGE.read_text(encoding="utf-8")) >= 2 * STEPS


@pytest.mark.usefixtures("reader")
def test_the_answer_now_is_what_its_page_says() -> None:
    page = PAGE.with_name("now.md").read_text(encoding="utf-8")
    assert taken(page.partition("## The clock")[0]) == 1


@pytest.mark.usefixtures("reader")
def test_a_page_that_says_something_else_is_found_out() -> None:
    page = PAGE.read_text(encoding="utf-8")
    with pytest.raises(AssertionError, match="driftline run recent.sql"):
        taken(page.replace("│    500 │", "│    501 │"))


def test_it_has_five_steps() -> None:
    steps = re.findall(r"^## (\d)\. ", PAGE.read_text(encoding="utf-8"), re.M)
    assert steps == [str(number) for number in range(1, STEPS + 1)]
