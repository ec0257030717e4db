"""A chart of application time against arrival time, with the heartbeat: SVG or PNG by the name.

Drawn by matplotlib (`pip install driftline[charts]`), and the same file for the same arrivals.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING

FORMATS = (".svg", ".png")
MOST_POINTS = 8_000
"""More arrivals than this are thinned out evenly, the late ones apart from the others."""

SMALL, LARGE, FEW = 4, 14, 500
"""The size of a dot, and up to how many dots are large."""

ON_TIME, LATE, HEARTBEAT = "#8d99ae", "#d1495b", "#1d3557"


def check(path: Path) -> None:
    """Refuse a path that no chart can be written to."""
    if path.suffix not in FORMATS:
        raise ValueError(f"a chart is written as {' or '.join(FORMATS)}, not as {path.name}")
    if find_spec("matplotlib") is None:
        raise ValueError("charts need matplotlib: pip install 'driftline[charts]'")


class Chart:
    """Takes arrivals in as they come, and keeps no more of them than can be seen."""

    def __init__(self) -> None:
        self.on_time, self.late, self.heartbeat = _Points(), _Points(), _Points()
        self.last = np.full((2, 1), BEGINNING, np.int64)  # clock and heartbeat

    def take(self, clocks: Int64s, times: Int64s, in_force: Int64s) -> None:
        """`in_force`: the heartbeat in force when each arrived, as `arrive` returns it."""
        if not len(times):
            return
        late = (times <= in_force) & (in_force > BEGINNING)
        for chosen, points in ((~late, self.on_time), (late, self.late)):
            points.add(np.stack([clocks[chosen], times[chosen]]))
        steps = (np.diff(in_force, prepend=self.last[1]) != 0) & (in_force > BEGINNING)
        self.heartbeat.add(np.stack([clocks[steps], in_force[steps]]))
        self.last = np.array([[clocks[-1]], [in_force[-1]]])

    def draw(
        self, path: Path, *, timestamps: bool = False, dated: bool = False, title: str = ""
    ) -> None:
        """`timestamps`: times are microseconds since 1970; `dated`: clocks are milliseconds."""
        check(path)
        import matplotlib as mpl

        mpl.use("svg" if path.suffix == ".svg" else "agg")
        mpl.rcParams["svg.hashsalt"] = "driftline"
        import matplotlib.pyplot as plt

        figure, axis = plt.subplots(figsize=(9, 5))
        shown = (self.on_time, ON_TIME, "arrivals"), (self.late, LATE, "late")
        for points, colour, name in shown:
            if points.count:
                clocks, times = points.kept
                label = f"{name} ({points.count:,})"
                x, y = _axis(clocks, dated, "ms"), _axis(times, timestamps, "us")
                size = SMALL if points.count > FEW else LARGE
                axis.scatter(x, y, s=size, color=colour, label=label, linewidths=0)
        if self.heartbeat.count:
            clocks, in_force = np.concatenate([self.heartbeat.kept, self.last], axis=1)
            x, y = _axis(clocks, dated, "ms"), _axis(in_force, timestamps, "us")
            axis.step(x, y, where="post", color=HEARTBEAT, lw=1.2, label="heartbeat")
        axis.set_xlabel("arrival clock")
        axis.set_ylabel("application time")
        axis.set_title(title)
        axis.spines[["top", "right"]].set_visible(False)
        if self.on_time.count or self.late.count:
            axis.legend(frameon=False, fontsize=8, loc="upper left")
        figure.tight_layout()
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
        plt.close(figure)


def draw(
    path: Path,
    clocks: Int64s,
    times: Int64s,
    in_force: Int64s,
    *,
    timestamps: bool = False,
    title: str = "",
) -> None:
    """A chart of all arrivals at once."""
    chart = Chart()
    chart.take(clocks, times, in_force)
    chart.draw(path, timestamps=timestamps, title=title)


class _Points:
    """Of `count` points every n-th: at most `MOST_POINTS`."""

    def __init__(self) -> None:
        self.count, self.every = 0, 1
        self.kept = np.zeros((2, 0), np.int64)

    def add(self, points: Int64s) -> None:
        more = points[:, -self.count % self.every :: self.every]
        self.kept = np.concatenate([self.kept, more], axis=1)
        self.count += points.shape[1]
        while self.kept.shape[1] > MOST_POINTS:
            self.kept = self.kept[:, ::2]
            self.every *= 2


def _axis(times: Int64s, dated: bool, unit: str) -> Any:
    return times.astype(f"datetime64[{unit}]") if dated else times
