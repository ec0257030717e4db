"""Figure 7: how late the answer is when tuples rarely pass a join, with negative tuples or without.

ITA as the paper has it hears of time by what passes the join alone. With a cti beside every tuple,
as Driftline's streams have them, it hears of it by every tuple.

Data distribution 1 has the tuples that pass at one end of a stretch of two windows, so that some
windows have none; distribution 2 has them anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from driftline.plan.choices import Expiry
from experiments.drawing import lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.sales import FAVOURITES, ITEMS, Sales, Simulation, answer, arrivals, q1

RATE = 50
"""Tuples a second, as in the paper."""
WINDOW = 30
"""Seconds, as in the paper; a quick run has `QUICK_WINDOW`."""
QUICK_WINDOW = 2
SELECTIVITIES = (0.1, 0.2, 0.4, 0.7, 1.0)
QUICK_SELECTIVITIES = (0.1, 1.0)
WINDOWS = 3
"""The length of a run."""
TICKS = 50
"""In a second."""
UNIT = 0.1
"""Ticks that an operator takes for a tuple: 2 ms, about a fifth of the time in all."""
VARIANTS: dict[str, tuple[Expiry, bool]] = {
    "ita": ("ita", False),
    "nta": ("nta", False),
    "ita with ctis": ("ita", True),
}
"""By name: the policy, and whether there are ctis."""
DISTRIBUTIONS = ("1, at one end", "2, scattered")
DELAYS = ("mean delay, s", "greatest delay, s")


def measure(full: bool) -> Iterator[Row]:
    window = (WINDOW if full else QUICK_WINDOW) * TICKS
    for distribution in DISTRIBUTIONS:
        for selectivity in SELECTIVITIES if full else QUICK_SELECTIVITIES:
            sales = _sales(window, selectivity, distribution)
            correct = answer(q1(window), {"s1": sales}, WINDOWS * window)
            for name, (expiry, punctuated) in VARIANTS.items():
                given = {"s1": replace(sales, punctuated=punctuated)}
                run = Simulation(q1, window, expiry, given, correct, UNIT).run()
                yield {
                    "distribution": distribution,
                    "selectivity": selectivity,
                    "expiry": name,
                    "window, s": window / TICKS,
                    DELAYS[0]: float(np.mean(run.delays)) / TICKS,
                    DELAYS[1]: max(run.delays) / TICKS,
                }


def _sales(window: int, selectivity: float, distribution: str) -> Sales:
    random = np.random.default_rng(7)
    at = arrivals(random, TICKS / RATE, WINDOWS * window)
    if distribution == DISTRIBUTIONS[0]:
        passes = at % (2 * window) < selectivity * 2 * window
    else:
        passes = random.random(len(at)) < selectivity
    item = random.integers(0, FAVOURITES, len(at))
    item = np.where(passes, item, item + ITEMS - FAVOURITES)
    return Sales.of(random, at, item, np.zeros(len(at), np.int64))


def _ita_depends(rows: Rows) -> Statements:
    one, two = (rows.where(expiry="ita", distribution=each) for each in DISTRIBUTIONS)
    least, most = one.values("selectivity")[0], one.values("selectivity")[-1]
    low, high = (one.value(DELAYS[0], selectivity=each) for each in (least, most))
    scattered, dense = (two.value(DELAYS[0], selectivity=each) for each in (least, most))
    return {
        f"distribution 1: mean delay of ita {low:.2f} s at {least}, {high:.3f} s at {most}": (
            low > 10 * high
        ),
        f"distribution 2: {scattered:.3f} s and {dense:.3f} s": scattered > 2 * dense,
        f"at {least}, {low / scattered:.0f} times as long for distribution 1": low > 2 * scattered,
    }


def _nta_does_not(rows: Rows) -> Statements:
    mean, greatest = (rows.column(name, expiry="nta") for name in DELAYS)
    return {
        f"mean delay of nta between {mean.min():.3f} and {mean.max():.3f} s": (
            mean.max() < 3 * mean.min()
        ),
        f"no delay of nta above {greatest.max():.3f} s": greatest.max() < 0.5,
    }


def _greatest(rows: Rows) -> Statements:
    window = rows.column("window, s")[0]
    found = rows.column(DELAYS[1], expiry="ita", distribution=DISTRIBUTIONS[0])
    return {
        f"greatest delay of ita {found[0]:.1f} s at the lowest selectivity: "
        f"{found[0] / window:.2f} of the window": found[0] > 0.5 * window,
    }


def draw(rows: Rows, figure: Figure) -> None:
    axes = panels(figure, 4)
    for place, delay in enumerate(DELAYS):
        for axis, distribution in zip(axes[2 * place :], DISTRIBUTIONS, strict=False):
            lines(axis, rows.where(distribution=distribution), "selectivity", delay, "expiry")
            axis.set_yscale("log")
            axis.set_title(f"distribution {distribution}")


EXPERIMENT = Experiment(
    name="nile-selectivity",
    paper="Nile",
    figure="figure 7",
    title="Delay against selectivity",
    workload=(
        "Q1, a count over a window of sales joined with a table; 50 tuples a second, windows of "
        "30 s (quick: 2 s), selectivity from 0.1 to 1, both distributions. Simulated time: an "
        "operator takes 2 ms for a tuple. The third line is ITA with a cti beside every tuple, as "
        "Driftline's streams have them: a cti passes the join also when its tuple does not, so "
        "that no negative tuples are needed."
    ),
    measure=measure,
    claims=(
        Claim(
            "The delay of ITA is high at low selectivity, falls as selectivity grows, and is "
            "higher for distribution 1.",
            _ita_depends,
        ),
        Claim("The delay of NTA depends on neither.", _nta_does_not),
        Claim("The greatest delay of ITA comes near the length of a window.", _greatest),
    ),
    draw=draw,
)
