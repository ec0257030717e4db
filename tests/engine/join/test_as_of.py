from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.core.plain import batch_of
from driftline.engine.join.as_of import AsOf
from driftline.engine.lifetimes.restate import Retell
from driftline.model.event import CLOSE, Event, Insert, Retract
from driftline.model.history import History, canonical_history
from driftline.model.reference import as_of_join
from driftline.model.row import Row
from driftline.model.stream import breaches
from driftline.model.time import INFINITY
from driftline.testing import interleaved, streams
from driftline.testing.driving import drive, events_of
from tests.build import cti, insert, retract

LEFT = pa.schema([("k", pa.string()), ("x", pa.int64())])
RIGHT = pa.schema([("k2", pa.string()), ("x2", pa.int64())])
COLUMNS = {"k": st.sampled_from(["a", "b", None]), "x": st.sampled_from([None, 0, 1, 2, 3])}
ARRIVALS = interleaved(streams(COLUMNS, max_size=6), streams(COLUMNS, max_size=6))
SIZES = st.sampled_from([1, 2, 100])


def made(**options: Any) -> AsOf:
    return AsOf(LEFT, RIGHT, (["k"], ["k2"]), ("x", "x2"), **options)


def rank(row: Row) -> int:
    rows = batch_of([insert(0, None, dict(row))], RIGHT)
    return int(rows.row_fingerprints().low.view("int64")[0])


def renamed(event: Event) -> Event:
    if not isinstance(event, Insert | Retract):
        return event
    return replace(event, row=Row(k2=event.row["k"], x2=event.row["x"]))


def meant(left: History, right: History, *, padded: bool, strict: bool) -> History:
    return as_of_join(
        left,
        right,
        lambda one, other: None if None in (one["k"], other["k2"]) else one["k"] == other["k2"],
        lambda row: row["x"],
        lambda row: row["x2"],
        rank,
        ["k2", "x2"] if padded else None,
        strict=strict,
    )


def quote(vs: int, x: int) -> Event:
    return insert(vs, None, {"k2": "a", "x2": x})


def trade(vs: int) -> Event:
    return insert(vs, None, {"k": "a", "x": vs})


def pair(x: int, quoted: int) -> dict[str, object]:
    return {"k": "a", "x": x, "k2": "a", "x2": quoted}


def test_a_late_quote_corrects_the_trades_it_was_the_right_one_for_and_only_those() -> None:
    operator = made(by_time=True)
    arrivals = [(1, quote(1, 1)), (1, quote(8, 8)), *((0, trade(at)) for at in (2, 5, 9))]
    *_, (_, emitted) = drive(operator, arrivals, [LEFT, RIGHT], 1, restore=False)
    assert [event for event in emitted if isinstance(event, Insert)] == [
        insert(2, None, pair(2, 1)),
        insert(5, None, pair(5, 1)),
        insert(9, None, pair(9, 8)),
    ]
    assert events_of(operator.receive(1, batch_of([quote(4, 4)], RIGHT))) == [
        retract(5, None, 5, pair(5, 1)),
        insert(5, None, pair(5, 4)),
    ]


def test_a_cti_of_both_sides_leaves_the_last_quote() -> None:
    operator = made(by_time=True)
    arrivals = [(1, quote(1, 1)), (1, quote(3, 3)), (1, quote(8, 8)), (0, trade(2)), (0, trade(9))]
    list(drive(operator, [*arrivals, (0, cti(7)), (1, cti(7))], [LEFT, RIGHT], 1, restore=False))
    assert operator.state_size()[0] == 3  # the quotes of 3 and 8, the trade of 9


def test_of_the_next_quote_only_trades_that_wait_for_one_are_left() -> None:
    operator = made(forward=True)
    arrivals = [(1, quote(at, -at)) for at in (1, 3, 8)]
    arrivals += [(0, insert(at, None, {"k": "a", "x": -at})) for at in (2, 3, 4, 9)]
    list(drive(operator, [*arrivals, (0, cti(7)), (1, cti(7))], [LEFT, RIGHT], 1, restore=False))
    assert operator.state_size()[0] == 3  # the quote of 8, the trades of 4 and 9


@settings(max_examples=80)
@given(ARRIVALS, SIZES, st.booleans(), st.booleans())
def test_it_is_its_reference(
    arrivals: list[tuple[int, Event]], size: int, padded: bool, strict: bool
) -> None:
    arrivals = [(port, renamed(event) if port else event) for port, event in arrivals]
    operator = made(padded=padded, strict=strict)
    retell = Retell(operator.schema)
    emitted: list[Event] = []
    receive = operator.receive
    operator.receive = lambda port, batch: retell.receive(0, receive(port, batch))  # type: ignore[method-assign]
    closed = [*arrivals, (0, CLOSE), (1, CLOSE)]
    for came, emitted in drive(operator, closed, [LEFT, RIGHT], size, restore=False):
        left, right = (
            canonical_history(event for which, event in came if which == port) for port in (0, 1)
        )
        expected = meant(left, right, padded=padded, strict=strict)
        assert breaches(emitted) == []
        assert canonical_history(emitted).same_snapshots(expected)
    assert operator.state_size()[0] == 0


@settings(max_examples=60)
@given(
    interleaved(
        streams(COLUMNS, max_size=6, retractions=False),
        streams(COLUMNS, max_size=6, retractions=False),
    ),
    SIZES,
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_of_records_by_their_time_it_is_valid_by_itself(
    arrivals: list[tuple[int, Event]], size: int, padded: bool, strict: bool, forward: bool
) -> None:
    records = [
        (port, renamed(each) if port else each)
        for port, event in arrivals
        for each in [
            Insert(event.vs, INFINITY, Row(event.row, x=-event.vs if forward else event.vs))
            if isinstance(event, Insert)
            else event
        ]
    ]
    operator = made(padded=padded, strict=strict, by_time=not forward, forward=forward)
    for came, emitted in drive(operator, records, [LEFT, RIGHT], size):
        left, right = (
            canonical_history(event for which, event in came if which == port) for port in (0, 1)
        )
        assert breaches(emitted) == []
        expected = meant(left, right, padded=padded, strict=strict)
        assert canonical_history(emitted).same_snapshots(expected)
