"""Section 2.4: the lower the latency of an operator, the larger its output.

How far the answer reaches is the latest start of an answer row less the time of the latest event:
an eager operator emits what follows from the ends of windows in advance; an ordered one what holds
from now on; a perfect one what has ended and is closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np
from matplotlib.figure import Figure

from driftline.plan.choices import Emit
from experiments.drawing import lines, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.late_events import WINDOW, late_events, sums

DISORDERS = (0, 5, 10, 20, 40)
"""Ticks by which 30 % of the events come late at most, as the stream declares."""
QUICK_DISORDERS = (0, 10, 40)
EVENTS, QUICK_EVENTS = 1_500, 300
LEVELS: tuple[Emit, ...] = get_args(Emit)
DISORDER, SIZE, BEHIND = "disorder, ticks", "output events for an event", "behind the input, ticks"


def measure(full: bool) -> Iterator[Row]:
    for disorder in DISORDERS if full else QUICK_DISORDERS:
        events = late_events(EVENTS if full else QUICK_EVENTS, disorder, disorder / 2)
        for emit in LEVELS:
            size, reach, latest, behind = 0, 0, 0, []
            updates = sums(disorder).changes({"events": events}, batch=1, emit=emit, block=0)
            for ts, update in zip(events["ts"].to_pylist(), updates, strict=False):
                latest = max(latest, ts)
                size += len(update.table())
                starts = update.batch.vs[update.batch.weight > 0]
                reach = max(reach, int(starts.max(initial=0)))
                behind.append(latest - reach)
            yield {
                DISORDER: disorder,
                "emit": emit,
                SIZE: size / len(events),
                BEHIND: float(np.mean(behind[WINDOW:])),
            }


def _latency(rows: Rows) -> Statements:
    perfect, ordered, eager = (rows.column(BEHIND, emit=each) for each in LEVELS)
    return {
        f"behind the input: perfect {perfect.min():.1f} to {perfect.max():.1f} ticks, ordered "
        f"{ordered.min():.1f} to {ordered.max():.1f}": bool((ordered <= perfect).all()),
        f"eager {eager.min():.1f} to {eager.max():.1f}": bool((eager <= ordered).all()),
    }


def _size(rows: Rows) -> Statements:
    perfect, ordered, eager = (rows.column(SIZE, emit=each) for each in LEVELS)
    return {
        f"output for an event: perfect {perfect.min():.1f} to {perfect.max():.1f}, ordered "
        f"{ordered.min():.1f} to {ordered.max():.1f}": bool((perfect <= ordered).all()),
        f"eager {eager.min():.1f} to {eager.max():.1f}": bool((ordered <= eager).all()),
    }


def _in_order(rows: Rows) -> Statements:
    perfect, ordered = (rows.value(SIZE, emit=each, **{DISORDER: 0}) for each in LEVELS[:2])
    return {
        f"in order, ordered emits {ordered / perfect:.2f} times what perfect does: at most one "
        "retraction for every row": ordered <= 2.05 * perfect
    }


def draw(rows: Rows, figure: Figure) -> None:
    for axis, column in zip(panels(figure, 2), (SIZE, BEHIND), strict=True):
        lines(axis, rows, DISORDER, column, "emit")


EXPERIMENT = Experiment(
    name="cedr-levels",
    paper="CEDR",
    figure="section 2.4, theorems 8 and 9",
    title="Output and delay of the latency levels",
    workload=(
        "A sum over a sliding window of 20 ticks, an event at a time, nothing blocked; 30 % of "
        "the events come late, by up to the disorder that the stream declares."
    ),
    measure=measure,
    claims=(
        Claim(
            "Operators that keep order have no more latency than those that keep perfection, and "
            "the most speculative ones have the least.",
            _latency,
        ),
        Claim("The lower the latency, the larger the output.", _size),
        Claim("Keeping order costs at most one retraction for each row.", _in_order),
    ),
    draw=draw,
)
