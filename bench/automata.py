"""Automata: the W query of `workloads.coin_tosses`, by its operator and as a loop. Seconds are
processor time of this process; what comes out is counted and dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rich.table import Table

from bench.tables import Shown
from workloads.coin_tosses import timed

EVENTS_A_TOSS = 2
PAPERS = {"operator": 150_000, "loop": 30_000}
"""Events a second in the paper."""


@dataclass(frozen=True)
class Report:
    tosses: int
    runs: int
    operator: float
    loop: float

    def shown(self) -> Iterator[Shown]:
        table = Table("W query", "events/s", "times the paper's", "operator ÷ loop")
        for name, seconds in (("operator", self.operator), ("loop", self.loop)):
            rate = self.tosses / seconds
            ratio = f"{self.loop / self.operator:.1f}" if name == "loop" else ""
            table.add_row(name, f"{rate:,.0f}", f"{rate / PAPERS[name]:.1f}", ratio)
        yield table
        yield f"{self.runs:,} runs over {self.tosses:,} tosses"

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def measure(events: int) -> Report:
    timed("operator", 2_000), timed("loop", 2_000)  # kernels are compiled
    tosses = events // EVENTS_A_TOSS
    (operator, found), (loop, same) = timed("operator", tosses), timed("loop", tosses)
    if found != same:
        raise AssertionError(f"the operator finds {found} runs, and the loop {same}")
    return Report(tosses, found, operator, loop)
