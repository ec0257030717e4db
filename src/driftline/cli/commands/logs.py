"""`driftline check` and `driftline history`: what is in event logs."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from driftline.cli.commands.app import app
from driftline.cli.errors import heeding_the_reader


class Format(StrEnum):
    """How a history is printed."""

    json = "json"
    table = "table"


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="Event logs, read one after another (.gz, .zst, .bz2, .lz4 too; - is standard input).",
        show_default=False,
    ),
]
DeadLetters = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Collect bad events in this file, with the reason, and go on without them.",
    ),
]


@app.command("check")
@heeding_the_reader
def check_command(files: Files, dead_letters: DeadLetters = None) -> None:
    """Is this a valid log? Where not?

    [dim]driftline check events.jsonl[/dim]
    shows how many events each stream has, how late they come and how far it is closed; or names
    the file, the line and the rule of every breach, and exits with 2.

    [dim]driftline check --dead-letters bad.jsonl monday.jsonl tuesday.jsonl.gz[/dim]
    sets the bad events aside and reports on the rest.
    """
    from driftline.cli.check import check

    if code := check(files, dead_letters):
        raise typer.Exit(code)


@app.command("history")
@heeding_the_reader
def history_command(
    files: Files,
    dead_letters: DeadLetters = None,
    stream: Annotated[str | None, typer.Option(metavar="NAME", help="Only this stream.")] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="T", help="Only what is alive at T: ticks, or an ISO 8601 time."),
    ] = None,
    prefix: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="As of the first N events of the log.")
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(help="By default a table on a terminal, JSON Lines in a pipe."),
    ] = None,
) -> None:
    """The canonical history: what is left when all retractions are applied.

    [dim]driftline history events.jsonl[/dim]
    prints every lifetime [vs, ve) with its row, in order.

    [dim]driftline history events.jsonl --stream trades --at 2024-05-01T09:30:00Z[/dim]
    prints what was alive at half past nine.

    [dim]driftline history events.jsonl --prefix 1000 | sort > before.txt[/dim]
    prints the history as of the first 1,000 events.
    """
    from driftline.cli.history import history

    drawn = sys.stdout.isatty() if format is None else format is Format.table
    history(files, dead_letters=dead_letters, stream=stream, at=at, prefix=prefix, drawn=drawn)
