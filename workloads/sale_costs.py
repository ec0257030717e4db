"""What the work of a join and of an aggregate takes in Q1 and Q2, in batches of one.

    python -m workloads.sale_costs

The operators run as in `workloads.sales`, a tuple at a time, for every `expiry`, and the processor
time of each piece of work is noted by what it was. A table has the medians, and by how much each is
that of a tuple at an aggregate of the same query: these are the `MEASURED` costs of the simulation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from time import thread_time

import numpy as np
from rich.console import Console
from rich.table import Table

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph, Step
from driftline.engine.core.queues import Item
from driftline.plan.choices import Expiry
from workloads.sales import (
    EXPIRIES,
    Counted,
    Sales,
    admit_table,
    ends_rows,
    is_aggregate,
    is_join,
    q1,
    q2,
)

WINDOW, LENGTH, RATE = 500, 4_000, 60
"""Ticks of a millisecond, and tuples a second of each stream."""
QUERIES: dict[str, Callable[[int], dl.Query]] = {"Q1": q1, "Q2": q2}
TUPLE = "aggregate: tuple"
FEWEST = 10
"""Kinds of work that were not done as often are left out."""

Times = dict[str, list[float]]


def kind_of(step: Step, batch: Batch) -> str | None:
    """What a batch is for an operator; None: more than one event, or of no account."""
    counted = Counted()
    counted.count(batch)
    if counted.events > 1 or not (is_join(step) or is_aggregate(step)):
        return None
    kinds = (
        (counted.positive, "tuple"),
        (counted.negative, "negative tuple"),
        (counted.marks, "mark"),
    )
    what = next((name for count, name in kinds if count), "promise")
    if is_join(step):
        return f"join: {what}"
    return f"aggregate: {what}" + (", rows end" if ends_rows(step, batch) else "")


def measure(query: Callable[[int], dl.Query], expiry: Expiry, times: Times) -> None:
    """Note what every piece of work took."""
    plan = query(WINDOW).plan
    graph = compile_plan(plan, lambda batch: None, scheduler="round-robin", expiry=expiry)
    admit_table(graph)
    random = np.random.default_rng(1)
    count = RATE * LENGTH // 1000
    made = {
        name: Sales.random(random, np.sort(random.integers(0, LENGTH, count)), RATE // 2)
        for name in ("s1", "s2")
    }
    sales = {name: each for name, each in made.items() if name in graph.sources}
    ticks = np.concatenate(
        [part for each in sales.values() for part in (each.at, each.at + WINDOW)]
    )
    taken = dict.fromkeys(sales, 0)
    for now in np.unique(ticks).tolist():
        for name, each in sales.items():
            until = int(np.searchsorted(each.at, now, side="right"))
            for place in range(taken[name], until):
                graph.admit(name, each.batch(place, place + 1))
            taken[name] = until
        graph.advance(now)
        _drain(graph, times)


def _drain(graph: Graph, times: Times) -> None:
    while any(step.queue for step in graph.steps):
        for step in graph.steps:
            while (item := step.queue.take()) is not None:
                _timed(graph, step, *item, times)


def _timed(graph: Graph, step: Step, port: int, item: Item, times: Times) -> None:
    assert isinstance(item, Batch)
    kind = kind_of(step, item)
    begun = thread_time()
    graph.work_on(step, port, item)
    if kind is not None:
        times[kind].append(thread_time() - begun)


def medians() -> dict[str, dict[str, float]]:
    """By kind of work and query, what it takes by a tuple at an aggregate; and that in µs."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for name, query in QUERIES.items():
        for expiry in EXPIRIES:
            measure(query, expiry, defaultdict(list))  # and compile
        times: Times = defaultdict(list)
        for expiry in EXPIRIES:
            measure(query, expiry, times)
        middle = {kind: float(np.median(each)) for kind, each in times.items()}
        for kind in sorted(times):
            if len(times[kind]) >= FEWEST:
                found[kind][name] = middle[kind] / middle[TUPLE]
        found["aggregate: tuple, µs"][name] = 1e6 * middle[TUPLE]
    return found


def main() -> None:
    table = Table("work", *QUERIES, title="÷ a tuple at an aggregate; processor time, medians")
    for kind, shares in medians().items():
        table.add_row(kind, *(f"{shares[name]:.2f}" if name in shares else "" for name in QUERIES))
    Console().print(table)


if __name__ == "__main__":
    main()
