"""Figures 9 and 11: punctuations and the longest silence of a loop when events fail to come, and
only punctuations do."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from experiments.drawing import lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.progress import METHODS, Input, progress_of

LULLS = (0.0, 0.25, 0.5, 0.75, 0.9)
"""How likely all events between two punctuations are missing."""
QUICK_LULLS = (0.0, 0.5, 0.9)
EVERY = 24
"""Turns of the loop from one punctuation to the next: time to work everything off."""
TOSSES, QUICK_TOSSES = 2_000, 250
LULL, SPECULATIVE = "likelihood of a lull", "speculative punctuations"
SILENCE, LAG, OUT = "longest silence, turns", "lag, events", "output punctuations"


def measure(full: bool) -> Iterator[Row]:
    for lull in LULLS if full else QUICK_LULLS:
        for method in METHODS:
            given = Input(every=EVERY, lull=lull)
            found = progress_of(method, given, TOSSES if full else QUICK_TOSSES)
            yield {
                LULL: lull,
                "method": method,
                SPECULATIVE: found.speculative,
                OUT: found.definite,
                SILENCE: found.silence,
                LAG: found.lag,
            }


def _silence(rows: Rows) -> Statements:
    hwm, probing = (rows.column(SILENCE, method=each) for each in ("hwm", "probing"))
    return {
        f"longest silence of hwm: {hwm[0]:.0f} turns without lulls, {hwm[-1]:.0f} with most": (
            hwm[-1] > 5 * hwm[0]
        ),
        f"of probing: at most {probing.max():.0f}": probing.max() < 3 * EVERY,
    }


def _speculative(rows: Rows) -> Statements:
    hwm, probing = (rows.column(SPECULATIVE, method=each) for each in ("hwm", "probing"))
    out, probed = (rows.column(OUT, method=each) for each in ("hwm", "probing"))
    return {
        f"probing sends {probing[0]:.0f} without lulls, {probing[-1]:.0f} with most": (
            probing[-1] > 1.5 * probing[0]
        ),
        f"{probing[0] / hwm[0]:.0f} and {probing[-1] / hwm[-1]:.0f} times as many as hwm": (
            probing[-1] / hwm[-1] > 2 * probing[0] / hwm[0]
        ),
        f"of its punctuations {probed[-1]:.0f} come out with most lulls, of hwm's {out[-1]:.0f}": (
            probed[-1] > 2 * out[-1]
        ),
    }


def _lag(rows: Rows) -> Statements:
    hwm, probing = (rows.column(LAG, method=each) for each in ("hwm", "probing"))
    ratio = hwm / probing
    return {f"lag of hwm ÷ probing: {ratio.min():.1f} to {ratio.max():.1f}": ratio.min() > 1.3}


def _hybrid(rows: Rows) -> Statements:
    silence = rows.column(SILENCE, method="hybrid")
    hybrid, probing = (rows.column(SPECULATIVE, method=each) for each in ("hybrid", "probing"))
    return {
        f"longest silence of hybrid at most {silence.max():.0f}": silence.max() < 3 * EVERY,
        f"it sends {hybrid.min():.0f} to {hybrid.max():.0f} speculative punctuations": bool(
            (hybrid < 0.5 * probing).all()
        ),
    }


def draw(rows: Rows, figure: Figure) -> None:
    for axis, column in zip(panels(figure, 3, 3), (SPECULATIVE, SILENCE, LAG), strict=True):
        lines(axis, rows, LULL, column, "method")
        axis.set_yscale("log")


EXPERIMENT = Experiment(
    name="ffp-lulls",
    paper="Flying Fixed-Point",
    figure="figures 9 and 11",
    title="Speculation and silence against lulls",
    workload=(
        "The W query as a loop that runs free; between two punctuations all events are missing "
        "with a likelihood from 0 to 0.9. Simulated time: a turn of the loop, 24 of them from one "
        "punctuation to the next."
    ),
    measure=measure,
    claims=(
        Claim(
            "HWM is silent for longer and longer, though punctuations come in; Probing is not.",
            _silence,
        ),
        Claim(
            "Speculative punctuations of Probing grow with lulls; and more of its punctuations "
            "come out than of HWM's.",
            _speculative,
            was="holds in part",
            why=(
                "One speculative punctuation goes round in a turn, with events or without: their "
                "number is that of the turns. Only by comparison with HWM do they grow."
            ),
        ),
        Claim("Probing has half the lag of HWM throughout.", _lag),
        Claim("Hybrid is as responsive as Probing, with few punctuations.", _hybrid),
    ),
    draw=draw,
)
