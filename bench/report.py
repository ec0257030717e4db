"""What a benchmark found: rows of seconds, and ratios to one of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rich.table import Table

from bench.tables import Shown

RUNS = 3


def seconds(work: Callable[[], object], runs: int = RUNS) -> float:
    """The shortest of some runs: what else the machine does only ever adds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


@dataclass
class Report:
    """Seconds by name; ratios are to the row `unit`."""

    title: str
    unit: str
    events: int
    rows: dict[str, float] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table("", "seconds", "million events/s", f"× {self.unit}", title=self.title)
        for name, taken in self.rows.items():
            ratio = f"{taken / self.rows[self.unit]:.2f}"
            table.add_row(name, f"{taken:.2f}", f"{self.events / taken / 1e6:.2f}", ratio)
        yield table

    def as_dict(self) -> dict[str, object]:
        unit = self.rows[self.unit]
        return {
            "events": self.events,
            "seconds": {name: round(taken, 3) for name, taken in self.rows.items()},
            f"times {self.unit}": {
                name: round(taken / unit, 2) for name, taken in self.rows.items()
            },
        }
