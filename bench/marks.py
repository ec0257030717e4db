"""What consistent outputs cost: the queries of WhiteWater's experiments, one to four joins over two
streams with keys uniform in 1 to 5,000, run round-robin.

For every query: without marks, with heeding by multiset and naive, and with a token every 100
events. All variants run hand in hand in one process: the one that has read the fewest events reads
its next batch, and each has a clock of its own, the processor time of its own batches. So whatever
the machine does meanwhile happens to all of them alike. Throughput is compared batch by batch over
the whole run. As in the paper, latency is the time from reading an event to the first mark that
covers it; with the time from one mark to the next it makes the cumulative latency; how far
consistent states are apart is counted in outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.table import Table

from bench.tables import Shown
from workloads.joins import BASE, TOKENS, VARIANTS, Running, hand_in_hand, joins, two_streams

BATCHES = (10, 100)
SHARES = {10: 50, 100: 10}
"""By the size of batches, one in so many of the benchmark's events: small ones take their time."""


@dataclass
class MarksReport:
    rows: dict[str, dict[str, str]] = field(default_factory=dict)

    def shown(self) -> Iterator[Shown]:
        table = Table(
            "batches, query", "throughput ÷ without", "from, to", "latency, ms",
            "to the next mark, ms", "cumulative, ms", "state ÷ without",
            "outputs from mark to mark: median, greatest",
            title=f"a token every {TOKENS} events; processor time",
        )  # fmt: skip
        for name, row in self.rows.items():
            table.add_row(name, *row.values())
        yield table

    def as_dict(self) -> dict[str, object]:
        return {"rows": self.rows}


def measure(events: int) -> MarksReport:
    report = MarksReport()
    for batch in BATCHES:
        for count in range(1, 5):
            query = joins(count)
            hand_in_hand(query, two_streams(20 * batch), batch)  # compile what has to be compiled
            runs = hand_in_hand(query, two_streams(events // SHARES[batch]), batch)
            for name in VARIANTS:
                if name != BASE:
                    report.rows[f"{batch}: Q{count} {name}"] = _figures(runs[name], runs[BASE])
    return report


def _figures(run: Running, base: Running) -> dict[str, str]:
    pieces = base.pieces() / run.pieces()
    middle, greatest = run.far
    return {
        "throughput": f"{base.seconds / run.seconds:.3f}",
        "range": f"{pieces.min():.2f}, {pieces.max():.2f}",
        "latency": f"{run.latency:.1f}",
        "next": f"{run.following:.1f}",
        "cumulative": f"{run.latency + run.following:.1f}",
        "state": f"{run.state / base.state:.2f}",
        "far": f"{middle:.0f}, {greatest}",
    }
