"""Figure 8: what negative tuples cost behind and inside a join, by how many tuples each joins.

The selectivity is 0.01 whatever the multiplicity m: of the tuples of one stream one in m finds
partners, and each of these m. In a window of 100 tuples that is 100 results, as in the paper's
example (with its 1,500 tuples in a window the two would exclude each other).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.figure import Figure

from driftline.model.arrays import Int64s
from experiments.drawing import level, lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.sales import EXPIRIES, Sales, Simulation, answer, arrivals, capacity, q2

RATE = 50
"""Tuples a second of each stream, as in the paper."""
TOGETHER = 100
"""Tuples of a stream in a window."""
MULTIPLICITIES = (1, 2, 3, 4, 5)
QUICK_MULTIPLICITIES = (1, 5)
WINDOWS, QUICK_WINDOWS = 6, 3
TICKS = 1000
"""In a second."""
UNIT = 1.5
"""Ticks that an operator takes for a tuple."""
BATCH, JOIN_WINDOW = 5_000, 20_000
JOIN_EVENTS, QUICK_JOIN_EVENTS = 200_000, 60_000
OVERHEAD, CAPACITY = "negative ÷ positive tuples", "million positive tuples/s"


def measure(full: bool) -> Iterator[Row]:
    window = TOGETHER * TICKS // RATE
    length = window * (WINDOWS if full else QUICK_WINDOWS)
    events = JOIN_EVENTS if full else QUICK_JOIN_EVENTS
    for multiplicity in MULTIPLICITIES if full else QUICK_MULTIPLICITIES:
        random = np.random.default_rng(multiplicity)
        times = [arrivals(random, TICKS / RATE, length) for _ in range(2)]
        sales = _sales(random, times, TOGETHER, multiplicity)
        correct = answer(q2(window), sales, length)
        dense = _sales(random, [np.arange(events)] * 2, JOIN_WINDOW, multiplicity)
        speeds = capacity(dense, JOIN_WINDOW, BATCH)
        for expiry in EXPIRIES:
            run = Simulation(q2, window, expiry, sales, correct, UNIT).run()
            counted = run.aggregate
            yield {
                "multiplicity": multiplicity,
                "expiry": expiry,
                OVERHEAD: (counted.negative + counted.marks) / counted.positive,
                CAPACITY: speeds[expiry],
                "capacity ÷ nta": speeds[expiry] / speeds["nta"],
            }


def _sales(
    random: np.random.Generator, times: list[Int64s], together: int, multiplicity: int
) -> dict[str, Sales]:
    one, other = times
    stores = together // multiplicity
    joins = random.random(len(one)) < 1 / multiplicity
    store = np.where(joins, random.integers(0, stores, len(one)), -1 - np.arange(len(one)))
    return {
        "s1": Sales.of(random, one, 0 * one, store),
        "s2": Sales.by_store(random, other, 0, stores),
    }


def _overhead(rows: Rows) -> Statements:
    nta, message = (rows.column(OVERHEAD, expiry=each) for each in ("nta", "time-message"))
    return {
        f"nta: {nta.min():.2f} to {nta.max():.2f} negative tuples for a positive one": (
            nta.min() > 0.6 and nta.max() < 1.1
        ),
        f"time-message: {message[0]:.2f} with multiplicity 1, {message[-1]:.2f} with 5": (
            message[-1] < 0.8 * message[0] and bool((message < nta).all())
        ),
        "none with ita": rows.column(OVERHEAD, expiry="ita").max() == 0,
    }


def _doubled(rows: Rows) -> Statements:
    return {
        f"{each} takes {ratio.min():.1f} to {ratio.max():.1f} times as many tuples as nta": (
            ratio.min() > 1.6
        )
        for each in ("time-message", "piggyback")
        for ratio in [rows.column("capacity ÷ nta", expiry=each)]
    }


def _alike(rows: Rows) -> Statements:
    """NTA works on a negative tuple for every positive one."""
    nta, ita = (rows.column(CAPACITY, expiry=each) for each in ("nta", "ita"))
    ratio = 2 * nta / ita
    return {
        f"positive and negative tuples that nta takes, by those of ita: {ratio.min():.2f} to "
        f"{ratio.max():.2f}": ratio.min() > 0.8,
    }


def _independent(rows: Rows) -> Statements:
    found = {}
    for expiry in EXPIRIES:
        speeds = rows.column(CAPACITY, expiry=expiry)
        spread = speeds.max() / speeds.min()
        found[f"{expiry}: greatest ÷ least {spread:.2f}"] = bool(spread < 1.5)
    return found


def draw(rows: Rows, figure: Figure) -> None:
    left, right = panels(figure, 2)
    lines(left, rows, "multiplicity", OVERHEAD, "expiry")
    level(left, 1.0, "paper: almost 1 for NTA")
    lines(right, rows, "multiplicity", "capacity ÷ nta", "expiry")
    level(right, 2.0, "paper: doubled by join-messages")
    right.set_ylim(bottom=0)


EXPERIMENT = Experiment(
    name="nile-multiplicity",
    paper="Nile",
    figure="figure 8",
    title="Negative tuples and join capacity",
    workload=(
        "Q2, a maximum over a join of two streams of sales; 50 tuples a second of each, "
        "selectivity 0.01, multiplicity from 1 to 5. What the aggregate behind the join works on "
        "is counted in simulated time; the capacity of the join is processor time, in batches."
    ),
    measure=measure,
    claims=(
        Claim(
            "NTA has almost one negative tuple for every positive one behind the join, ITA none; "
            "join-messages reduce them, the more the higher the multiplicity.",
            _overhead,
        ),
        Claim("Join-messages and piggybacking double the capacity of the join.", _doubled),
        Claim(
            "The capacity is almost the same for NTA and ITA.",
            _alike,
            was="does not hold",
            why=(
                "A negative tuple costs more than a positive one here: it has to find the lifetime "
                "that it ends, and results come out as an old and a new one."
            ),
        ),
        Claim("The capacity does not depend on the multiplicity.", _independent),
    ),
    draw=draw,
    of_processor_time=True,
)
