"""A new stateless operator is its node, its operator, and one line of the table: all that is asked
of a plan, by either runner, follows from these."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import driftline as dl
from driftline.cli.explain import explained, on_spark
from driftline.engine.compile import BUILDERS, compile_plan
from driftline.engine.compile.compiler import Compiler
from driftline.engine.core.batch import Batch
from driftline.engine.core.graph import Step
from driftline.engine.core.operator import Operator
from driftline.engine.options import Options
from driftline.engine.readers.inputs import events_from
from driftline.engine.shards.stages import Reading
from driftline.engine.tables import history_table
from driftline.plan.closing import delays
from driftline.plan.expressions import Expression
from driftline.plan.finals import final
from driftline.plan.fragments import cut
from driftline.plan.lifetimes import Coalescing, is_loose, only_grows
from driftline.plan.native import Native
from driftline.plan.needed import needed
from driftline.plan.nodes import Coalesce, Keys, Part, Rowwise, Schema
from driftline.plan.nodes.base import same_place
from driftline.sql import Output
from tests.engine.shards.test_shard import Cluster


@dataclass(frozen=True)
class Repeat(Rowwise):
    """Every row so many times."""

    times_each: int

    @property
    def schema(self) -> Schema:
        return self.input.schema

    def label(self) -> str:
        return f"repeat {self.times_each} times"

    @property
    def goes_by(self) -> Part | None:
        return None

    def origin(self, place: int, side: int = 0) -> Expression | None:
        return same_place(self, place)

    @property
    def computes_with(self) -> Keys:
        return ()

    @property
    def native(self) -> Native | None:
        return None


class RepeatOperator(Operator):
    uses_state = False

    def __init__(self, schema: pa.Schema, times_each: int) -> None:
        super().__init__(schema)
        self.times_each = times_each

    def process(self, port: int, batch: Batch) -> Batch:
        return replace(batch, weight=batch.weight * self.times_each)


def build(compiler: Compiler, node: Repeat) -> Step:
    operator = RepeatOperator(node.schema.arrow, node.times_each)
    return compiler.after(node, "repeat", operator, compiler.step(node.input))


@pytest.fixture(autouse=True)
def in_the_table() -> Iterator[None]:
    BUILDERS[Repeat] = build
    yield
    del BUILDERS[Repeat]


S = dl.stream("s", {"k": "STRING", "x": "BIGINT", "y": "BIGINT", "at": "BIGINT"}, time="at")
ROWS = [{"k": "ab"[n % 2], "x": n, "y": 0, "at": n} for n in range(12)]


def repeated(query: dl.Query) -> dl.Query:
    return dl.Query(Repeat(query.plan, 3))


TOTALS = repeated(S.tumble(5)).group_by("window_end", "k").agg("sum(x) AS x")
EXPECTED = [
    {"window_end": 5, "k": "a", "x": 18},
    {"window_end": 5, "k": "b", "x": 12},
    {"window_end": 10, "k": "a", "x": 42},
    {"window_end": 10, "k": "b", "x": 63},
    {"window_end": 15, "k": "a", "x": 30},
    {"window_end": 15, "k": "b", "x": 33},
]


def last(table: pa.Table) -> list[dict[str, Any]]:
    """The rows that stay."""
    endless = table.filter(pc.is_null(table.column("ve")))
    rows = endless.drop(["vs", "ve"]).to_pylist()
    return sorted(rows, key=lambda row: (row["window_end"], row["k"]))


def test_it_runs() -> None:
    assert last(TOTALS.run(s=ROWS).history()) == EXPECTED


def test_it_runs_on_shards() -> None:
    reading = {"s": Reading(plain=True, ordered=True)}
    cluster = Cluster(TOTALS.plan, reading, Options(), 3)
    events = events_from(TOTALS.plan.sources()["s"], ROWS)
    emitted = cluster.step({"s": events}, 2)
    assert last(history_table(emitted, TOTALS.plan.schema.arrow, loose=True)) == EXPECTED


def test_a_plan_is_cut_through_it() -> None:
    (fragment,) = cut(TOTALS.plan)
    assert [list(map(str, each.keys)) for each in fragment.inputs] == [["k"]]
    assert needed(fragment.plan) == {"s": {0, 1}}


def test_what_is_known_below_it_is_known_above() -> None:
    windows = repeated(S.tumble(5))
    names = windows.plan.schema.names
    closing = {names[place] for place in delays(windows.plan, ["s"], {})}
    assert closing == {"at", "window_start", "window_end"}
    assert only_grows(windows.plan, ["s"])
    assert not is_loose(windows.plan)
    assert dict(final(TOTALS.plan, ["s"]).windows) == {"window_end": 0}
    moving = Coalescing().of(repeated(TOTALS).window(range=3).plan)
    assert [type(node) for node in moving.inputs] == [Coalesce]


def test_groups_are_evicted_above_it() -> None:
    graph = compile_plan(TOTALS.plan, lambda batch: None, inserts_only=["s"])
    keys = [getattr(step.operator, "closing", None) for step in graph.steps]
    assert [key.key for key in keys if key is not None] == [(0, 0)]


def test_it_is_explained() -> None:
    output = Output("result", TOTALS.plan, {}, 1, 1)
    assert any("repeat 3 times" in line for line in explained(output))
    assert any("groups whose window is over" in line for line in explained(output))
    assert any("repeat 3 times" in line for line in on_spark([output]))


def test_it_passes_rows_in_any_order_and_keeps_none() -> None:
    out: list[Batch] = []
    graph = compile_plan(repeated(S).plan, out.append)
    assert not any(step.wants_order for step in graph.steps)
    schema = S.plan.schema.arrow
    rows = pa.RecordBatch.from_pylist(ROWS, schema=schema)
    ends = np.full(12, dl.INFINITY)
    graph.push("s", Batch(np.arange(12), ends, np.ones(12, np.int64), rows))
    assert out[0].weight.tolist() == [3] * 12
    assert all(counters["state_rows"] == 0 for counters in graph.counters().values())
