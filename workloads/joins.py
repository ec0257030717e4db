"""WhiteWater's workload: one to four joins over two streams, keys uniform in 1 to 5,000.

Variants of the engine (without marks, with heeding by multiset and naive, with tokens) run hand in
hand in one process: the one that has read the fewest events reads its next batch, and each has a
clock of its own, the processor time of its own batches. So whatever the machine does meanwhile
happens to all of them alike. As in the paper, latency is the time from reading an event to the
first mark that covers it; with the time from one mark to the next it makes the cumulative latency.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import driftline as dl

KEYS, RANGE = 5_000, 10_000
COLUMNS = {"ts": "BIGINT", "k": "BIGINT", "x": "BIGINT"}
TOKENS = 100
PIECES = 7
"""A run is cut into so many pieces: the least and the greatest of their ratios are given."""
BASE = "without"
VARIANTS: dict[str, dict[str, Any]] = {
    BASE: {},
    "multiset": {"outputs": "marked", "heeding": "multiset"},
    "naive": {"outputs": "marked", "heeding": "naive"},
    "tokens": {"outputs": "marked", "tokens": TOKENS},
}


def joins(count: int, window: int = RANGE) -> dl.Query:
    """1: a ⋈ b on k; 2: a ⋈ b on x beside it (a union); 3: both of them joined; 4: that with a."""
    a, b = (dl.stream(name, COLUMNS, time="ts", disorder=0).window(range=window) for name in "ab")
    by_k = a.alias("a").join(b.alias("b"), "a.k = b.k").select("a.k AS k", "b.x AS x")
    if count == 1:
        return by_k
    by_x = a.alias("a").join(b.alias("b"), "a.x = b.x").select("a.k AS k", "b.x AS x")
    if count == 2:
        return by_k.union(by_x)
    both = by_k.alias("p").join(by_x.alias("q"), "p.k = q.k").select("p.k AS k", "q.x AS x")
    if count == 3:
        return both
    return both.alias("p").join(a.alias("a"), "p.x = a.x").select("p.k AS k", "a.x AS x")


def two_streams(events: int, keys: int = KEYS) -> dict[str, pa.Table]:
    made = {}
    for seed, name in enumerate("ab"):
        random = np.random.default_rng(seed)
        ts = np.arange(events // 2) * 2 + seed
        made[name] = pa.table(
            {
                "ts": ts,
                "k": random.integers(1, keys + 1, len(ts)),
                "x": random.integers(1, keys + 1, len(ts)),
            }
        )
    return made


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
    def distances(self) -> NDArray[np.int64]:
        """How many outputs lie between one consistent state and the next."""
        between = np.diff([count for _, count, _ in self.marks])
        return between[between > 0]

    @property
    def far(self) -> tuple[float, int]:
        """The median and the greatest of the distances."""
        between = self.distances
        return (float(np.median(between)), int(between.max())) if len(between) else (0.0, 0)

    def pieces(self) -> NDArray[np.float64]:
        """The seconds that equal pieces of the run have taken."""
        at, events = map(np.array, zip(*self.read, (self.seconds, self.events), strict=True))
        cuts = np.linspace(0, self.events, PIECES + 1)
        return np.diff(np.interp(cuts, events, at))


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
                while run.events == least and not run.is_done:  # marks cut what a batch leads to
                    run.go_on()
            waiting = [run for run in waiting if not run.is_done]
            waiting = waiting[1:] + waiting[:1]  # another one goes first
    finally:
        gc.enable()
    return runs
