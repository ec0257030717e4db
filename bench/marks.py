"""What consistent outputs cost: the queries of WhiteWater's experiments, one to four joins over two
streams with keys uniform in 1 to 5,000, run round-robin.

For every query: without marks, with heeding by multiset and naive, and with a token every 100
events. All variants run hand in hand in one process: the one that has read the fewest events reads
its next batch, and each has a clock of its own, the processor time of its own batches. So whatever
the machine does meanwhile happens to all of them alike. Throughput is compared batch by batch over
the whole run. As in the paper, latency is the time from reading an event to the first mark that
covers it; with the time from one mark to the next it makes the cumulative latency; how far
consistent states are apart is counted in outputs.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import driftline as dl
from bench.schedulers import joins, two_streams

BATCHES = (10, 100)
TOKENS = 100
SHARES = {10: 50, 100: 10}
"""By the size of batches, one in so many of the benchmark's events: small ones take their time."""
PIECES = 7
"""The run is cut into so many pieces: the least and the greatest of their ratios are given."""
BASE = "without"
VARIANTS: dict[str, dict[str, Any]] = {
    BASE: {},
    "multiset": {"outputs": "marked", "heeding": "multiset"},
    "naive": {"outputs": "marked", "heeding": "naive"},
    "tokens": {"outputs": "marked", "tokens": TOKENS},
}


@dataclass
class Running:
    """A run: the seconds that it has taken, the largest state in bytes, after how many seconds how
    many events had been read, and for every mark after how many seconds it came, after how many
    outputs, and up to which event."""

    updates: Iterator[dl.Update]
    streams: tuple[str, ...]
    seconds: float = 0.0
    is_done: bool = False
    outputs: int = 0
    state: int = 0
    read: list[tuple[float, int]] = field(default_factory=lambda: [(0.0, 0)])
    marks: list[tuple[float, int, int]] = field(default_factory=list)

    @property
    def events(self) -> int:
        """How many were read."""
        return self.read[-1][1]

    def go_on(self) -> None:
        """Take the next update."""
        before, begun = self.seconds, process_time()
        update = next(self.updates, None)
        self.seconds += process_time() - begun
        if update is None:
            self.is_done = True
            return
        self.outputs += len(update.batch)
        self.state = max(self.state, sum(each["state_bytes"] for each in update.counters.values()))
        read = sum(update.counters[f"{name}: align"]["changes_in"] for name in self.streams)
        if read > self.events:
            self.read.append((before, read))
        if update.prefix is not None:
            self.marks.append((self.seconds, self.outputs, sum(update.prefix.events.values())))

    @property
    def latency(self) -> float:
        """The mean time in milliseconds from reading events to the first mark that covers them."""
        at, _, covered = map(np.array, zip(*self.marks, strict=True))
        moments, events = map(np.array, zip(*self.read[1:], strict=True))
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

    def pieces(self) -> NDArray[np.float64]:
        """The seconds that equal pieces of the run have taken."""
        at, events = map(np.array, zip(*self.read, (self.seconds, self.events), strict=True))
        cuts = np.linspace(0, self.events, PIECES + 1)
        return np.diff(np.interp(cuts, events, at))


@dataclass
class MarksReport:
    rows: dict[str, dict[str, str]] = field(default_factory=dict)

    def print(self) -> None:
        table = Table(
            "batches, query", "throughput ÷ without", "from, to", "latency, ms",
            "to the next mark, ms", "cumulative, ms", "state ÷ without",
            "outputs from mark to mark: median, greatest",
            title=f"a token every {TOKENS} events; processor time",
        )  # fmt: skip
        for name, row in self.rows.items():
            table.add_row(name, *row.values())
        Console(width=150).print(table)

    def as_dict(self) -> dict[str, object]:
        return {"rows": self.rows}


def measure(events: int) -> MarksReport:
    report = MarksReport()
    for batch in BATCHES:
        for count in range(1, 5):
            query = joins(count)
            hand_in_hand(query, two_streams(20 * batch), batch)  # compile what has to be compiled
            runs = hand_in_hand(query, two_streams(events // SHARES[batch]), batch)
            for name in VARIANTS:
                if name != BASE:
                    report.rows[f"{batch}: Q{count} {name}"] = _figures(runs[name], runs[BASE])
    return report


def hand_in_hand(
    query: dl.Query, inputs: dict[str, Any], batch: int, variants: tuple[str, ...] = (*VARIANTS,)
) -> dict[str, Running]:
    """Run all variants, each a batch at a time. Garbage is not collected meanwhile, which would
    happen in whichever is at work."""
    runs = {}
    for name in variants:
        options = VARIANTS[name]
        updates = query.changes(inputs, batch=batch, scheduler="round-robin", **options)
        runs[name] = Running(updates, (*inputs,))
    gc.collect()
    gc.disable()
    try:
        waiting = [*runs.values()]
        while waiting:
            least = min(run.events for run in waiting)
            for run in [run for run in waiting if run.events == least]:
                run.go_on()
            waiting = [run for run in waiting if not run.is_done]
            waiting = waiting[1:] + waiting[:1]  # another one goes first
    finally:
        gc.enable()
    return runs


def _figures(run: Running, base: Running) -> dict[str, str]:
    pieces = base.pieces() / run.pieces()
    middle, greatest = run.far
    return {
        "throughput": f"{base.seconds / run.seconds:.3f}",
        "range": f"{pieces.min():.2f}, {pieces.max():.2f}",
        "latency": f"{run.latency:.1f}",
        "next": f"{run.following:.1f}",
        "cumulative": f"{run.latency + run.following:.1f}",
        "state": f"{run.state / base.state:.2f}",
        "far": f"{middle:.0f}, {greatest}",
    }
