"""Recursion: reachability from ten roots over a random graph, five edges a node, against DuckDB's
WITH RECURSIVE on the finished table; then batches of random changes of edges, half of them
deletions, against DuckDB computing it afresh. Seconds are processor time of this process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import mean
from time import process_time

import duckdb
import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.model.arrays import Int64s
from driftline.model.time import INFINITY

EVENTS_AN_EDGE, EDGES_A_NODE = 4, 5
ROOTS = 10
BATCHES, CHANGES = 10, 500
AFRESH = f"""
WITH RECURSIVE r AS (
    SELECT i AS root, i AS n FROM range({ROOTS}) AS t (i)
    UNION SELECT r.root, edges.b FROM r JOIN edges ON r.n = edges.a)
SELECT count(*) FROM r"""


@dataclass(frozen=True)
class Report:
    edges: int
    reached: int
    at_once: float
    batch: float
    duckdb: float

    def print(self) -> None:
        table = Table("reachability", "seconds", "times DuckDB's")
        table.add_row("all at once", f"{self.at_once:.2f}", f"{self.at_once / self.duckdb:.2f}")
        table.add_row(f"{CHANGES} changes", f"{self.batch:.3f}", f"{self.batch / self.duckdb:.3f}")
        table.add_row("DuckDB, afresh", f"{self.duckdb:.2f}", "1")
        Console().print(table)

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def measure(events: int) -> Report:
    _run(2_000)  # kernels are compiled
    return _run(events // EVENTS_AN_EDGE)


def _run(count: int) -> Report:
    numbers, nodes = np.random.default_rng(1), count // EDGES_A_NODE
    reached = 0

    def count_up(batch: Batch) -> None:
        nonlocal reached
        reached += int(batch.weight.sum())

    graph = compile_plan(_reachability().plan, count_up)
    graph.push("roots", _batch({"n": np.arange(ROOTS)}, np.ones(ROOTS, np.int64)))
    a, b = numbers.integers(0, nodes, (2, count))
    given = _batch({"a": a, "b": b}, np.ones(count, np.int64))
    at_once = _seconds(lambda: graph.push("edges", given))
    batches = []
    for _ in range(BATCHES):
        gone = numbers.choice(len(a), CHANGES // 2, replace=False)
        new_a, new_b = numbers.integers(0, nodes, (2, CHANGES // 2))
        changed = {"a": np.concatenate([a[gone], new_a]), "b": np.concatenate([b[gone], new_b])}
        batch = _batch(changed, np.repeat(np.array([-1, 1]), CHANGES // 2))
        batches.append(_seconds(lambda batch=batch: graph.push("edges", batch)))  # type: ignore[misc]
        a, b = (
            np.concatenate([np.delete(old, gone), new]) for old, new in ((a, new_a), (b, new_b))
        )
    database = duckdb.connect()
    database.register("given", pa.table({"a": a, "b": b}))
    database.execute("CREATE TABLE edges AS SELECT * FROM given")
    expected = [0]
    afresh = _seconds(lambda: expected.extend(database.execute(AFRESH).fetchone() or ()))
    if expected[-1] != reached:
        raise AssertionError(f"{reached} rows are reached, and DuckDB finds {expected[-1]}")
    return Report(count, reached, at_once, mean(batches), afresh)


def _reachability() -> dl.Query:
    edges = dl.stream("edges", {"a": "BIGINT", "b": "BIGINT"})
    roots = dl.stream("roots", {"n": "BIGINT"})
    return dl.recursive(
        "r",
        {"root": "BIGINT", "n": "BIGINT"},
        roots.select("n AS root", "n"),
        lambda r: r.join(edges, "r.n = edges.a").select("r.root", "edges.b"),
    )


def _batch(columns: dict[str, Int64s], weight: Int64s) -> Batch:
    rows = pa.RecordBatch.from_pydict(columns)
    return Batch(np.zeros(len(weight), np.int64), np.full(len(weight), INFINITY), weight, rows)


def _seconds(work: Callable[[], None]) -> float:
    start = process_time()
    work()
    return process_time() - start
