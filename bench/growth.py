"""Growth: ten times the events may cost at most eleven times the time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from bench import data
from bench.engine import BATCH, DISORDER, LATE
from bench.queries import CASES, Case

FACTOR = 10
GOAL = 11.0
RUNS = 2


@dataclass
class GrowthReport:
    """CPU seconds of each query on late events: on some, and on ten times as many."""

    events: int
    rows: dict[str, tuple[float, float]] = field(default_factory=dict)

    def print(self) -> None:
        small = f"{self.events:,} events, CPU s"
        table = Table("query", small, f"{FACTOR * self.events:,} events, CPU s", "ratio", "goal")
        for name, (few, many) in self.rows.items():
            table.add_row(name, f"{few:.2f}", f"{many:.2f}", f"{many / few:.1f}", f"≤ {GOAL:.0f}")
        Console(width=120).print(table)

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
    for name, case in CASES.items():
        _seconds(case, data.CHUNK)  # compile what has to be compiled
        few, many = (
            min(_seconds(case, count) for _ in range(RUNS))
            for count in (report.events, FACTOR * report.events)
        )
        report.rows[name] = few, many
    return report


def _seconds(case: Case, events: int) -> float:
    """CPU time, which the other work of the machine disturbs least."""
    inputs, query = case.inputs(data.events(events, late=True)), case.query(DISORDER[LATE])
    start = time.process_time()
    for _ in query.changes(inputs, batch=BATCH):
        pass
    return time.process_time() - start
