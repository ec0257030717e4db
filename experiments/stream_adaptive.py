"""Section 6.2: estimates that fall again, when a network was slow for a while."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from driftline.time.estimated_bounds import EstimatedBounds
from experiments.drawing import lines, panels, place
from experiments.experiment import Claim, Experiment, Row, Rows, Statements

EVENTS, QUICK_EVENTS = 30_000, 9_000
PIECES = 30
LATENCY, SLOW = 50, 8
"""Milliseconds on average, exponential; and how many times that in the second tenth of the run."""
ESTIMATES: dict[str, tuple[int | None, float]] = {
    "never falls": (None, 0.5),
    "W = 1,000, α = 0.5": (1_000, 0.5),
    "W = 100, α = 0.5": (100, 0.5),
    "W = 100, α = 0": (100, 0.0),
}
SEEN, BEHIND, LATE = "share of the run, %", "mean lag, ms", "late, %"


def measure(full: bool) -> Iterator[Row]:
    events = EVENTS if full else QUICK_EVENTS
    random, made = np.random.default_rng(6), np.arange(events)
    slow = (made >= events // 10) & (made < events // 5)
    clocks = made + (random.exponential(LATENCY, events) * np.where(slow, SLOW, 1)).astype(np.int64)
    order = np.argsort(clocks, kind="stable")
    clocks, times = clocks[order], made[order]
    step = 10
    for name, (window, alpha) in ESTIMATES.items():
        generator, known = EstimatedBounds(1, window=window, alpha=alpha), -(1 << 62)
        for piece in range(PIECES):
            behind, late = [], 0
            start, stop = piece * events // PIECES, (piece + 1) * events // PIECES
            for first in range(start, stop, step):
                part = slice(first, min(first + step, stop))
                late += int((times[part] <= known).sum())
                generator.arrive(clocks[part], 0 * times[part], times[part])
                known = max(known, generator.heartbeat(int(clocks[part][-1])))
                behind.append(int(clocks[part][-1]) - known)
            yield {
                "estimate": name,
                SEEN: 100 * (piece + 1) / PIECES,
                BEHIND: float(np.mean(behind)),
                LATE: 100 * late / (stop - start),
            }


def _falls(rows: Rows) -> Statements:
    last = {str(name): rows.column(BEHIND, estimate=name)[-1] for name in ESTIMATES}
    names = list(ESTIMATES)
    return {
        f"{name}: {last[name]:.0f} ms behind at the end, {last[names[0]]:.0f} if it never falls": (
            bool(last[name] < 0.7 * last[names[0]])
        )
        for name in names[1:]
    }


def _late(rows: Rows) -> Statements:
    late = {str(name): float(rows.column(LATE, estimate=name)[8:].mean()) for name in ESTIMATES}
    never, slow, quick, at_once = late.values()
    return {
        f"late after the slow time: {never:.3f} % if it never falls, {slow:.2f} % with W = 1,000, "
        f"{quick:.2f} % with W = 100": never <= slow <= quick,
        f"{at_once:.2f} % with α = 0": at_once >= quick,
    }


def draw(rows: Rows, figure: Figure) -> None:
    for axis, column in zip(panels(figure, 2, 1), (BEHIND, LATE), strict=True):
        lines(axis, rows, SEEN, column, "estimate")
        place(axis, 10, "slower")
        place(axis, 20, "as before")
        axis.set_ylim(bottom=0)
    figure.set_size_inches(7, 6)


EXPERIMENT = Experiment(
    name="stream-adaptive",
    paper="STREAM",
    figure="section 6.2, figures 3 and 4",
    title="Adaptive estimates when the network changes",
    workload=(
        f"One source with an event each millisecond, {LATENCY} ms on its way on average, and "
        f"{SLOW} times that in the second tenth of the run."
    ),
    measure=measure,
    claims=(
        Claim("Adaptive estimates reflect what is seen now, and not the worst ever seen.", _falls),
        Claim("W and α trade latency for accuracy.", _late),
    ),
    draw=draw,
)
