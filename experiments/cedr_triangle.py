"""Figure 1: the triangle of consistency levels as a measured surface.

A query may block an event for some time before it answers, and remember the past for some time to
correct its answers. Latency is the mean time that an event is held back; an answer is lost where it
is wrong when everything has come, because what would have corrected it was forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from driftline.results import Result
from experiments.drawing import panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.late_events import at_every_tick, late_events, sums

TIMES = (0, 10, 20, 40, 80, 160)
"""Ticks for which a query blocks and remembers; nothing is later than the last."""
QUICK_TIMES = (0, 20, 160)
LONGEST, MEAN = 150, 25
EVENTS, QUICK_EVENTS = 1_500, 400
LATENCY, RETRACTIONS = "latency, ticks", "retractions"
STATE, LOST = "state, rows", "answers lost, %"


def measure(full: bool) -> Iterator[Row]:
    inputs = {"events": late_events(EVENTS if full else QUICK_EVENTS, LONGEST, MEAN)}
    length = len(inputs["events"])
    query = sums()
    right = at_every_tick(query.run(inputs).history(), length)
    times = TIMES if full else QUICK_TIMES
    for remember in times:
        for block in times:
            if block > remember:
                continue
            result = query.run(inputs, batch=1, emit="perfect", block=block, remember=remember)
            wrong = at_every_tick(result.history(), length) != right
            yield {
                "remember": remember,
                "block": block,
                LATENCY: _rows_in(result, waiting=True),
                RETRACTIONS: result.changes()["kind"].to_pylist().count("retract"),
                STATE: _rows_in(result, waiting=False),
                LOST: 100 * float(wrong.mean()),
            }


def _rows_in(result: Result, *, waiting: bool) -> float:
    """The rows held back on average, which is also how long each is, as one comes at every tick; or
    the rows in the state of operators."""
    return float(
        np.mean(
            [
                sum(
                    counted["state_rows"]
                    for name, counted in update.counters.items()
                    if ("align" in str(name)) == waiting
                )
                for update in result.updates[:-1]
            ]
        )
    )


def _diagonal(rows: Rows) -> Statements:
    found = [row for row in rows.rows if row["block"] == row["remember"]]
    most = max(float(row[RETRACTIONS]) for row in found)
    speculative = rows.value(RETRACTIONS, block=0, remember=rows.values("remember")[-1])
    return {
        f"where a query blocks as long as it remembers, at most {most:.0f} retractions": most == 0,
        f"where it does not block, {speculative:.0f}": speculative > 0,
    }


def _right(rows: Rows) -> Statements:
    last = rows.values("remember")[-1]
    lost = rows.column(LOST, remember=last)
    first = rows.value(LOST, block=0, remember=0)
    return {
        f"at most {lost.max():.1f} % of the answers are lost if {last} ticks are remembered": (
            lost.max() == 0
        ),
        f"{first:.0f} % if none is": first > 5,
    }


def _bottom(rows: Rows) -> Statements:
    without = rows.column(LATENCY, block=0)
    longest = rows.column(LATENCY, block=rows.values("remember")[-1])
    return {
        f"without blocking, at most {without.max():.1f} ticks": without.max() == 0,
        f"with the longest, {longest.max():.0f}": longest.max() > 10,
    }


def _corners(rows: Rows) -> Statements:
    last = rows.values("remember")[-1]
    high = {name: rows.value(name, block=last, remember=last) for name in (STATE, RETRACTIONS)}
    middle = {name: rows.value(name, block=0, remember=last) for name in (STATE, RETRACTIONS)}
    low = rows.value(STATE, block=0, remember=0)
    return {
        f"high: {high[RETRACTIONS]:.0f} retractions, middle: {middle[RETRACTIONS]:.0f}": (
            middle[RETRACTIONS] > high[RETRACTIONS]
        ),
        f"rows in the state of operators: low {low:.0f}, high {high[STATE]:.0f}, middle "
        f"{middle[STATE]:.0f}": max(low, high[STATE]) < middle[STATE],
    }


def draw(rows: Rows, figure: Figure) -> None:
    times = [int(float(each)) for each in rows.values("remember")]
    for axis, name in zip(panels(figure, 4), (LATENCY, RETRACTIONS, STATE, LOST), strict=True):
        grid = np.full((len(times), len(times)), np.nan)
        for row in rows.rows:
            place = times.index(int(float(row["block"]))), times.index(int(float(row["remember"])))
            grid[place] = row[name]
        axis.imshow(grid, origin="lower", cmap="YlOrBr", vmin=0, vmax=1.6 * np.nanmax(grid) + 1)
        axis.grid(visible=False)
        for (block, remember), value in np.ndenumerate(grid):
            if np.isfinite(value):
                text = f"{value:.0f}" if value >= 10 or value == 0 else f"{value:.1f}"
                axis.annotate(text, (remember, block), ha="center", va="center", fontsize=9)
        names = [str(time) for time in times]
        axis.set_xticks(range(len(times)), names)
        axis.set_yticks(range(len(times)), names)
        axis.set_xlabel("remember, ticks")
        axis.set_ylabel("block, ticks")
        axis.set_title(name)


EXPERIMENT = Experiment(
    name="cedr-triangle",
    paper="CEDR",
    figure="figure 1",
    title="The consistency triangle, measured",
    workload=(
        "A sum over a sliding window of 20 ticks; an event is made at every tick, and 30 % come "
        "late, by 25 ticks on average and at most 150. Emitted at the level `perfect`, an event at "
        "a time; blocked and remembered for 0 to 160 ticks. Time is that of arrivals."
    ),
    measure=measure,
    claims=(
        Claim("The diagonal is the line of no speculation.", _diagonal),
        Claim("The rightmost leg is the line of answers that are right in the end.", _right),
        Claim("The bottom leg is the line without latency.", _bottom),
        Claim(
            "The corners trade latency (high) for retractions and memory (middle), or give up "
            "answers (low).",
            _corners,
        ),
    ),
    draw=draw,
)
