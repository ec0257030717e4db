"""Figure 9: piggybacking beside negative tuples, as a join lets more or less pass.

As in the paper, stores of one stream are 1 to 100 and those of the other are shifted: by 50, the
selectivity is 0.005.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from experiments.drawing import level, lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.sales import Sales, Simulation, answer, arrivals, q2

RATE = 200
"""Tuples a second of each stream, as in the paper."""
STORES = 100
SELECTIVITIES = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""In percent."""
QUICK_SELECTIVITIES = (0.0, 0.1, 1.0)
WINDOW = 500
"""Ticks of a millisecond: 100 tuples of each stream."""
LENGTH, QUICK_LENGTH = 4_000, 1_000
UNIT = 0.85
"""Ticks that an operator takes for a tuple: NTA needs 1.4 times the time there is at 1 %."""
SELECTIVITY, DELAY = "selectivity, %", "mean delay, s"
OVERHEAD = "negative ÷ positive tuples"


def measure(full: bool) -> Iterator[Row]:
    length = LENGTH if full else QUICK_LENGTH
    for selectivity in SELECTIVITIES if full else QUICK_SELECTIVITIES:
        random = np.random.default_rng(9)
        shift = round(STORES * (1 - selectivity))
        sales = {
            name: Sales.by_store(random, arrivals(random, 1000 / RATE, length), low, low + STORES)
            for name, low in (("s1", 0), ("s2", shift))
        }
        correct = answer(q2(WINDOW), sales, length)
        for expiry in ("nta", "piggyback"):
            run = Simulation(q2, WINDOW, expiry, sales, correct, UNIT).run()
            counted = run.aggregate
            yield {
                SELECTIVITY: selectivity,
                "expiry": expiry,
                DELAY: float(np.mean(run.delays)) / 1000 if run.delays else 0.0,
                OVERHEAD: (counted.negative + counted.marks) / max(1, counted.positive),
            }


def _delay(rows: Rows) -> Statements:
    nta, piggyback = (rows.column(DELAY, expiry=each) for each in ("nta", "piggyback"))
    return {
        f"at 1 %: nta {nta[-1]:.3f} s, piggyback {piggyback[-1]:.3f} s": (
            nta[-1] > 3 * piggyback[-1]
        ),
        f"at {rows.values(SELECTIVITY)[1]} %: nta {nta[1]:.3f} s, piggyback {piggyback[1]:.3f} s": (
            nta[1] < piggyback[1] + 0.01
        ),
        "piggyback is never slower": bool((piggyback <= 1.05 * nta).all()),
    }


def _overhead(rows: Rows) -> Statements:
    nta, piggyback = (rows.column(OVERHEAD, expiry=each)[1:] for each in ("nta", "piggyback"))
    return {
        f"nta between {nta.min():.2f} and {nta.max():.2f}": nta.min() > 0.6 and nta.max() < 1.3,
        f"piggyback {piggyback[0]:.2f} where little passes, {piggyback[-1]:.2f} at 1 %": (
            piggyback[-1] < 0.7 * piggyback[0]
        ),
    }


def draw(rows: Rows, figure: Figure) -> None:
    left, right = panels(figure, 2)
    lines(left, rows, SELECTIVITY, DELAY, "expiry")
    lines(right, rows, SELECTIVITY, OVERHEAD, "expiry")
    level(right, 1.0, "paper: almost 1 for NTA")


EXPERIMENT = Experiment(
    name="nile-piggybacking",
    paper="Nile",
    figure="figure 9",
    title="Delay and overhead of piggybacking",
    workload=(
        "Q2 with 200 tuples a second of each stream and a selectivity of the join from 0 to 1 %. "
        "Simulated time: an operator takes 0.85 ms for a tuple, so that negative tuples are more "
        "than it can work on at 1 %."
    ),
    measure=measure,
    claims=(
        Claim(
            "Where much passes the join, NTA is late because its queues are flooded, and where "
            "little does, both are alike; piggybacking always has the least delay.",
            _delay,
        ),
        Claim(
            "NTA has almost one negative tuple for every positive one; with piggybacking the ratio "
            "falls as more passes the join.",
            _overhead,
        ),
    ),
    draw=draw,
)
