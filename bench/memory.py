"""Memory: with windows it is flat, the peak of ten times the events is that of the events; and a
million keys work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.table import Table

from bench import data
from bench.streaming import measured
from bench.tables import Shown

QUERIES = ("Q1", "Q2", "Q3", "Q4")
FACTOR = 10
MANY_KEYS = 1_000_000


@dataclass
class MemoryReport:
    """What `bench.streaming` measured, by query, number of events and number of keys."""

    rows: dict[tuple[str, int, int], dict[str, float]] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "query", "events", "keys", "CPU s", "state at most, MiB", "peak of the process, MiB",
            title="late events made on the fly, every number from a process of its own",
        )  # fmt: skip
        for (query, events, keys), found in self.rows.items():
            table.add_row(
                query, f"{events:,}", f"{keys:,}", f"{found['CPU s']:.1f}",
                f"{found['state MiB']:.0f}", f"{found['peak MiB']:.0f}",
            )  # fmt: skip
        yield table

    def as_dict(self) -> dict[str, object]:
        return {
            f"{query}, {events} events, {keys} keys": found
            for (query, events, keys), found in self.rows.items()
        }


def measure(events: int) -> MemoryReport:
    report = MemoryReport()
    for query in QUERIES:
        for count in (events, FACTOR * events):
            report.rows[query, count, data.KEYS] = measured(query, count)
    report.rows["Q1", events, MANY_KEYS] = measured("Q1", events, MANY_KEYS)
    return report
