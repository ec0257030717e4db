"""What consistent outputs cost: the queries of WhiteWater's experiments, one to four joins over two
streams with keys uniform in 1 to 5,000, run round-robin.

For every query: without marks, with heeding by multiset and naive, and with a token every 100
events. Latency is from reading a batch to the first mark that covers it; the time from one mark to
the next and the sum of the two (cumulative latency) are as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import driftline as dl
from bench.report import RUNS
from bench.schedulers import joins, two_streams

BATCH = 10
TOKENS = 100
SHARE = 100
"""One in so many of the benchmark's events: batches are small."""
VARIANTS: dict[str, dict[str, Any]] = {
    "without": {},
    "multiset": {"outputs": "marked", "heeding": "multiset"},
    "naive": {"outputs": "marked", "heeding": "naive"},
    "tokens": {"outputs": "marked", "tokens": TOKENS},
}


@dataclass
class Measured:
    """One run: its seconds, the largest state in bytes, and for every mark when it came, after how
    many outputs, and up to which event."""

    seconds: float = 0.0
    state: int = 0
    read: list[tuple[float, int]] = field(default_factory=list)
    marks: list[tuple[float, int, int]] = field(default_factory=list)

    def figures(self, without: Measured) -> dict[str, str]:
        if not self.marks:
            return dict.fromkeys(
                ("throughput", "latency", "next", "cumulative", "state", "far"), ""
            )
        times = [at for at, _, _ in self.marks]
        covered = np.array([events for _, _, events in self.marks])
        waits = []
        for at, events in self.read:
            place = int(np.searchsorted(covered, events))
            if place < len(times):
                waits.append(max(0.0, times[place] - at))
        latency = 1000 * float(np.mean(waits))
        gaps = [second - first for first, second in pairwise(times)] or [0.0]
        following = 1000 * float(np.mean(gaps))
        outputs = np.diff([count for _, count, _ in self.marks])
        far = outputs[outputs > 0]
        return {
            "throughput": f"{without.seconds / self.seconds:.2f}",
            "latency": f"{latency:.1f}",
            "next": f"{following:.1f}",
            "cumulative": f"{latency + following:.1f}",
            "state": f"{self.state / without.state:.2f}",
            "far": f"{np.median(far):.0f}, {far.max()}" if len(far) else "0, 0",
        }


@dataclass
class MarksReport:
    events: int
    rows: dict[str, dict[str, str]] = field(default_factory=dict)

    def print(self) -> None:
        table = Table(
            "query", "throughput ÷ without", "latency, ms", "to the next mark, ms",
            "cumulative, ms", "state ÷ without", "outputs from mark to mark: median, greatest",
            title=f"{self.events:,} events, batches of {BATCH}, a token every {TOKENS}",
        )  # fmt: skip
        for name, row in self.rows.items():
            table.add_row(name, *row.values())
        Console(width=140).print(table)

    def as_dict(self) -> dict[str, object]:
        return {"events": self.events, "batch": BATCH, "rows": self.rows}


def measure(events: int) -> MarksReport:
    report = MarksReport(events // SHARE)
    inputs = two_streams(report.events)
    for count in range(1, 5):
        query = joins(count)
        best: dict[str, Measured] = {}
        for _ in range(RUNS):
            for name, options in VARIANTS.items():  # in turn: the machine is the same for all
                one = _run(query, inputs, options)
                if name not in best or one.seconds < best[name].seconds:
                    best[name] = one
        for name, one in best.items():
            if name != "without":
                report.rows[f"Q{count} {name}"] = one.figures(best["without"])
    return report


def _run(query: dl.Query, inputs: dict[str, Any], options: dict[str, Any]) -> Measured:
    made, outputs = Measured(), 0
    start = perf_counter()
    for update in query.changes(inputs, batch=BATCH, scheduler="round-robin", **options):
        now = perf_counter() - start
        outputs += len(update.batch)
        counted = update.counters.values()
        made.state = max(made.state, sum(each["state_bytes"] for each in counted))
        made.read.append((now, (len(made.read) + 1) * 2 * BATCH))
        if update.prefix is not None:
            made.marks.append((now, outputs, sum(update.prefix.events.values())))
    made.seconds = perf_counter() - start
    return made
