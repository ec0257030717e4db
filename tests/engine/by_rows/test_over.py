from __future__ import annotations

import calendar
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.by_rows.order_words import OrderBy
from driftline.engine.by_rows.over import Frame, Over, OverColumn
from driftline.model import reference
from driftline.model.event import Event
from driftline.model.history import History
from driftline.model.reference import Level, Order
from driftline.model.reference import aggregates as values
from driftline.model.reference.over import Function
from driftline.model.row import Row, Value
from driftline.testing import streams
from tests.build import cti, insert, retract
from tests.engine.held_snapshots import BATCH_SIZES, hold, said_by

TX = pa.schema([("t", pa.int64()), ("x", pa.int64())])
SCHEMA = pa.schema([("k", pa.string()), ("t", pa.int64()), ("f", pa.float64()), ("x", pa.int32())])
COLUMNS: dict[str, st.SearchStrategy[Value]] = {
    "k": st.sampled_from(["a", None]),
    "t": st.sampled_from([None, 1, 2, 3, 5]),
    "f": st.sampled_from([None, -1.5, 0.1, 2.0, math.inf, math.nan, 1e300]),
    "x": st.sampled_from([None, 1, 2]),
}
BOUNDS = st.sampled_from([None, -2, -1, 0, 1, 3])


def column(name: str) -> Callable[[Row], Value]:
    return lambda row: row[name]


def functions(frame: Frame) -> dict[str, tuple[OverColumn, Function]]:
    """Window functions of a frame, and what they mean."""
    whole, real = pa.int64(), pa.float64()
    lag = Frame("rows", -1, -1)
    made = [
        (Aggregate("n", "count", None, whole), values.count_all()),
        (Aggregate("sx", "sum", "x", whole), values.sum_(column("x"))),
        (Aggregate("sf", "sum", "f", real), values.sum_(column("f"))),
        (Aggregate("af", "avg", "f", real), values.avg(column("f"))),
        (Aggregate("mf", "max", "f", real), values.max_(column("f"))),
        (Aggregate("mx", "max", "x", pa.int32()), values.max_(column("x"))),
        (Aggregate("first", "first", "x", pa.int32()), values.first(column("x"))),
        (Aggregate("all", "array_agg", "x", pa.list_(pa.int32())), values.array_agg(column("x"))),
        (Aggregate("v", "variance", "x", real), values.variance(column("x"))),
    ]
    found = {
        each.name: (OverColumn(each.name, each.type, frame, each), reference.of_frame(meaning))
        for each, meaning in made
    }
    for place, ignores in product((1, 2, -1, -2), (False, True)):
        name = f"{place}{' there' * ignores}"
        found[name] = (
            OverColumn(name, pa.float64(), frame, argument="f", nth=place, ignore_nulls=ignores),
            reference.nth(column("f"), place, ignore_nulls=ignores),
        )
    found["lag"] = (
        OverColumn("lag", pa.int32(), lag, argument="x", nth=1, default="x"),
        reference.nth(column("x"), 1, column("x")),
    )
    found["first there"] = (
        OverColumn(
            "first there", pa.float64(), frame, argument="f", nth=1, default="f", ignore_nulls=True
        ),
        reference.nth(column("f"), 1, column("f"), ignore_nulls=True),
    )
    before = Frame("rows", None, -1)
    found["lag there"] = (
        OverColumn("lag there", pa.int32(), before, argument="x", nth=-1, ignore_nulls=True),
        reference.nth(column("x"), -1, ignore_nulls=True),
    )
    return found


def test_a_late_row_corrects_those_after_it_within_the_frame() -> None:
    total = Aggregate("total", "sum", "x", pa.int64())
    frame = Frame("range", -2, 0)
    operator = Over(
        TX, [], [OrderBy("t")], [OverColumn("total", pa.int64(), frame, total)], Level.ORDERED
    )
    rows = [{"t": t, "x": t} for t in (1, 4, 9)]
    late = {"t": 3, "x": 3}
    events = [insert(row["t"], None, row) for row in rows]
    events += [insert(3, None, late), retract(3, None, 3, late), cti(10)]
    assert said_by(operator, events, TX) == [
        insert(1, None, {**rows[0], "total": 1}),
        insert(4, None, {**rows[1], "total": 4}),
        insert(9, None, {**rows[2], "total": 9}),
        insert(3, None, {**late, "total": 4}),
        retract(4, None, 4, {**rows[1], "total": 4}),
        insert(4, None, {**rows[1], "total": 7}),
        retract(3, None, 3, {**late, "total": 4}),
        retract(4, None, 4, {**rows[1], "total": 7}),
        insert(4, None, {**rows[1], "total": 4}),
        cti(10),
    ]


def test_what_is_refused() -> None:
    count = Aggregate("x", "count", None, pa.int64())
    with pytest.raises(ValueError, match="another name"):
        Over(TX, [], [], [OverColumn("x", pa.int64(), Frame(), count)], Level.EAGER)
    with pytest.raises(ValueError, match="order by one column"):
        Over(TX, [], [], [OverColumn("n", pa.int64(), Frame("range", -1, 0), count)], Level.EAGER)


@pytest.mark.parametrize("level", [Level.ORDERED, Level.EAGER])
def test_a_row_that_takes_the_place_of_another_in_a_batch_is_computed(level: Level) -> None:
    (column, _) = functions(Frame("rows", 0, 0))["n"]
    gone, new = ({"k": "a", "t": None, "f": f, "x": None} for f in (None, -1.5))
    operator = Over(SCHEMA, [], [OrderBy("t")], [column], level)
    said_by(operator, [insert(0, 2, gone), cti(0)], SCHEMA)
    events = [retract(0, 2, 0, gone), insert(1, None, new)]
    found = said_by(operator, events, SCHEMA, size=2)
    assert insert(1, None, {**new, "n": 1}) in found


@pytest.mark.parametrize("level", Level)
@settings(max_examples=40)
@given(st.data())
def test_over_is_its_reference_after_every_batch(level: Level, data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from(["rows", "range"]))
    frame = Frame(unit, data.draw(BOUNDS), data.draw(BOUNDS))  # type: ignore[arg-type]
    by = data.draw(st.sampled_from(["t", "f", "x"]))
    order = [OrderBy(by, data.draw(st.booleans()), data.draw(st.sampled_from([None, True, False])))]
    if unit == "rows" and data.draw(st.booleans()):
        order = data.draw(st.sampled_from([[], [*order, OrderBy("k", descending=True)]]))
    partition = data.draw(st.sampled_from([[], ["k"]]))
    all_of_them = functions(frame)
    names = data.draw(st.lists(st.sampled_from(sorted(all_of_them)), min_size=1, unique=True))
    chosen = {name: all_of_them[name] for name in names}

    def expected(so_far: History) -> History:
        return reference.over(
            so_far,
            {
                name: (reference.Frame(each.frame.unit, each.frame.start, each.frame.end), meaning)
                for name, (each, meaning) in chosen.items()
            },
            [Order(column(item.column), item.descending, item.nulls_first) for item in order],
            [column(name) for name in partition],
        )

    hold(
        lambda: Over(SCHEMA, partition, order, [each for each, _ in chosen.values()], level),
        SCHEMA,
        expected,
        data.draw(streams(COLUMNS)),
        level,
        data.draw(st.sampled_from(BATCH_SIZES)),
        data.draw(st.one_of(st.none(), st.integers(0, 5))),
    )


EVERY_FRAME = list(product((None, -3, -1, 0, 2), (None, -3, -1, 0, 2)))
FUNCTIONS = st.sampled_from(sorted(functions(Frame())))


@settings(max_examples=14)
@given(
    st.sampled_from(["rows", "range"]),
    FUNCTIONS,
    st.booleans(),
    st.lists(
        st.tuples(st.integers(1, 9), st.sampled_from([1.5, 2.5, None])), min_size=6, max_size=9
    ),
    st.lists(st.integers(0, 4), max_size=2, unique=True),
    st.sampled_from(BATCH_SIZES),
)
def test_a_row_sees_a_change_as_far_as_its_frame_reaches(
    unit: Any,
    name: str,
    descending: bool,
    cells: list[tuple[int, float | None]],
    gone: list[int],
    size: int,
) -> None:
    """One function alone, in every frame, over more rows than a frame reaches."""
    rows = [{"k": "a", "t": t, "f": f, "x": t % 3} for t, f in cells]
    events = [insert(0, None, row) for row in rows]
    events += [retract(0, None, 0, rows[place]) for place in gone]
    for start, end in EVERY_FRAME:
        made, meaning = functions(Frame(unit, start, end))[name]
        held_alone(made, meaning, OrderBy("t", descending), events, size)


def held_alone(
    made: OverColumn, meaning: Function, order: OrderBy, events: Sequence[Event], size: int
) -> None:
    own = reference.Frame(made.frame.unit, made.frame.start, made.frame.end)
    hold(
        lambda: Over(SCHEMA, [], [order], [made], Level.EAGER),
        SCHEMA,
        lambda so_far: reference.over(
            so_far, {made.name: (own, meaning)}, [Order(column(order.column), order.descending)]
        ),
        events,
        Level.EAGER,
        size,
    )


@pytest.mark.parametrize("size", [1, 2])
def test_a_row_sees_the_first_rows_when_its_frame_comes_to_them(size: int) -> None:
    events = [insert(t, None, {"k": "a", "t": t, "f": t / 2, "x": 1}) for t in range(1, 6)]
    before = Frame("rows", None, -2)
    for frame, name in ((before, "1"), (before, "1 there"), (before.mirrored(), "-1")):
        held_alone(*functions(frame)[name], OrderBy("t"), events, size)


@dataclass(frozen=True)
class Months:
    """A distance between dates; what has no such day is the last of the month."""

    count: int

    def __radd__(self, day: date) -> date:
        year, month = divmod(day.year * 12 + day.month - 1 + self.count, 12)
        last = calendar.monthrange(year, month + 1)[1]
        return date(year, month + 1, min(day.day, last))

    def __rsub__(self, day: date) -> date:
        return day + Months(-self.count)


DATED = pa.schema([("d", pa.date32()), ("x", pa.int64())])
DAYS = st.sampled_from(
    [None, *(date(2024, month, day) for month in (1, 2, 3, 4) for day in (1, 28, 29))]
    + [date(2023, 12, 31), date(2024, 1, 31), date(2024, 3, 31)]
)


@pytest.mark.parametrize("level", [Level.EAGER, Level.ORDERED])
@settings(max_examples=20)
@given(st.data())
def test_a_range_in_months_is_its_reference(level: Level, data: st.DataObject) -> None:
    start, end = data.draw(BOUNDS), data.draw(BOUNDS)
    order = OrderBy("d", data.draw(st.booleans()))
    total = Aggregate("total", "sum", "x", pa.int64())
    made = OverColumn("total", pa.int64(), Frame("range", start, end, months=True), total)
    bounds = [None if each is None else Months(each) for each in (start, end)]
    meaning = (reference.Frame("range", *bounds), reference.of_frame(values.sum_(column("x"))))

    hold(
        lambda: Over(DATED, [], [order], [made], level),
        DATED,
        lambda so_far: reference.over(
            so_far, {"total": meaning}, [Order(column("d"), order.descending)], []
        ),
        data.draw(streams({"d": DAYS, "x": st.sampled_from([1, 2, None])})),
        level,
        data.draw(st.sampled_from(BATCH_SIZES)),
        None,
    )
