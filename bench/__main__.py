"""`make bench`: measure, print tables, write bench/results.json and the tables of bench/README.md,
and draw bench/engine.svg.

make bench                        everything
make bench ARGS="growth memory"   some parts
make bench ARGS="--events 200000" smaller

Each part runs in a process of its own, as a user's query does: what the parts before it have left
in memory and in caches is not measured with it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from bench import (
    automata,
    distances,
    engine,
    event_logs,
    files,
    first_answer,
    growth,
    held,
    holding,
    lifetimes,
    loops,
    marks,
    memory,
    now,
    partitions,
    patterns,
    progress,
    pushes,
    schedulers,
    soak,
    spark,
    spark_loops,
    spark_patterns,
    tables,
    time,
)
from bench.chart import draw


class Findings(Protocol):
    def shown(self) -> Iterator[tables.Shown]: ...

    def as_dict(self) -> dict[str, object]: ...


PARTS: dict[str, Callable[[int], Findings]] = {
    "engine": engine.measure,
    "growth": growth.measure,
    "memory": memory.measure,
    "logs": event_logs.measure,
    "files": files.measure,
    "spark": spark.measure,
    "first-answer": first_answer.measure,
    "pushes": pushes.measure,
    "held": held.measure,
    "time": time.measure,
    "holding": holding.measure,
    "schedulers": schedulers.measure,
    "marks": marks.measure,
    "lifetimes": lifetimes.measure,
    "partitions": partitions.measure,
    "loops": loops.measure,
    "spark-loops": spark_loops.measure,
    "spark-patterns": spark_patterns.measure,
    "distances": distances.measure,
    "automata": automata.measure,
    "progress": progress.measure,
    "now": now.measure,
    "patterns": patterns.measure,
    "soak": soak.measure,
}
RESULTS = Path(__file__).parent / "results.json"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"which: {', '.join(PARTS)}; all by default")
    parser.add_argument("--events", type=int, default=2_000_000, help="how many events")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {unknown[0]}; there are: {', '.join(PARTS)}")
    parts = arguments.parts or list(PARTS)
    if len(parts) == 1:
        _measure(parts[0], arguments.events)
        return
    for name in parts:
        command = [sys.executable, "-m", "bench", name, "--events", str(arguments.events)]
        if status := subprocess.run(command, check=False).returncode:
            sys.exit(status)


def _measure(name: str, events: int) -> None:
    """Measure one part, in this process, and write what was found."""
    load = os.getloadavg()[0]
    report = PARTS[name](events)
    shown = list(report.shown())
    tables.print_shown(shown)
    # Read now: another run may have written meanwhile.
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results[name] = {"load before": round(load, 2), **report.as_dict()}
    if name == "engine":
        draw(results[name])
        shown.append("![million events a second](engine.svg)")
    tables.write(name, load, shown, tuple(PARTS))
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    print(f"written: {RESULTS.relative_to(Path.cwd())}")


if __name__ == "__main__":
    main()
