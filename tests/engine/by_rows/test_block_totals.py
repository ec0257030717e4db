"""Running aggregates and ranks over partitions of many blocks: what comes before counts as a whole.

Blocks are made small here, so that a few rows fill some of every level.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.by_rows import block_totals, piece_kernels
from driftline.engine.by_rows.operands import Operand, Sums, TotalsLayout
from driftline.engine.by_rows.order_words import OrderBy
from driftline.engine.by_rows.ordered import OrderedRows, Rows
from driftline.engine.by_rows.over import Frame, Over, OverColumn
from driftline.engine.by_rows.rank import Method, Rank
from driftline.engine.core.batch import Batch
from driftline.model import reference
from driftline.model.event import Event
from driftline.model.history import History, Lifetime
from driftline.model.reference import Level, Order
from driftline.model.reference import aggregates as values
from driftline.model.reference.over import Function
from driftline.model.row import Row, Value
from driftline.model.time import INFINITY
from tests.build import insert, retract
from tests.engine.held_snapshots import hold

SMALL = 2
SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("n", pa.int64()),
        ("f", pa.float64()),
        ("s", pa.string()),
        ("d", pa.decimal128(30, 2)),
        ("b", pa.bool_()),
        ("e", pa.decimal128(9, 2)),
        ("p", pa.struct([("x", pa.float64()), ("y", pa.float64())])),
    ]
)
FLOATS = (None, 0.1, -0.1, 1e16, 1.0, -1e16, 2.5e-300, 1e-20)
ODD_FLOATS = (*FLOATS, math.inf, -math.inf, math.nan, 1e300, -1e300, 1e60, 1e120, 1e180, 1e-80)
LEVELS = [Level.ORDERED, Level.EAGER]


def column(name: str) -> Callable[[Row], Value]:
    return lambda row: row[name]


def functions(frame: Frame) -> dict[str, tuple[OverColumn, Function]]:
    """Running aggregates, and what they mean."""
    whole, real, units = pa.int64(), pa.float64(), pa.decimal128(38, 2)
    made = [
        (Aggregate("rows", "count", None, whole), values.count_all()),
        (Aggregate("there", "count", "s", whole), values.count(column("s"))),
        (Aggregate("sum n", "sum", "n", whole), values.sum_(column("n"))),
        (Aggregate("sum f", "sum", "f", real), values.sum_(column("f"))),
        (Aggregate("avg n", "avg", "n", real), values.avg(column("n"))),
        (Aggregate("avg f", "avg", "f", real), values.avg(column("f"))),
        (Aggregate("sum d", "sum", "d", units), values.sum_(column("d"))),
        (Aggregate("min f", "min", "f", real), values.min_(column("f"))),
        (Aggregate("max f", "max", "f", real), values.max_(column("f"))),
        (Aggregate("min s", "min", "s", pa.string()), values.min_(column("s"))),
        (Aggregate("max d", "max", "d", SCHEMA.field("d").type), values.max_(column("d"))),
        (Aggregate("min b", "min", "b", pa.bool_()), values.min_(column("b"))),
        (Aggregate("var n", "variance", "n", real), values.variance(column("n"))),
        (Aggregate("var f", "variance_pop", "f", real), values.variance_pop(column("f"))),
        (Aggregate("stddev f", "stddev", "f", real), values.stddev(column("f"))),
        (Aggregate("stddev e", "stddev_pop", "e", real), values.stddev_pop(column("e"))),
        (Aggregate("var d", "variance", "d", real), values.variance(column("d"))),
        (Aggregate("covar", "covar_samp", "p", real), values.covar_samp(column("p"))),
        (
            Aggregate("different s", "count", "s", whole, distinct=True),
            values.count_distinct(column("s")),
        ),
        (
            Aggregate("different f", "count", "f", whole, distinct=True),
            values.count_distinct(column("f")),
        ),
        (Aggregate("median n", "median", "n", real), values.median(column("n"))),
        (
            Aggregate("percentile f", "percentile", "f", real, parameter=0.3),
            values.percentile(column("f"), 0.3),
        ),
        (
            Aggregate("disc e", "percentile_disc", "e", pa.decimal128(9, 2), parameter=0.5),
            values.percentile_disc(column("e"), 0.5),
        ),
        (Aggregate("median d", "median", "d", real), values.median(column("d"))),
        (Aggregate("covar pop", "covar_pop", "p", real), values.covar_pop(column("p"))),
        (Aggregate("skewness n", "skewness", "n", real), values.skewness(column("n"))),
        (Aggregate("skewness f", "skewness", "f", real), values.skewness(column("f"))),
        (Aggregate("kurtosis f", "kurtosis", "f", real), values.kurtosis(column("f"))),
        (Aggregate("kurtosis e", "kurtosis", "e", real), values.kurtosis(column("e"))),
        (Aggregate("and n", "bit_and", "n", whole), values.bit_and(column("n"))),
        (Aggregate("or n", "bit_or", "n", whole), values.bit_or(column("n"))),
        (Aggregate("xor n", "bit_xor", "n", whole), values.bit_xor(column("n"))),
        (Aggregate("mode s", "mode", "s", pa.string()), values.mode(column("s"))),
        (Aggregate("mode f", "mode", "f", real), values.mode(column("f"))),
        (
            Aggregate("last mode s", "mode", "s", pa.string(), parameter=1.0),
            _last_mode,
        ),
        *(
            (
                Aggregate(f"{name} different {of}", name, of, kind, distinct=True),
                values.different(meaning, column(of)),
            )
            for name, of, kind, meaning in (
                ("sum", "n", whole, values.sum_),
                ("sum", "f", real, values.sum_),
                ("avg", "f", real, values.avg),
                ("sum", "d", units, values.sum_),
                ("stddev", "f", real, values.stddev),
                ("kurtosis", "n", real, values.kurtosis),
                ("max", "s", pa.string(), values.max_),
            )
        ),
    ]
    return {
        each.name: (OverColumn(each.name, each.type, frame, each), reference.of_frame(meaning))
        for each, meaning in made
    }


def _last_mode(group: Sequence[Lifetime]) -> Value:
    """The value that is there most often, of several the greatest."""
    counts = Counter(each.row["s"] for each in group if each.row["s"] is not None)
    return max(counts, key=lambda value: (counts[value], value), default=None)


LAG = (
    OverColumn("lag", pa.string(), Frame("rows", -1, -1), argument="s", nth=1),
    (reference.Frame("rows", -1, -1), reference.nth(column("s"), 1)),
)
FIRST = (
    OverColumn("first", pa.string(), Frame(), argument="s", nth=1, ignore_nulls=True),
    (reference.Frame(), reference.nth(column("s"), 1, ignore_nulls=True)),
)
LAST = (
    OverColumn("last", pa.string(), Frame("rows", 0, None), argument="s", nth=-1),
    (reference.Frame("rows", 0, None), reference.nth(column("s"), -1)),
)
ALL_S = Aggregate("all", "array_agg", "s", pa.list_(pa.string()))
ALL = (
    OverColumn("all", ALL_S.type, Frame("rows", -1, 2), ALL_S),
    (reference.Frame("rows", -1, 2), reference.of_frame(values.array_agg(column("s")))),
)


NUMBER_BESIDE = st.sampled_from([0, 0, 0, -3, 5, None])
CELLS = {
    "k": st.sampled_from(["a", "a", "a", "b"]),
    "s": st.sampled_from(["long text", "long text too", "a", None]),
    "d": st.sampled_from([None, Decimal("-0.01"), Decimal(10) ** 27]),
    "b": st.sampled_from([None, True, False]),
    "e": st.sampled_from([None, Decimal("-0.01"), Decimal("99.90")]),
}
TIES, EARLIER = st.sampled_from([1, 3, 8]), st.sampled_from([0, 0, 0, 5])
COUNT = st.integers(10, 24)
"""Rows: sixteen fill a block of the fourth level."""
FATES, ENDS = st.integers(0, 9), st.sampled_from([0, 3])


@cache
def cells(floats: tuple[float | None, ...]) -> dict[str, st.SearchStrategy[Any]]:
    """What the columns hold but for their order; made once, which takes longer than to draw."""
    numbers = [0.0 if each is None else each for each in floats]
    pairs = [None, *(Row(x=a, y=b) for a, b in zip(numbers, numbers[1:] + numbers, strict=False))]
    return {**CELLS, "f": st.sampled_from(floats), "p": st.sampled_from(pairs)}


@st.composite
def long_partitions(draw: st.DrawFn, floats: tuple[float | None, ...]) -> list[Event]:
    """Rows nearly in order, most of which never end; some end, come late or are taken back."""
    ties, others = draw(TIES), cells(floats)
    events: list[Event] = []
    for place in range(draw(COUNT)):
        beside = draw(NUMBER_BESIDE)
        row = {name: draw(cell) for name, cell in others.items()}
        row["n"] = None if beside is None else (place + beside) // ties
        vs = max(0, place - draw(EARLIER))
        fate = draw(FATES)
        events.append(insert(vs, vs + 6 if fate == 9 else None, row))
        if fate == 8:
            events.append(insert(vs, None, row))
        if fate < 2:
            events.append(retract(vs, None, vs + draw(ENDS), row))
    return events


def orders(names: list[str]) -> st.SearchStrategy[list[OrderBy]]:
    nulls_first = st.sampled_from([None, True, False])
    items = st.builds(OrderBy, st.sampled_from(names), st.booleans(), nulls_first)
    return items.map(lambda item: [item])


def meant(order: list[OrderBy]) -> list[Order]:
    return [Order(column(item.column), item.descending, item.nulls_first) for item in order]


def held(
    make: Callable[[], OrderedRows],
    expected: Callable[[History], History],
    level: Level,
    data: st.DataObject,
    floats: tuple[float | None, ...],
) -> None:
    def in_small_blocks() -> OrderedRows:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(block_totals, "FAN_OUT", SMALL)
            return make()

    hold(
        in_small_blocks,
        SCHEMA,
        expected,
        data.draw(long_partitions(floats)),
        level,
        data.draw(st.sampled_from([1, 2, 5])),
        data.draw(st.integers(0, 20)),
    )


@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=30)
@given(st.data())
def test_a_running_aggregate_is_its_reference_after_every_batch(
    level: Level, data: st.DataObject
) -> None:
    floats = data.draw(st.sampled_from([FLOATS, ODD_FLOATS]))
    unit: Any = data.draw(st.sampled_from(["rows", "range"]))
    frame = Frame(unit, None, data.draw(st.sampled_from([0, 0, -2, 1])))
    frame = data.draw(st.sampled_from([frame, frame.mirrored()]))
    by_number = orders(["n", "n", "f"])
    order = data.draw(by_number if frame.has_distance else orders(["n", "n", "s"]))
    partition = data.draw(st.sampled_from([[], ["k"]]))
    mine = functions(frame)
    names = data.draw(st.lists(st.sampled_from(sorted(mine)), min_size=1, max_size=4, unique=True))
    columns = [mine[name][0] for name in names]
    own = reference.Frame(unit, frame.start, frame.end)
    meanings = {name: (own, mine[name][1]) for name in names}
    for other, meaning in data.draw(st.sampled_from([[], [LAG], [FIRST, LAG], [LAST, ALL, LAG]])):
        columns.append(other)
        meanings[other.name] = meaning
    held(
        lambda: Over(SCHEMA, partition, order, columns, level),
        lambda so_far: reference.over(
            so_far, meanings, meant(order), [column(name) for name in partition]
        ),
        level,
        data,
        floats,
    )


@pytest.mark.parametrize("level", LEVELS)
@settings(max_examples=30)
@given(st.data())
def test_a_rank_is_its_reference_after_every_batch(level: Level, data: st.DataObject) -> None:
    method: Method = data.draw(st.sampled_from(["row_number", "rank", "dense_rank"]))
    order, partition = data.draw(orders(["n", "n", "s"])), data.draw(st.sampled_from([[], ["k"]]))
    held(
        lambda: Rank(SCHEMA, partition, order, method, "place", level),
        lambda so_far: reference.rank(
            so_far, meant(order), [column(name) for name in partition], method, "place"
        ),
        level,
        data,
        (None,),
    )


NX = pa.schema([("n", pa.int64()), ("x", pa.float64())])
BY_N = [OrderBy("n")]


def _running(
    function: str, unit: Any = "range", distinct: bool = False, of: str = "x"
) -> OrderedRows:
    kind = pa.float64() if of == "x" and function != "count" else pa.int64()
    made = Aggregate("y", function, of, kind, distinct=distinct)
    columns = [OverColumn("y", made.type, Frame(unit, None, 0), made)]
    return Over(NX, [], BY_N, columns, Level.EAGER)


def _to_the_end(unit: Any) -> OrderedRows:
    """From the current row to the first that has come."""
    made = Aggregate("y", "sum", "x", pa.float64())
    columns = [OverColumn("y", made.type, Frame(unit, 0, None), made)]
    return Over(NX, [], [OrderBy("n", descending=True)], columns, Level.EAGER)


MAKE: dict[str, Callable[[], OrderedRows]] = {
    **{
        name: lambda name=name: _running(name)  # type: ignore[misc]
        for name in (
            "count",
            "sum",
            "avg",
            "min",
            "max",
            "stddev",
            "median",
            "mode",
            "skewness",
            "kurtosis",
        )
    },
    "sum of rows": lambda: _running("sum", "rows"),
    "sum of rows to the end": lambda: _to_the_end("rows"),
    "sum of a range to the end": lambda: _to_the_end("range"),
    "count of different": lambda: _running("count", distinct=True),
    "sum of different": lambda: _running("sum", distinct=True),
    "bits": lambda: _running("bit_xor", of="n"),
    **{
        name: lambda name=name: Rank(NX, [], BY_N, name, "y", Level.EAGER)  # type: ignore[misc]
        for name in ("row_number", "rank", "dense_rank")
    },
}


@pytest.mark.parametrize("ties", [1, 2, 100])
@pytest.mark.parametrize("name", MAKE)
def test_what_comes_near_the_end_looks_at_a_few_rows(
    name: str, ties: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator, looked = MAKE[name](), []
    in_order = operator._in_order

    def noted(near: object) -> Rows:
        rows = in_order(near)  # type: ignore[arg-type]
        looked.append(len(rows.place))
        return rows

    monkeypatch.setattr(operator, "_in_order", noted)
    many, late = 5000, 30
    for numbers in (np.arange(many), np.array([many]), np.array([many - late])):
        size = len(numbers)
        rows = pa.RecordBatch.from_arrays(
            [pa.array(numbers // ties), pa.array(0.1 * numbers + size)], schema=NX
        )
        times = np.full(size, many if size == 1 else 0)
        operator.receive(0, Batch(times, np.full(size, INFINITY), np.ones(size, int), rows))
    assert looked[0] == many
    assert looked[1] <= block_totals.FAN_OUT + ties + 1
    assert looked[2] <= block_totals.FAN_OUT + late + 2 * ties + 2


def test_fractions_come_to_what_two_floats_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    quotients = piece_kernels.quotients_of_spreads

    def undecided(*given: Any) -> tuple[Any, Any]:
        results, _ = quotients(*given)
        return np.full_like(results, -1.0), np.ones(len(results), np.bool_)

    def answers() -> list[Any]:
        operator, found = _running("variance_pop"), []
        for start in range(0, 300, 10):
            numbers = np.arange(start, start + 10)
            columns = [pa.array(numbers), pa.array(1 / (1.0 + numbers))]
            rows = pa.RecordBatch.from_arrays(columns, schema=NX)
            batch = Batch(np.full(10, start), np.full(10, INFINITY), np.ones(10, int), rows)
            found += operator.receive(0, batch).payload.to_pylist()
        return found

    decided = answers()
    monkeypatch.setattr(piece_kernels, "quotients_of_spreads", undecided)
    assert answers() == decided


def test_kernels_get_totals_without_strides() -> None:
    operands = [Operand(name, pa.float64(), {"stddev"}) for name in "fg"]
    layout = TotalsLayout(operands)
    for operand in operands:
        sums = Sums(operand, np.zeros((3, layout.ints), int), np.zeros((3, layout.floats)))
        for part in (sums.numbers, sums.partials, sums.products, sums.counts):
            assert part.flags.c_contiguous
