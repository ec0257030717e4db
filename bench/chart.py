"""A chart of the engine's table: Driftline beside Polars and DuckDB on the finished data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

CHART = Path(__file__).parent / "engine.svg"
COLOURS = {"driftline": "#d1495b", "polars": "#8d99ae", "duckdb": "#c9cfd9"}
NAMES = {"driftline": "Driftline, as a stream", "polars": "Polars", "duckdb": "DuckDB"}


def draw(engine: dict[str, Any]) -> None:
    """From the part `engine` of results.json."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "driftline"
    import matplotlib.pyplot as plt

    versions: dict[str, dict[str, Any]] = {}
    for name, row in engine["queries"].items():
        query, version = name.split(" ", 1)
        versions.setdefault(version, {})[query] = row
    figure, axes = plt.subplots(1, len(versions), figsize=(9, 3.2), sharey=True)
    for axis, (version, rows) in zip(axes, versions.items(), strict=True):
        for place, (key, colour) in enumerate(COLOURS.items()):
            heights = [row[f"{key} M/s"] for row in rows.values()]
            starts = [number + 0.27 * (place - 1) for number in range(len(rows))]
            axis.bar(starts, heights, 0.25, label=NAMES[key], color=colour)
        axis.set_xticks(range(len(rows)), rows)
        axis.set_title({"A in order": "in order", "B late": "10 % late, corrected"}[version])
        axis.set_yscale("log")
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("million events/s")
    axes[-1].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(CHART, metadata={"Date": None})
    plt.close(figure)
