"""Recursion with min in the loop: shortest distances from ten roots over a random graph, five edges
a node with costs from 1 to 10, against DuckDB's WITH RECURSIVE … USING KEY on the finished table;
then batches of random changes of edges, half of them deletions, against DuckDB computing it afresh.
Seconds are processor time of this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from statistics import mean
from time import process_time

import duckdb
import numpy as np
import pyarrow as pa
from rich.table import Table

import driftline as dl
from bench.tables import Shown
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.model.arrays import Int64s
from driftline.model.time import INFINITY

EVENTS_AN_EDGE, EDGES_A_NODE = 4, 5
ROOTS, GREATEST_COST = 10, 10
BATCHES, CHANGES = 100, 500
AFRESH = f"""
WITH RECURSIVE d (root, n, c) USING KEY (root, n) AS (
    SELECT i, i, 0::BIGINT FROM range({ROOTS}) AS t (i)
    UNION
    SELECT x.root, x.n, x.c
    FROM (
        SELECT d.root, edges.b AS n, min(d.c + edges.c) AS c
        FROM d JOIN edges ON d.n = edges.a GROUP BY ALL
    ) x LEFT JOIN recurring.d o ON o.root = x.root AND o.n = x.n
    WHERE o.c IS NULL OR x.c < o.c)
SELECT sum(c) FROM d"""


@dataclass(frozen=True)
class Report:
    edges: int
    at_once: float
    batch: float
    duckdb: float

    def shown(self) -> Iterator[Shown]:
        table = Table("shortest distances", "seconds", "times DuckDB's")
        table.add_row("all at once", f"{self.at_once:.2f}", f"{self.at_once / self.duckdb:.2f}")
        table.add_row(
            f"{CHANGES} changes, mean of {BATCHES} batches",
            f"{self.batch:.3f}",
            f"{self.batch / self.duckdb:.3f}",
        )
        table.add_row("DuckDB, afresh", f"{self.duckdb:.2f}", "1")
        yield table

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"changes": CHANGES}


def measure(events: int) -> Report:
    _run(2_000, 2)  # kernels are compiled
    return _run(events // EVENTS_AN_EDGE, BATCHES)


def _run(count: int, batches: int) -> Report:
    numbers, nodes = np.random.default_rng(1), count // EDGES_A_NODE
    total = 0

    def add_up(batch: Batch) -> None:
        nonlocal total
        total += int((batch.weight * batch.payload.column("c").to_numpy()).sum())

    def edges(some: int) -> dict[str, Int64s]:
        a, b = numbers.integers(0, nodes, (2, some))
        return {"a": a, "b": b, "c": numbers.integers(1, GREATEST_COST + 1, some)}

    graph = compile_plan(_distances().plan, add_up)
    graph.push("roots", _batch({"n": np.arange(ROOTS)}, np.ones(ROOTS, np.int64)))
    held = edges(count)
    given = _batch(held, np.ones(count, np.int64))
    at_once = _seconds(lambda: graph.push("edges", given))
    each = []
    for _ in range(batches):
        gone, new = numbers.choice(count, CHANGES // 2, replace=False), edges(CHANGES // 2)
        changed = {name: np.concatenate([held[name][gone], new[name]]) for name in held}
        batch = _batch(changed, np.repeat(np.array([-1, 1]), CHANGES // 2))
        each.append(_seconds(lambda batch=batch: graph.push("edges", batch)))  # type: ignore[misc]
        held = {name: np.concatenate([np.delete(held[name], gone), new[name]]) for name in held}
    database = duckdb.connect()
    database.register("given", pa.table(held))
    database.execute("CREATE TABLE edges AS SELECT * FROM given")
    expected = [0]
    afresh = _seconds(lambda: expected.extend(database.execute(AFRESH).fetchone() or ()))
    if expected[-1] != total:
        raise AssertionError(f"the distances add up to {total}, and DuckDB's to {expected[-1]}")
    return Report(count, at_once, mean(each), afresh)


def _distances() -> dl.Query:
    edges = dl.stream("edges", {"a": "BIGINT", "b": "BIGINT", "c": "BIGINT"})
    roots = dl.stream("roots", {"n": "BIGINT"})
    base = roots.select("n AS root", "n", "CAST(0 AS BIGINT) AS c")

    def body(names: dict[str, dl.Query]) -> dl.Query:
        along = names["d"].join(edges, "d.n = edges.a")
        further = along.select("d.root AS root", "edges.b AS n", "d.c + edges.c AS c")
        return base.union(further).group_by("root", "n").agg("min(c) AS c")

    columns = {"root": "BIGINT", "n": "BIGINT", "c": "BIGINT"}
    return dl.recursive_together({"d": (columns, body)}, all=True)["d"]


def _batch(columns: dict[str, Int64s], weight: Int64s) -> Batch:
    rows = pa.RecordBatch.from_pydict(columns)
    return Batch(np.zeros(len(weight), np.int64), np.full(len(weight), INFINITY), weight, rows)


def _seconds(work: Callable[[], None]) -> float:
    start = process_time()
    work()
    return process_time() - start
