"""The workload of the recursion paper: the W query (U Dⁱ Uʲ Dᵏ Uˡ with i + k = j + l, seven states,
eleven transitions, one register) over fair coin tosses in a window of 30, all partial and complete
runs, by its operator and as a loop over the table of transitions.
"""

from __future__ import annotations

from time import process_time

import numpy as np
import pyarrow as pa

import driftline as dl
from driftline.automata import By
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Graph
from driftline.model.arrays import Int64s
from driftline.model.time import INFINITY
from driftline.plan.nodes import Constant

WINDOW, AT_ONCE = 30, 50_000

DOWN, UP = {"m": 1}, {"m": -1}
W = dl.Automaton(
    start="S",
    finals=["F"],
    registers={"m": 0},
    transitions=[
        dl.Transition("S", "begun", "U"),
        dl.Transition("begun", "first down", "D", DOWN),
        dl.Transition("first down", "first down", "D", DOWN),
        dl.Transition("first down", "first up", "U", UP),
        dl.Transition("first up", "first up", "U", UP),
        dl.Transition("first up", "second down", "D", DOWN),
        dl.Transition("second down", "second down", "D", DOWN),
        dl.Transition("second down", "second up", "U", UP, {"m": 2}),
        dl.Transition("second up", "second up", "U", UP, {"m": 2}),
        dl.Transition("second down", "F", "U", UP, {"m": 1}, {"m": 1}),
        dl.Transition("second up", "F", "U", UP, {"m": 1}, {"m": 1}),
    ],
)


def w_query(by: By) -> dl.Query:
    tape = dl.stream("tape", {"n": "BIGINT", "toss": "STRING"}, time="n")
    windows = tape.window(range=WINDOW)
    return windows.automaton(W, sequence="n", symbol="toss", partial=True, by=by)


def timed(by: By, count: int) -> tuple[float, int]:
    """Processor seconds, and how many runs there are; what comes out is counted and dropped."""
    found = 0

    def count_up(batch: Batch) -> None:
        nonlocal found
        found += int(batch.weight.sum())

    query = w_query(by)
    graph = compile_plan(query.plan, count_up, inserts_only=["tape"])
    heads = np.random.default_rng(1).integers(0, 2, count)
    batches = [_batch(start, heads[start : start + AT_ONCE]) for start in range(0, count, AT_ONCE)]
    start = process_time()
    bring_constants(query, graph)
    for batch in batches:
        graph.push("tape", batch)
    return process_time() - start, found


def bring_constants(query: dl.Query, graph: Graph) -> None:
    """The rows of the table of transitions, which are always there."""
    for source in query.plan.sources().values():
        if isinstance(source, Constant):
            rows = pa.RecordBatch.from_pydict(
                {source.schema.names[0]: pa.array(range(source.count), pa.int32())}
            )
            vs = np.full(source.count, source.start)
            ones = np.ones(source.count, np.int64)
            graph.push(
                source.name, Batch(vs, np.full(source.count, INFINITY), ones, rows, INFINITY)
            )


def _batch(first: int, heads: Int64s) -> Batch:
    vs = np.arange(first, first + len(heads))
    tosses = pa.array(["D", "U"]).take(pa.array(heads))
    rows = pa.RecordBatch.from_arrays([pa.array(vs), tosses], ["n", "toss"])
    ones, never = np.ones(len(vs), np.int64), np.full(len(vs), INFINITY)
    return Batch(vs, never, ones, rows, int(vs[-1]) + 1, int(vs[-1]))
