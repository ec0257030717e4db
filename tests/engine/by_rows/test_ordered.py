"""Partitions with more rows than frames reach: what is not near a change is not looked at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.by_rows.order_words import OrderBy, OrderWords
from driftline.engine.by_rows.ordered import OrderedRows, Rows
from driftline.engine.by_rows.over import Frame, Over, OverColumn
from driftline.engine.by_rows.rank import Method, Rank
from driftline.engine.core.batch import Batch
from driftline.model import reference
from driftline.model.event import Event
from driftline.model.history import History
from driftline.model.reference import Level, Order
from driftline.model.reference import aggregates as values
from driftline.model.row import Row, Value, sort_key
from driftline.model.time import INFINITY
from tests.build import insert, retract
from tests.engine.held_snapshots import hold

SCHEMA = pa.schema([("s", pa.string()), ("x", pa.int64())])
TEXTS = ["", "a", "long text", "long text too", "long text\x00", "é", None]
FRAMES = [
    Frame("rows", -1, -1),
    Frame("rows", 1, 1),
    Frame("rows", -2, 1),
    Frame("rows", 1, 3),
    Frame("range", -2, 1),
    Frame("range", 0, 0),
    Frame("range", None, 0),
    Frame("rows", None, -1),
]


def column(name: str) -> Callable[[Row], Value]:
    return lambda row: row[name]


@st.composite
def long_partitions(draw: st.DrawFn) -> list[Event]:
    """Rows of which most never end, in one partition; some are taken back or end, or come late."""
    numbers = draw(st.lists(st.integers(0, 40), min_size=12, max_size=20))
    events: list[Event] = []
    for place, number in enumerate(numbers):
        row = {
            "s": draw(st.sampled_from(TEXTS)),
            "x": draw(st.sampled_from([number, number, None])),
        }
        vs = draw(st.sampled_from([place, place, max(0, place - 5)]))
        fate = draw(st.integers(0, 9))
        events.append(insert(vs, vs + 6 if fate == 9 else None, row))
        if fate < 2:
            events.append(retract(vs, None, draw(st.sampled_from([vs, vs + 3])), row))
    return events


def orders() -> st.SearchStrategy[list[OrderBy]]:
    by_x = st.builds(OrderBy, st.just("x"), st.booleans(), st.sampled_from([None, True, False]))
    by_s = st.builds(OrderBy, st.just("s"), st.booleans())
    return st.one_of(by_x.map(lambda x: [x]), by_s.map(lambda s: [s]), st.just([]))


@pytest.mark.parametrize("level", [Level.ORDERED, Level.EAGER])
@settings(max_examples=30)
@given(st.data())
def test_over_looks_at_enough(level: Level, data: st.DataObject) -> None:
    frame = data.draw(st.sampled_from(FRAMES))
    order = data.draw(orders())
    if frame.has_distance:
        order = [OrderBy("x", data.draw(st.booleans()))]
    total = Aggregate("total", "sum", "x", pa.int64())

    def expected(so_far: History) -> History:
        own = reference.Frame(frame.unit, frame.start, frame.end)
        meanings = {
            "total": (own, reference.of_frame(values.sum_(column("x")))),
            "first": (own, reference.nth(column("s"), 1)),
        }
        by = [Order(column(item.column), item.descending, item.nulls_first) for item in order]
        return reference.over(so_far, meanings, by, [])

    columns = [
        OverColumn("total", pa.int64(), frame, total),
        OverColumn("first", pa.string(), frame, argument="s", nth=1),
    ]
    hold(
        lambda: Over(SCHEMA, [], order, columns, level),
        SCHEMA,
        expected,
        data.draw(long_partitions()),
        level,
        data.draw(st.sampled_from([1, 3])),
        data.draw(st.integers(0, 15)),
    )


@pytest.mark.parametrize("level", [Level.ORDERED, Level.EAGER])
@settings(max_examples=30)
@given(st.data())
def test_rank_looks_at_enough(level: Level, data: st.DataObject) -> None:
    method: Method = data.draw(st.sampled_from(["row_number", "rank", "dense_rank"]))
    order, limit = data.draw(orders()), data.draw(st.sampled_from([None, 1, 3]))

    def expected(so_far: History) -> History:
        by = [Order(column(item.column), item.descending, item.nulls_first) for item in order]
        ranked = reference.rank(so_far, by, [], method, "place")
        return reference.select(ranked, lambda row: limit is None or row["place"] <= limit)

    hold(
        lambda: Rank(SCHEMA, [], order, method, "place", level, limit),
        SCHEMA,
        expected,
        data.draw(long_partitions()),
        level,
        data.draw(st.sampled_from([1, 3])),
        data.draw(st.integers(0, 15)),
    )


@pytest.mark.parametrize(
    ("make", "most"),
    [
        (lambda: _over(Frame("rows", -1, -1)), 4),
        (lambda: _over(Frame("rows", -3, 0)), 8),
        (lambda: _over(Frame("range", -2, 2)), 10),
        (lambda: _rank(3), 5),
    ],
    ids=["lag", "rows", "range", "top 3"],
)
def test_a_change_in_a_long_partition_looks_at_a_few_rows(
    make: Callable[[], OrderedRows], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator, looked = make(), []
    in_order = operator._in_order

    def noted(near: object) -> Rows:
        rows = in_order(near)  # type: ignore[arg-type]
        looked.append(len(rows.place))
        return rows

    monkeypatch.setattr(operator, "_in_order", noted)
    for start in (0, 1000):
        size = 1000 if start == 0 else 1
        numbers = np.arange(start, start + size)
        rows = pa.RecordBatch.from_arrays(
            [pa.nulls(size, pa.string()), pa.array((numbers * 380) % 1001)], schema=SCHEMA
        )
        operator.receive(0, Batch(numbers, np.full(size, INFINITY), np.ones(size, int), rows))
    assert looked[0] == 1000
    assert looked[1] <= most


def _over(frame: Frame) -> Over:
    count = Aggregate("n", "count", None, pa.int64())
    columns = [OverColumn("n", pa.int64(), frame, count)]
    return Over(SCHEMA, [], [OrderBy("x")], columns, Level.EAGER)


def _rank(limit: int) -> Rank:
    return Rank(SCHEMA, [], [OrderBy("x")], "row_number", "place", Level.EAGER, limit)


@given(st.lists(st.sampled_from(TEXTS), max_size=8), st.booleans())
def test_words_are_in_the_order_of_values(texts: list[str | None], descending: bool) -> None:
    words = OrderWords(SCHEMA, [OrderBy("s", descending)], [OrderBy("s"), OrderBy("x")])
    rows = pa.RecordBatch.from_arrays(
        [pa.array(texts, pa.string()), pa.nulls(len(texts), pa.int64())], schema=SCHEMA
    )
    keys = [tuple(row) for row in np.stack(words.of(rows), axis=1).tolist()]
    sign = -1 if descending else 1
    for one, key in zip(texts, keys, strict=True):
        for other, other_key in zip(texts, keys, strict=True):
            if sign * _compared(one, other) < 0:
                assert key <= other_key


def _compared(one: str | None, other: str | None) -> int:
    a, b = sort_key(one), sort_key(other)
    return (a > b) - (a < b)
