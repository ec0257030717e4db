"""Figure 10: what a system gets done as the input rate grows.

Throughput is counted as join results that the maximum has taken in. (Answers that it puts out would
be no measure: with negative tuples it puts out more of them for the same input.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from driftline.plan.choices import Expiry
from experiments.drawing import lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.sales import Sales, Simulation, answer, arrivals, q2

RATES = (50, 100, 150, 200, 250, 300, 350)
"""Tuples a second of each stream, as in the paper."""
QUICK_RATES = (50, 250, 350)
WINDOW = 500
"""Ticks of a millisecond."""
LENGTH, QUICK_LENGTH = 3_000, 1_000
UNIT = 1.0
"""Ticks that an operator takes for a tuple."""
POLICIES: tuple[Expiry, ...] = ("ita", "nta", "piggyback")
RATE, THROUGHPUT = "input, tuples/s", "results/s"


def measure(full: bool) -> Iterator[Row]:
    length = LENGTH if full else QUICK_LENGTH
    for rate in RATES if full else QUICK_RATES:
        random = np.random.default_rng(10)
        stores = rate * WINDOW // 1000  # a tuple has one partner, whatever the rate
        sales = {
            name: Sales.by_store(random, arrivals(random, 1000 / rate, length), 0, stores)
            for name in ("s1", "s2")
        }
        correct = answer(q2(WINDOW), sales, length)
        for expiry in POLICIES:
            run = Simulation(q2, WINDOW, expiry, sales, correct, UNIT).run()
            yield {
                RATE: rate,
                "expiry": expiry,
                THROUGHPUT: 1000 * run.throughput(since=WINDOW),
                "greatest delay, s": max(run.delays) / 1000,
            }


def _low(rows: Rows) -> Statements:
    found = [rows.value(THROUGHPUT, expiry=each, **{RATE: 50}) for each in POLICIES]
    told = ", ".join(f"{each} {value:.0f}" for each, value in zip(POLICIES, found, strict=True))
    return {f"at 50 tuples/s: {told} results/s": max(found) < 1.1 * min(found)}


def _saturated(rows: Rows) -> Statements:
    ita, nta, _ = (rows.column(THROUGHPUT, expiry=each) for each in POLICIES)
    return {
        f"at 350 tuples/s nta has {nta[-1] / ita[-1]:.2f} of ita's throughput": (
            nta[-1] < 0.8 * ita[-1]
        ),
        f"nta is saturated: {nta[-1]:.0f} results/s at 350, {nta[-2]:.0f} at "
        f"{rows.values(RATE)[-2]}": nta[-1] < 1.3 * nta[-2],
    }


def _faster(rows: Rows) -> Statements:
    ita, nta, piggyback = (rows.column(THROUGHPUT, expiry=each)[-1] for each in POLICIES)
    return {
        f"at 350 tuples/s piggybacking has {piggyback / nta:.2f} of nta's throughput": (
            piggyback > 1.2 * nta
        ),
        f"and {piggyback / ita:.2f} of ita's": piggyback > 1.02 * ita,
    }


def draw(rows: Rows, figure: Figure) -> None:
    left, right = panels(figure, 2)
    lines(left, rows, RATE, THROUGHPUT, "expiry")
    lines(right, rows, RATE, "greatest delay, s", "expiry")


EXPERIMENT = Experiment(
    name="nile-throughput",
    paper="Nile",
    figure="figure 10",
    title="Throughput against the input rate",
    workload=(
        "Q2 with 50 to 350 tuples a second of each stream; a tuple has one partner on average. "
        "Simulated time: an operator takes 1 ms for a tuple. Throughput is the join results that "
        "the maximum takes in."
    ),
    measure=measure,
    claims=(
        Claim("At 50 tuples a second and below, all have the same throughput.", _low),
        Claim(
            "At high rates NTA has less throughput than the others, and is saturated.", _saturated
        ),
        Claim(
            "The optimisations have more throughput than ITA and NTA, by the join-message.",
            _faster,
            was="holds in part",
            why=(
                "ITA has no messages at all, so that no optimisation of them can be quicker than "
                "it: here the two are alike."
            ),
        ),
    ),
    draw=draw,
)
