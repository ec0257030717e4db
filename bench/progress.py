"""Progress of a loop that runs free, by the three methods (see `workloads.progress`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from rich.table import Table

from bench.tables import Shown
from workloads.progress import METHODS, Found, Input, progress_of

EVENTS_A_TOSS = 2_000

INPUTS = {
    "in order": Input(),
    "5 punctuations early": Input(early=5),
    "20 punctuations early": Input(early=20),
    "as fast as it can": Input(every=0),
    "low rate": Input(every=100),
    "very low rate": Input(every=1000),
    "half of it lulls": Input(every=24, lull=0.5),
    "nine tenths lulls": Input(every=24, lull=0.9),
}


@dataclass
class Report:
    tosses: int
    found: dict[str, dict[str, Found]] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "input", "method", "lag", "speculative", "definite", "join rows", "silence", "turns",
            title=f"W query, {self.tosses:,} tosses; time in turns of the loop",
        )  # fmt: skip
        for name, by_method in self.found.items():
            for method, each in by_method.items():
                table.add_row(
                    name, method, f"{each.lag:.2f}", f"{each.speculative:,}",
                    f"{each.definite:,}", f"{each.join_rows:,.0f}", f"{each.silence:,}",
                    f"{each.turns:,}",
                )  # fmt: skip
        yield table

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def measure(events: int) -> Report:
    report = Report(max(300, events // EVENTS_A_TOSS))
    for name, given in INPUTS.items():
        report.found[name] = {
            method: progress_of(method, given, report.tosses) for method in METHODS
        }
    return report
