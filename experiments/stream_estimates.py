"""Section 6.1: heartbeats by estimated bounds, beside those by declared ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from driftline.time.estimate import Estimated
from driftline.time.estimated_bounds import EstimatedBounds
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.presets import sensors
from experiments.drawing import lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.sensors import DEVIATION, LATENCY, Generator, arrivals

SOURCES, UNIT = 5, 10
SPEED = 1
"""Events in a millisecond."""
EVENTS, QUICK_EVENTS = 60_000, 10_000
PIECES = 10
SEEN, BEHIND, LATE = "events so far", "mean delay, ms", "late, %"


def measure(full: bool) -> Iterator[Row]:
    events = EVENTS if full else QUICK_EVENTS
    clocks, sources, times = arrivals(events, SOURCES, SPEED)
    bounds = sensors([DEVIATION] * SOURCES, [LATENCY] * SOURCES)
    makers: dict[str, Generator] = {
        "declared": HeartbeatGenerator(bounds, unit=UNIT),
        "estimated": EstimatedBounds(SOURCES, unit=UNIT),
        "estimated, 0.1 % late": Estimated(target=0.001, unit=UNIT),
    }
    for name, generator in makers.items():
        known = -(1 << 62)
        for piece in range(PIECES):
            behind, late = [], 0
            some = slice(piece * events // PIECES, (piece + 1) * events // PIECES)
            for first in range(some.start, some.stop, UNIT):
                part = slice(first, first + UNIT)
                late += int((times[part] <= known).sum())
                generator.arrive(clocks[part], sources[part], times[part])
                clock = int(clocks[part][-1])
                known = max(known, generator.heartbeat(clock))
                if known > -(1 << 40):
                    behind.append(clock - known)
            yield {
                "bounds": name,
                SEEN: some.stop,
                BEHIND: float(np.mean(behind)) if behind else float("nan"),
                LATE: 100 * late / (some.stop - some.start),
            }


def _earlier(rows: Rows) -> Statements:
    declared, estimated = (
        rows.column(BEHIND, bounds=each)[-1] for each in ("declared", "estimated")
    )
    return {
        f"at the end declared bounds are {declared:.0f} ms behind, estimated {estimated:.0f}": (
            estimated <= declared
        )
    }


def _settles(rows: Rows) -> Statements:
    late, declared = (rows.column(LATE, bounds=each) for each in ("estimated", "declared"))
    return {
        f"{late[0]:.2f} % of the first tenth is late, {late[-1]:.3f} % of the last": (
            late[-1] < 0.1 and late[-1] <= late[0]
        ),
        f"with declared bounds {declared.max():.0f} %": declared.max() == 0,
    }


def draw(rows: Rows, figure: Figure) -> None:
    for axis, column in zip(panels(figure, 2), (BEHIND, LATE), strict=True):
        lines(axis, rows, SEEN, column, "bounds")
        axis.set_ylim(bottom=0)


EXPERIMENT = Experiment(
    name="stream-estimates",
    paper="STREAM",
    figure="section 6.1",
    title="Estimated beside declared bounds",
    workload=(
        f"{SOURCES} sensors whose clocks deviate by up to {DEVIATION} ms, over a network that "
        f"takes up to {LATENCY} ms; an event each millisecond. Estimates of all of B′ that never "
        "fall, and the estimates of a stream that may let 0.1 % be late."
    ),
    measure=measure,
    claims=(
        Claim(
            "What the system sees is the combined effect of skew and latency: heartbeats by "
            "estimates need not be as late as those by separate bounds.",
            _earlier,
        ),
        Claim(
            "After stabilisation heartbeats are too soon only when a skew is higher than ever "
            "before.",
            _settles,
        ),
    ),
    draw=draw,
)
