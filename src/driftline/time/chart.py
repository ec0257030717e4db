"""A chart of application time against arrival time, with the heartbeat: SVG or PNG by the name.

Drawn by matplotlib (`pip install driftline[charts]`), and the same file for the same arrivals.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftline.model.time import BEGINNING, TICKS_PER_SECOND
from driftline.time.bounds import Int64s

FORMATS = (".svg", ".png")
MOST_POINTS = 4_000
"""More arrivals than this are thinned out evenly, the late ones apart from the others."""

ON_TIME, LATE, HEARTBEAT = "#8d99ae", "#d1495b", "#1d3557"


def draw(
    path: Path,
    clocks: Int64s,
    times: Int64s,
    told: Int64s,
    *,
    timestamps: bool = False,
    title: str = "",
) -> None:
    """`told` is the heartbeat in force when each came, as `arrive` returns it."""
    if path.suffix not in FORMATS:
        raise ValueError(f"a chart is written as {' or '.join(FORMATS)}, not as {path.name}")
    try:
        import matplotlib as mpl
    except ImportError:
        raise ValueError("charts need matplotlib: pip install 'driftline[charts]'") from None

    mpl.use("svg" if path.suffix == ".svg" else "agg")
    mpl.rcParams["svg.hashsalt"] = "driftline"
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(9, 5))
    late = (times <= told) & (told > BEGINNING)
    for chosen, colour, name in ((~late, ON_TIME, "arrivals"), (late, LATE, "late")):
        some = _thinned(np.flatnonzero(chosen))
        if len(some):
            label = f"{name} ({int(chosen.sum()):,})"
            shown = _axis(times[some], timestamps)
            axis.scatter(clocks[some], shown, s=4, color=colour, label=label, linewidths=0)
    steps = np.flatnonzero((np.diff(told, prepend=BEGINNING) != 0) & (told > BEGINNING))
    if len(steps):
        steps = np.unique(np.append(_thinned(steps), len(told) - 1))
        shown = _axis(told[steps], timestamps)
        axis.step(clocks[steps], shown, where="post", color=HEARTBEAT, lw=1.2, label="heartbeat")
    axis.set_xlabel("arrival clock")
    axis.set_ylabel("application time")
    axis.set_title(title)
    axis.spines[["top", "right"]].set_visible(False)
    if len(times):
        axis.legend(frameon=False, fontsize=8, loc="upper left")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def _thinned(places: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(places) <= MOST_POINTS:
        return places
    return places[np.linspace(0, len(places) - 1, MOST_POINTS).astype(np.int64)]


def _axis(times: Int64s, timestamps: bool) -> Any:
    if not timestamps:
        return times
    return [datetime.fromtimestamp(time / TICKS_PER_SECOND, UTC) for time in times.tolist()]
