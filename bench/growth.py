"""Growth: ten times the events may cost at most eleven times the time.

The events are made by another process and mapped from a file: a process that has once held the
large arrays they are made of is slower at everything that it does after that. A run of many events
stands beside ten runs of few, one after the other: the least of some short runs would fall into the
machine's best moments, which a long one has not for itself.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from rich.table import Table

from bench import data
from bench.engine import BATCH, DISORDER, LATE
from bench.queries import CASES, Case
from bench.tables import Shown

FACTOR = 10
GOAL = 11.0
RUNS = 2


@dataclass
class GrowthReport:
    """CPU seconds of each query on late events: on some, and on ten times as many."""

    events: int
    rows: dict[str, tuple[float, float]] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        small = f"{self.events:,} events, CPU s"
        table = Table("query", small, f"{FACTOR * self.events:,} events, CPU s", "ratio", "goal")
        for name, (few, many) in self.rows.items():
            table.add_row(name, f"{few:.2f}", f"{many:.2f}", f"{many / few:.1f}", f"≤ {GOAL:.0f}")
        yield table

    def as_dict(self) -> dict[str, object]:
        return {
            "events": self.events,
            "queries": {
                name: {
                    "s": round(few, 3),
                    "ten times s": round(many, 3),
                    "ratio": round(many / few, 2),
                }
                for name, (few, many) in self.rows.items()
            },
        }


def measure(events: int) -> GrowthReport:
    report = GrowthReport(events)
    with tempfile.TemporaryDirectory(prefix="driftline-bench-") as folder:
        counts = (data.CHUNK, events, FACTOR * events)
        warm, small, large = (_on_disk(Path(folder), count) for count in counts)
        for name, case in CASES.items():
            _seconds(case, warm)  # compile what has to be compiled
            few, many = [], []
            for _ in range(RUNS):
                few.append(sum(_seconds(case, small) for _ in range(FACTOR)) / FACTOR)
                many.append(_seconds(case, large))
            report.rows[name] = min(few), min(many)
    return report


def _on_disk(folder: Path, events: int) -> Path:
    path = folder / f"{events}.arrow"
    maker = multiprocessing.get_context("spawn").Process(target=_make, args=(path, events))
    maker.start()
    maker.join()
    return path


def _make(path: Path, events: int) -> None:
    table = data.events(events, late=True)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _seconds(case: Case, path: Path) -> float:
    """CPU time, which the other work of the machine disturbs least."""
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    inputs, query = case.inputs(table), case.query(DISORDER[LATE])
    start = time.process_time()
    for _ in query.changes(inputs, batch=BATCH):
        pass
    return time.process_time() - start
