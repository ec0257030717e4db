"""The event log tools against what reads JSON Lines elsewhere, on the same file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import orjson
import polars as pl

from bench.logs import make_log
from bench.report import Report, seconds

LOADS = "orjson.loads per line"


def measure(events: int) -> Report:
    """Reading, checking and the canonical history of one log."""
    report = Report(f"an event log of {events:,} events", LOADS, events)
    with tempfile.TemporaryDirectory() as folder:
        log = str(Path(folder) / "events.jsonl")
        make_log(log, events)

        def loads() -> None:
            with Path(log).open("rb") as lines:
                for line in lines:
                    orjson.loads(line)

        report.rows[LOADS] = seconds(loads)
        report.rows["polars.read_ndjson"] = seconds(
            lambda: pl.read_ndjson(log, infer_schema_length=None)
        )
        for command in ("check", "history"):
            report.rows[f"driftline {command}, start-up included"] = seconds(
                lambda command=command: _run(command, log)
            )
    return report


def _run(command: str, log: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "driftline.cli.main", command, log],
        check=True,
        stdout=subprocess.DEVNULL,
    )
