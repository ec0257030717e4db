"""Section 3: how far heartbeats are behind, by disorder, skew and latency.

Time and clock are milliseconds. Arrivals use the bounds up: inside a source, every other event is
emitted as late as disorder allows; the clock of one source is ahead of the other by the skew; and
on the way an event takes no time or all of the latency.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.presets import uniform
from experiments.drawing import lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements

BOUNDS = ("disorder", "skew", "latency")
SIZES = (0, 25, 50, 100, 200)
QUICK_SIZES = (0, 50, 200)
LENGTH, QUICK_LENGTH = 10_000, 2_000
SIZE, BEHIND = "bound, ms", "mean delay, ms"
LATE, LATE_TIGHTER = "late", "late if the bound is 2 ms less"
TIGHTER = 2
"""Milliseconds. The grain of the clock is one: events of the same one do not bind each other."""


def measure(full: bool) -> Iterator[Row]:
    length = LENGTH if full else QUICK_LENGTH
    for name in BOUNDS:
        for size in SIZES if full else QUICK_SIZES:
            given = {each: size if each == name else 0 for each in BOUNDS}
            behind, late = _behind(given, given, length)
            tighter = {**given, name: max(0, size - TIGHTER)}
            yield {
                "bound": name,
                SIZE: size,
                BEHIND: behind,
                LATE: late,
                LATE_TIGHTER: _behind(given, tighter, length)[1] if size else 0,
            }


def _behind(real: dict[str, int], declared: dict[str, int], length: int) -> tuple[float, int]:
    """How far heartbeats are behind the clock on average, and how many events were late."""
    random = np.random.default_rng(3)
    emitted = np.repeat(np.arange(length), 2)
    sources = np.tile([0, 1], length)
    times = emitted - np.where(sources == 1, real["skew"], 0)
    times = times - np.where(random.random(len(times)) < 0.5, real["disorder"], 0)
    clocks = emitted + np.where(random.random(len(times)) < 0.5, real["latency"], 0)
    order = np.argsort(clocks, kind="stable")
    clocks, sources, times = clocks[order], sources[order], times[order]
    bounds = uniform(2, declared["disorder"], declared["skew"], declared["latency"])
    generator, behind = HeartbeatGenerator(bounds), []
    ends = np.searchsorted(clocks, np.arange(length), side="right")
    first = 0
    for clock, last in enumerate(ends):
        generator.arrive(clocks[first:last], sources[first:last], times[first:last])
        first = last
        if clock > length // 2:
            behind.append(clock - generator.heartbeat(clock))
    return float(np.mean(behind)), int(generator.violations.sum())


def _never_late(rows: Rows) -> Statements:
    return {
        f"{rows.column(LATE).sum():.0f} events after their heartbeat": not rows.column(LATE).any()
    }


def _strongest(rows: Rows) -> Statements:
    some = Rows([row for row in rows.rows if row[SIZE]])
    return {
        f"{late.min():.0f} to {late.max():.0f} events are late with {name} {TIGHTER} ms less": (
            bool(late.min() > 0)
        )
        for name in BOUNDS
        for late in [some.column(LATE_TIGHTER, bound=name)]
    }


def _slope(rows: Rows) -> Statements:
    found = {}
    for name in BOUNDS:
        behind, size = (rows.column(each, bound=name) for each in (BEHIND, SIZE))
        slope = (behind[-1] - behind[0]) / (size[-1] - size[0])
        found[f"{slope:.2f} ms of delay for a millisecond of {name}"] = bool(0.8 < slope < 1.2)
    return found


def draw(rows: Rows, figure: Figure) -> None:
    (axis,) = panels(figure, 1)
    lines(axis, rows, SIZE, BEHIND, "bound")


EXPERIMENT = Experiment(
    name="stream-heartbeats",
    paper="STREAM",
    figure="section 3, theorem 3.2",
    title="Delay of heartbeats by disorder, skew and latency",
    workload=(
        "Two sources with an event each millisecond, which use one bound up while the others are "
        "0. How far the heartbeat of both is behind the clock, which is also the time of events."
    ),
    measure=measure,
    claims=(
        Claim("Heartbeats that follow from the bounds are never violated.", _never_late),
        Claim("They are the strongest that can be given.", _strongest),
        Claim("A heartbeat waits for each bound, and for no more.", _slope),
    ),
    draw=draw,
)
