"""Figure 7: speculative punctuations of a loop when little comes."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from experiments.drawing import lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.progress import METHODS, Input, progress_of

INTERVALS = (12, 50, 100, 250, 500)
"""Turns of the loop from one punctuation to the next, with ten events each."""
QUICK_INTERVALS = (12, 50, 200)
TOSSES, QUICK_TOSSES = 600, 150
INTERVAL, SPECULATIVE = "turns between punctuations", "speculative punctuations"


def measure(full: bool) -> Iterator[Row]:
    for interval in INTERVALS if full else QUICK_INTERVALS:
        for method in METHODS:
            found = progress_of(method, Input(every=interval), TOSSES if full else QUICK_TOSSES)
            yield {
                INTERVAL: interval,
                "method": method,
                SPECULATIVE: found.speculative,
                "output punctuations": found.definite,
                "join rows, mean": found.join_rows,
            }


def _probing(rows: Rows) -> Statements:
    probing, hwm = (rows.column(SPECULATIVE, method=each) for each in ("probing", "hwm"))
    ratio = probing / hwm
    return {
        f"probing sends {probing[0]:.0f} at the highest rate and {probing[-1]:.0f} at the lowest": (
            probing[-1] > 5 * probing[0]
        ),
        f"{ratio[0]:.0f} and {ratio[-1]:.0f} times as many as hwm": ratio[-1] > 10,
    }


def _hybrid(rows: Rows) -> Statements:
    hybrid = rows.column(SPECULATIVE, method="hybrid")
    return {
        f"hybrid sends {hybrid.min():.0f} to {hybrid.max():.0f}": hybrid.max() < 2 * hybrid.min()
    }


def _state(rows: Rows) -> Statements:
    last = rows.where(**{INTERVAL: rows.values(INTERVAL)[-1]}).column("join rows, mean")
    return {f"joins hold {last.min():.0f} to {last.max():.0f} rows": last.max() < 1.2 * last.min()}


def draw(rows: Rows, figure: Figure) -> None:
    (axis,) = panels(figure, 1)
    lines(axis, rows, INTERVAL, SPECULATIVE, "method")
    axis.set_yscale("log")


EXPERIMENT = Experiment(
    name="ffp-inactivity",
    paper="Flying Fixed-Point",
    figure="figure 7",
    title="Speculation against inactivity",
    workload=(
        "The W query as a loop that runs free; ten events come at once, after longer and longer "
        "pauses. Simulated time: a turn of the loop."
    ),
    measure=measure,
    claims=(
        Claim(
            "Speculative punctuations of Probing grow quickly with inactivity, to orders of "
            "magnitude more than HWM's.",
            _probing,
        ),
        Claim("Hybrid does not speculate without bound when nothing comes.", _hybrid),
        Claim("The state of joins hardly differs.", _state),
    ),
    draw=draw,
)
