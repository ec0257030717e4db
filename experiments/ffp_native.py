"""Section 5.1: a pattern as a cyclic query, and by an operator that was written for it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from matplotlib.figure import Figure

from driftline import automata
from driftline.engine import automata as operator_of_automata
from driftline.plan.nodes import automaton as node
from experiments.drawing import bars, level, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.coin_tosses import timed

TOSSES, QUICK_TOSSES = 200_000, 20_000
BY: tuple[automata.By, ...] = ("operator", "loop")
SPEED, CODE = "events/s ÷ loop", "lines of code"


def measure(full: bool) -> Iterator[Row]:
    for by in BY:
        timed(by, 2_000)  # kernels are compiled
    tosses = TOSSES if full else QUICK_TOSSES
    seconds, runs = {}, {}
    for by in BY:
        seconds[by], runs[by] = timed(by, tosses)
    for by in BY:
        yield {
            "by": by,
            "runs found": runs[by],
            SPEED: seconds["loop"] / seconds[by],
            CODE: _lines()[by],
        }


def _lines() -> dict[str, int]:
    """What had to be written for each, without blank lines."""
    folder = Path(inspect.getfile(operator_of_automata)).parent
    texts = [path.read_text() for path in folder.glob("*.py")] + [inspect.getsource(node)]
    loop = inspect.getsource(automata._by_loop) + inspect.getsource(automata._table_of)
    return {"operator": _count("\n".join(texts)), "loop": _count(loop)}


def _count(text: str) -> int:
    return sum(bool(line.strip()) for line in text.splitlines())


def _same(rows: Rows) -> Statements:
    operator, loop = (rows.value("runs found", by=each) for each in BY)
    return {f"{operator:,.0f} and {loop:,.0f} runs": operator == loop and operator > 0}


def _slower(rows: Rows) -> Statements:
    ratio = rows.value(SPEED, by="operator")
    return {f"the loop is {ratio:.1f} times slower": 2 < ratio < 15}


def _easier(rows: Rows) -> Statements:
    operator, loop = (rows.value(CODE, by=each) for each in BY)
    return {f"{loop:.0f} lines for the loop, {operator:.0f} for the operator": loop < operator / 5}


def draw(rows: Rows, figure: Figure) -> None:
    for axis, column, paper in zip(panels(figure, 2), (SPEED, CODE), (5, None), strict=True):
        bars(axis, rows, "by", column)
        if paper is not None:
            level(axis, paper, "")
            axis.annotate("paper: 5", (1, paper), ha="center", va="bottom", color="#8c8c8c")


EXPERIMENT = Experiment(
    name="ffp-native",
    paper="Flying Fixed-Point",
    figure="section 5.1",
    title="A cyclic query beside a native operator",
    workload=(
        "The W query (seven states, eleven transitions, one register) over coin tosses in order, "
        "in a window of 30. Processor time, all of the output dropped."
    ),
    measure=measure,
    claims=(
        Claim("Both produce exactly the same output.", _same),
        Claim("The cyclic query is about 5 times slower.", _slower),
        Claim("It has about a tenth of the code.", _easier),
    ),
    draw=draw,
    of_processor_time=True,
)
