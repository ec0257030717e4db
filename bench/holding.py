"""Whose heartbeats a row waits for, on a plan like figure 5 of Srivastava and Widom.

(See `workloads.three_streams`.) Latency is the time from when S3 comes to when what it completes
has been emitted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import get_args

import numpy as np
import pyarrow as pa
from rich.table import Table

from bench.tables import Shown
from driftline.plan.choices import Heartbeat
from workloads.three_streams import figure_5

BATCH = 5_000
KEYS = 200
LAG = 10 * BATCH
MIB = 1 << 20


@dataclass
class HoldingReport:
    """By level: the most rows that waited, that operators held, MiB of both, ms for a batch."""

    events: int
    rows: dict[str, tuple[int, int, float, float]] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "heartbeats", "rows waiting", "rows held by joins", "state, MiB", "ms to an answer",
            title=f"a plan like figure 5, {self.events:,} events of each stream",
        )  # fmt: skip
        for name, (waiting, held, size, latency) in self.rows.items():
            table.add_row(name, f"{waiting:,}", f"{held:,}", f"{size:.1f}", f"{latency:.0f}")
        yield table

    def as_dict(self) -> dict[str, object]:
        return {"events": self.events, "levels": self.rows}


def measure(events: int) -> HoldingReport:
    report = HoldingReport(events // 10)
    _measured("source", 2 * BATCH)  # compile what has to be compiled
    for heartbeat in get_args(Heartbeat):
        report.rows[heartbeat] = _measured(heartbeat, report.events)
    return report


def _stream(events: int, seed: int, behind: int) -> Iterator[pa.Table]:
    random = np.random.default_rng(seed)
    for first in range(0, events, BATCH):
        ts = np.arange(first, first + BATCH) - behind
        yield pa.table({"k": random.integers(0, KEYS, BATCH), "ts": ts})


def _measured(heartbeat: Heartbeat, events: int) -> tuple[int, int, float, float]:
    inputs = {f"s{n}": _stream(events, n, behind) for n, behind in ((1, 0), (2, 1), (3, LAG))}
    waiting, held, size, taken = 0, 0, 0, []
    start = time.perf_counter()
    for emitted in figure_5().changes(inputs, batch=BATCH, block="inf", heartbeat=heartbeat):
        taken.append(time.perf_counter() - start)
        sizes = {
            part: [each for name, each in emitted.counters.items() if part in name]
            for part in ("align", "join")
        }
        waiting = max(waiting, sum(each["state_rows"] for each in sizes["align"]))
        held = max(held, sum(each["state_rows"] for each in sizes["join"]))
        size = max(size, sum(each["state_bytes"] for parts in sizes.values() for each in parts))
        start = time.perf_counter()
    steady = taken[LAG // BATCH + 1 : -1] or taken
    return waiting, held, size / MIB, 1000 * float(np.median(steady))
