from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from driftline.engine.core.batch import Batch, empty
from driftline.engine.join import How, Join
from driftline.model.event import CLOSE, Cti, Event, Insert, Retract
from driftline.model.history import History, Lifetime, canonical_history
from driftline.model.reference import (
    anti_join,
    full_join,
    inner_join,
    left_join,
    right_join,
    semi_join,
)
from driftline.model.row import Row, Value
from driftline.model.stream import breaches
from driftline.model.time import BEGINNING, INFINITY
from driftline.testing import streams
from driftline.testing.driving import as_batched, batch_of, drive, events_of
from driftline.testing.streams import interleaved, streams_of
from tests.build import cti, history, insert, retract

Arrivals = list[tuple[int, Event]]
Condition = Callable[[Row, Row], bool | None]

KINDS: tuple[How, ...] = get_args(How)
OTHER_KEYS: list[tuple[list[str], list[str]]] = [([], []), (["x"], ["y"]), (["k", "x"], ["j", "y"])]

LEFT = pa.schema([("k", pa.string()), ("x", pa.int64())])
RIGHT = pa.schema([("j", pa.string()), ("y", pa.int64())])

left_columns: dict[str, st.SearchStrategy[Value]] = {
    "k": st.sampled_from(["a", "b", None]),
    "x": st.sampled_from([None, 1, 2]),
}
right_columns: dict[str, st.SearchStrategy[Value]] = {
    "j": st.sampled_from(["a", "b", None]),
    "y": st.sampled_from([None, 1, 2]),
}
sizes = st.sampled_from([1, 2, 3, 1000])
arrivals = interleaved(streams(left_columns), streams(right_columns))


@st.composite
def in_step(draw: st.DrawFn) -> Arrivals:
    """Two busy streams with little disorder, of which the one that is behind comes first: much of
    the past is let go while lifetimes go on."""
    long, short = (
        st.builds(
            lambda vs, length, row=row: Lifetime(vs, vs + length, row), st.integers(0, 8), some
        )
        for row, some in (
            (Row(k="a", x=1), st.integers(5, 9)),
            (Row(j="a", y=2), st.integers(1, 3)),
        )
    )
    rest = []
    for lifetimes, most in ((long, 2), (short, 8)):
        told = History(draw(st.lists(lifetimes, min_size=1, max_size=most)))
        untrue = draw(st.lists(lifetimes, max_size=2))
        rest.append(draw(streams_of(told, untrue, max_delay=2, closed=False)))
    came: Arrivals = []
    reached = [BEGINNING, BEGINNING]
    while rest[0] or rest[1]:
        port = 0 if rest[0] and (reached[0] <= reached[1] or not rest[1]) else 1
        event = rest[port].pop(0)
        if isinstance(event, (Insert, Retract, Cti)):
            reached[port] = max(reached[port], event.sync)
        came.append((port, event))
    return came


def below(joined: pa.RecordBatch) -> NDArray[np.bool_]:
    """x < y, false where it is null."""
    x, y = joined.column("x").to_numpy(False), joined.column("y").to_numpy(False)
    return np.asarray(x < y, np.bool_)


def reference(how: How, left: History, right: History, on: Condition) -> History:
    match how:
        case "inner":
            return inner_join(left, right, on)
        case "left":
            return left_join(left, right, on, RIGHT.names)
        case "right":
            return right_join(left, right, on, LEFT.names)
        case "full":
            return full_join(left, right, on, LEFT.names, RIGHT.names)
        case "semi":
            return semi_join(left, right, on)
        case "anti":
            return anti_join(left, right, on)


def condition(left_keys: list[str], right_keys: list[str], residual: bool) -> Condition:
    def on(left: Row, right: Row) -> bool:
        keys = zip(left_keys, right_keys, strict=True)
        pairs = [(left[one], right[other]) for one, other in keys]
        if any(one is None or one != other for one, other in pairs):
            return False
        x, y = left["x"], right["y"]
        return not residual or (isinstance(x, int) and isinstance(y, int) and x < y)

    return on


def check(
    how: How, came: Arrivals, size: int, left_keys: list[str], right_keys: list[str], residual: bool
) -> None:
    """After every batch: the reference's history, a valid stream, the promise that can be made."""
    join = Join(LEFT, RIGHT, how, left_keys, right_keys, below if residual else None)
    on = condition(left_keys, right_keys, residual)
    for so_far, emitted in drive(join, came, [LEFT, RIGHT], size):
        inputs = [[event for which, event in so_far if which == port] for port in (0, 1)]
        left, right = map(canonical_history, inputs)
        so_said, expected = canonical_history(emitted), reference(how, left, right, on)
        assert so_said == expected if how == "inner" else so_said.same_snapshots(expected)
        assert not breaches(emitted)
        ctis = [max(ctis_of(events), default=BEGINNING) for events in inputs]
        assert max(ctis_of(emitted), default=BEGINNING) == min(ctis)
        if min(ctis) == INFINITY:
            assert join.state_size()[0] == 0


def ctis_of(events: list[Event]) -> list[int]:
    return [event.t for event in events if isinstance(event, Cti)]


# Literal examples: p on the left, q on the right.

P, Q = pa.schema([("p", pa.string())]), pa.schema([("q", pa.string())])


def run(how: How, *events: tuple[int, Event]) -> list[Event]:
    join = Join(P, Q, how, ["p"], ["q"], None)
    emitted: list[Event] = []
    for port, event in events:
        emitted += events_of(join.receive(port, batch_of([event], (P, Q)[port])))
    return emitted


def right(vs: int, ve: int | None, value: str) -> tuple[int, Event]:
    return 1, insert(vs, ve, {"q": value})


def test_the_cedr_example() -> None:
    """Tables 1 and 4 of section 4.3."""
    emitted = run(
        "inner",
        (0, insert(0, 2, "A0")),
        (0, cti(1)),
        (0, insert(2, 6, "A1")),
        right(3, 5, "A1"),
        (1, cti(3)),
        (0, retract(2, 6, 4, "A1")),
    )
    pair = {"p": "A1", "q": "A1"}
    assert emitted == [insert(3, 5, pair), cti(1), retract(3, 5, 4, pair)]


def test_left_join_pads_the_gaps() -> None:
    # l   0 ------------- 10
    # r       3 --- 5
    #               5 -- 7
    events = [(0, insert(0, 10, "a")), right(3, 5, "a"), right(5, 7, "a")]
    pair, padded = {"p": "a", "q": "a"}, {"p": "a", "q": None}
    assert canonical_history(run("left", *events)) == history(
        (0, 3, padded), (3, 5, pair), (5, 7, pair), (7, 10, padded)
    )
    assert canonical_history(run("semi", *events)) == history((3, 7, "a"))
    assert canonical_history(run("anti", *events)) == history((0, 3, "a"), (7, 10, "a"))


def test_a_null_key_matches_nothing() -> None:
    null: tuple[int, Event] = (0, Insert(0, 9, Row(p=None)))
    other: tuple[int, Event] = (1, Insert(0, 9, Row(q=None)))
    assert run("inner", null, other) == []
    assert run("anti", null, other) == [null[1]]
    assert len(run("full", null, other)) == 2


def test_a_gap_that_grows_after_it_was_final_goes_on_in_another_piece() -> None:
    # l   0 ---------------- 10
    # r        4 -- 6              is taken back after cti 4, emitted again, and taken back
    join = Join(P, Q, "anti", ["p"], ["q"], None)

    def step(port: int, *events: Event) -> list[Event]:
        return events_of(join.receive(port, batch_of(events, (P, Q)[port])))

    assert step(0, insert(0, 10, "a"), cti(9)) == [insert(0, 10, "a")]
    emitted = step(1, insert(4, 6, {"q": "a"}), cti(4))
    assert emitted == [retract(0, 10, 4, "a"), insert(6, 10, "a"), cti(4)]
    emitted = step(1, retract(4, 6, 4, {"q": "a"}))
    assert emitted == [insert(4, 10, "a"), retract(6, 10, 6, "a")]
    emitted = step(1, insert(7, 8, {"q": "a"}), cti(6))
    assert emitted == [retract(4, 10, 7, "a"), insert(8, 10, "a"), cti(6)]
    emitted = step(1, retract(7, 8, 7, {"q": "a"}))
    assert emitted == [insert(7, 10, "a"), retract(8, 10, 8, "a")]
    assert step(0, retract(0, 10, 9, "a")) == [retract(7, 10, 9, "a")]
    assert step(1, cti(12)) == [cti(9)]


def test_a_lifetime_that_comes_again_is_said_like_the_one_it_is_cut_from() -> None:
    # r   2 -- 4, then really 2 - 3
    #     2 ------- ∞, which loses its match [3, ∞) when 3 is final, and then really ends at 4
    padded = {"p": None, "q": "b"}
    emitted = run(
        "right",
        (0, insert(3, None, "b")),
        right(2, 4, "b"),
        right(2, None, "b"),
        (0, cti(3)),
        (1, cti(3)),
        (1, retract(2, 4, 3, {"q": "b"})),
        (0, retract(3, None, 3, "b")),
        (1, retract(2, None, 4, {"q": "b"})),
    )
    assert not breaches(emitted)
    assert canonical_history(emitted) == history((2, 3, padded), (2, 3, padded), (3, 4, padded))


def test_a_row_without_end_and_without_a_match_does_not_hold_the_cti() -> None:
    padded = {"p": "a", "q": None}
    emitted = run("left", (0, insert(0, None, "a")), (0, cti(50)), (1, cti(40)))
    assert emitted == [insert(0, None, padded), cti(40)]


def test_a_past_that_was_let_go_is_remembered() -> None:
    # l   0 -------------------- ∞
    # r   0 -- 3 -- 6 -- 9         one after the other: one long match
    events: Arrivals = [(0, insert(0, None, "a")), (0, cti(1000))]
    for start in range(0, 300, 3):
        events += [right(start, start + 3, "a"), (1, cti(start + 3))]
    join = Join(P, Q, "semi", ["p"], ["q"], None)
    emitted: list[Event] = []
    for port, event in events:
        emitted += events_of(join.receive(port, batch_of([event], (P, Q)[port])))
        assert join.state_size()[0] <= 4
    assert canonical_history(emitted).same_snapshots(history((0, 300, "a")))


def test_weights_beyond_one() -> None:
    twice = [(0, insert(0, 9, "a"))] * 2 + [right(0, 9, "a")] * 3
    assert len(canonical_history(run("inner", *twice))) == 6
    assert len(canonical_history(run("semi", *twice))) == 2


def test_an_empty_batch_says_nothing() -> None:
    join = Join(P, Q, "full", ["p"], ["q"], None)
    assert join.receive(0, empty(P)).is_empty
    assert join.receive(1, empty(Q, cti=5)).is_empty
    assert events_of(join.receive(0, empty(P, cti=3))) == [cti(3)]
    assert join.receive(0, empty(P, cti=3)).is_empty


# Properties.


@pytest.mark.parametrize("how", KINDS)
@given(came=arrivals, size=sizes, residual=st.booleans())
def test_like_the_reference(how: How, size: int, came: Arrivals, residual: bool) -> None:
    check(how, came, size, ["k"], ["j"], residual)


@pytest.mark.parametrize("how", KINDS)
@given(came=in_step(), size=sizes, residual=st.booleans())
def test_like_the_reference_when_the_past_is_let_go(
    how: How, size: int, came: Arrivals, residual: bool
) -> None:
    check(how, came, size, ["k"], ["j"], residual)


@pytest.mark.parametrize("how", KINDS)
def test_what_no_key_holds_may_become_shorter(how: How) -> None:
    row = Row(k=None, x=1)
    came: Arrivals = [(0, Insert(0, INFINITY, row)), (0, Cti(5)), (1, Cti(5))]
    came.append((0, Retract(0, INFINITY, 8, row)))
    check(how, came, 1, ["k"], ["j"], residual=False)


@pytest.mark.parametrize("how", KINDS)
@settings(max_examples=40)
@given(came=arrivals, size=sizes, keys=st.sampled_from(OTHER_KEYS), residual=st.booleans())
def test_other_keys_and_none(
    how: How, came: Arrivals, size: int, keys: tuple[list[str], list[str]], residual: bool
) -> None:
    check(how, came, size, *keys, residual)


@given(
    how=st.sampled_from(KINDS),
    came=arrivals | in_step(),
    size=sizes,
    cut=st.integers(0, 40),
    residual=st.booleans(),
)
def test_a_snapshot_goes_on_as_if_nothing_had_happened(
    how: How, came: Arrivals, size: int, cut: int, residual: bool
) -> None:
    def fresh() -> Join:
        return Join(LEFT, RIGHT, how, ["k"], ["j"], below if residual else None)

    kept, restored = fresh(), fresh()
    for start in range(0, len(came), size):
        for port, schema in enumerate((LEFT, RIGHT)):
            events = [event for which, event in came[start : start + size] if which == port]
            batch = batch_of(as_batched(events), schema)
            one, other = kept.receive(port, batch), restored.receive(port, batch)
            assert sorted(map(str, events_of(one))) == sorted(map(str, events_of(other)))
            if start <= cut < start + size:
                arrays = {name: array.copy() for name, array in restored.snapshot().items()}
                restored = fresh()
                restored.restore(arrays)


# State and cost.


KT = pa.schema([("k", pa.int64()), ("t", pa.int64())])
JS = pa.schema([("j", pa.int64()), ("s", pa.int64())])


forever = Batch(
    np.array([0]),
    np.array([INFINITY]),
    np.array([1]),
    pa.RecordBatch.from_pylist([{"k": 0, "t": -1}], schema=KT),
)


def feed(join: Join, port: int, start: int, count: int, keys: int, length: int, lag: int) -> None:
    ts = np.arange(start, start + count)
    payload = pa.RecordBatch.from_arrays([pa.array(ts % keys), pa.array(ts)], schema=(KT, JS)[port])
    join.receive(
        port, Batch(ts, ts + length, np.ones(count, np.int64), payload, start + count - lag)
    )


@pytest.mark.parametrize("how", KINDS)
def test_windows_keep_the_state_small(how: How) -> None:
    join = Join(KT, JS, how, ["k"], ["j"], None)
    largest = 0
    for start in range(0, 100_000, 1000):
        for port in (0, 1):
            feed(join, port, start, 1000, keys=37, length=50, lag=10)
            largest = max(largest, join.state_size()[1])
    rows, size = join.state_size()
    assert rows < 400
    assert size <= largest < 1_000_000
    join.receive(0, empty(KT, cti=INFINITY))
    join.receive(1, empty(JS, cti=INFINITY))
    assert join.state_size()[0] == 0


@pytest.mark.parametrize("how", KINDS)
def test_a_hot_key_costs_what_overlaps(how: How) -> None:
    # one key; on the left an everlasting row and short ones, on the right short ones; no ctis
    seen = 0

    def all_true(joined: pa.RecordBatch) -> NDArray[np.bool_]:
        nonlocal seen
        seen += len(joined)
        return np.ones(len(joined), np.bool_)

    join, pairs, count, size = Join(KT, JS, how, ["k"], ["j"], all_true), 0, 20_000, 500
    join.receive(0, forever)
    for start in range(0, 10 * count, 10 * size):
        ts = np.arange(start, start + 10 * size, 10)
        for port, length in ((0, 10), (1, 5)):
            key = pa.array(np.zeros(size, np.int64))
            payload = pa.RecordBatch.from_arrays([key, pa.array(ts)], schema=(KT, JS)[port])
            join.receive(port, Batch(ts, ts + length, np.ones(size, np.int64), payload))
        pairs += 2 * size
    assert pairs <= seen <= 5 * pairs


def test_a_silent_right_side_with_ctis_prunes_the_left() -> None:
    join = Join(KT, JS, "inner", ["k"], ["j"], None)
    for start in range(0, 50_000, 1000):
        feed(join, 0, start, 1000, keys=10, length=50, lag=0)
        join.receive(1, empty(JS, cti=start + 1000))
    assert join.state_size()[0] <= 100


def test_a_left_row_of_an_inner_join_goes_without_a_cti_of_its_own() -> None:
    join = Join(P, Q, "inner", ["p"], ["q"], None)
    join.receive(0, batch_of([insert(0, 5, "a")], P))
    join.receive(1, batch_of([cti(5)], Q))
    assert join.state_size()[0] == 0
    assert join.receive(0, batch_of([retract(0, 5, 3, "a")], P)).is_empty


def test_closing_promises_everything() -> None:
    for how in KINDS:
        closed = run(how, (0, insert(0, None, "a")), right(2, None, "b"), (0, CLOSE), (1, CLOSE))
        assert closed[-1] == CLOSE


def test_schemas() -> None:
    left = pa.schema([pa.field("k", pa.int64(), nullable=False)])
    right = pa.schema([pa.field("j", pa.int64(), nullable=False)])
    nullable = {
        how: [field.nullable for field in Join(left, right, how, ["k"], ["j"], None).schema]
        for how in KINDS
    }
    assert nullable == {
        "inner": [False, False],
        "left": [False, True],
        "right": [True, False],
        "full": [True, True],
        "semi": [False],
        "anti": [False],
    }
