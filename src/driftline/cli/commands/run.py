"""`driftline run` and its options."""

from __future__ import annotations

from typing import Annotated

import typer

from driftline.cli.commands.app import Command, RunnerName, ScriptOrCommand, app
from driftline.cli.errors import heeding_the_reader
from driftline.plan.choices import (
    Clock,
    Emit,
    Expiry,
    Format,
    Heartbeat,
    Heeding,
    Loops,
    Outputs,
    Scheduler,
    View,
)
from driftline.running.problems import Problem


@app.command("run")
@heeding_the_reader
def run_command(
    inputs: Annotated[
        list[str],
        typer.Option(
            "--input",
            "-i",
            metavar="[NAME=]FILE",
            help="An event log (.jsonl), or plain records (.jsonl, .csv, .parquet) of the stream "
            "NAME; - is standard input. A directory of such files, kafka://HOST:PORT/TOPIC, and "
            "with Spark rate://?rowsPerSecond=N, is read as it comes. Repeats.",
            show_default=False,
            default_factory=list,
        ),
    ],
    script: ScriptOrCommand = None,
    command: Command = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where the answers go: .jsonl, .csv, .parquet, a directory/ (Parquet), a database "
            "(postgresql://HOST/DB, .duckdb, .sqlite), or - for standard output.",
        ),
    ] = "-",
    view: Annotated[
        View | None,
        typer.Option(
            help="What of the answers the output has.", show_default="changes; current with --keys"
        ),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="How it is written.",
            show_default="by the name of the file; json, an event log",
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace tables of databases that another run made.")
    ] = False,
    keys: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN,…",
            help="The key of the table, in which a database then has the current rows.",
            show_default=False,
        ),
    ] = None,
    final: Annotated[
        bool | None,
        typer.Option(
            "--final/--no-final",
            help="Emit every row once, when it cannot change any more.",
            show_default="--no-final",
        ),
    ] = None,
    runner: Annotated[
        RunnerName,
        typer.Option(
            help="What runs the query: Spark, or this process alone.", envvar="DRIFTLINE_RUNNER"
        ),
    ] = RunnerName.spark,
    emit: Annotated[
        Emit | None, typer.Option(help="How soon to emit answers.", show_default="ordered")
    ] = None,
    block: Annotated[
        str | None,
        typer.Option(
            metavar="D",
            help="How long an event is held back before the query speculates: 0, 2s, inf.",
            show_default="0",
        ),
    ] = None,
    remember: Annotated[
        str | None,
        typer.Option(
            metavar="D",
            help="How long the past can still be corrected: 72h, inf.",
            show_default="inf",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="How many events are taken in at once."),
    ] = None,
    max_expansion: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="How many bytes a batch may become by windows, joins, lists, strings: 8GB, inf.",
            show_default="2GB",
        ),
    ] = None,
    max_steps: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="How many steps an attempt to match a pattern may take: 1000000, inf.",
            show_default="10000000",
        ),
    ] = None,
    scheduler: Annotated[
        Scheduler,
        typer.Option(
            help="Work every batch off before the next is read, or read on meanwhile (local)."
        ),
    ] = "drain",
    outputs: Annotated[
        Outputs | None,
        typer.Option(
            help="Mark answers that are exact for a prefix of the inputs, or write only such.",
            show_default="free",
        ),
    ] = None,
    tokens: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="After how many events such an answer is asked for, if the scheduler reads on.",
            show_default="adaptive",
        ),
    ] = None,
    heeding: Annotated[
        Heeding | None,
        typer.Option(
            help="Find such answers by labels instead, without asking for them.",
            show_default=False,
        ),
    ] = None,
    table: Annotated[
        bool,
        typer.Option(
            "--table", help="Write the canonical history in the end, not the changes on the way."
        ),
    ] = False,
    now: Annotated[
        bool,
        typer.Option(
            "--now", help="Write the answer as it is now: + a row that has come, - one that left."
        ),
    ] = False,
    clock: Annotated[
        Clock | None,
        typer.Option(
            help="Which time is now: the latest that an input has shown, the last that is final, "
            "or the time of day.",
            show_default="latest",
        ),
    ] = None,
    expiry: Annotated[
        Expiry | None,
        typer.Option(
            help="How operators hear that time has passed, for the answer now (local).",
            show_default="piggyback",
        ),
    ] = None,
    loop: Annotated[
        Loops | None,
        typer.Option(
            help="How a recursive query finds how far its answer is final, if the scheduler reads "
            "on.",
            show_default="hybrid",
        ),
    ] = None,
    heartbeat: Annotated[
        Heartbeat | None,
        typer.Option(
            help="Whose heartbeats a row waits for, if --block holds it back: those of its own "
            "source, of all that meet in the first operator (memory: or fewer, if less is then "
            "held), or of all sources of the query.",
            show_default="source",
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option(
            "--live", help="Draw the answer now as a table, in place, until it ends or q is typed."
        ),
    ] = False,
    pace: Annotated[
        str | None,
        typer.Option(
            metavar="SPEED",
            help="Read the inputs as fast as they came, or faster: 1x, 10x (local).",
            show_default=False,
        ),
    ] = None,
    keep_open: Annotated[
        bool,
        typer.Option("--keep-open", help="Do not close the streams where their inputs end."),
    ] = False,
    close: Annotated[
        bool,
        typer.Option(
            "--close",
            help="Close the streams of a --checkpoint when all has been read: the answers become "
            "final, and nothing new can come.",
        ),
    ] = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow",
            help="Go on with what comes into directories, topics and (local) files, until Ctrl-C.",
        ),
    ] = False,
    dead_letters: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Collect records that cannot be read, and events that came too late or are not "
            "valid, with the reasons.",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Stop at the first of these, instead of going on without."),
    ] = False,
    explain_time: Annotated[
        bool,
        typer.Option(
            "--explain-time", help="Show when the records of every source came, and how late."
        ),
    ] = False,
    time_chart: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw application time against arrival: .svg or .png."),
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where the Spark runner keeps its state.")
    ] = None,
    master: Annotated[str | None, typer.Option(metavar="URL", help="The Spark cluster.")] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of Spark. Repeats.", show_default=False),
    ] = None,
) -> None:
    """Answer the queries of a script, and correct the answers as events come.

    [dim]driftline run query.sql --input events.jsonl --output out.jsonl[/dim]
    reads an event log and writes one: inserts, retracts, and ctis, up to which it is final.

    [dim]driftline run query.sql --input trades=trades.csv --table[/dim]
    reads plain records, and prints what is left in the end, with lifetimes.

    [dim]driftline run query.sql -i events.jsonl --block inf --dead-letters late.jsonl[/dim]
    never speculates, and collects what came too late.

    [dim]driftline run query.sql -i trades=incoming/ --follow --checkpoint state/[/dim]
    answers for every file that comes into the directory, and goes on where it was stopped.

    [dim]driftline run query.sql -i trades=trades.csv --live --pace 10x --runner local[/dim]
    replays a file ten times as fast as it was, and draws the answer as it is.

    [dim]driftline run pipeline.sql --follow --checkpoint state/[/dim]
    runs a script that says itself where its streams come from and where its answers go.

    [dim]driftline run query.sql -i in.jsonl -o postgresql://me@host/db --keys symbol[/dim]
    keeps a table of PostgreSQL up to date.

    [dim]driftline run a.sql -i in.jsonl | driftline run b.sql -i - -o out.parquet[/dim]
    makes the answer of one script the input of another.

    [dim]driftline run streams.sql -i trades=trades.csv -c "SELECT count(*) FROM trades"[/dim]
    asks one thing of the streams that a script declares.
    """
    from driftline.cli.run import RunArguments, run
    from driftline.cli.scripts import ScriptText
    from driftline.running.options import RunOptions
    from driftline.running.pace import speed_of

    options = RunOptions(
        batch, keep_open, checkpoint, close, master, follow, scheduler, _settings(conf or []),
        now or live, None if pace is None else speed_of(pace),
    )  # fmt: skip
    arguments = RunArguments(
        inputs, output, emit, block, remember, table, dead_letters,
        explain_time, time_chart, strict, options, max_expansion,
        outputs, tokens, heeding, clock, expiry, live, loop, heartbeat, max_steps, final, view,
        keys, form, overwrite,
    )  # fmt: skip
    run(ScriptText(script, command), runner.value, arguments)


def _settings(given: list[str]) -> dict[str, str]:
    settings = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not key or not sign:
            raise Problem(f"--conf: {text}: give KEY=VALUE, such as spark.executor.memory=4g")
        settings[key.strip()] = value
    return settings
