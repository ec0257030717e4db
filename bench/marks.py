"""What consistent outputs cost: the queries of WhiteWater's experiments, one to four joins over two
streams with keys uniform in 1 to 5,000, run round-robin.

For every query: without marks, with heeding by multiset and naive, and with a token every 100
events. All variants run in turn, several times. Throughput goes by the processor time of this
process, so that what else the machine does stays out of it, is compared round by round, and the
median is given. As in the paper, latency is the time from reading an event to the first mark that
covers it; with the time from one mark to the next it makes the cumulative latency; how far
consistent states are apart is counted in outputs.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import driftline as dl
from bench.schedulers import joins, two_streams

ROUNDS = 7
BATCHES = (10, 100)
TOKENS = 100
SHARES = {10: 100, 100: 10}
"""By the size of batches, one in so many of the benchmark's events: small ones take their time."""
VARIANTS: dict[str, dict[str, Any]] = {
    "without": {},
    "multiset": {"outputs": "marked", "heeding": "multiset"},
    "naive": {"outputs": "marked", "heeding": "naive"},
    "tokens": {"outputs": "marked", "tokens": TOKENS},
}


@dataclass
class Measured:
    """One run: its seconds, the largest state in bytes, when how many events had been read, and for
    every mark when it came, after how many outputs, and up to which event."""

    seconds: float = 0.0
    state: int = 0
    read: list[tuple[float, int]] = field(default_factory=list)
    marks: list[tuple[float, int, int]] = field(default_factory=list)

    @property
    def latency(self) -> float:
        """The mean time in milliseconds from reading events to the first mark that covers them."""
        at, _, covered = map(np.array, zip(*self.marks, strict=True))
        moments, events = map(np.array, zip(*self.read, strict=True))
        first = np.searchsorted(covered, events)
        marked = first < len(at)
        return 1000 * float(np.mean(at[first[marked]] - moments[marked]))

    @property
    def following(self) -> float:
        """The mean time in milliseconds from one mark to the next."""
        return 1000 * (self.marks[-1][0] - self.marks[0][0]) / max(1, len(self.marks) - 1)

    @property
    def far(self) -> tuple[float, int]:
        """How many outputs lie between consistent states: median and greatest."""
        between = np.diff([count for _, count, _ in self.marks])
        between = between[between > 0]
        return (float(np.median(between)), int(between.max())) if len(between) else (0.0, 0)


@dataclass
class MarksReport:
    rows: dict[str, dict[str, str]] = field(default_factory=dict)

    def print(self) -> None:
        table = Table(
            "batches, query", "throughput ÷ without", "from, to", "latency, ms",
            "to the next mark, ms", "cumulative, ms", "state ÷ without",
            "outputs from mark to mark: median, greatest",
            title=f"a token every {TOKENS} events; {ROUNDS} rounds, processor time",
        )  # fmt: skip
        for name, row in self.rows.items():
            table.add_row(name, *row.values())
        Console(width=150).print(table)

    def as_dict(self) -> dict[str, object]:
        return {"rows": self.rows}


def measure(events: int) -> MarksReport:
    report = MarksReport()
    for batch in BATCHES:
        inputs = two_streams(events // SHARES[batch])
        for count in range(1, 5):
            query = joins(count)
            rounds = list(_rounds(query, inputs, batch))
            for name in VARIANTS:
                if name != "without":
                    row = _figures([each[name] for each in rounds], [e["without"] for e in rounds])
                    report.rows[f"{batch}: Q{count} {name}"] = row
    return report


def _rounds(query: dl.Query, inputs: dict[str, Any], batch: int) -> Iterator[dict[str, Measured]]:
    """Every variant once, in an order that changes; the first round only warms up."""
    names = list(VARIANTS)
    for number in range(ROUNDS + 1):
        names.append(names.pop(0))
        done = {name: _run(query, inputs, batch, VARIANTS[name]) for name in names}
        if number:
            yield done


def _figures(runs: list[Measured], without: list[Measured]) -> dict[str, str]:
    ratios = [one.seconds / each.seconds for one, each in zip(without, runs, strict=True)]
    latency, following = (
        median(one.latency for one in runs),
        median(one.following for one in runs),
    )
    middle, greatest = runs[0].far
    return {
        "throughput": f"{median(ratios):.2f}",
        "range": f"{min(ratios):.2f}, {max(ratios):.2f}",
        "latency": f"{latency:.1f}",
        "next": f"{following:.1f}",
        "cumulative": f"{latency + following:.1f}",
        "state": f"{max(one.state for one in runs) / max(one.state for one in without):.2f}",
        "far": f"{middle:.0f}, {greatest}",
    }


def _run(query: dl.Query, inputs: dict[str, Any], batch: int, options: dict[str, Any]) -> Measured:
    made, outputs = Measured(), 0
    updates = query.changes(inputs, batch=batch, scheduler="round-robin", **options)
    gc.collect()
    begun, start = process_time(), perf_counter()
    before = start
    for update in updates:
        now = perf_counter()
        outputs += len(update.batch)
        made.state = max(made.state, sum(each["state_bytes"] for each in update.counters.values()))
        read = sum(update.counters[f"{name}: align"]["changes_in"] for name in inputs)
        if not made.read or read > made.read[-1][1]:
            made.read.append((before - start, read))
        if update.prefix is not None:
            made.marks.append((now - start, outputs, sum(update.prefix.events.values())))
        before = now
    made.seconds = process_time() - begun
    return made
