"""The tour: a market feed with late trades and corrections, and what becomes of it.

Every number that is shown is measured while it runs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console

    from driftline.cli.demo.on_spark import Answer
    from driftline.model.columns import StreamColumns
    from driftline.model.event import Event

FIRST_EVENTS = 6
BATCH = 25
WIDTH_OF_A_PIPE = 110


def demo() -> None:
    """Take the tour: late trades, corrections, and answers that follow them."""
    from rich.console import Console

    from driftline.cli.demo.feed import market_feed
    from driftline.model.columns import StreamColumns

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_OF_A_PIPE)
    events = market_feed()
    trades = StreamColumns.from_events("trades", events, timestamps=True)
    with tempfile.TemporaryDirectory() as folder:
        _show_feed(console, events, trades, Path(folder))
        driftline = _show_answers(console, events)
        _show_spark(console, trades, driftline, Path(folder))
    console.print(
        "\nRead on: docs/model.md says what all this means; `driftline --help` what else there is."
    )


def _title(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]")


def _show_feed(console: Console, events: list[Event], trades: StreamColumns, folder: Path) -> None:
    import numpy as np

    from driftline.cli.check import check
    from driftline.cli.history import draw
    from driftline.model.event import Retract
    from driftline.model.history_columns import HistoryColumns, history_columns
    from driftline.model.log.writer import write_log

    _title(console, "1. A market feed, as an event log: arrival order, some trades late or wrong")
    log = folder / "trades.jsonl"
    write_log([trades], log)
    with log.open(encoding="utf-8") as lines:
        for _ in range(FIRST_EVENTS):
            console.print(f"   {next(lines).rstrip()}", style="dim", soft_wrap=True, markup=False)
    console.print("   …", style="dim")
    check([str(log)], None)

    _title(console, "2. What the log means: its canonical history, here of one trade")
    wrong = next(event for event in events if isinstance(event, Retract))
    console.print(
        f"Trade {wrong.row['id']} was first reported at {wrong.row['price']}, and taken back "
        "later. In the history only the corrected one is left."
    )
    table = history_columns(trades)
    here = np.flatnonzero(table.payload["id"].to_numpy() == wrong.row["id"])
    draw(trades, HistoryColumns(table.vs[here], table.ve[here], table.payload.take(here)))


def _show_answers(console: Console, events: list[Event]) -> Answer:
    from rich.table import Table

    from driftline.cli.demo.answers import answers
    from driftline.model.reference import Level

    _title(console, "3. Trades and shares per symbol and minute: answered at once, corrected later")
    runs = {level: answers(events, level, BATCH) for level in Level}
    table = Table(
        "how soon to speak", "answers said", "taken back", "left in the end", "state at its largest"
    )
    meaning = {
        Level.PERFECT: "perfect: when a minute is over",
        Level.ORDERED: "ordered: the present, too",
        Level.EAGER: "eager: whatever is known",
    }
    for level, run in runs.items():
        table.add_row(
            meaning[level],
            str(run.said),
            str(run.taken_back),
            str(len(run.final)),
            f"{run.state} entries",
        )
    console.print(table)
    finals = [run.final for run in runs.values()]
    agree = "agree" if all(final == finals[0] for final in finals) else "DIFFER"
    console.print(f"The three {agree} on every one of the {len(finals[0])} answers in the end.")
    return finals[0]


def _show_spark(console: Console, trades: StreamColumns, driftline: Answer, folder: Path) -> None:
    import numpy as np

    from driftline.cli.demo import on_spark
    from driftline.model.columns import INSERT
    from driftline.model.history_columns import history_columns

    _title(console, "4. The same question to Spark")
    with console.status("starting Spark …"):
        spark = on_spark.session()
    try:
        with console.status("Spark reads the corrected table …"):
            history = history_columns(trades)
            truth = on_spark.on_the_table(spark, _with_time(history.payload, history.vs))
        with console.status("Spark streams the feed …"):
            inserts = np.flatnonzero(trades.kind == INSERT)
            arrived = _with_time(trades.payload.take(inserts), trades.vs[inserts])
            stream = folder / "stream"
            stream.mkdir()
            streamed = on_spark.as_a_stream(spark, arrived, stream)
    finally:
        spark.stop()
    console.print(
        f"On the corrected table Spark has {len(truth)} answers; Driftline's stream differs in "
        f"[bold]{_differing(driftline, truth)}[/bold] of them."
    )
    console.print(
        f"Spark's own stream, with a watermark of {on_spark.WATERMARK}, gets "
        f"[bold]{_differing(streamed, truth)}[/bold] wrong: it drops what is later than that "
        "without a word, cannot take a trade back, and is silent about the minutes that it has not "
        "closed."
    )


def _with_time(payload: pa.Table, vs: object) -> pa.Table:
    import pyarrow as pa

    return payload.append_column("ts", pa.array(vs, pa.timestamp("us", "UTC")))


def _differing(answer: Answer, truth: Answer) -> int:
    keys = answer.keys() | truth.keys()
    return sum(answer.get(key) != truth.get(key) for key in keys)
