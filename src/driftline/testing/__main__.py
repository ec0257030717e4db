"""`python -m driftline.testing`: how often random streams hold each hard case."""

from __future__ import annotations

import sys
from collections import Counter

from hypothesis import HealthCheck, Phase, given, settings
from rich.console import Console
from rich.table import Table

from driftline.model.event import Event
from driftline.testing.features import features
from driftline.testing.streams import streams

EXAMPLES = 1_000


def measure(examples: int = EXAMPLES) -> dict[str, float]:
    """The share of random streams that hold each hard case, the most frequent first."""
    seen: Counter[str] = Counter()
    total = 0

    @settings(
        max_examples=examples,
        phases=[Phase.generate],
        database=None,
        derandomize=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(streams())
    def collect(events: list[Event]) -> None:
        nonlocal total
        total += 1
        seen.update(features(events))

    collect()
    return {name: copies / total for name, copies in seen.most_common()}


def main() -> None:
    examples = int(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES
    table = Table("hard case", "share of streams", title=f"{examples} random streams")
    for name, share in measure(examples).items():
        table.add_row(name, f"{share:.0%}")
    Console().print(table)


if __name__ == "__main__":
    main()
