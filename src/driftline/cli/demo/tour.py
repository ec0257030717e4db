"""The tour: a market feed with late trades and corrections, and what becomes of it.

Every number that is shown is measured while it runs.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftline.cli.commands.app import app

if TYPE_CHECKING:
    from rich.console import Console

    from driftline.cli.demo.feed import Feed
    from driftline.cli.demo.measured import Answer, Measured

FIRST_EVENTS = 4
WIDTH_OF_A_PIPE = 110
ABOUT, ASKED_AT = "10:00", ("10:02", "10:05")


@app.command("demo")
def demo() -> None:
    """Take the tour: late trades, corrections, and answers that follow them."""
    from rich.console import Console

    from driftline.cli.demo import sparks_own
    from driftline.cli.demo.feed import Feed, market_feed

    began = time.monotonic()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)
    feed = Feed(market_feed())
    with tempfile.TemporaryDirectory(prefix="driftline-") as name:
        folder = Path(name)
        _show_feed(console, feed, folder)
        with console.status("starting Spark …"):
            spark = sparks_own.session()
            sparks_own.start_workers(spark)
        try:
            truth, own = _ask_spark(console, spark, feed, folder)
            corners = _ask_driftline(console, spark, feed, folder)
            _show_table(console, truth, own, corners)
            _show_history(console, spark, corners["middle"])
        finally:
            spark.stop()
    console.print(
        f"\nThe tour took {time.monotonic() - began:.0f} seconds.\n"
        "Read on: docs/tutorial.md does this step by step; `driftline --help` says what else "
        "there is."
    )


def _title(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]")


def _show_feed(console: Console, feed: Feed, folder: Path) -> None:
    from driftline.cli.demo.feed import MINUTE
    from driftline.event_log.writer import write_log
    from driftline.model.columns import RETRACT
    from driftline.model.event import Insert, Retract
    from driftline.model.predicates import late

    _title(console, "1. A market feed: an event log, in the order in which we hear of trades")
    log = folder / "trades.jsonl"
    write_log([feed.columns], log)
    with log.open(encoding="utf-8") as lines:
        for _ in range(FIRST_EVENTS):
            console.print(f"   {next(lines).rstrip()}", style="dim", soft_wrap=True, markup=False)
    console.print("   …", style="dim")
    events, retracts = len(feed.columns), int((feed.columns.kind == RETRACT).sum())
    late_events, most = late(feed.columns)
    console.print(
        f"{events:,} events: {late_events} are late, by up to {most / MINUTE:.0f} minutes, and "
        f"{retracts} trades are taken back."
    )
    latest = max(
        ((each.at, each.event.vs) for each in feed.arrivals if isinstance(each.event, Insert)),
        key=lambda heard: heard[0] - heard[1],
    )
    at, wrong = next(
        (each.at, each.event) for each in feed.arrivals if isinstance(each.event, Retract)
    )
    console.print(
        f"A trade of {_clock(latest[1])} is heard of at {_clock(latest[0])}. Trade "
        f"{wrong.row['id']}, of {_clock(wrong.vs)}, was reported with {wrong.row['qty']} shares: a "
        f"slip, which is taken back and corrected at {_clock(at)}."
    )


def _ask_spark(console: Console, spark: Any, feed: Feed, folder: Path) -> tuple[Answer, Measured]:
    from driftline.cli.demo import sparks_own
    from driftline.cli.demo.feed import with_time
    from driftline.cli.demo.measured import differing
    from driftline.model.history_columns import history_columns

    _title(console, "2. Trades and shares per symbol and minute: what Spark's own stream answers")
    with _steps(console, "Spark streams the feed", feed) as tell:
        reports = feed.first_reports()
        own = sparks_own.as_a_stream(spark, reports, feed.clock, folder / "own", tell)
    with console.status("Spark reads the finished, corrected table, which is the truth …"):
        history = history_columns(feed.columns)
        truth = sparks_own.on_the_table(spark, with_time(history.payload, history.vs))
    console.print(
        f"[bold red]{differing(own.answer, truth)} of {len(truth)} results are wrong[/bold red] "
        f"(watermark: {sparks_own.WATERMARK}). It dropped {own.left_out} late trades without a "
        "word, and it has no way to take a trade back."
    )
    return truth, own


def _ask_driftline(console: Console, spark: Any, feed: Feed, folder: Path) -> dict[str, Measured]:
    from driftline.cli.demo.corners import CORNERS, QUESTION, at_corner, spooled_feed

    _title(console, "3. The same question to Driftline, on the same Spark")
    console.print(f"{QUESTION}\n", style="cyan", markup=False)
    frame = spooled_feed(spark, feed, folder / "feed")
    found = {}
    for corner in CORNERS:
        with _steps(console, f"{corner.name}, {corner.meaning}", feed) as tell:
            found[corner.name] = at_corner(frame, corner, feed.clock, folder / corner.name, tell)
    return found


def _show_table(
    console: Console, truth: Answer, own: Measured, corners: dict[str, Measured]
) -> None:
    from rich.box import ROUNDED
    from rich.table import Table

    from driftline.cli.demo.corners import CORNERS
    from driftline.cli.demo.measured import differing

    table = Table(box=ROUNDED, header_style="bold")
    table.add_column("")
    for name in (
        "answer after\nthe minute", "wrong at\nfirst", "taken\nback", "most rows\nof state",
        "events\nleft out", "wrong in\nthe end",
    ):  # fmt: skip
        table.add_column(name, justify="right")
    meanings = {corner.name: corner.meaning for corner in CORNERS}
    rows = {"Spark's own": ("append mode", own, "without a word")}
    rows |= {name: (meanings[name], each, "dead letters") for name, each in corners.items()}
    for name, (meaning, each, where) in rows.items():
        wrong = differing(each.answer, truth)
        table.add_row(
            f"[bold]{name}[/bold]\n[dim]{meaning}[/dim]",
            f"{each.wait:.0f} s",
            str(differing(each.first, truth)),
            str(each.taken_back),
            str(each.state_rows),
            f"{each.left_out}\n[dim]{where}[/dim]" if each.left_out else "0",
            f"[bold {'red' if wrong else 'green'}]{wrong}[/]",
        )
    console.print(table)
    console.print(
        f"Of {len(truth)} results; times are the feed's own, the median of all. Strong never "
        "retracts, middle never waits, weak keeps little, and counts what it left out. A query may "
        "stand anywhere between: --block and --remember say where."
    )


def _show_history(console: Console, spark: Any, middle: Measured) -> None:
    from rich.box import ROUNDED
    from rich.table import Table

    asked = ASKED_AT[-1]
    _title(console, f"4. What was the answer for {ABOUT} as of {asked}?")
    assert middle.history is not None
    with console.status("Spark reads the history of the middle corner …"):
        columns = _answers_as_of(spark.createDataFrame(middle.history.to_pandas()))
    table = Table(box=ROUNDED, header_style="bold")
    table.add_column(f"the minute\nbefore {ABOUT}")
    for at in columns:
        table.add_column(f"as of\n{at}" if at else "in the end", justify="right")
    for symbol in sorted(set().union(*columns.values())):
        cells = [each.get(symbol) for each in columns.values()]
        table.add_row(symbol, *(_cell(cell, cells[-1]) for cell in cells))
    console.print(table)
    console.print(
        f'as_of(history, valid_time="{ABOUT}", system_time="{asked}"): nothing in a history table '
        "is ever changed, so that yesterday's answer can still be explained today.",
        markup=False,
    )


def _answers_as_of(history: Any) -> dict[str, dict[str, tuple[int, int]]]:
    """By system time ("": in the end) and symbol, the answer as of then."""
    from functools import reduce

    from pyspark.sql import functions as f

    from driftline.spark.history import as_of

    about = _on_the_day(ABOUT)
    asked = [
        as_of(history, valid_time=about, system_time=_on_the_day(at) if at else None).withColumn(
            "asked", f.lit(at)
        )
        for at in (*ASKED_AT, "")
    ]
    found: dict[str, dict[str, tuple[int, int]]] = {at: {} for at in (*ASKED_AT, "")}
    for row in reduce(lambda one, other: one.union(other), asked).collect():
        found[row["asked"]][row["symbol"]] = (row["trades"], row["shares"])
    return found


def _cell(cell: tuple[int, int] | None, truth: tuple[int, int] | None) -> str:
    if cell is None:
        return "—"
    text = f"{cell[0]} trades, {cell[1]:,} shares"
    return text if cell == truth else f"[red]{text}[/red]"


def _clock(ticks: int) -> str:
    """A time without its day."""
    from driftline.model.time import format_timestamp

    return format_timestamp(ticks)[11:19]


def _on_the_day(clock: str) -> int:
    """A time of day as ticks."""
    from driftline.cli.demo.feed import OPENING
    from driftline.model.time import format_timestamp, parse_timestamp

    return parse_timestamp(f"{format_timestamp(OPENING)[:10]}T{clock}:00Z")


@contextmanager
def _steps(console: Console, what: str, feed: Feed) -> Iterator[Callable[[], None]]:
    """Something to call after every micro-batch, which counts them on a terminal."""
    done, count = 0, len(feed.parts)
    with console.status(f"{what} …") as status:

        def tell() -> None:
            nonlocal done
            done = min(done + 1, count)
            status.update(f"{what}: micro-batch {done} of {count} …")

        yield tell
