"""The examples in the documentation run, and print what they say they print."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

import driftline

ROOT = Path(__file__).parent.parent
WITH_SESSIONS = [
    "docs/python.md",
    "docs/time.md",
    "docs/now.md",
    "docs/automata.md",
    "docs/patterns.md",
]
WITH_SCRIPTS = ["docs/specification.md"]


@pytest.mark.parametrize("page", WITH_SESSIONS)
def test_sessions_in_the_docs(page: str) -> None:
    failed, tried = doctest.testfile(str(ROOT / page), module_relative=False, encoding="utf-8")
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("page", WITH_SCRIPTS)
def test_scripts_in_the_docs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    scripts = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
    assert scripts
    for script in scripts:
        exec(compile(script, page, "exec"), {})
        expected = re.findall(r"^# (.*)$", script, re.M)
        assert capsys.readouterr().out.splitlines() == expected


def test_the_glossary_has_every_word_once_and_names_that_exist() -> None:
    text = (ROOT / "docs/glossary.md").read_text().split("## Names that have changed")[0]
    words = re.findall(r"^\| ([^|]+?) \|", text, re.M)
    each = [word for line in words if line not in ("word", "---") for word in line.split(", ")]
    assert len(each) == len(set(each))
    for name in re.findall(r"`dl\.(\w+)`", text):
        assert hasattr(driftline, name), name
    options = "\n".join(path.read_text() for path in (ROOT / "docs").glob("[!g]*.md"))
    for option in re.findall(r"`(--[a-z-]+)`", text):
        assert option in options, option
