"""Section 7: heartbeats of a query, of operators, and with an eye on memory, on figure 5's plan.

S1 and S2 come, while S3 stays where it is; then S3 catches up at once. O1 (S1 ⋈ S2) emits more than
it takes in. Latency is given as the rows that joins still have to take in when S3 has come.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from driftline.plan.choices import Heartbeat
from experiments.drawing import bars, panels
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.three_streams import figure_5

BATCH, WAITS, KEYS, WINDOW = 500, 8, 50, 250
"""Rows of a batch, batches for which S3 stays behind, keys, ticks of a window: five partners."""
QUICK_BATCH = 200
LEVELS: tuple[Heartbeat, ...] = ("query", "operator", "memory")
LEFT, PEAK = "rows that joins take in after S3 came", "most rows held at a time"


def measure(full: bool) -> Iterator[Row]:
    batch = BATCH if full else QUICK_BATCH
    for level in LEVELS:
        before, peak, taken, rows = 0, 0, 0, 0
        for number, update in enumerate(
            figure_5(WINDOW).changes(_inputs(batch), batch=batch, block="inf", heartbeat=level)
        ):
            joins = [each for name, each in update.counters.items() if "join" in str(name)]
            held = sum(each["state_rows"] for each in update.counters.values())
            taken, peak = sum(each["changes_in"] for each in joins), max(peak, held)
            rows += len(update.batch)
            if number == WAITS - 1:
                before = taken
        yield {"heartbeats": level, LEFT: taken - before, PEAK: peak, "answers": rows}


def _inputs(batch: int) -> dict[str, pa.Table]:
    random = np.random.default_rng(5)
    length = batch * WAITS
    made = {
        f"s{n}": pa.table({"k": random.integers(0, KEYS, length), "ts": np.arange(length)})
        for n in (1, 2)
    }
    waiting = pa.table({"k": np.full(length, -1), "ts": np.zeros(length, np.int64)})
    then = pa.table({"k": random.integers(0, KEYS, batch), "ts": np.arange(batch) * WAITS})
    return {**made, "s3": pa.concat_tables([waiting, then])}


def _value(rows: Rows, column: str) -> dict[str, float]:
    return {level: rows.value(column, heartbeats=level) for level in LEVELS}


def _same(rows: Rows) -> Statements:
    found = _value(rows, "answers")
    return {f"{found['query']:,.0f} answers": len({*found.values()}) == 1}


def _sooner(rows: Rows) -> Statements:
    left = _value(rows, LEFT)
    return {
        f"{left['query']:,.0f} rows are left with heartbeats of the query, "
        f"{left['operator']:,.0f} with those of operators": left["operator"] < 0.9 * left["query"]
    }


def _memory(rows: Rows) -> Statements:
    peak, left = _value(rows, PEAK), _value(rows, LEFT)
    return {
        f"most rows held: {peak['query']:,.0f} with those of the query, {peak['operator']:,.0f} "
        "with those of operators": peak["operator"] > 1.2 * peak["query"],
        f"memory-aware {peak['memory']:,.0f}": peak["memory"] <= 1.3 * peak["query"],
        f"with {left['memory']:,.0f} rows left": left["memory"] <= 1.05 * left["query"],
    }


def draw(rows: Rows, figure: Figure) -> None:
    for axis, column in zip(panels(figure, 2), (LEFT, PEAK), strict=True):
        bars(axis, rows, "heartbeats", column)


EXPERIMENT = Experiment(
    name="stream-plan",
    paper="STREAM",
    figure="section 7, figures 5 and 6",
    title="Heartbeats inside a plan",
    workload=(
        "(S1 ⋈ S2) ⋈ S3; the first join emits five times what it takes in. S3 stays at 0 while "
        "eight batches of the others come, and then catches up in one. (Memory-aware heartbeats "
        "go by what operators have counted, so that the first rows go ahead.)"
    ),
    measure=measure,
    claims=(
        Claim("The answer does not depend on whose heartbeats are used.", _same),
        Claim("Heartbeats of operators leave less to do when the slow stream comes.", _sooner),
        Claim(
            "They need more memory where an operator emits more than it takes in; memory-aware "
            "ones do not, and are no slower than those of the query.",
            _memory,
        ),
    ),
    draw=draw,
)
