"""One query over events made on the fly, in a process of its own: how long, and how much memory?

python -m bench.streaming Q1 2000000 [keys]
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import pyarrow as pa

from bench import data
from bench.engine import BATCH, DISORDER, LATE
from bench.queries import CASES

TWO_STREAMS = ("Q3",)
MIB = 1 << 20


def measured(query: str, events: int, keys: int = data.KEYS) -> dict[str, float]:
    """What the process below prints."""
    command = [sys.executable, "-m", "bench.streaming", query, str(events), str(keys)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def inputs(query: str, events: int, keys: int) -> dict[str, Iterator[pa.Table]]:
    if query in TWO_STREAMS:
        return {
            "l": data.stream(events // 2, late=True, seed=1, keys=keys),
            "r": data.stream(events // 2, late=True, seed=2, keys=keys),
        }
    return {"events": data.stream(events, late=True, keys=keys)}


def main() -> None:
    query, events, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    running = CASES[query].query(DISORDER[LATE])
    start, changes, state = time.process_time(), 0, 0
    for emitted in running.changes(inputs(query, events, keys), batch=BATCH):
        changes += len(emitted.batch)
        state = max(state, sum(counted["state_bytes"] for counted in emitted.counters.values()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result = {
        "CPU s": round(time.process_time() - start, 2),
        "changes": changes,
        "state MiB": round(state / MIB, 1),
        "peak MiB": round(peak / MIB, 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
