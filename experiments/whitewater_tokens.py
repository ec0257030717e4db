"""Figure 5(b): how often tokens should come.

The plan of three joins over two streams, in simulated time. Tokens that are frequent make queues
longer, and so all latency; tokens that are rare are waited for. The cumulative latency, the sum of
a token's latency and the time to the next one, has its minimum in between.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Step
from driftline.engine.core.marks import Mark, MarkKind
from driftline.engine.core.queues import Item
from driftline.model.time import INFINITY
from experiments.drawing import lines, panels, place
from experiments.experiment import Claim, Experiment, Row, Rows, Statements
from workloads.joins import joins, two_streams
from workloads.round_robin import RoundRobin

PERIODS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000)
QUICK_PERIODS = (1, 5, 25, 100)
EVENTS, QUICK_EVENTS = 3_000, 450
KEYS, WINDOW = 100, 200
"""A window has as many tuples of a stream as there are keys: a tuple has a partner, as in the
paper."""
EACH = 10
"""Ticks from one event to the next."""
LOAD = 0.85
"""The share of the time that the work on tuples takes."""
TOKEN = 1.0
"""What a token takes at an operator, by what a tuple takes: both go through the same queues."""
SLOT = 10
PERIOD, LATENCY, GREATEST = "events between tokens", "latency", "greatest latency"
BETWEEN, CUMULATIVE = "between tokens", "cumulative latency"


class Run(RoundRobin):
    """The query with a token after every so many events (0: none). `units`: the work done;
    `sent`, `came`: when tokens went in and came out."""

    def __init__(self, events: int, period: int, unit: float) -> None:
        plan = joins(3, WINDOW).plan
        graph = compile_plan(plan, lambda batch: None, scheduler="round-robin")
        super().__init__(graph, EACH * events, unit, SLOT)
        self.inputs = {
            name: table.combine_chunks() for name, table in two_streams(events, KEYS).items()
        }
        self.period, self.events, self.taken, self.units = period, events, 0, 0.0
        self.sent: list[float] = []
        self.came: list[float] = []
        for step, _ in graph.sinks:
            graph.hear_marks(step, self._token)

    def _token(self, mark: Mark) -> None:
        self.came.append(self.time)

    def admit(self, now: int) -> None:
        while self.taken < self.events and EACH * self.taken <= now:
            name, number = "ab"[self.taken % 2], self.taken // 2
            self.graph.admit(name, _one(self.inputs[name], number))
            self.taken += 1
            if self.period and self.taken % self.period == 0:
                self.sent.append(float(EACH * self.taken))
                for source in self.graph.sources:
                    self.graph.admit(source, Mark(MarkKind.TOKEN, len(self.sent)))

    def cost(self, step: Step, item: Item) -> float:
        """Joins take time."""
        if not step.operator.knows_ends:
            return 0
        units = TOKEN if isinstance(item, Mark) else len(item)
        self.units += units
        return units


def _one(table: pa.Table, place: int) -> Batch:
    ts = table["ts"][place].as_py()
    rows = table.slice(place, 1).to_batches()[0]
    return Batch(np.array([ts]), np.array([INFINITY]), np.ones(1, np.int64), rows, ts, ts)


def measure(full: bool) -> Iterator[Row]:
    events = EVENTS if full else QUICK_EVENTS
    plain = Run(events, 0, 0.0)
    plain.go()
    unit = LOAD * EACH * events / plain.units
    for period in PERIODS if full else QUICK_PERIODS:
        run = Run(events, period, unit)
        run.go()
        came, since = np.array(run.came), np.array(run.sent[: len(run.came)])
        settled = slice(len(came) // 4, None)  # windows have filled
        latency = (came - since)[settled] / EACH
        between = float(np.diff(came[settled]).mean()) / EACH if len(latency) > 1 else period
        yield {
            PERIOD: period,
            LATENCY: float(latency.mean()),
            GREATEST: float(latency.max()),
            BETWEEN: between,
            CUMULATIVE: float(latency.mean()) + between,
        }


def _latency(rows: Rows) -> Statements:
    latency = rows.column(LATENCY)
    return {
        f"{latency[0]:.0f} with a token after every event, {latency[-1]:.1f} with the fewest, in "
        "the time between two events": latency[0] > 3 * latency[-1],
        "it falls to a minimum as tokens become rarer": latency[-1] < 1.5 * latency.min(),
    }


def _follows(rows: Rows) -> Statements:
    periods, latency = rows.column(PERIOD), rows.column(LATENCY)
    ratio = rows.column(BETWEEN) / periods
    in_time = latency < periods  # a token is out before the next goes in
    kept, flooded = ratio[in_time], ratio[~in_time]
    return {
        f"the time between tokens that come out is {kept.min():.2f} to {kept.max():.2f} of that of "
        f"those that go in, from {periods[in_time].min():.0f} events between them on": bool(
            (abs(kept - 1) < 0.1).all()
        ),
        f"{flooded.min():.1f} to {flooded.max():.1f} of it where they are more frequent": bool(
            (flooded < 1.1).all()
        ),
    }


def _minimum(rows: Rows) -> Statements:
    total, periods = rows.column(CUMULATIVE), rows.column(PERIOD)
    best = int(total.argmin())
    return {
        f"it is {total[best]:.0f} at {periods[best]:.0f} events between tokens, {total[0]:.0f} at "
        f"{periods[0]:.0f} and {total[-1]:.0f} at {periods[-1]:.0f}": 0 < best < len(total) - 1
    }


def draw(rows: Rows, figure: Figure) -> None:
    (axis,) = panels(figure, 1)
    figure.set_size_inches(6.5, 3.8)
    made = [
        {PERIOD: row[PERIOD], "what": name, "time, in events": row[name]}
        for row in rows.rows
        for name in (LATENCY, GREATEST, BETWEEN, CUMULATIVE)
    ]
    lines(axis, Rows(made), PERIOD, "time, in events", "what")
    axis.set_xscale("log")
    axis.set_yscale("log")
    place(axis, 250, "paper: least at 250")


EXPERIMENT = Experiment(
    name="whitewater-tokens",
    paper="WhiteWater",
    figure="figure 5(b)",
    title="Latency against the rate of tokens",
    workload=(
        "Three joins over two streams of uniform rate, a token after every so many events. "
        "Simulated time, in the time between two events: tuples take 85 % of it, and a token takes "
        "as long at an operator as a tuple. (Keys are 1 to 100, with as many tuples in a window.)"
    ),
    measure=measure,
    claims=(
        Claim(
            "Latency is highest when tokens are most frequent, and falls to that without tokens.",
            _latency,
        ),
        Claim(
            "The time between tokens that come out follows that of those put in.",
            _follows,
            was="holds in part",
            why=(
                "With a token for a few events there is no time left for all of them: queues grow, "
                "and tokens come out as fast as operators can take them."
            ),
        ),
        Claim("The cumulative latency has a minimum in between (250 events there).", _minimum),
    ),
    draw=draw,
)
