"""The examples in the documentation run, and print what they say they print."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

import driftline

ROOT = Path(__file__).parent.parent
WITH_SESSIONS = [
    "docs/aggregates.md",
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


@pytest.mark.spark
def test_dataframes_in_the_docs(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of the page in order, over the directory that it speaks of."""
    rows = [("A", 5, 1), ("B", 7, 3), ("A", 1, 2)]
    lines = [f'{{"symbol":"{s}","qty":{q},"ts":"2026-01-01T10:00:0{t}Z"}}' for s, q, t in rows]
    (tmp_path / "trades").mkdir()
    (tmp_path / "trades" / "0.json").write_text("\n".join(lines))
    text = (ROOT / "docs/pyspark.md").read_text(encoding="utf-8")
    for path in ("trades", "checkpoints/volume"):  # Spark has another working directory
        text = text.replace(f'"{path}")', f'"{tmp_path / path}")')
    text = text.replace('stream("' + str(tmp_path / "trades") + '"', 'stream("trades"')
    names = {"spark": spark}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M):
        exec(compile(block, "docs/pyspark.md", "exec"), names)
        assert capsys.readouterr().out.splitlines() == re.findall(r"^# (.*)$", block, re.M)


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
