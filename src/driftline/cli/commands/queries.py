"""`driftline explain` and `driftline audit`: how queries are run, and whether they were."""

from __future__ import annotations

from typing import Annotated

import typer

from driftline.cli.commands.app import Command, RunnerName, Script, ScriptOrCommand, app
from driftline.cli.errors import heeding_the_reader
from driftline.plan.choices import Emit


@app.command("explain")
@heeding_the_reader
def explain_command(
    script: ScriptOrCommand = None,
    command: Command = None,
    dot: Annotated[bool, typer.Option("--dot", help="As a graph for Graphviz.")] = False,
    emit: Annotated[Emit | None, typer.Option(help="As if run so.", show_default="ordered")] = None,
) -> None:
    """How the queries of a script are run: operators, lifetimes, keys, state, and what ctis do.

    [dim]driftline explain query.sql[/dim]
    draws every query as a tree.

    [dim]driftline explain query.sql --dot | dot -Tsvg > plan.svg[/dim]
    draws it as a picture.
    """
    from driftline.cli.explain import explain
    from driftline.cli.scripts import ScriptText

    explain(ScriptText(script, command), dot=dot, emit=emit)


@app.command("audit")
@heeding_the_reader
def audit_command(
    log: Annotated[
        str,
        typer.Argument(metavar="OUT", help="An event log with marks.", show_default=False),
    ],
    script: Script,
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input",
            "-i",
            metavar="[NAME=]FILE",
            help="The inputs that it was made from, as for run. Repeats.",
            show_default=False,
            default_factory=list,
        ),
    ],
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Check N of the marks, evenly from first to last."),
    ] = None,
    runner: Annotated[
        RunnerName, typer.Option(help="As for the run.", envvar="DRIFTLINE_RUNNER")
    ] = RunnerName.spark,
    emit: Annotated[
        Emit | None, typer.Option(help="As for the run.", show_default="ordered")
    ] = None,
    block: Annotated[
        str | None, typer.Option(metavar="D", help="As for the run.", show_default="0")
    ] = None,
    remember: Annotated[
        str | None, typer.Option(metavar="D", help="As for the run.", show_default="inf")
    ] = None,
) -> int:
    """Check answers against the prefix of the inputs that they name.

    [dim]driftline run q.sql -i in.jsonl -o out.jsonl --outputs marked[/dim]
    writes marks: all before one is the exact answer for so many events of each input.

    [dim]driftline audit out.jsonl q.sql -i in.jsonl --sample 20[/dim]
    computes twenty of these answers afresh, and says whether the log has them; if not, the exit
    code is 1.
    """
    from driftline.cli.audit import audit

    settings = {"emit": emit, "block": block, "remember": remember}
    is_local = runner is RunnerName.local
    return audit(script, log, inputs, settings, sample, is_local=is_local)
