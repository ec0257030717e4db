"""Pieces told as changes, forced where they would be told in full: the answers are the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.by_rows import pieces as by_pieces
from driftline.engine.by_rows.aggregates import goes_by_changes
from driftline.engine.by_rows.general_aggregates import GeneralGroupBy
from driftline.engine.by_rows.order_words import OrderBy
from driftline.engine.by_rows.rank import Rank
from driftline.engine.core.batch import Batch
from driftline.model import reference
from driftline.model.event import Event
from driftline.model.reference import Level, Order
from driftline.plan.errors import PlanError
from driftline.testing import streams
from tests.engine.by_rows.test_general_aggregates import (
    CASES,
    COLUMNS,
    DOUBLE,
    SCHEMA,
    answer,
    by_function,
    general,
)
from tests.engine.held_snapshots import BATCH_SIZES, hold

POSSIBLE = sorted(name for name, (aggregate, _) in CASES.items() if goes_by_changes(aggregate))


@pytest.fixture(autouse=True)
def always_by_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_pieces, "CHANGES_ARE_CHEAPER", 0)


shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def test_what_goes_by_changes() -> None:
    possible = {"median_f", "count_s_distinct", "first_only", "lengths", "avg_m", "stddev_f"}
    assert possible | {"sum_i_distinct", "mode_s", "kurtosis_f", "bit_xor_i"} <= set(POSSIBLE)
    assert not {"array_agg_i", "user_defined_s"} & set(POSSIBLE)


@pytest.mark.parametrize("level", Level)
@settings(shared, max_examples=60)
@given(st.data())
def test_aggregates_are_their_references_after_every_batch(
    level: Level, data: st.DataObject
) -> None:
    keys = data.draw(st.sampled_from([["k"], [], ["k", "s"]]))
    names = data.draw(st.lists(st.sampled_from(POSSIBLE), min_size=1, max_size=6, unique=True))
    events = data.draw(streams(COLUMNS))
    size = data.draw(st.sampled_from(BATCH_SIZES))
    hold(lambda: general(keys, names, level), SCHEMA, answer(keys, names), events, level, size)


@pytest.mark.parametrize("names", by_function(POSSIBLE), ids=lambda names: names[0])
@settings(shared, max_examples=10)
@given(st.data())
def test_each_function_alone(names: tuple[str, ...], data: st.DataObject) -> None:
    events = data.draw(streams(COLUMNS))
    size = data.draw(st.sampled_from(BATCH_SIZES))
    level = Level.EAGER
    hold(lambda: general([], names, level), SCHEMA, answer([], names), events, level, size)


@settings(shared)
@given(streams(COLUMNS), st.sampled_from(Level), st.sampled_from(BATCH_SIZES), st.integers(1, 3))
def test_top_k(events: list[Event], level: Level, size: int, limit: int) -> None:
    hold(
        lambda: Rank(
            SCHEMA,
            ["k"],
            [OrderBy("i", descending=True)],
            "row_number",
            "place",
            level,
            limit,
            keep_rank=False,
        ),
        SCHEMA,
        lambda so_far: reference.top_k(
            so_far, limit, [Order(lambda row: row["i"], descending=True)], [lambda row: row["k"]]
        ),
        events,
        level,
        size,
    )


@settings(shared, max_examples=30)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=30))
def test_a_sliding_sum_of_floats_is_exact(values: list[float]) -> None:
    schema = pa.schema([("f", DOUBLE)])
    exact = [Aggregate("sum", "sum", "f", DOUBLE), Aggregate("avg", "avg", "f", DOUBLE)]
    emitted = []
    for factor in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(by_pieces, "CHANGES_ARE_CHEAPER", factor)
            operator = GeneralGroupBy(schema, [], exact, Level.EAGER)
            vs = np.arange(len(values), dtype=np.int64)
            rows = pa.RecordBatch.from_arrays([pa.array(values, DOUBLE)], schema=schema)
            batch = Batch(vs, vs + 5, np.ones(len(vs), np.int64), rows)
            emitted.append(operator.receive(0, batch).payload.to_pylist())
    assert emitted[0] == emitted[1]


class Calls:
    """A user's own sum that counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def initial(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        self.calls += 1
        return state + value

    def remove(self, state: int, value: int) -> int:
        self.calls += 1
        return state - value

    def result(self, state: int) -> int:
        return state


def test_remove_makes_a_long_window_cost_what_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    schema, definition, rows = pa.schema([("x", pa.int64())]), Calls(), 1000
    own = Aggregate("own", "user_defined", "x", pa.int64(), definition=definition)
    operator = GeneralGroupBy(schema, [], [own], Level.EAGER)
    vs = np.arange(rows)
    payload = pa.RecordBatch.from_arrays([pa.array(vs)], schema=schema)
    emitted = operator.receive(0, Batch(vs, vs + 500, np.ones(rows, np.int64), payload))
    assert definition.calls <= 2 * rows
    expected = [int(vs[max(0, time - 499) : time + 1].sum()) for time in range(rows)]
    answers = emitted.payload.column(0).to_pylist()
    found = dict(zip(emitted.vs.tolist(), answers, strict=True))
    assert [found[time] for time in range(rows)] == expected


class Collected:
    """A list that grows and shrinks, and is given out as it is."""

    def initial(self) -> list[int]:
        return []

    def add(self, state: list[int], value: int) -> list[int]:
        state.append(value)
        return state

    def remove(self, state: list[int], value: int) -> list[int]:
        state.remove(value)
        return state

    def result(self, state: list[int]) -> list[int]:
        return state


def test_a_result_that_is_the_state_does_not_change_with_it() -> None:
    stream = dl.stream("s", {"x": "INT"})
    events = [
        dl.Insert(1, 5, dl.Row(x=1)),
        dl.Insert(2, 3, dl.Row(x=2)),
        dl.Insert(4, 6, dl.Row(x=3)),
    ]
    query = stream.agg(all=dl.UserDefined(Collected(), "x", "ARRAY<INT>"))
    found = [(row["vs"], row["all"]) for row in query.run(s=events).history().to_pylist()]
    assert found == [(1, [1]), (2, [1, 2]), (3, [1]), (4, [1, 3]), (5, [3])]


def test_a_result_of_another_type_is_named() -> None:
    stream = dl.stream("s", {"x": "INT"})
    query = stream.agg(all=dl.UserDefined(Collected(), "x", "BIGINT"))
    with pytest.raises(PlanError, match=r"aggregate gave \[1\], which is no BIGINT"):
        query.run(s=[dl.Insert(1, 5, dl.Row(x=1))])
    with pytest.raises(PlanError, match=r"give an object, Collected\(\), not its class"):
        stream.agg(all=dl.UserDefined(Collected, "x", "BIGINT"))
