"""Time management: arrivals per second, very many sources, and what grouping costs.

Events come from sensors whose clocks deviate by up to 100 ms, over a network that takes up to 200.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from bench.report import seconds
from bench.tables import Shown
from driftline.testing.delays import DELAYS, Cost, cost
from driftline.time.closure import closure
from driftline.time.estimate import Estimated
from driftline.time.estimated_bounds import EstimatedBounds
from driftline.time.groups import GroupedHeartbeats, grouped, grouped_sensors, grouping_delay
from driftline.time.heartbeats import HeartbeatGenerator
from driftline.time.presets import sensors
from driftline.time.uniform import UniformHeartbeats
from workloads.sensors import DEVIATION, LATENCY, Generator, arrivals

Int64s = NDArray[np.int64]

BATCH = 50_000
UNIT = 10
MANY = 100_000
SOME = 200
TARGETS = (0.001, 0.01, 0.05)
SHORT = 2_000


@dataclass
class TimeReport:
    events: int
    speeds: dict[str, float] = field(default_factory=dict)
    groups: dict[str, tuple[float, float, float, float]] = field(default_factory=dict)
    costs: dict[str, list[Cost]] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table("generator", "million arrivals/s", title=f"{self.events:,} arrivals")
        for name, speed in self.speeds.items():
            table.add_row(name, f"{speed:.1f}")
        yield table
        table = Table(
            f"{SOME} sensors in", "million arrivals/s", "state, KiB", "mean delay, ms",
            "of the stream, ms",
        )  # fmt: skip
        for name, (speed, state, delay, stream) in self.groups.items():
            table.add_row(name, f"{speed:.2f}", f"{state:.0f}", f"{delay:.1f}", f"{stream:.1f}")
        yield table
        columns = [f"late, {target:.1%}: × the lag" for target in TARGETS]
        table = Table("delays", *columns, title="guesses: late rows, lag to the best constant one")
        for name, costs in self.costs.items():
            table.add_row(name, *(f"{each.late:.3%}: {each.ratio:.2f}" for each in costs))
        yield table

    def as_dict(self) -> dict[str, object]:
        return {
            "events": self.events,
            "M/s": {name: round(speed, 2) for name, speed in self.speeds.items()},
            "guesses": {
                name: {
                    f"{target:g}": {"late": round(each.late, 6), "ratio": round(each.ratio, 2)}
                    for target, each in zip(TARGETS, costs, strict=True)
                }
                for name, costs in self.costs.items()
            },
            "groups": {
                name: {
                    "M/s": round(speed, 3),
                    "state KiB": round(state),
                    "mean delay ms": round(delay, 2),
                    "stream delay ms": round(stream, 2),
                }
                for name, (speed, state, delay, stream) in self.groups.items()
            },
        }


def measure(events: int) -> TimeReport:
    report = TimeReport(events)
    few, many = arrivals(events, 10), arrivals(events, MANY)
    ten = sensors([DEVIATION] * 10, [LATENCY] * 10)
    makers: dict[str, tuple[Callable[[], Generator], tuple[Int64s, Int64s, Int64s]]] = {
        "any bounds, 10 sources, unit 1 ms": (lambda: HeartbeatGenerator(ten), few),
        f"any bounds, 10 sources, unit {UNIT} ms": (
            lambda: HeartbeatGenerator(ten, unit=UNIT), few,
        ),
        "all alike, 10 sources": (_uniform, few),
        f"all alike, {MANY:,} sources": (_uniform, many),
        "estimated, 10 sources": (lambda: Estimated(unit=UNIT), few),
        f"estimated, {MANY:,} sources": (lambda: Estimated(unit=UNIT), many),
        "estimated matrix, 10 sources, 4 waits": (
            lambda: EstimatedBounds(10, waits=(0, 50, 100, 200), target=0.001, unit=UNIT), few,
        ),
        f"{MANY:,} sensors in 100 groups": (_hundred_groups(), many),
    }  # fmt: skip
    for name, (make, columns) in makers.items():
        report.speeds[name] = events / seconds(lambda m=make, c=columns: _run(m(), *c)) / 1e6
    _group(report, events)
    for name in DELAYS:
        report.costs[name] = [cost(name, target, events // 10) for target in TARGETS]
    report.costs[f"exponential, {SHORT:,} rows"] = [
        cost("exponential", target, SHORT) for target in TARGETS
    ]
    return report


def _uniform() -> UniformHeartbeats:
    return UniformHeartbeats(disorder=0, skew=2 * DEVIATION, latency=LATENCY, unit=UNIT)


def _hundred_groups() -> Callable[[], GroupedHeartbeats]:
    group_of = np.arange(MANY) % 100
    everyone = np.ones(MANY, np.int64)
    bounds = grouped_sensors(everyone * DEVIATION, everyone * LATENCY, group_of)
    return lambda: GroupedHeartbeats(bounds, group_of, unit=UNIT)


def _run(generator: Generator, clocks: Int64s, sources: Int64s, times: Int64s) -> None:
    for first in range(0, len(clocks), BATCH):
        batch = slice(first, first + BATCH)
        generator.arrive(clocks[batch], sources[batch], times[batch])
        generator.heartbeat(int(clocks[batch][-1]))


def _group(report: TimeReport, events: int) -> None:
    """Sensors with deviations from 1 to 100 ms: those alike in one group, or any."""
    deviation = np.sort(np.random.default_rng(3).integers(1, DEVIATION + 1, SOME))
    closed = closure(sensors(deviation, np.full(SOME, LATENCY)))
    clocks, numbers, times = arrivals(events // 4, SOME)
    for groups in (SOME, 50, 10, 1):
        group_of = np.arange(SOME) * groups // SOME
        bounds = grouped(closed, group_of)
        make = partial(GroupedHeartbeats, bounds, group_of, unit=UNIT)
        taken = seconds(lambda new=make: _run(new(), clocks, numbers, times))
        state = sum(array.nbytes for array in make().snapshot().values())
        state += sum(column.nbytes for column in bounds.pairs)
        delay = grouping_delay(closed, group_of, clocks, numbers, times, UNIT)
        report.groups["1 group" if groups == 1 else f"{groups} groups"] = (
            len(clocks) / taken / 1e6, state / 1024, delay.mean, delay.stream_mean,
        )  # fmt: skip
