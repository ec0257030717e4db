"""The `driftline` command. Each command imports what it needs when it runs: --help is quick."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer

from driftline.cli import demo
from driftline.cli.errors import EXIT_BAD, guarded

app = typer.Typer(
    name="driftline",
    help="Continuous queries over streams that arrive late, out of order, and are corrected.",
    epilog="Start with: driftline demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


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


def _version(wanted: bool) -> None:
    if wanted:
        from driftline import __version__

        print(f"driftline {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show a stack trace when something goes wrong.")
    ] = False,
) -> None:
    """Continuous queries over streams that arrive late, out of order, and are corrected."""


@app.command("check")
def check_command(files: Files, dead_letters: DeadLetters = None) -> None:
    """Is this a valid log? Where not?

    [dim]driftline check events.jsonl[/dim]
    says how many events each stream has, how late they come and how far it is closed; or names
    the file, the line and the rule of every breach, and exits with 2.

    [dim]driftline check --dead-letters bad.jsonl monday.jsonl tuesday.jsonl.gz[/dim]
    sets the bad events aside and reports on the rest.
    """
    from driftline.cli.check import check

    if code := check(files, dead_letters):
        raise typer.Exit(code)


@app.command("history")
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
    prints what the first 1,000 events said.
    """
    from driftline.cli.history import history

    drawn = sys.stdout.isatty() if format is None else format is Format.table
    history(files, dead_letters=dead_letters, stream=stream, at=at, prefix=prefix, drawn=drawn)


app.command("demo")(demo.demo)


def main() -> None:
    """The entry point of the command."""
    arguments = sys.argv[1:]
    debug = "--debug" in arguments  # wherever it stands
    sys.exit(guarded(lambda: _run([a for a in arguments if a != "--debug"]), debug=debug))


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        result = command.main(arguments, prog_name="driftline", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        usage = getattr(getattr(error, "ctx", None), "command_path", "driftline")
        print(f"driftline: {error.format_message()} (see {usage} --help)", file=sys.stderr)
        return EXIT_BAD
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    main()
