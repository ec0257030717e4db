from __future__ import annotations

import math
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.additive.group_by import GroupBy
from driftline.model.event import CLOSE, Cti, Event, Insert, Retract
from driftline.model.history import History, canonical_history
from driftline.model.reference import Level, at_level, group_by, output_watermark
from driftline.model.reference import aggregates as reference
from driftline.model.row import Row
from driftline.model.stream import breaches
from driftline.model.time import INFINITY
from driftline.testing import streams
from driftline.testing.driving import batch_of, drive, events_of

KX = pa.schema([("k", pa.string()), ("x", pa.int64())])
LONG, DOUBLE = pa.int64(), pa.float64()
AGGREGATES = {
    "n": (Aggregate("n", "count", None, LONG), reference.count_all()),
    "c": (Aggregate("c", "count", "x", LONG), reference.count(lambda row: row["x"])),
    "s": (Aggregate("s", "sum", "x", LONG), reference.sum_(lambda row: row["x"])),
    "a": (Aggregate("a", "avg", "x", DOUBLE), reference.avg(lambda row: row["x"])),
    "lo": (Aggregate("lo", "min", "x", LONG), reference.min_(lambda row: row["x"])),
    "hi": (Aggregate("hi", "max", "x", LONG), reference.max_(lambda row: row["x"])),
}


def operator(keys: list[str], names: Sequence[str], level: Level) -> GroupBy:
    return GroupBy(KX, keys, [AGGREGATES[name][0] for name in names], level)


def answer(events: list[Event], keys: list[str], names: Sequence[str]) -> History:
    return group_by(
        canonical_history(events),
        {key: lambda row, key=key: row[key] for key in keys},  # type: ignore[misc]
        {name: AGGREGATES[name][1] for name in names},
    )


def check(
    events: list[Event], keys: list[str], names: Sequence[str], level: Level, size: int
) -> None:
    arrivals = [(0, event) for event in events]
    for came, emitted in drive(operator(keys, names, level), arrivals, [KX], size):
        so_far = [event for _, event in came]
        expected = at_level(level, answer(so_far, keys, names), output_watermark(so_far))
        assert canonical_history(emitted).same_snapshots(expected), (
            canonical_history(emitted).coalesced(),
            expected.coalesced(),
            so_far,
            emitted,
        )
        assert not breaches(emitted)


@pytest.mark.parametrize("level", Level)
@given(st.data())
def test_group_by_is_its_reference_after_every_batch(level: Level, data: st.DataObject) -> None:
    events = data.draw(streams())
    keys = data.draw(st.sampled_from([["k"], [], ["k", "x"]]))
    names = data.draw(
        st.sampled_from([["n"], ["n", "s"], ["hi"], ["n", "c", "s", "a", "lo", "hi"]])
    )
    size = data.draw(st.sampled_from([1, 2, 3, 100]))
    check([*events, CLOSE], keys, names, level, size)


XY = pa.schema([("k", pa.string()), ("x", pa.float64())])
NUMBERS = st.one_of(
    st.none(),
    st.sampled_from([0.1, 0.2, 1e15, -1e15, 1e-3, float("inf"), float("-inf"), float("nan")]),
    st.sampled_from([1e308, -1e308, 1.7e308]),
)
FLOATS = {
    "c": (Aggregate("c", "count", "x", LONG), reference.count(lambda row: row["x"])),
    "s": (Aggregate("s", "sum", "x", DOUBLE), reference.sum_(lambda row: row["x"])),
    "hi": (Aggregate("hi", "max", "x", DOUBLE), reference.max_(lambda row: row["x"])),
    "lo": (Aggregate("lo", "min", "x", DOUBLE), reference.min_(lambda row: row["x"])),
}


@given(
    streams({"k": st.sampled_from(["a", "b"]), "x": NUMBERS}),
    st.permutations(sorted(FLOATS)),
    st.sampled_from([1, 3]),
)
def test_floats_are_exact_with_nan_and_infinities(
    events: list[Event], names: list[str], size: int
) -> None:
    operator = GroupBy(XY, ["k"], [FLOATS[name][0] for name in names], Level.EAGER)
    arrivals = [(0, event) for event in events]
    for came, emitted in drive(operator, arrivals, [XY], size):
        expected = group_by(
            canonical_history(event for _, event in came),
            {"k": lambda row: row["k"]},
            {name: FLOATS[name][1] for name in names},
        )
        assert canonical_history(emitted).same_snapshots(expected)


def test_a_sum_past_the_greatest_float_is_infinite_until_the_great_numbers_have_gone() -> None:
    functions = ["sum", "avg", "variance", "stddev_pop"]
    operator = GroupBy(XY, [], [Aggregate(f, f, "x", DOUBLE) for f in functions], Level.EAGER)
    emitted: list[Event] = []

    def after(*events: Event) -> list[float]:
        emitted.extend(events_of(operator.receive(0, batch_of(events, XY))))
        [answer] = canonical_history(emitted)
        return [answer.row[name] for name in functions]

    def gone(event: Insert) -> Retract:
        return Retract(event.vs, event.ve, event.vs, event.row)

    small, great, more = [forever(0, 1.0), forever(0, 2.0)], forever(0, 1e308), forever(0, 1.5e308)
    assert after(*small) == [3.0, 1.5, 0.5, 0.5]
    assert after(great) == [1e308, 1e308 / 3, math.inf, math.inf]
    assert after(more) == [math.inf] * 4
    assert after(*map(gone, small), gone(great)) == [1.5e308, 1.5e308, None, 0.0]
    assert after(more) == [math.inf, math.inf, 0.0, 0.0]
    assert after(*small, gone(more), gone(more)) == [3.0, 1.5, 0.5, 0.5]


def test_sums_do_not_drift() -> None:
    """Ten thousand times 0.1 is added beside 1e15 and taken away again: 0.3 is left, to the bit."""
    operator = GroupBy(XY, [], [FLOATS["s"][0]], Level.EAGER)
    emitted: list[Event] = []
    kept = forever(0, 0.1), forever(0, 0.2)
    emitted += events_of(operator.receive(0, batch_of(kept, XY)))
    for _ in range(100):
        many = [forever(0, 0.1) for _ in range(100)] + [forever(0, 1e15)]
        emitted += events_of(operator.receive(0, batch_of(many, XY)))
        gone = [Retract(event.vs, event.ve, event.vs, event.row) for event in many]
        emitted += events_of(operator.receive(0, batch_of(gone, XY)))
    [answer] = canonical_history(emitted)
    assert answer.row["s"] == math.fsum([0.1, 0.2])


def forever(vs: int, x: float) -> Insert:
    return Insert(vs, INFINITY, Row(k="a", x=x))


def test_an_integer_sum_that_does_not_fit_is_an_error() -> None:
    operator = GroupBy(KX, [], [AGGREGATES["s"][0]], Level.EAGER)
    big = [Insert(0, 5, Row(k="a", x=2**63 - 1)), Insert(1, 5, Row(k="a", x=1))]
    with pytest.raises(OverflowError, match="does not fit a BIGINT"):
        operator.receive(0, batch_of(big, KX))


def test_state_is_let_go() -> None:
    """Windows come and go for ever; what is held does not grow."""
    operator = operator_of_windows()
    held = []
    for start in range(0, 50_000, 500):
        events = [Insert(t, t + 100, Row(k=f"k{t % 50}", x=t)) for t in range(start, start + 500)]
        operator.receive(0, batch_of([*events, Cti(start + 500)], KX))
        held.append(operator.state_size())
    assert held[-1][0] <= 2 * held[10][0]
    assert held[-1][1] <= 2 * held[10][1]
    operator.receive(0, batch_of([CLOSE], KX))
    assert operator.state_size()[0] == 0
    assert operator.slots.live == 0


def operator_of_windows() -> GroupBy:
    return operator(["k"], ["n", "s", "hi"], Level.ORDERED)


def test_a_null_that_becomes_zero_is_a_change() -> None:
    for name in ("hi", "lo"):
        one = operator(["k"], [name], Level.EAGER)
        null = Insert(0, INFINITY, Row(k="a", x=None))
        emitted = events_of(one.receive(0, batch_of([null], KX)))
        zero: list[Event] = [Retract(0, INFINITY, 0, null.row)]
        zero.append(Insert(0, INFINITY, Row(k="a", x=0)))
        emitted += events_of(one.receive(0, batch_of(zero, KX)))
        [answer] = canonical_history(emitted)
        assert answer.row[name] == 0


@pytest.mark.parametrize("batch", [1, 2, 100])
@pytest.mark.parametrize("first", [0.0, -0.0])
def test_a_group_of_zeros_is_shown_by_0_whichever_came_first(first: float, batch: int) -> None:
    stream = dl.stream("s", {"k": "STRING", "d": "DOUBLE"})
    events = [
        dl.Insert(1, 9, dl.Row(k="a", d=first)),
        dl.Insert(2, 8, dl.Row(k="a", d=-first)),
        dl.Retract(1, 9, 1, dl.Row(k="a", d=first)),
    ]
    numbers = stream.select("d")
    for query in (
        stream.group_by("d").agg("count(*) AS n"),
        numbers.distinct(),
        numbers.minus(numbers.where("false")),
        numbers.intersect(numbers, all=True),
    ):
        found = query.select("CAST(d AS STRING) AS d").run(s=events, batch=batch)
        assert found.history().to_pylist() == [{"vs": 2, "ve": 8, "d": "0.0"}]
