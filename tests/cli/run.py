"""Runs the command as if in a pipe, or as a process of its own on a terminal."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import typer

from driftline.cli.main import load, main

COMMAND = [sys.executable, "-m", "driftline.cli.main"]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


_of_typer = typer.main.get_command


@cache
def _commands(_: Any) -> Any:
    """All commands as Typer reads them, which takes longer than many a run."""
    return _of_typer(load())


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def driftline(*arguments: str | Path, stdin: bytes = b"", err: io.StringIO | None = None) -> Ran:
    """The command in a pipe (but in this process: to start one takes a second); `err`: if what it
    shows is to go elsewhere, as to a `Terminal`."""
    out, err = io.TextIOWrapper(io.BytesIO()), err or io.StringIO()
    standard_input = io.TextIOWrapper(io.BytesIO(stdin))
    code: object = 0
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "stdin", standard_input):
        # What it sets in the environment is for the processes that it starts itself.
        with (
            patch.dict(os.environ),
            patch.object(sys, "argv", ["driftline", *map(str, arguments)]),
            patch.object(typer.main, "get_command", _commands),
        ):
            try:
                main()
            except SystemExit as end:
                code = end.code
        out.flush()
    assert isinstance(code, int)
    return Ran(code, out.buffer.getvalue().decode(), err.getvalue())


def driftline_on_a_terminal(*arguments: str | Path) -> str:
    """All that the command shows on a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "120", "TERM": "xterm", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the terminal is gone, as the process is
            break
        if not piece:
            break
        shown += piece
    process.wait()
    os.close(ours)
    return shown.decode()
