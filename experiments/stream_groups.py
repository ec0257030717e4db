"""Section 5.2: what it costs to keep one heartbeat for a group of sources."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from driftline.time.closure import closure
from driftline.time.groups import grouped, grouping_delay
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.presets import sensors
from experiments.drawing import lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.sensors import DEVIATION, LATENCY, arrivals

SOURCES, QUICK_SOURCES = 100, 40
GROUPS = (1.0, 0.5, 0.2, 0.1, 0.05)
"""As shares of the sources; and one group of all."""
QUICK_GROUPS = (1.0, 0.25, 0.1)
EVENTS, QUICK_EVENTS = 40_000, 8_000
UNIT, SPEED = 10, 4
HOW = ("alike", "at random")
COUNT, DELAY, STATE = "groups", "mean delay of a source, ms", "numbers in the state"


def measure(full: bool) -> Iterator[Row]:
    count = SOURCES if full else QUICK_SOURCES
    random = np.random.default_rng(3)
    deviation = np.sort(random.integers(1, DEVIATION + 1, count))
    closed = closure(sensors(deviation, np.full(count, LATENCY)))
    came = arrivals(EVENTS if full else QUICK_EVENTS, count, SPEED)
    shares = GROUPS if full else QUICK_GROUPS
    for groups in [*(max(2, round(share * count)) for share in shares), 1]:
        for how in HOW:
            order = np.arange(count) if how == "alike" else random.permutation(count)
            group_of = order * groups // count
            bounds = grouped(closed, group_of)
            generator = HeartbeatGenerator(bounds, unit=UNIT, close=False)
            stored = sum(array.size for array in generator.snapshot().values())
            yield {
                "grouped": how,
                COUNT: groups,
                DELAY: grouping_delay(closed, group_of, *came, UNIT).mean,
                STATE: stored + sum(len(column) for column in bounds.pairs),
            }


def _smaller(rows: Rows) -> Statements:
    state = rows.column(STATE, grouped="alike")
    return {
        f"{state[0]:,.0f} numbers without groups, {state[-1]:,.0f} in one": state[-1]
        < state[0] / 10
    }


def _delayed(rows: Rows) -> Statements:
    delay = rows.column(DELAY, grouped="alike")
    return {
        f"no delay without groups ({delay[0]:.1f} ms), {delay[-1]:.1f} ms in one": (
            delay[0] == 0 and delay[-1] > 0
        )
    }


def _alike(rows: Rows) -> Statements:
    alike, mixed = (rows.column(DELAY, grouped=each)[1:-1] for each in HOW)
    return {
        f"delay of {groups:.0f} groups: {one:.1f} ms, at random {other:.1f}": bool(one < other)
        for groups, one, other in zip(
            rows.column(COUNT, grouped="alike")[1:-1], alike, mixed, strict=True
        )
    }


def draw(rows: Rows, figure: Figure) -> None:
    left, right = panels(figure, 2)
    lines(left, rows, COUNT, DELAY, "grouped")
    lines(right, rows, COUNT, STATE, "grouped", ["alike"])
    for axis in (left, right):
        axis.set_xscale("log")
    right.set_yscale("log")


EXPERIMENT = Experiment(
    name="stream-groups",
    paper="STREAM",
    figure="section 5.2",
    title="Sources in groups",
    workload=(
        f"Sensors ({SOURCES}; quick: {QUICK_SOURCES}) whose clocks deviate by 1 to {DEVIATION} ms, "
        "in groups of those that are alike, or of any."
    ),
    measure=measure,
    claims=(
        Claim("Groups lower the cost in time and space.", _smaller),
        Claim("Some heartbeats are delayed compared to those of single streams.", _delayed),
        Claim("Sources that are alike should be grouped together.", _alike),
    ),
    draw=draw,
)
