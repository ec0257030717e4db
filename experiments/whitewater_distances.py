"""Figure 5(a): how far apart the output states are that are consistent by themselves.

The plan of three joins over two streams, a tuple at a time and round-robin; heeding finds the
states that are the answer for a prefix of the input, and nothing else is done about it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from experiments.drawing import COLOURS, panels
from experiments.experiment import Claim, Experiment, Floats, Row, Rows, Statements
from workloads.joins import KEYS, RANGE, hand_in_hand, joins, two_streams

EVENTS, QUICK_EVENTS = 12_000, 1_200
QUICK_KEYS, QUICK_RANGE = 200, 400
BIN = 10
DISTANCE, STATES = "distance, output tuples", "consistent states"


def measure(full: bool) -> Iterator[Row]:
    keys, window = (KEYS, RANGE) if full else (QUICK_KEYS, QUICK_RANGE)
    inputs = two_streams(EVENTS if full else QUICK_EVENTS, keys)
    run = hand_in_hand(joins(3, window), inputs, 1, ("multiset",))["multiset"]
    distances = run.distances
    counted = np.bincount((distances - 1) // BIN)
    for place, count in enumerate(counted):
        if count:
            yield {
                DISTANCE: BIN * place + BIN // 2,
                "bin": f"{BIN * place + 1} to {BIN * (place + 1)}",
                STATES: int(count),
            }


def _correlation(x: Floats, y: Floats) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def _near(rows: Rows) -> Statements:
    counts = rows.column(STATES)
    share = counts[0] / counts.sum()
    return {f"{share:.0%} of the states are at most {BIN} tuples after the one before": share > 0.5}


def _far(rows: Rows) -> Statements:
    distance = rows.column(DISTANCE)
    return {
        f"the greatest distance is about {distance[-1]:.0f} tuples": bool(distance[-1] >= 4 * BIN),
        "hundreds": bool(distance[-1] >= 100),
    }


def _power(rows: Rows) -> Statements:
    distance, logs = rows.column(DISTANCE), np.log(rows.column(STATES))
    power, decay = _correlation(np.log(distance), logs), _correlation(distance, logs)
    return {
        f"the logarithms of number and distance have a correlation of {power:.2f}; the logarithm "
        f"of the number and the distance itself, as for an exponential, {decay:.2f}": (
            power < -0.85
        ),
    }


def draw(rows: Rows, figure: Figure) -> None:
    (axis,) = panels(figure, 1)
    axis.bar(rows.column(DISTANCE), rows.column(STATES), 0.8 * BIN, color=COLOURS[0])
    axis.set_yscale("log")
    axis.set_ylim(bottom=0.7)
    axis.set_xlabel(DISTANCE)
    axis.set_ylabel(STATES)


EXPERIMENT = Experiment(
    name="whitewater-distances",
    paper="WhiteWater",
    figure="figure 5(a)",
    title="Distance between consistent states",
    workload=(
        "Three joins over two streams, keys uniform in 1 to 5,000 and windows of as many tuples "
        "(quick: 200); multiset heeding, a tuple at a time, round-robin. Counts, not times."
    ),
    measure=measure,
    claims=(
        Claim("Most consistent states are a few tuples apart.", _near),
        Claim(
            "Some are separated by many more, by hundreds of tuples.",
            _far,
            was="holds in part",
            why=(
                "Round-robin works off half of every queue in a turn here, so that no backlog "
                "grows for long."
            ),
        ),
        Claim("The number of states falls with their distance by a power law.", _power),
    ),
    draw=draw,
)
