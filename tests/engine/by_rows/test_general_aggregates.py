from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.additive.group_by import GroupBy
from driftline.engine.aggregation import group_by
from driftline.engine.by_rows.general_aggregates import GeneralGroupBy
from driftline.model import reference
from driftline.model.history import History, canonical_history
from driftline.model.reference import Level
from driftline.model.reference import aggregates as of
from driftline.model.row import Row, Value
from driftline.testing import streams
from tests.build import cti, history, insert, retract
from tests.engine.held_snapshots import BATCH_SIZES, hold, said_by

LONG, DOUBLE, TEXT, BOOL = pa.int64(), pa.float64(), pa.string(), pa.bool_()
MONEY, MONEY_SUM, MONEY_AVG = pa.decimal128(9, 2), pa.decimal128(19, 2), pa.decimal128(13, 6)
SCHEMA = pa.schema(
    [
        ("k", TEXT),
        ("i", LONG),
        ("f", DOUBLE),
        ("m", MONEY),
        ("s", TEXT),
        ("b", BOOL),
        ("p", pa.struct([("x", DOUBLE), ("y", DOUBLE)])),
    ]
)
KX = pa.schema([("k", TEXT), ("x", LONG)])
FLOATS = [0.1, 0.2, 0.3, -0.0, 0.0, 1e16, -1e16, 3.5, 1e308, math.inf, -math.inf, math.nan]
COLUMNS: dict[str, st.SearchStrategy[Value]] = {
    "k": st.sampled_from(["a", "b", None]),
    "i": st.one_of(st.none(), st.integers(-3, 3), st.sampled_from([2**53 + 1, -(2**60) + 7])),
    "f": st.one_of(st.none(), st.sampled_from(FLOATS)),
    "m": st.one_of(st.none(), st.integers(-500, 500).map(lambda units: Decimal(units) / 100)).map(
        lambda value: None if value is None else value.quantize(Decimal("0.01"))
    ),
    "s": st.sampled_from(["", "a", "ab", "é", "\U0001f600", None]),
    "b": st.sampled_from([True, False, None]),
    "p": st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {"x": st.sampled_from([0.1, 0.2, 1e9, -3.5, 1e308]), "y": st.sampled_from(FLOATS)}
        ).map(lambda pair: Row(x=pair["x"], y=pair["y"])),
        st.fixed_dictionaries(
            {"x": st.sampled_from([0.1, 0.2, 0.7, -3.5]), "y": st.floats(-2, 2)}
        ).map(lambda pair: Row(x=pair["x"], y=pair["y"])),
    ),
}


class Longest:
    """A user's own aggregate: the sum of the lengths, and the last text in order."""

    def initial(self) -> tuple[int, str]:
        return 0, ""

    def add(self, state: tuple[int, str], value: Value) -> tuple[int, str]:
        return state[0] + len(value), value

    def result(self, state: tuple[int, str]) -> Value:
        return f"{state[0]} {state[1]}"


class Lengths:
    """A user's own aggregate that can take values back: how often texts of each length came."""

    def initial(self) -> dict[int, int]:
        return {}

    def add(self, state: dict[int, int], value: Value) -> dict[int, int]:
        state[len(value)] = state.get(len(value), 0) + 1
        return state

    def remove(self, state: dict[int, int], value: Value) -> dict[int, int]:
        state[len(value)] -= 1
        return state

    def result(self, state: dict[int, int]) -> Value:
        return sum(length * count**2 for length, count in state.items())


Argument = Callable[[Row], Value]
Reference = Callable[[Argument], of.Aggregate]


def cases() -> dict[str, tuple[Aggregate, of.Aggregate]]:
    """Every aggregate of every column that it takes, with and without distinct."""
    found: dict[str, tuple[Aggregate, of.Aggregate]] = {
        "n": (Aggregate("n", "count", None, LONG), of.count_all())
    }

    def add(
        function: str, column: str, kind: pa.DataType, expected: Reference, **more: Any
    ) -> None:
        def argument(row: Row) -> Value:
            return row[column]

        for is_distinct in (False, True):
            name = f"{function}_{column}{'_distinct' * is_distinct}"
            aggregate = Aggregate(name, function, column, kind, distinct=is_distinct, **more)
            heeds_distinct = is_distinct and function not in ("first", "last")
            over = of.different(expected, argument) if heeds_distinct else expected(argument)
            found[name] = (aggregate, over)

    for field in SCHEMA:
        name, kind = field.name, field.type
        add("count", name, LONG, of.count)
        add("min", name, kind, of.min_)
        add("max", name, kind, of.max_)
        add("first", name, kind, of.first)
        add("last", name, kind, of.last)
        add("array_agg", name, pa.list_(kind), of.array_agg)
        add("mode", name, kind, of.mode)
    sums, averages = {"m": MONEY_SUM, "i": LONG}, {"m": MONEY_AVG}
    for name in "ifm":
        add("sum", name, sums.get(name, DOUBLE), of.sum_)
        add("avg", name, averages.get(name, DOUBLE), of.avg)
        add("variance", name, DOUBLE, of.variance)
        add("variance_pop", name, DOUBLE, of.variance_pop)
        add("stddev", name, DOUBLE, of.stddev)
        add("stddev_pop", name, DOUBLE, of.stddev_pop)
        add("skewness", name, DOUBLE, of.skewness)
        add("kurtosis", name, DOUBLE, of.kurtosis)
        add("median", name, DOUBLE, of.median)
        add("percentile", name, DOUBLE, lambda a: of.percentile(a, 0.3), parameter=0.3)
        add(
            "percentile_disc", name, SCHEMA.field(name).type,
            lambda a: of.percentile_disc(a, 0.3), parameter=0.3,
        )  # fmt: skip
    add("bit_and", "i", LONG, of.bit_and)
    add("bit_or", "i", LONG, of.bit_or)
    add("bit_xor", "i", LONG, of.bit_xor)
    add("covar_pop", "p", DOUBLE, of.covar_pop)
    add("covar_samp", "p", DOUBLE, of.covar_samp)
    add("user_defined", "s", TEXT, lambda a: of.user_defined(Longest(), a), definition=Longest())
    for function, expected in (("first", of.first), ("last", of.last)):
        found[f"{function}_only"] = (
            Aggregate(f"{function}_only", function, "i", LONG, only="b"),
            of.filtered(expected(lambda row: row["i"]), lambda row: row["b"]),
        )
    own = Aggregate("lengths", "user_defined", "s", LONG, definition=Lengths())
    found["lengths"] = (own, of.user_defined(Lengths(), lambda row: row["s"]))
    return found


CASES = cases()


def general(keys: list[str], names: Sequence[str], level: Level) -> GeneralGroupBy:
    return GeneralGroupBy(SCHEMA, keys, [CASES[name][0] for name in names], level)


def answer(keys: list[str], names: Sequence[str]) -> Callable[[History], History]:
    return lambda so_far: reference.group_by(
        so_far,
        {key: lambda row, key=key: row[key] for key in keys},  # type: ignore[misc]
        {name: CASES[name][1] for name in names},
    )


def test_median_and_distinct_follow_the_rows() -> None:
    #   a 10   1───────────9
    #   a 20       3───────────∞, then really 3───6
    operator = GeneralGroupBy(
        KX,
        ["k"],
        [
            Aggregate("middle", "median", "x", DOUBLE),
            Aggregate("kinds", "count", "x", LONG, distinct=True),
        ],
        Level.ORDERED,
    )
    ten, twenty = {"k": "a", "x": 10}, {"k": "a", "x": 20}
    events = [insert(1, 9, ten), insert(3, None, twenty), retract(3, None, 6, twenty), cti(8)]
    one, two = {"k": "a", "middle": 10.0, "kinds": 1}, {"k": "a", "middle": 15.0, "kinds": 2}
    assert said_by(operator, events, KX) == [
        insert(1, None, one),
        retract(1, None, 3, one),
        insert(3, None, two),
        retract(3, None, 6, two),
        insert(6, None, one),
        cti(8),
    ]


def test_a_change_that_changes_no_value_says_nothing() -> None:
    greatest = [Aggregate("last_word", "max", "s", TEXT)]
    schema = pa.schema([("s", TEXT)])
    operator = GeneralGroupBy(schema, [], greatest, Level.EAGER)
    emitted = said_by(operator, [insert(1, 9, {"s": "z"}), insert(3, 5, {"s": "a"})], schema)
    assert emitted == [insert(1, 9, {"last_word": "z"})]


def test_first_last_and_array_agg_go_by_time() -> None:
    functions = [("first", LONG), ("last", LONG), ("array_agg", pa.list_(LONG))]
    aggregates = [Aggregate(name, name, "x", kind) for name, kind in functions]
    operator = GeneralGroupBy(KX, [], aggregates, Level.EAGER)
    events = [insert(vs, 9, {"k": None, "x": x}) for vs, x in [(4, 1), (1, 7), (4, None)]]
    assert canonical_history(said_by(operator, events, KX, size=3)) == history(
        (1, 4, {"first": 7, "last": 7, "array_agg": (7,)}),
        (4, 9, {"first": 7, "last": 1, "array_agg": (7, 1)}),
    )


def test_a_decimal_average_is_rounded_half_up() -> None:
    schema = pa.schema([("m", MONEY)])
    aggregates = [Aggregate("a", "avg", "m", MONEY_AVG), Aggregate("s", "sum", "m", MONEY_SUM)]
    operator = GeneralGroupBy(schema, [], aggregates, Level.EAGER)
    events = [insert(1, 2, {"m": Decimal(text)}) for text in ("-0.01", "-0.01", "0.00")]
    emitted = canonical_history(said_by(operator, events, schema, size=3))
    assert emitted == history((1, 2, {"a": Decimal("-0.006667"), "s": Decimal("-0.02")}))


def test_decimals_of_38_digits_stay_exact() -> None:
    wide = pa.decimal128(38, 0)
    schema = pa.schema([("m", wide)])
    operator = GeneralGroupBy(schema, [], [Aggregate("s", "sum", "m", wide)], Level.EAGER)
    great, less = Decimal(10**37 + 1), Decimal(-(10**37) - 1)
    events = [insert(1, 2, {"m": value}) for value in (great, great, less, Decimal(5))]
    emitted = canonical_history(said_by(operator, events, schema, size=4))
    assert emitted == history((1, 2, {"s": Decimal(10**37 + 6)}))


@pytest.mark.parametrize(
    ("kind", "sum_kind", "value"),
    [
        (LONG, LONG, 2**62),
        (pa.decimal128(38, 0), pa.decimal128(38, 0), Decimal(6 * 10**37)),
        (MONEY, pa.decimal128(10, 2), Decimal("9999999.99")),
    ],
)
def test_a_sum_that_does_not_fit_is_an_error(
    kind: pa.DataType, sum_kind: pa.DataType, value: Value
) -> None:
    schema = pa.schema([("x", kind)])
    operator = GeneralGroupBy(schema, [], [Aggregate("s", "sum", "x", sum_kind)], Level.EAGER)
    events = [insert(1, 2, {"x": value})] * 20
    with pytest.raises(OverflowError, match="does not fit"):
        said_by(operator, events, schema, size=20)


@pytest.mark.parametrize(
    ("aggregate", "reason"),
    [
        (Aggregate("a", "sketch", "x", LONG), "there is no aggregate 'sketch'"),
        (Aggregate("a", "covar_pop", "x", LONG), "needs pairs of doubles"),
        (Aggregate("a", "sum", None, LONG), "sum needs an argument"),
        (Aggregate("a", "sum", "k", LONG), "sum needs numbers, and k is string"),
        (Aggregate("a", "percentile", "x", DOUBLE, parameter=2.0), "a share from 0 to 1, not 2.0"),
        (Aggregate("a", "user_defined", "x", LONG, definition=3), "initial, add and result"),
    ],
)
def test_what_cannot_be_computed_is_refused(aggregate: Aggregate, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        GeneralGroupBy(KX, [], [aggregate], Level.EAGER)


def test_group_by_takes_the_fast_path_where_there_is_one() -> None:
    total = Aggregate("s", "sum", "x", LONG)
    kinds = Aggregate("d", "count", "x", LONG, distinct=True)
    assert isinstance(group_by(KX, ["k"], [total], Level.EAGER), GroupBy)
    assert isinstance(group_by(KX, ["k"], [total, kinds], Level.EAGER), GeneralGroupBy)
    least = Aggregate("l", "min", "x", LONG, distinct=True)  # distinct makes no difference to it
    assert isinstance(group_by(KX, ["k"], [least], Level.EAGER), GroupBy)


@pytest.mark.parametrize("level", Level)
@settings(max_examples=60)
@given(st.data())
def test_aggregates_are_their_references_after_every_batch(
    level: Level, data: st.DataObject
) -> None:
    keys = data.draw(st.sampled_from([["k"], [], ["k", "s"]]))
    names = data.draw(st.lists(st.sampled_from(sorted(CASES)), min_size=1, max_size=6, unique=True))
    hold(
        lambda: general(keys, names, level),
        SCHEMA,
        answer(keys, names),
        data.draw(streams(COLUMNS)),
        level,
        data.draw(st.sampled_from(BATCH_SIZES)),
        data.draw(st.one_of(st.none(), st.integers(0, 5))),
    )


def by_function(names: Iterable[str]) -> list[tuple[str, ...]]:
    """The cases of each function, with and without DISTINCT: the same code for several types."""
    found = defaultdict(list)
    for name in sorted(names):
        found[CASES[name][0].function, CASES[name][0].distinct].append(name)
    return list(map(tuple, found.values()))


@pytest.mark.parametrize("names", by_function(CASES), ids=lambda names: names[0])
@settings(max_examples=8)
@given(st.data())
def test_each_function_alone(names: tuple[str, ...], data: st.DataObject) -> None:
    events = data.draw(streams(COLUMNS, max_size=5))
    size = data.draw(st.sampled_from(BATCH_SIZES))
    level = Level.EAGER
    hold(lambda: general([], names, level), SCHEMA, answer([], names), events, level, size)


@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False),
            st.floats(-10, 10),
            st.integers(-(2**53), 2**53).map(float),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_floats_are_rounded_once(values: list[float]) -> None:
    schema = pa.schema([("f", DOUBLE)])
    functions = {
        "sum": of.sum_,
        "avg": of.avg,
        "variance": of.variance,
        "stddev_pop": of.stddev_pop,
        "median": of.median,
    }
    aggregates = [Aggregate(name, name, "f", DOUBLE) for name in functions]
    operator = GeneralGroupBy(schema, [], aggregates, Level.EAGER)
    events = [insert(1, 2, {"f": value}) for value in values]
    emitted = canonical_history(said_by(operator, events, schema, size=len(events)))
    expected = {name: function(lambda row: row["f"]) for name, function in functions.items()}
    assert emitted == reference.group_by(canonical_history(events), {}, expected)


def test_structs_are_ordered_by_their_first_field() -> None:
    stream = dl.stream("s", {"k": "STRING", "x": "INT"})
    events = [
        dl.Insert(1, 9, dl.Row(k="b", x=1)),
        dl.Insert(2, 5, dl.Row(k="a", x=2)),
        dl.Insert(3, 4, dl.Row(k="c", x=None)),
    ]
    query = stream.agg("min(struct(x, k)).k AS low", "max(struct(x, k)).k AS high")
    found = query.run(s=events).history().to_pylist()
    assert [(row["vs"], row["low"], row["high"]) for row in found] == [
        (1, "b", "b"),
        (2, "b", "a"),
        (3, "c", "a"),
        (4, "b", "a"),
        (5, "b", "b"),
    ]
    first = stream.top(1, "struct(x, k)").select("k").run(s=events).history().to_pylist()
    assert [(row["vs"], row["k"]) for row in first] == [(1, "b"), (3, "c"), (4, "b")]
