"""Figures that read well in print and on screen: axes with units, every line with its name beside
it, and what a paper's text gives as faint marks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from experiments.experiment import Rows, Value

COLOURS = ("#1b6ca8", "#d1495b", "#2e8b57", "#8a5a9e", "#c98a1b", "#4a4a4a")
MARKERS = ("o", "s", "^", "D", "v", "x")
PLACES = {"ita": 0, "nta": 1, "time-message": 2, "piggyback": 3, "ita with ctis": 4}
"""Of lines that come in several figures."""
FAINT = "#b5b5b5"
BEHIND = {"facecolor": "white", "alpha": 0.7, "pad": 0.5, "edgecolor": "none"}
HEIGHT, WIDTH = 3.1, 4.3
"""Of a panel, in inches."""
APART = 0.075
"""The least distance of two names beside lines, as a share of the height."""


def saved(draw: Callable[[Rows, Figure], None], rows: Rows, path: Path) -> None:
    """Draw an experiment into a file, the same bytes for the same rows."""
    style: dict[Any, Any] = {
        "svg.hashsalt": "driftline",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.titlesize": 10,
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(WIDTH, HEIGHT), facecolor="white")
        draw(rows, figure)
        for axis in figure.axes:
            _plain_numbers(axis)
            _name_lines(axis)
        figure.tight_layout()
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=metadata, dpi=80, bbox_inches="tight", pad_inches=0.1)


def panels(figure: Figure, count: int, columns: int = 2) -> list[Axes]:
    """Some axes side by side, with room at the right of each for names."""
    columns = min(count, columns)
    lines = -(-count // columns)
    figure.set_size_inches(WIDTH * columns, HEIGHT * lines)
    axes = np.atleast_1d(figure.subplots(lines, columns)).ravel()
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", color="#ececec", linewidth=0.8)
        axis.set_axisbelow(True)
    for axis in axes[count:]:
        axis.set_visible(False)
    return [*axes[:count]]


def lines(axis: Axes, rows: Rows, x: str, y: str, by: str, names: Sequence[Value] = ()) -> None:
    """A line for each value of a column, with that value as its name."""
    every = rows.values(by)
    for name in names or every:
        number = PLACES.get(str(name), every.index(name) % len(COLOURS))
        some = rows.where(**{by: name})
        axis.plot(
            some.column(x), some.column(y),
            color=COLOURS[number], marker=MARKERS[number], markersize=4, linewidth=1.6,
            label=str(name),
        )  # fmt: skip
    axis.set_xlabel(x)
    axis.set_ylabel(y)


def bars(axis: Axes, rows: Rows, x: str, y: str) -> None:
    """A bar for each row, with its value."""
    values = rows.column(y)
    axis.bar([str(each) for each in rows.values(x)], values, 0.5, color=COLOURS[: len(values)])
    for number, value in enumerate(values):
        text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        axis.annotate(text, (number, value), ha="center", va="bottom")
    axis.set_xlabel(x)
    axis.set_ylabel(y)


def level(axis: Axes, y: float, text: str) -> None:
    """A value of the paper that goes for all of an axis, as a faint line."""
    axis.axhline(y, color=FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    axis.annotate(
        text, (0, y), xycoords=("axes fraction", "data"), xytext=(3, 3),
        textcoords="offset points", color="#8c8c8c", fontsize=8, bbox=BEHIND, zorder=1,
    )  # fmt: skip


def place(axis: Axes, x: float, text: str) -> None:
    """The same across."""
    axis.axvline(x, color=FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    axis.annotate(
        text, (x, 0), xycoords=("data", "axes fraction"), xytext=(3, 3),
        textcoords="offset points", color="#8c8c8c", fontsize=8, bbox=BEHIND, zorder=1,
    )  # fmt: skip


def _plain_numbers(axis: Axes) -> None:
    """Numbers as people write them, and on logarithmic axes few of them."""
    for one in (axis.xaxis, axis.yaxis):
        if one.get_scale() == "log":
            low, high = one.get_view_interval()
            steps = (1.0,) if high / low > 100 else (1.0, 2.0, 5.0)
            one.set_major_locator(LogLocator(10, steps))
            one.set_minor_locator(NullLocator())
            one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def _name_lines(axis: Axes) -> None:
    """Write the name of each line at its end, none over another."""
    axis.get_xlim(), axis.get_ylim()  # limits are found when they are asked for
    named = [line for line in axis.get_lines() if not str(line.get_label()).startswith("_")]
    ends = []
    for line in named:
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        finite = np.flatnonzero(np.isfinite(y))
        if len(finite):
            last = finite[np.argmax(x[finite])]
            end = axis.transScale.transform((x[last], y[last]))
            ends.append((float(axis.transLimits.transform(end)[1]), line))
    ends.sort(key=lambda each: each[0])
    height = -1.0
    for wanted, line in ends:
        height = max(wanted, height + APART)
        axis.annotate(
            str(line.get_label()), (1.02, height), xycoords="axes fraction",
            color=line.get_color(), va="center", fontsize=9, annotation_clip=False,
        )  # fmt: skip
