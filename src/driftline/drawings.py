"""Results as people look at them in notebooks: tables in HTML, and drawings of lifetimes.

    timeline       every row's lifetimes along application time; what was emitted once and is
                   corrected since is hatched
    corrections    application time along, updates upward: what was held for true, and from which
                   update to which

Drawn by matplotlib (`pip install driftline[charts]`).
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from itertools import islice
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.errors import PlanError

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

    from driftline.results import Result

ROWS = 20
"""So many rows of a table are shown."""

LANES = 24
"""So many rows of a result are drawn."""

LIFETIMES = 400
"""So many lifetimes are drawn, of what was held for true."""

LETTERS = 60
"""So many letters of a row are written beside it."""

HELD, GONE, HATCHED, FINAL = "#3949ab", "#d93025", "#fdecea", "#188038"
"""The colours of what holds, of what is corrected (its lines and its ground), and of what is
final: those of the README."""

NAN = float("nan")

SECONDS = 1_000_000
"""Ticks of a TIMESTAMP in a second."""


@dataclass(frozen=True)
class Believed:
    """A lifetime of a row, and from which update (a number from 0) to which it was part of the
    answer; None: it still is."""

    row: tuple[Any, ...]
    vs: int
    ve: int
    since: int
    until: int | None


class Drawing:
    """A figure of matplotlib that notebooks show; `save` writes it to a file."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    def save(self, path: str | Path) -> None:
        """Write it, in the format that the name says (.svg, .png, .pdf)."""
        self.figure.savefig(path)

    def _repr_svg_(self) -> str:
        text = io.StringIO()
        self.figure.savefig(text, format="svg")
        return text.getvalue()

    def __repr__(self) -> str:
        return "<Drawing: save(path) writes it>"


def believed(result: Result, where: Mapping[str, Any]) -> list[Believed]:
    """All lifetimes that a result has ever emitted, of the rows with some values."""
    names = result.schema.names
    for name in where:
        if name not in names:
            raise PlanError(f"the result has no column {name}; it has {', '.join(names)}")
    import pyarrow as pa

    from driftline.engine.tables import python_values

    open_since: dict[tuple[Any, ...], list[int]] = {}
    found: list[Believed] = []
    for number, update in enumerate(result.updates):
        changes: Counter[tuple[Any, ...]] = Counter()
        batch = update.batch
        columns = [python_values(pa.chunked_array([column])) for column in batch.payload.columns]
        for place, (vs, ve, weight) in enumerate(
            zip(batch.vs.tolist(), batch.ve.tolist(), batch.weight.tolist(), strict=True)
        ):
            row = tuple(column[place] for column in columns)
            if all(row[names.index(name)] == value for name, value in where.items()):
                changes[(vs, ve, *map(_hashable, row))] += weight
        for key, weight in changes.items():
            kept = open_since.setdefault(key, [])
            if weight > 0:
                kept.extend([number] * weight)
            for _ in range(-weight):
                found.append(Believed(key[2:], key[0], key[1], kept.pop(), number))
    for key, kept in open_since.items():
        found += [Believed(key[2:], key[0], key[1], since, None) for since in kept]
    return sorted(found, key=lambda each: (each.vs, each.since, each.ve))


def timeline(result: Result, where: Mapping[str, Any], rows: int) -> Drawing:
    """See `Result.timeline`."""
    found = believed(result, where)
    lanes = {row: lane for lane, row in enumerate(dict.fromkeys(each.row for each in found))}
    figure, axes = _new(min(len(lanes), rows))
    first, last = _span(found, result)
    for each in found:
        lane = lanes[each.row]
        if lane >= rows:
            continue
        start, width = _bar(each, first, last)
        if each.until is None:
            axes.barh(lane, width, left=start, height=0.5, color=HELD, zorder=3)
        else:
            axes.barh(lane, width, left=start, height=0.5, zorder=2, **_CORRECTED)
    shown = [_label(row, result.schema.names, where) for row in islice(lanes, rows)]
    axes.set_yticks(range(len(shown)), shown)
    axes.invert_yaxis()
    title = f"… and {len(lanes) - rows:,} more rows" if len(lanes) > rows else ""
    axes.set_title(title, fontsize="small", loc="left")
    _finish(axes, result, first, last)
    return Drawing(figure)


def corrections(result: Result, where: Mapping[str, Any]) -> Drawing:
    """See `Result.plot_corrections`."""
    found = believed(result, where)
    end = len(result.updates)
    figure, axes = _new(min(end, LANES))
    from matplotlib.patches import Rectangle

    first, last = _span(found, result)
    for each in found[:LIFETIMES]:
        start, width = _bar(each, first, last)
        height = (end if each.until is None else each.until) - each.since
        style = _HELD if each.until is None else {**_CORRECTED, "linewidth": 1}
        axes.add_patch(Rectangle((start, each.since), width, height, **style))
        label, middle = _label(each.row, result.schema.names, where), each.since + height / 2
        centred = {"ha": "center", "va": "center", "fontsize": "x-small", "clip_on": True}
        axes.text(start + width / 2, middle, label, **centred)
    axes.set_ylim(0, max(end, 1))
    axes.set_ylabel("updates")
    if len(found) > LIFETIMES:
        title = f"… and {len(found) - LIFETIMES:,} more lifetimes: choose some by their values"
        axes.set_title(title, fontsize="small", loc="left")
    _finish(axes, result, first, last)
    return Drawing(figure)


_CORRECTED: dict[str, Any] = {
    "facecolor": HATCHED, "edgecolor": GONE, "hatch": "////", "linewidth": 0,
}  # fmt: skip
_HELD: dict[str, Any] = {"facecolor": HELD, "edgecolor": "white", "linewidth": 1, "alpha": 0.5}


def _hashable(value: Any) -> Any:
    """A value of a row, such that rows can be told apart: NaN is no other than NaN."""
    if isinstance(value, float) and isnan(value):
        return NAN
    return str(value) if isinstance(value, list | dict) else value


def _new(lanes: int) -> tuple[Figure, Any]:
    if find_spec("matplotlib") is None:
        raise PlanError("drawings need matplotlib: pip install 'driftline[charts]'")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.2 + 0.32 * max(lanes, 2)), layout="constrained")
    return figure, figure.subplots()


def _span(found: Sequence[Believed], result: Result) -> tuple[int, int]:
    """From which time to which is drawn: what has no start or end goes beyond it."""
    ends = [each.vs for each in found] + [each.ve for each in found]
    ends += [] if result.cti == BEGINNING else [result.cti]
    known = [each for each in ends if BEGINNING // 2 < each < INFINITY]
    first, last = min(known, default=0), max(known, default=1)
    margin = max((last - first) // 10, 1)
    return first - margin, last + margin


def _bar(each: Believed, first: int, last: int) -> tuple[int, int]:
    start = max(each.vs, first)
    return start, min(each.ve, last) - start


def _label(row: Sequence[Any], names: Sequence[str], where: Mapping[str, Any]) -> str:
    values = (value for name, value in zip(names, row, strict=True) if name not in where)
    parts = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    text = ", ".join(parts) or "row"
    shown = text if len(text) <= LETTERS else f"{text[:LETTERS]}…"
    return shown.replace("$", r"\$")  # which would begin a formula


def _finish(axes: Any, result: Result, first: int, last: int) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes.set_xlim(first, last)
    if result.cti > first:
        axes.axvspan(first, min(result.cti, last), color=FINAL, alpha=0.08, zorder=0)
    axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))
    if result.timestamps:
        axes.xaxis.set_major_formatter(FuncFormatter(_clock(last - first)))
    axes.set_xlabel("application time" + (" (UTC)" if result.timestamps else ""))
    axes.spines[["top", "right"]].set_visible(False)


def _clock(width: int) -> Any:
    """How a tick of TIMESTAMPs is written on an axis that is so wide."""
    from datetime import UTC, datetime, timedelta

    form = "%H:%M:%S" if width < 86_400 * SECONDS else "%Y-%m-%d"

    def written(tick: float, _: Any) -> str:
        try:
            return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=tick):{form}}"
        except OverflowError:  # before the first year or after the last
            return ""

    return written


def table_in_html(table: pa.Table, notes: Sequence[str]) -> str:
    """A table with what is to be known of it."""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.column_names)
    lines = []
    from driftline.engine.tables import python_values

    for row in zip(*map(python_values, table.slice(0, ROWS).columns), strict=True):
        cells = "".join(f"<td>{escape(_cell(value))}</td>" for value in row)
        lines.append(f"<tr>{cells}</tr>")
    if table.num_rows > ROWS:
        notes = [f"{table.num_rows - ROWS:,} more rows", *notes]
    said = escape("; ".join(notes))
    body = "".join(lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{said}</p>"


def _cell(value: Any) -> str:
    from datetime import datetime

    if isinstance(value, datetime):
        return value.isoformat(sep=" ").removesuffix("+00:00")
    return "" if value is None else str(value)
