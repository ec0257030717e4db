from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.by_rows.order_words import OrderBy
from driftline.engine.by_rows.rank import Method, Rank
from driftline.engine.state.held_rows import PLACE
from driftline.model import reference
from driftline.model.event import Event, Insert
from driftline.model.history import History, canonical_history
from driftline.model.reference import Level, Order
from driftline.model.row import Value
from driftline.model.time import INFINITY
from driftline.testing import streams
from tests.build import cti, history, insert, retract
from tests.engine.held_snapshots import BATCH_SIZES, hold, said_by

KX = pa.schema([("k", pa.string()), ("x", pa.int64())])
SCHEMA = pa.schema(
    [
        ("z", pa.string()),
        ("k", pa.string()),
        ("f", pa.float64()),
        ("m", pa.decimal128(9, 2)),
        ("b", pa.bool_()),
    ]
)
COLUMNS: dict[str, st.SearchStrategy[Value]] = {
    "z": st.sampled_from(["x", "yy", None]),
    "k": st.sampled_from(["a", None]),
    "f": st.sampled_from([None, -1.5, -0.0, 0.0, math.inf, math.nan]),
    "m": st.sampled_from([None, Decimal("1.00"), Decimal("-2.50")]),
    "b": st.sampled_from([None, True, False]),
}
METHODS: list[Method] = ["row_number", "rank", "dense_rank"]


def orders() -> st.SearchStrategy[list[OrderBy]]:
    item = st.builds(
        OrderBy,
        st.sampled_from(SCHEMA.names),
        st.booleans(),
        st.sampled_from([None, True, False]),
    )
    return st.lists(item, max_size=3)


def records() -> st.SearchStrategy[list[Event]]:
    """Streams of rows that are only added, and never end."""

    def without_end(events: list[Event]) -> list[Event]:
        return [
            Insert(each.vs, INFINITY, each.row) if isinstance(each, Insert) else each
            for each in events
        ]

    return streams(COLUMNS, max_size=9, retractions=False).map(without_end)


def expected(
    partition: list[str], order: list[OrderBy], method: Method, limit: int | None, keep_rank: bool
) -> Callable[[History], History]:
    def column(name: str) -> Callable[..., Value]:
        return lambda row: row[name]

    def answer(so_far: History) -> History:
        ranked = reference.rank(
            so_far,
            [Order(column(item.column), item.descending, item.nulls_first) for item in order],
            [column(name) for name in partition],
            method,
            "place",
        )
        if limit is not None:
            ranked = reference.select(ranked, lambda row: row["place"] <= limit)
        if not keep_rank:
            ranked = reference.project(ranked, lambda row: {n: row[n] for n in SCHEMA.names})
        return ranked

    return answer


def test_a_new_leader_moves_the_others_down() -> None:
    #   a 10  1────────────∞
    #   a 30       4───8
    order = [OrderBy("x", descending=True)]
    operator = Rank(KX, ["k"], order, "row_number", "place", Level.ORDERED)
    ten, thirty = {"k": "a", "x": 10}, {"k": "a", "x": 30}
    events = [insert(1, None, ten), insert(4, 8, thirty), cti(9)]
    assert canonical_history(said_by(operator, events, KX)).same_snapshots(
        history(
            (1, 4, {**ten, "place": 1}),
            (4, 8, {**ten, "place": 2}),
            (4, 8, {**thirty, "place": 1}),
            (8, None, {**ten, "place": 1}),
        )
    )


def test_top_2_of_each_partition_without_the_place() -> None:
    order = [OrderBy("x", descending=True)]
    operator = Rank(KX, ["k"], order, "row_number", "place", Level.EAGER, 2, keep_rank=False)
    rows = [{"k": "a", "x": x} for x in (3, 9, 5)] + [{"k": "b", "x": 1}]
    emitted = said_by(operator, [insert(1, 9, row) for row in rows], KX)
    assert canonical_history(emitted) == history(*((1, 9, row) for row in rows[1:]))
    assert emitted[-2:] == [insert(1, 9, {"k": "a", "x": 5}), insert(1, 9, {"k": "b", "x": 1})]


def test_a_row_that_loses_its_place_is_retracted() -> None:
    operator = Rank(KX, [], [OrderBy("x")], "row_number", "place", Level.EAGER, 1, keep_rank=False)
    five, two = {"k": "a", "x": 5}, {"k": "a", "x": 2}
    events = [insert(1, 9, five), insert(4, 6, two), retract(4, 6, 4, two)]
    assert said_by(operator, events, KX) == [
        insert(1, 9, five),
        retract(1, 9, 4, five),
        insert(4, 6, two),
        insert(6, 9, five),
        retract(4, 6, 4, two),
        insert(4, 6, five),
    ]


@pytest.mark.parametrize(
    ("method", "limit", "xs"),
    [("row_number", 2, [1, 1]), ("rank", 3, [1, 1, 2]), ("dense_rank", 2, [1, 1, 2])],
)
@pytest.mark.parametrize("level", Level)
def test_a_cti_evicts_records_that_are_outranked(
    level: Level, method: Method, limit: int, xs: list[int]
) -> None:
    operator = Rank(KX, ["k"], [OrderBy("x")], method, "place", level, limit, grows=True)
    rows = [{"k": "a", "x": x} for x in (9, 3, 2, 1, 1)]
    events: list[Event] = [insert(number, None, row) for number, row in enumerate(rows)]
    said_by(operator, [*events, cti(2)], KX)
    assert operator.members.entries() == len(rows)
    said_by(operator, [cti(9)], KX)  # nothing comes for the partition any more
    held = operator.members.of(operator.slots.live_slots())
    assert operator.members.rows.take(held[:, PLACE]).column("x").to_pylist() == xs


def test_copies_of_a_row_are_each_ranked() -> None:
    row = {"k": "a", "x": 1}
    for method, places in [("row_number", [1, 2]), ("rank", [1, 1]), ("dense_rank", [1, 1])]:
        operator = Rank(KX, [], [OrderBy("x")], method, "place", Level.EAGER)  # type: ignore[arg-type]
        emitted = said_by(operator, [insert(1, 9, row), insert(1, 9, row)], KX)
        assert canonical_history(emitted) == history(*((1, 9, {**row, "place": p}) for p in places))


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(ValueError, match="another name"):
        Rank(KX, [], [], "rank", "x", Level.EAGER)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", Level)
@settings(max_examples=40)
@given(st.data())
def test_rank_is_its_reference_after_every_batch(
    level: Level, method: Method, data: st.DataObject
) -> None:
    partition = data.draw(st.sampled_from([[], ["k"], ["k", "f"]]))
    order = data.draw(orders())
    limit = data.draw(st.sampled_from([None, 1, 2, 0]))
    keep_rank, grows = data.draw(st.booleans()), data.draw(st.booleans())
    hold(
        lambda: Rank(
            SCHEMA, partition, order, method, "place", level, limit, keep_rank, grows=grows
        ),
        SCHEMA,
        expected(partition, order, method, limit, keep_rank),
        data.draw(records() if grows else streams(COLUMNS)),
        level,
        data.draw(st.sampled_from(BATCH_SIZES)),
        data.draw(st.one_of(st.none(), st.integers(0, 5))),
    )


@pytest.mark.parametrize("emit", ["perfect", "ordered", "eager"])
def test_a_batch_in_which_nothing_is_said_goes_with_the_others(emit: Any) -> None:
    stream = dl.stream("s", {"x": "INT"})
    row = dl.Row(x=1)
    events = [dl.Insert(8, 20, row), dl.Retract(8, 20, 8, row), dl.Insert(9, 12, row)]
    for batch in (1, 3):
        found = stream.rank("x").run(s=events, batch=batch, emit=emit)
        assert found.history().to_pylist() == [{"vs": 9, "ve": 12, "x": 1, "rank": 1}]
        assert found.changes().num_rows > 0
