"""`driftline state` and `driftline prepare`: what is kept, and what is made ready."""

from __future__ import annotations

from typing import Annotated

import typer

from driftline.cli.commands.app import app
from driftline.cli.errors import heeding_the_reader


@app.command("state")
@heeding_the_reader
def state_command(
    checkpoint: Annotated[
        str, typer.Argument(metavar="DIR", help="What --checkpoint was.", show_default=False)
    ],
) -> None:
    """What a query on Spark holds: operators, shards, rows, bytes, times.

    [dim]driftline state checkpoint/[/dim]
    draws a table; in a pipe it is JSON Lines, one for every operator of every shard.
    """
    from driftline.cli.state import state

    state(checkpoint)


@app.command("prepare")
@heeding_the_reader
def prepare_command() -> None:
    """Compile the kernels now, so that the first queries need not wait for it.

    [dim]driftline prepare[/dim]
    takes about two minutes, and needs a C compiler. A wheel has them compiled, and `make` does it.
    """
    from driftline.cli.prepare import prepare

    prepare()
