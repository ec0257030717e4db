"""Figures 6, 8 and 10: state, output punctuations and lag of a loop when events come early."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from experiments.drawing import lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.progress import METHODS, Input, progress_of

EARLY = (0, 5, 10, 15, 20)
"""By how many punctuations every hundredth event is early."""
QUICK_EARLY = (0, 8, 16)
TOSSES, QUICK_TOSSES = 3_000, 250
DISORDER, STATE = "disorder, punctuations", "join rows, mean"
OUT, LAG, SPECULATIVE = "output punctuations", "lag, events", "speculative punctuations"


def measure(full: bool) -> Iterator[Row]:
    for early in EARLY if full else QUICK_EARLY:
        for method in METHODS:
            found = progress_of(method, Input(early=early), TOSSES if full else QUICK_TOSSES)
            yield {
                DISORDER: early,
                "method": method,
                STATE: found.join_rows,
                OUT: found.definite,
                LAG: found.lag,
                SPECULATIVE: found.speculative,
            }


def _hwm(rows: Rows) -> Statements:
    state, out, lag = (rows.column(each, method="hwm") for each in (STATE, OUT, LAG))
    return {
        f"output punctuations of hwm fall from {out[0]:.0f} to {out[-1]:.0f}": out[-1] < out[0] / 2,
        f"its state grows from {state[0]:.0f} to {state[-1]:.0f} rows": state[-1] > 1.2 * state[0],
        f"its lag grows from {lag[0]:.1f} to {lag[-1]:.1f}": lag[-1] > 5 * lag[0],
    }


def _probing(rows: Rows) -> Statements:
    out, lag = (rows.column(each, method="probing") for each in (OUT, LAG))
    return {
        f"output punctuations of probing: {out.min():.0f} to {out.max():.0f}": (
            out.min() > 0.9 * out.max()
        ),
        f"its lag: {lag.min():.2f} to {lag.max():.2f}": lag.max() < 1.2 * lag.min(),
    }


def _speculative(rows: Rows) -> Statements:
    probing, hwm = (rows.column(SPECULATIVE, method=each) for each in ("probing", "hwm"))
    out = rows.column(OUT, method="hwm")
    return {
        f"probing sends {probing.min():.0f} to {probing.max():.0f}, whatever the disorder": (
            probing.min() > 0.9 * probing.max()
        ),
        f"hwm sends {hwm[0]:.0f} without disorder, for {out[0]:.0f} that come out": (
            hwm[0] < 1.5 * out[0]
        ),
    }


def _hybrid(rows: Rows) -> Statements:
    hybrid, probing = (rows.column(LAG, method=each) for each in ("hybrid", "probing"))
    sent, all_sent = (rows.column(SPECULATIVE, method=each) for each in ("hybrid", "probing"))
    return {
        f"lag of hybrid ÷ probing at most {(hybrid / probing).max():.2f}": bool(
            (hybrid <= 1.1 * probing).all()
        ),
        f"it sends {(sent / all_sent).max():.2f} of the speculative punctuations": bool(
            (sent < 0.5 * all_sent).all()
        ),
    }


def draw(rows: Rows, figure: Figure) -> None:
    for axis, column in zip(panels(figure, 4), (STATE, OUT, LAG, SPECULATIVE), strict=True):
        lines(axis, rows, DISORDER, column, "method")
        axis.set_ylim(bottom=0)


EXPERIMENT = Experiment(
    name="ffp-disorder",
    paper="Flying Fixed-Point",
    figure="figures 6, 8 and 10",
    title="Progress of a loop against disorder",
    workload=(
        "The W query as a loop that runs free; every hundredth event comes early by some "
        "punctuations, of which there is one for ten events. Simulated time: a turn of the loop."
    ),
    measure=measure,
    claims=(
        Claim(
            "With HWM disorder leads to fewer output punctuations, more state and more lag.", _hwm
        ),
        Claim("Probing does not depend on this disorder.", _probing),
        Claim(
            "Probing sends many speculative punctuations, whatever the disorder; HWM hardly more "
            "than come out.",
            _speculative,
            was="holds in part",
            why=(
                "A loop emits level by level here: a high-water mark often comes back while an "
                "earlier level is due, and is sent again."
            ),
        ),
        Claim("Hybrid has the low lag of Probing without its many punctuations.", _hybrid),
    ),
    draw=draw,
)
