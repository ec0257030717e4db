"""Every module, option, test and experiment that the page on the papers names exists."""

from __future__ import annotations

import inspect
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

import driftline as dl
from driftline.cli import main
from driftline.results import Result
from driftline.sql.script import OPTIONS, SETTINGS
from experiments.catalogue import EXPERIMENTS

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8").split("## Where each thing is")[1]
HEAD = ["in the paper", "module", "reached by", "held by", "shown by", "departures"]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| ")
]
THINGS = [row for row in ROWS if row != HEAD]
NAMED = re.compile(r"`([^`]+)`")
COMMANDS = {
    name: {option for parameter in command.params for option in parameter.opts}
    for name, command in typer.main.get_command(main.load()).commands.items()  # type: ignore[attr-defined]
}


def exists(name: str) -> bool:
    """Whether something in backticks is there, whatever it is."""
    if name.startswith("tests/"):
        path, _, function = name.partition("::")
        return (ROOT / path).is_file() and f"def {function}" in (ROOT / path).read_text()
    if name.startswith("driftline."):
        return find_spec(name) is not None
    if name.startswith("--"):
        return any(name in options for options in COMMANDS.values())
    word = re.sub(r"\W+$", "", name.rpartition(" ")[2].rpartition("(")[2])
    if name.startswith("driftline "):
        return word in COMMANDS
    if name.startswith("SET "):
        return word in SETTINGS
    if name.startswith("WITH ("):
        return name.removeprefix("WITH (").split()[0] in OPTIONS
    if name.startswith(("run(", "dl.stream(")):
        taken = dl.Query.changes if name.startswith("run(") else dl.stream
        return word.rstrip("=…)") in inspect.signature(taken).parameters
    kind, _, member = name.partition(".")
    return hasattr({"Query": dl.Query, "dl": dl, "Result": Result}[kind], member)


@pytest.mark.parametrize("row", THINGS, ids=lambda row: row[0])
def test_what_is_named_exists(row: list[str]) -> None:
    assert len(row) == len(HEAD)
    _, module, reached, held, shown, departures = row
    for cell in (module, reached, held, departures):
        for name in NAMED.findall(cell):
            assert exists(name), name
    assert all(NAMED.findall(cell) for cell in (module, held))
    assert reached
    names = {each.name for each in EXPERIMENTS}
    for name, anchor in re.findall(r"\[([^\]]+)\]\(experiments\.md#([^)]+)\)", shown):
        assert name == anchor
        assert name in names


def test_what_does_not_exist_is_found() -> None:
    for name in ("driftline.nowhere", "--nowhere", "SET nowhere", "run(nowhere=…)", "dl.nowhere"):
        assert not exists(name), name
    assert not exists("tests/test_papers.py::test_of_nothing")


def test_every_experiment_is_shown_by_the_tables() -> None:
    shown = set(re.findall(r"experiments\.md#([\w-]+)", PAGE))
    assert shown == {each.name for each in EXPERIMENTS}
