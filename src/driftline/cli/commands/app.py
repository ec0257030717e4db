"""The `driftline` command without its commands, and what several of them take."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer(
    name="driftline",
    help="Continuous queries over streams that arrive late, out of order, and are corrected.",
    epilog="Start with: driftline demo",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


class RunnerName(StrEnum):
    """What runs a query."""

    local = "local"
    spark = "spark"


Script = Annotated[
    str,
    typer.Argument(
        metavar="QUERY.SQL", help="The script (- is standard input).", show_default=False
    ),
]

ScriptOrCommand = Annotated[
    str | None,
    typer.Argument(
        metavar="[QUERY.SQL]", help="The script (- is standard input).", show_default=False
    ),
]
Command = Annotated[
    str | None,
    typer.Option(
        "--command",
        "-c",
        metavar="SQL",
        help="A query, instead of a script or after what it declares.",
        show_default=False,
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show a stack trace when something goes wrong, and what Spark logs."
        ),
    ] = False,
) -> None:
    """Continuous queries over streams that arrive late, out of order, and are corrected."""
