"""A process that writes micro-batches to sinks, to be killed: `python -m` FOLDER KAFKA [POSTGRES].

As Spark does, it notes which micro-batch is done after all sinks have it, and begins with the one
that follows the note.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import driftline as dl
from driftline.running.kafka import Topic
from driftline.spark import sinks
from driftline.spark.query import Sink
from driftline.spark.update import SparkUpdate
from tests.spark.saying import TRADES, emitted, in_files

COUNT = 40
NOTE = "done"
KEYS = ["symbol"]
TABLE, APPENDED = "killed", "killed_changes"


def steps() -> list[SparkUpdate]:
    """Volumes of a few symbols, which come and go."""
    draw = random.Random(4)
    events: list[dl.Insert | dl.Retract] = []
    for number in range(4 * COUNT):
        row = dl.Row(symbol=f"S{number % 7}", qty=draw.randrange(100))
        events.append(dl.Insert(number, dl.INFINITY, row))
        if number % 3:
            events.append(dl.Retract(number, dl.INFINITY, number + draw.randrange(9), row))
    volume = TRADES.group_by("symbol").agg("sum(qty) AS qty", "count(*) AS n")
    return emitted({"result": volume}, {"trades": events}, len(events) // COUNT)


def sink(folder: Path, servers: str, conninfo: str | None) -> sinks.Several:
    found: list[Sink] = [
        sinks.EventLog(folder / "log.jsonl"),
        sinks.EventLogFiles(folder / "logs"),
        sinks.Parquet(folder / "rows"),
        sinks.Delta(str(folder / "appended"), "history"),
        sinks.Delta(str(folder / "current"), keys=KEYS),
        sinks.SQLite(folder / "sqlite.db", "appended", view="history"),
        sinks.SQLite(folder / "sqlite.db", "current", keys=KEYS),
        sinks.DuckDB(folder / "duck.db", "appended", view="history"),
        sinks.DuckDB(folder / "duck.db", "current", keys=KEYS),
        sinks.Kafka(Topic(servers, TABLE)),
    ]
    if conninfo is not None:
        found.append(sinks.Postgres(conninfo, TABLE, KEYS))
        found.append(sinks.Postgres(conninfo, APPENDED, view="changes"))
    return sinks.Several(*found)


def file_sink(folder: Path) -> sinks.Several:
    """Those for which executors write."""
    rows, table = folder / "rows by executors", folder / "table by executors"
    return sinks.Several(sinks.Parquet(rows, "history"), sinks.Delta(str(table), "history"))


def main(folder: Path, servers: str, conninfo: str | None) -> None:
    write, files, note = sink(folder, servers, conninfo), file_sink(folder), folder / NOTE
    done = int(note.read_text()) if note.exists() else -1
    whole = steps()
    print("ready", flush=True)
    for each in whole[done + 1 :]:
        write(each)
        files(in_files(each, files))
        half = note.with_suffix(".half")
        half.write_text(str(each.batch_id))
        half.replace(note)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
