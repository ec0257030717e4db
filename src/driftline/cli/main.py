"""The `driftline` command. Each command imports what it needs when it runs: --help is quick."""

from __future__ import annotations

import gc
import os
import sys
from enum import StrEnum
from typing import Annotated

import typer

from driftline.cli import demo
from driftline.cli.errors import EXIT_BAD, guarded, heeding_the_reader
from driftline.plan.choices import (
    Clock,
    Emit,
    Expiry,
    Heartbeat,
    Heeding,
    Loops,
    Outputs,
    Scheduler,
    View,
)
from driftline.running.problems import Problem, one_line

COLLECT_AFTER = 500_000
"""How many objects are made before garbage is collected: loading modules makes some 200,000 objects
and no garbage, and each collection goes through those made since the last."""

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


Script = Annotated[
    str,
    typer.Argument(
        metavar="QUERY.SQL", help="The script (- is standard input).", show_default=False
    ),
]


@app.command("run")
@heeding_the_reader
def run_command(
    script: Script,
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
            help="How many bytes a batch may become in windows, joins, lists and texts: 8GB, inf.",
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
            "--follow", help="Go on with what comes into directories and topics, until Ctrl-C."
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
    """
    from driftline.cli.run import RunArguments, run
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
        keys,
    )  # fmt: skip
    run(script, runner.value, arguments)


def _settings(given: list[str]) -> dict[str, str]:
    settings = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not key or not sign:
            raise Problem(f"--conf: {text}: give KEY=VALUE, such as spark.executor.memory=4g")
        settings[key.strip()] = value
    return settings


@app.command("explain")
@heeding_the_reader
def explain_command(
    script: Script,
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

    explain(script, dot=dot, emit=emit)


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
    runs small queries that have every operator between them; it takes a few minutes, once after
    an install.
    """
    from driftline.cli.prepare import prepare

    prepare()


app.command("demo")(demo.demo)


def main() -> None:
    """The entry point of the command."""
    arguments = sys.argv[1:]
    debug = "--debug" in arguments  # wherever it stands
    gc.set_threshold(COLLECT_AFTER)
    if debug:
        os.environ["DRIFTLINE_DEBUG"] = "1"  # for Spark, which is quiet else
    code = guarded(lambda: _run([a for a in arguments if a != "--debug"]), debug=debug)
    if "duckdb" not in sys.modules:  # which prints what it calls leaks if nothing is collected
        gc.freeze()  # at the end Python collects twice: there is no need to go through modules
    sys.exit(code)


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
        if error.format_message():  # else the help has been shown, for want of a command
            print(
                f"driftline: {one_line(error.format_message())} (see {usage} --help)",
                file=sys.stderr,
            )
        return EXIT_BAD
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    main()
