"""The queries of `pushes` by bytewax, in this Python or in the one that BYTEWAX_PYTHON names.

    python -m venv elsewhere && elsewhere/bin/pip install bytewax
    BYTEWAX_PYTHON=elsewhere/bin/python make bench ARGS="pushes"

What it computes is close to ours, and not the same: a window is emitted once, when it is over, and
a join has the latest row of each side. This file is also what that Python runs, and so imports
nothing of ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from time import process_time
from typing import Any

PYTHON = "BYTEWAX_PYTHON"
"""In the environment: the Python that has bytewax."""

Rows = list[dict[str, Any]]
START = datetime(2026, 1, 1, tzinfo=UTC)


def on_bytewax(query: str, rows: Rows, batch: int) -> float | None:
    """Seconds of CPU for the rows, in batches; None: no Python was found that has bytewax."""
    python = os.environ.get(PYTHON, sys.executable if find_spec("bytewax") else None)
    if python is None:
        return None
    given = json.dumps([query, rows, batch])
    ran = subprocess.run(
        [python, __file__], input=given, check=True, stdout=subprocess.PIPE, text=True
    )
    return float(ran.stdout.splitlines()[-1])


def _run(query: str, rows: Rows, batch: int) -> float:
    import bytewax.operators as op  # type: ignore[import-not-found]
    import bytewax.operators.windowing as windows  # type: ignore[import-not-found]
    from bytewax.dataflow import Dataflow  # type: ignore[import-not-found]
    from bytewax.testing import (  # type: ignore[import-not-found]
        TestingSink,
        TestingSource,
        run_main,
    )

    flow = Dataflow("pushes")
    found: list[Any] = []
    trades = op.input("trades", flow, TestingSource(rows, batch_size=batch))

    def counted() -> Any:
        clock = windows.EventClock(
            ts_getter=lambda row: START + timedelta(milliseconds=row["ts"]),
            wait_for_system_duration=timedelta(seconds=1),
        )
        length = windows.TumblingWindower(align_to=START, length=timedelta(seconds=10))
        keyed = op.key_on("by symbol", trades, lambda row: row["symbol"])
        return windows.fold_window(
            "count and sum", keyed, clock, length, lambda: (0, 0), _add, _merged
        ).down

    if query == "select":
        kept = op.filter("where", trades, lambda row: row["qty"] > 10)
        out = op.map("select", kept, lambda row: (row["symbol"], row["price"] * row["qty"]))
    elif query == "group by":
        out = counted()
    else:
        keyed = op.key_on("trades by symbol", trades, lambda row: row["symbol"])
        out = op.join("join", keyed, counted(), emit_mode="running")
    op.output("out", out, TestingSink(found))
    return _seconds(lambda: run_main(flow))


def _add(so_far: tuple[int, int], row: dict[str, Any]) -> tuple[int, int]:
    return so_far[0] + 1, so_far[1] + row["qty"]


def _merged(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


if __name__ == "__main__":
    print(_run(*json.load(sys.stdin)))
