"""Reading the script of a command, and how its queries are run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from driftline.cli.errors import BadScript
from driftline.event_log.apart import STDIN, Used
from driftline.running.environment import concealed
from driftline.running.options import Consistency, free_running
from driftline.running.problems import Problem

if TYPE_CHECKING:
    from driftline.sql import Output, Script, SqlError

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class ScriptText:
    """The script of a command: a file, `-c`, or a file and `-c` after it."""

    path: str | None
    command: str | None = None

    def __post_init__(self) -> None:
        if self.path is None and self.command is None:
            raise Problem("give the file of a script, or a query: -c 'SELECT …'")

    def used(self) -> list[Used]:
        """The file that is read."""
        if self.path is None:
            return []
        return [Used("the script", STDIN if self.path == STANDARD_INPUT else self.path)]

    def read(self) -> tuple[str, str]:
        """The name to show for it, and its text."""
        shown, text = ("-c", "") if self.path is None else _read_file(self.path)
        if self.command is None:
            return shown, text
        declared = text.rstrip()
        end = "" if not declared or declared.endswith(";") else ";"
        return shown, f"{declared}{end}\n{self.command}" if declared else self.command


def _read_file(path: str) -> tuple[str, str]:
    if path == STANDARD_INPUT:
        return "<stdin>", sys.stdin.read()
    try:
        return path, Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise Problem(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise Problem(f"{path} is a directory: the script is a file") from None
    except UnicodeDecodeError as error:
        raise Problem(f"{path}: it is not UTF-8, at byte {error.start}") from None


def load(given: ScriptText) -> Script:
    """The script that was given; what is wrong with it is shown with its place."""
    from driftline.sql import SqlError, read_script

    shown, text = given.read()
    try:
        script = read_script(text)
    except SqlError as error:
        raise _bad(shown, error) from None
    if not script.outputs and not script.explained:
        why = "it is empty" if not text.strip() else "it only declares"
        raise Problem(f"{shown}: there is no query to run, {why}: end it with SELECT … FROM …")
    check(script, shown)
    for note in script.notes:
        print(f"{shown}: {note}", file=sys.stderr)
    return script


def _bad(shown: str, error: SqlError) -> BadScript:
    """The error with its place in the text, in which no secret is shown."""
    from driftline.sql import SqlError

    line = (error.text.split("\n")[error.line - 1 :] or [""])[0]
    before, after = (
        concealed(part) for part in (line[: error.column - 1], line[error.column - 1 :])
    )
    column = error.column - len(line[: error.column - 1]) + len(before)
    pointed = SqlError(error.message, 1, column, before + after).pointed()
    return BadScript(shown, error.line, error.column, error.message, pointed)


def check(script: Script, shown: str) -> None:
    """Compiles every query once, so that what cannot be run is refused before any input is read."""
    from driftline.engine.compile import compile_plan
    from driftline.plan.errors import ExpressionError, PlanError
    from driftline.sql import SqlError

    for output in (*script.outputs, *script.explained):
        try:
            compile_plan(output.plan, lambda batch: None)
        except (PlanError, ExpressionError) as error:
            placed = SqlError(str(error), output.line, output.column, script.text)
            raise _bad(shown, placed) from None


def consistency_of(output: Output, given: Mapping[str, str | None]) -> Consistency:
    """How a query is run: the command line goes before SET, and SET before the defaults."""
    from driftline.plan.durations import ticks
    from driftline.plan.errors import PlanError
    from driftline.plan.sizes import size_of, steps_of

    written = {name: value for name, value in given.items() if value is not None}
    chosen = Consistency(**{**output.settings, **written})
    for name, value in (("block", chosen.block), ("remember", chosen.remember)):
        try:
            ticks(value, output.plan.timestamps)
        except PlanError as error:
            raise Problem(f"{name}: {error}") from None
    try:
        size_of(chosen.max_expansion)
        steps_of(chosen.max_steps)
    except PlanError as error:
        raise Problem(str(error)) from None
    free_running("drain", chosen)
    return chosen
