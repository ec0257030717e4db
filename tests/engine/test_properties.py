"""The properties that the papers ask of physical operators, on all snapshot operators.

progressive            a cti brings the output up to it: what is final has been said
perfectness preserving perfect input gives perfect output, at the level `perfect`
order preserving       ordered input gives ordered output, at the level `ordered`
well behaved           inputs with equal histories give outputs with equal histories
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.additive.aggregates import Aggregate
from driftline.engine.additive.group_by import GroupBy, distinct
from driftline.engine.compile import compile_plan
from driftline.engine.core.operator import Operator
from driftline.engine.core.plain import batch_of, events_of
from driftline.model.event import CLOSE, Cti, Event, Insert, Retract
from driftline.model.history import History, canonical_history
from driftline.model.reference import Level, at_level, group_by, output_watermark
from driftline.model.reference import distinct as reference_distinct
from driftline.model.reference.aggregates import count_all, max_
from driftline.model.row import Row
from driftline.model.stream import closed_up_to, is_closed, is_ordered, is_perfect, is_valid
from driftline.model.time import INFINITY
from driftline.testing import histories, streams, streams_of
from driftline.testing.driving import drive
from tests.engine.held_snapshots import BATCH_SIZES

KX = pa.schema([("k", pa.string()), ("x", pa.int64())])
VALUES = [
    Aggregate("n", "count", None, pa.int64()),
    Aggregate("m", "max", "x", pa.int64()),
]
OPERATORS: dict[str, tuple[Callable[[Level], Operator], Callable[[History], History]]] = {
    "group by": (
        lambda level: GroupBy(KX, ["k"], VALUES, level),
        lambda history: group_by(
            history,
            {"k": lambda row: row["k"]},
            {"n": count_all(), "m": max_(lambda row: row["x"])},
        ),
    ),
    "distinct": (lambda level: distinct(KX, level), reference_distinct),
}
EVERY = pytest.mark.parametrize("name", OPERATORS)


def output(operator: Operator, events: Sequence[Event], size: int = 1) -> list[Event]:
    after_each = drive(operator, [(0, event) for event in events], [KX], size)
    return max((said for _, said in after_each), key=len, default=[])


@EVERY
@pytest.mark.parametrize("level", Level)
@given(streams(closed=False))
def test_progressive(name: str, level: Level, events: list[Event]) -> None:
    make, logical = OPERATORS[name]
    said = output(make(level), events)
    final = closed_up_to(said)
    truth = logical(canonical_history(events)).clip(end=final)
    assert canonical_history(said).clip(end=final).same_snapshots(truth)
    if level is not Level.PERFECT:  # there what is alive is said when it has ended
        assert final == closed_up_to(events)


@EVERY
@settings(max_examples=20)
@given(streams(closed=False), st.integers(0, 3), st.booleans(), st.sampled_from(BATCH_SIZES))
def test_what_is_emitted_up_to_a_row_that_was_never_there_stays(
    name: str, events: list[Event], later: int, promised: bool, size: int
) -> None:
    """It has moved the watermark, which then lies inside of a snapshot."""
    make, logical = OPERATORS[name]
    vs = max([0, output_watermark(events), closed_up_to(events)]) + later
    row = Row(k="a", x=1)
    ctis: list[Event] = [Cti(vs)] if promised else []
    gone = [Insert(vs, INFINITY, row), *ctis, Retract(vs, INFINITY, vs, row)]
    for level in Level:
        arrivals = [(0, event) for event in [*events, *gone]]
        for came, said in drive(make(level), arrivals, [KX], size):
            so_far = [event for _, event in came]
            answer = logical(canonical_history(so_far))
            wanted = at_level(level, answer, output_watermark(so_far))
            assert canonical_history(said).same_snapshots(wanted)
            assert is_valid(said)


@EVERY
@given(streams(max_delay=0, retractions=False))
def test_perfectness_preserving(name: str, events: list[Event]) -> None:
    perfect = [event for event in events if not isinstance(event, Cti)]
    said = output(OPERATORS[name][0](Level.PERFECT), [*perfect, CLOSE])
    assert is_perfect(said)
    assert is_closed(said)


@EVERY
@given(streams(max_delay=0))
def test_order_preserving(name: str, events: list[Event]) -> None:
    told = [event for event in events if isinstance(event, Insert | Retract)]
    changes: list[Event] = [*sorted(told, key=lambda event: event.sync)]
    if not _is_told_in_order(changes):
        return
    said = output(OPERATORS[name][0](Level.ORDERED), [*changes, CLOSE])
    assert is_ordered(said)
    assert is_closed(said)


def _is_told_in_order(changes: list[Event]) -> bool:
    """Whether sorting by sync time has left a valid stream (a chain may not be told backwards)."""
    return is_ordered(changes) and is_valid(changes)


@EVERY
@pytest.mark.parametrize("level", Level)
@given(st.data())
def test_well_behaved(name: str, level: Level, data: st.DataObject) -> None:
    table = data.draw(histories())
    make, _ = OPERATORS[name]
    told = [
        output(make(level), [*data.draw(streams_of(table)), CLOSE], data.draw(st.integers(1, 4)))
        for _ in range(2)
    ]
    assert canonical_history(told[0]).same_snapshots(canonical_history(told[1]))


TWO_COLUMNS = {"k": "STRING", "x": "BIGINT"}
S, T = (dl.stream(name, TWO_COLUMNS) for name in "st")
QUERIES = {
    **{
        f"{how} join": S.alias("l").join(T.alias("r"), "l.k = r.k AND l.x <= r.x", how)
        for how in ("inner", "left", "right", "full", "semi", "anti")
    },
    "intersect": S.intersect(T),
    "minus all": S.minus(T, all=True),
    "union": S.union(T),
    "distinct": S.union(T).distinct(),
    "sum": S.union(T).group_by("k").agg("sum(x) AS x"),
    "median": S.union(T).group_by("k").agg("median(x) AS x"),
    "first": S.union(T).group_by("k").agg("first(x) AS x"),
    "top": S.union(T).top(1, by="x DESC", per="k"),
    "rank": S.union(T).rank("x", per="k"),
    "over": S.union(T).over("lag(x) AS y", per="k", by="x"),
}


@pytest.mark.parametrize("name", QUERIES)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 9),
            st.sampled_from([1, 2, 5, None]),
            st.sampled_from("st"),
            st.sampled_from("ab"),
            st.integers(0, 1),
        ),
        max_size=8,
    )
)
def test_perfectness_preserving_of_several_inputs(
    name: str, drawn: list[tuple[int, int | None, str, str, int]]
) -> None:
    """At every moment the snapshots that have ended have been emitted, in order and for good."""
    plan = QUERIES[name].plan
    said: dict[Level, list[Event]] = {Level.PERFECT: [], Level.EAGER: []}
    graphs = {
        level: compile_plan(
            plan,
            lambda batch, so_far=so_far: so_far.extend(events_of(batch)),  # type: ignore[misc]
            level,
        )
        for level, so_far in said.items()
    }
    for vs, length, port, k, x in sorted(drawn, key=lambda each: each[0]):
        event = Insert(vs, INFINITY if length is None else vs + length, Row(k=k, x=x))
        for graph in graphs.values():
            if port in plan.sources():
                graph.push(port, batch_of([event], KX))
        truth = canonical_history(said[Level.EAGER]).clip(end=vs)
        assert canonical_history(said[Level.PERFECT]).clip(end=vs).same_snapshots(truth)
    for graph in graphs.values():
        for port in plan.sources():
            graph.push(port, batch_of([CLOSE], KX))
    assert is_perfect(said[Level.PERFECT])
    assert is_closed(said[Level.PERFECT])
    truth = canonical_history(said[Level.EAGER])
    assert canonical_history(said[Level.PERFECT]).same_snapshots(truth)
