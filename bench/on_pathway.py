"""Reachability by Pathway's `iterate`, in the Python that has it: it wants a pandas that PySpark
does not take, so it has an environment of its own. PATHWAY_PYTHON says where.

    python -m venv elsewhere && elsewhere/bin/pip install pathway
    PATHWAY_PYTHON=elsewhere/bin/python make bench ARGS="loops"

This file is also what that Python runs, and so imports nothing of ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

PYTHON = "PATHWAY_PYTHON"
"""In the environment: the Python that has Pathway."""


def reach_on_pathway(edges: pa.Table, roots: int) -> tuple[float, int] | None:
    """Processor time without that of taking the edges in, and the rows that are reached; None: no
    Python was named that has Pathway."""
    if PYTHON not in os.environ:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.parquet"
        pq.write_table(edges, path)
        given = [os.environ[PYTHON], __file__, str(path), str(roots)]
        ran = subprocess.run(given, check=True, stdout=subprocess.PIPE, text=True)
    seconds, reached = json.loads(ran.stdout.splitlines()[-1])
    return float(seconds), int(reached)


def _reach(path: str, roots: int) -> tuple[float, int]:
    import pathway as pw  # type: ignore[import-not-found]

    links = pw.debug.table_from_pandas(pq.read_table(path).to_pandas())
    starts = pw.debug.table_from_rows(
        pw.schema_from_types(root=int, n=int), [(root, root) for root in range(roots)]
    )

    def step(reached: Any, starts: Any, links: Any) -> dict[str, Any]:
        further = reached.join(links, reached.n == links.a).select(reached.root, n=links.b)
        both = starts.concat_reindex(further)
        return {"reached": both.groupby(both.root, both.n).reduce(both.root, both.n)}

    reached = starts.groupby(starts.root, starts.n).reduce(starts.root, starts.n)
    found = pw.iterate(
        step, reached=pw.iterate_universe(reached), starts=starts, links=links
    ).reached
    taking_in, _ = _counted(pw, links)
    whole, count = _counted(pw, found)
    return whole - taking_in, count


def _counted(pw: Any, table: Any) -> tuple[float, int]:
    """Processor time until the rows of a table are counted, and how many there are."""
    start = process_time()
    counted = pw.debug.table_to_pandas(table.reduce(n=pw.reducers.count()))
    return process_time() - start, int(counted["n"].sum())


if __name__ == "__main__":
    print(json.dumps(_reach(sys.argv[1], int(sys.argv[2]))))
