"""CEDR's workload: sums over a sliding window of events of which some come late."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import driftline as dl

WINDOW = 20
"""Ticks; an event is made at every tick, and at most one arrives."""
LATE = 0.3
"""The share of events that come late."""


def late_events(count: int, longest: int, mean: float) -> pa.Table:
    """Events in their order of arrival; delays are exponential, and at most the longest."""
    random = np.random.default_rng(3)
    made = np.arange(count)
    delay = np.minimum(random.exponential(max(mean, 1e-9), count), longest).astype(np.int64)
    delay[random.random(count) >= LATE] = 0
    arrived = np.argsort(made + delay, kind="stable")
    return pa.table({"ts": made[arrived], "v": random.integers(1, 1_000, count)})


def sums(disorder: int | None = None) -> dl.Query:
    """The sum of the events in the last window; without bounds, nothing is promised."""
    columns = {"ts": "BIGINT", "v": "BIGINT"}
    events = dl.stream(
        "events",
        columns,
        time="ts",
        disorder=disorder,
        heartbeats=None if disorder is not None else "none",
    )
    return events.window(range=WINDOW).agg("sum(v) AS n")


def at_every_tick(history: pa.Table, length: int) -> NDArray[np.int64]:
    """The answer at each tick; 0 where there is none."""
    values = np.zeros(length, np.int64)
    for row in history.to_pylist():
        end = length if row["ve"] is None else row["ve"]
        values[max(row["vs"], 0) : end] = row["n"]
    return values
