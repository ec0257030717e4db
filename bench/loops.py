"""Recursion.

- Reachability from ten roots over a random graph, five edges a node, against DuckDB's WITH
  RECURSIVE on the finished table; then batches of random changes of edges, half of them deletions,
  against DuckDB computing it afresh; where there is Pathway (see `on_pathway`), its `iterate` on
  the same table.
- A chain: what a level costs where every level is one row.
- A transitive closure over edges that expire, ten times as long as the stream it starts with: what
  an edge costs, and what is held.

Seconds are processor time of this process, with all its threads; DuckDB has its default settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from statistics import mean, median
from time import process_time

import duckdb
import numpy as np
import pyarrow as pa
from rich.table import Table

import driftline as dl
from bench.on_pathway import reach_on_pathway
from bench.tables import Shown
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph
from driftline.model.arrays import Int64s
from driftline.model.time import BEGINNING, INFINITY

EVENTS_AN_EDGE, EDGES_A_NODE = 4, 5
ROOTS = 10
BATCHES, CHANGES = 100, 500
CHAIN = 5_000
NODES, STREAM, ALIVE, TIMES, STEP = 2_000, 4_000, 1_000, 10, 100
"""Of the closure: its nodes, the edges of its first tenth, how many are alive at a time, how many
such tenths there are, and how many edges come in a batch."""
AFRESH = f"""
WITH RECURSIVE r AS (
    SELECT i AS root, i AS n FROM range({ROOTS}) AS t (i)
    UNION SELECT r.root, edges.b FROM r JOIN edges ON r.n = edges.a)
SELECT count(*) FROM r"""


@dataclass(frozen=True)
class Report:
    """`batch`: the mean; `later`: without the first, in which the joins learn to find rows that are
    taken back; `row_bytes`: what is held of every row reached; `tenths`: of the closure, what each
    tenth of the stream costs an edge in milliseconds, and the most rows and bytes held in it."""

    edges: int
    reached: int
    at_once: float
    batch: float
    later: float
    duckdb: float
    pathway: float | None
    row_bytes: float
    level: float
    tenths: list[tuple[float, int, int]]

    def shown(self) -> Iterator[Shown]:
        table = Table("reachability", "seconds", "times DuckDB's")
        for name, seconds in self.rows():
            table.add_row(name, f"{seconds:.3f}", f"{seconds / self.duckdb:.3f}")
        yield table
        yield f"{self.row_bytes:.0f} bytes a row reached; {self.level:.0f} µs a level of a chain"
        closure = Table("closure", "ms an edge", "rows held", "MiB held")
        for number, (cost, rows, held) in enumerate(self.tenths, 1):
            closure.add_row(f"tenth {number}", f"{cost:.2f}", f"{rows:,}", f"{held / 2**20:.1f}")
        yield closure

    def rows(self) -> list[tuple[str, float]]:
        found = [
            ("all at once", self.at_once),
            (f"{CHANGES} changes, mean of {BATCHES} batches", self.batch),
            ("the same, without the first batch", self.later),
            ("DuckDB, afresh", self.duckdb),
        ]
        return found if self.pathway is None else [*found, ("Pathway, at once", self.pathway)]

    def as_dict(self) -> dict[str, object]:
        return asdict(self) | {"rows": self.rows()}


def measure(events: int) -> Report:
    _reach(2_000, 2)  # kernels are compiled
    _chain(10)
    found = _reach(events // EVENTS_AN_EDGE, BATCHES)
    return Report(**found, level=1e6 * _chain(CHAIN) / CHAIN, tenths=_closure())


def _reach(count: int, batches: int) -> dict[str, object]:
    numbers, nodes = np.random.default_rng(1), count // EDGES_A_NODE
    reached = 0

    def count_up(batch: Batch) -> None:
        nonlocal reached
        reached += int(batch.weight.sum())

    graph = compile_plan(_reachability().plan, count_up)
    graph.push("roots", _batch({"n": np.arange(ROOTS)}))
    a, b = numbers.integers(0, nodes, (2, count))
    database, afresh = duckdb.connect(), []
    database.register("given", pa.table({"a": a, "b": b}))
    database.execute("CREATE TABLE edges AS SELECT * FROM given")
    afresh.append(_seconds(lambda: database.execute(AFRESH).fetchall()))
    at_once = _seconds(lambda: graph.push("edges", _batch({"a": a, "b": b})))
    held = sum(step.operator.state_size()[1] for step in graph.steps) / reached
    afresh.append(_seconds(lambda: database.execute(AFRESH).fetchall()))
    each = []
    for _ in range(batches):
        gone = numbers.choice(len(a), CHANGES // 2, replace=False)
        new_a, new_b = numbers.integers(0, nodes, (2, CHANGES // 2))
        changed = {"a": np.concatenate([a[gone], new_a]), "b": np.concatenate([b[gone], new_b])}
        batch = _batch(changed, weight=np.repeat(np.array([-1, 1]), CHANGES // 2))
        each.append(_seconds(lambda batch=batch: graph.push("edges", batch)))  # type: ignore[misc]
        a, b = (
            np.concatenate([np.delete(old, gone), new]) for old, new in ((a, new_a), (b, new_b))
        )
    finished = pa.table({"a": a, "b": b})
    database.register("changed", finished)
    database.execute("CREATE OR REPLACE TABLE edges AS SELECT * FROM changed")
    expected = [0]
    afresh.append(_seconds(lambda: expected.extend(database.execute(AFRESH).fetchall()[0])))
    if expected[-1] != reached:
        raise AssertionError(f"{reached} rows are reached, and DuckDB finds {expected[-1]}")
    return {
        "edges": count,
        "reached": reached,
        "at_once": at_once,
        "batch": mean(each),
        "later": mean(each[1:]),
        "duckdb": median(afresh),
        "pathway": _on_pathway(finished, reached),
        "row_bytes": held,
    }


def _on_pathway(edges: pa.Table, reached: int) -> float | None:
    found = reach_on_pathway(edges, ROOTS)
    if found is None:
        return None
    seconds, own = found
    if own != reached:
        raise AssertionError(f"{reached} rows are reached, and Pathway finds {own}")
    return seconds


def _chain(length: int) -> float:
    graph = compile_plan(_reachability().plan, lambda batch: None)
    graph.push("edges", _batch({"a": np.arange(length), "b": np.arange(1, length + 1)}))
    return _seconds(lambda: graph.push("roots", _batch({"n": np.zeros(1, np.int64)})))


def _closure() -> list[tuple[float, int, int]]:
    numbers = np.random.default_rng(2)
    graph = compile_plan(_transitive().plan, lambda batch: None)
    tenths, time = [], 0
    for _ in range(TIMES):
        seconds, rows, held = 0.0, 0, 0
        for _ in range(STREAM // STEP):
            a, b = numbers.integers(0, NODES, (2, STEP))
            vs = time + np.arange(STEP)
            time += STEP
            batch = _batch({"a": a, "b": b}, vs=vs, ve=vs + ALIVE, cti=time)
            seconds += _seconds(lambda batch=batch: graph.push("edges", batch))  # type: ignore[misc]
            rows, held = (max(pair) for pair in zip((rows, held), _state(graph), strict=True))
        tenths.append((1e3 * seconds / STREAM, rows, held))
    return tenths


def _state(graph: Graph) -> tuple[int, int]:
    sizes = [step.operator.state_size() for step in graph.steps]
    return sum(rows for rows, _ in sizes), sum(held for _, held in sizes)


def _reachability() -> dl.Query:
    edges = dl.stream("edges", {"a": "BIGINT", "b": "BIGINT"})
    roots = dl.stream("roots", {"n": "BIGINT"})
    return dl.recursive(
        "r",
        {"root": "BIGINT", "n": "BIGINT"},
        roots.select("n AS root", "n"),
        lambda r: r.join(edges, "r.n = edges.a").select("r.root", "edges.b"),
    )


def _transitive() -> dl.Query:
    edges = dl.stream("edges", {"a": "BIGINT", "b": "BIGINT"})
    return dl.recursive(
        "c",
        {"a": "BIGINT", "b": "BIGINT"},
        edges,
        lambda c: c.join(edges, "c.b = edges.a").select("c.a", "edges.b"),
    )


def _batch(
    columns: dict[str, Int64s],
    vs: Int64s | None = None,
    ve: Int64s | None = None,
    weight: Int64s | None = None,
    cti: int = BEGINNING,
) -> Batch:
    rows = pa.RecordBatch.from_pydict(columns)
    count = len(rows)
    start = np.zeros(count, np.int64) if vs is None else vs
    return Batch(
        start,
        np.full(count, INFINITY) if ve is None else ve,
        np.ones(count, np.int64) if weight is None else weight,
        rows,
        cti,
        int(start.max()),
    )


def _seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start
