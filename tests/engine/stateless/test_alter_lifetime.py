from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.stateless.alter_lifetime import AlterLifetime, multiples_after, plus
from driftline.engine.stateless.linear_times import Linear
from driftline.model import time
from driftline.model.event import Cti, Event, Insert
from driftline.model.history import History
from driftline.model.reference import alter_lifetime, hopping, now, sliding, unbounded, within
from driftline.model.reference.alter_lifetime import first_multiple_after
from driftline.model.stream import closed_up_to
from driftline.model.time import BEGINNING, INFINITY
from driftline.testing import streams
from driftline.testing.driving import batch_of, drive, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import BATCH_SIZES, KX, at_one_port, hold

P = pa.schema([("p", pa.string())])


def said_by(operator: AlterLifetime, *batches: list[Event]) -> list[list[Event]]:
    return [events_of(operator.receive(0, batch_of(batch, P))) for batch in batches]


def test_sliding() -> None:
    # a   |-----------∞            |----)
    #     1                        1    6
    operator = AlterLifetime.sliding(P, 5)
    assert said_by(operator, [insert(1, None, "a"), cti(1)]) == [[insert(1, 6, "a"), cti(1)]]


def test_an_end_that_a_window_does_not_see_changes_nothing() -> None:
    operator = AlterLifetime.sliding(P, 5)
    emitted = said_by(operator, [insert(1, None, "a")], [retract(1, None, 3, "a")])
    assert emitted == [[insert(1, 6, "a")], []]


def test_a_full_retraction_stays_one() -> None:
    operator = AlterLifetime.sliding(P, 5)
    emitted = said_by(operator, [insert(1, None, "a")], [retract(1, None, 1, "a")])
    assert emitted == [[insert(1, 6, "a")], [retract(1, 6, 1, "a")]]


def test_hopping() -> None:
    # windows of 10 every 5: the row at 7 is in those that end at 10 and 15, answered in [10, 20)
    operator = AlterLifetime.hopping(P, size=10, slide=5)
    emitted = said_by(operator, [insert(7, None, "a")], [cti(7)], [cti(9)], [cti(10)])
    assert emitted == [[insert(10, 20, "a")], [cti(10)], [], [cti(15)]]


def test_a_row_in_no_window_vanishes() -> None:
    operator = AlterLifetime.hopping(P, size=1, slide=5)
    emitted = said_by(operator, [insert(4, None, "a")], [insert(6, None, "b")])
    assert emitted == [[insert(5, 10, "a")], []]


def test_now_and_unbounded() -> None:
    assert said_by(AlterLifetime.now(P), [insert(3, 9, "a")]) == [[insert(3, 4, "a")]]
    endless = AlterLifetime.unbounded(P)
    assert said_by(endless, [insert(3, 9, "a")], [retract(3, 9, 4, "a")]) == [
        [insert(3, None, "a")],
        [],
    ]


def test_a_point_at_the_end() -> None:
    # [FROM ve FOR 1]: while the end is not known there is nothing; then it moves
    operator = AlterLifetime(P, Linear(0, 1, 0), Linear(0, 0, 1))
    emitted = said_by(
        operator,
        [insert(1, None, "a")],
        [retract(1, None, 9, "a")],
        [retract(1, 9, 5, "a"), cti(5)],
    )
    assert emitted == [
        [],
        [insert(9, 10, "a")],
        [insert(5, 6, "a"), retract(9, 10, 9, "a"), cti(5)],
    ]


def test_any_function_and_its_declared_cti() -> None:
    def start(vs: np.ndarray, ve: np.ndarray) -> np.ndarray:
        return vs // 10 * 10

    def ten(vs: np.ndarray, ve: np.ndarray) -> np.ndarray:
        return np.full(len(vs), 10, np.int64)

    silent = AlterLifetime(P, start, ten)
    assert said_by(silent, [insert(17, None, "a"), cti(17)], [cti(INFINITY)]) == [
        [insert(10, 20, "a")],
        [cti(INFINITY)],
    ]
    declared = AlterLifetime(P, start, ten, lambda t: t // 10 * 10)
    assert said_by(declared, [cti(17)], [cti(19)], [cti(20)]) == [[cti(10)], [], [cti(20)]]


def test_a_slide_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one tick"):
        AlterLifetime.hopping(P, 5, 0)


def test_the_watermark_sees_what_was_consolidated_away() -> None:
    phantom = batch_of([insert(7, 9, "a"), retract(7, 9, 7, "a")], P)
    assert len(phantom) == 0
    assert AlterLifetime.sliding(P, 5).receive(0, phantom).high == 7
    assert AlterLifetime.hopping(P, 10, 5).receive(0, phantom).high == 10
    assert AlterLifetime.hopping(P, 1, 5).receive(0, phantom).high == BEGINNING


EDGES = st.one_of(
    st.integers(-20, 20),
    st.sampled_from([INFINITY, INFINITY - 1, INFINITY - 7, BEGINNING, BEGINNING + 3]),
    st.integers(BEGINNING, INFINITY),
)


@given(st.lists(st.tuples(EDGES, EDGES), max_size=5), st.integers(1, INFINITY))
def test_arithmetic_is_that_of_the_model(pairs: list[tuple[int, int]], step: int) -> None:
    left = np.array([left for left, _ in pairs], np.int64)
    right = np.array([right for _, right in pairs], np.int64)
    assert plus(left, right).tolist() == [time.plus(*pair) for pair in pairs]
    expected = [first_multiple_after(moment, step) for moment, _ in pairs]
    assert multiples_after(left, step).tolist() == expected


Form = tuple[Callable[[], AlterLifetime], Callable[[History], History]]


@st.composite
def forms(draw: st.DrawFn) -> Form:
    size = draw(st.one_of(st.integers(-1, 9), st.just(INFINITY)))
    slide = draw(st.integers(1, 6))
    match draw(st.sampled_from(["sliding", "within", "hopping", "now", "unbounded", "linear"])):
        case "within":
            return lambda: AlterLifetime.within(KX, size), lambda history: within(history, size)
        case "sliding":
            return lambda: AlterLifetime.sliding(KX, size), lambda history: sliding(history, size)
        case "hopping":
            return (
                lambda: AlterLifetime.hopping(KX, size, slide),
                lambda history: hopping(history, size, slide),
            )
        case "now":
            return lambda: AlterLifetime.now(KX), now
        case "unbounded":
            return lambda: AlterLifetime.unbounded(KX), unbounded
    factors = st.integers(0, 2)
    start = Linear(draw(factors), draw(factors), draw(st.integers(-3, 3)))
    duration = Linear(draw(st.integers(-start.a, 2)), draw(factors), draw(st.integers(-5, 5)))
    return (
        lambda: AlterLifetime(KX, start, duration),
        lambda history: alter_lifetime(history, start, duration),
    )


@given(streams(), forms(), st.integers(0, 10))
def test_every_form_is_the_reference(events: list[Event], form: Form, renew_after: int) -> None:
    make, reference = form
    hold(make, reference, at_one_port(events), renew_after)


@given(streams(), st.integers(1, 9), st.integers(1, 6))
def test_ctis_advance_and_are_as_late_as_they_may_be(
    events: list[Event], size: int, slide: int
) -> None:
    expected_ctis: list[tuple[AlterLifetime, Callable[[int], int]]] = [
        (AlterLifetime.sliding(KX, size), lambda t: t),
        (AlterLifetime.hopping(KX, size, slide), lambda t: first_multiple_after(t, slide)),
    ]
    for operator, expected in expected_ctis:
        for came, emitted in drive(operator, at_one_port(events), [KX], 1):
            ctis = [event.t for event in emitted if isinstance(event, Cti)]
            assert ctis == sorted(set(ctis))
            if any(isinstance(event, Cti) for _, event in came):
                assert closed_up_to(emitted) == expected(closed_up_to(e for _, e in came))


@given(streams(), st.integers(1, 9))
def test_a_sliding_window_passes_the_watermark_on(events: list[Event], size: int) -> None:
    for batch_size in BATCH_SIZES:
        operator = AlterLifetime.sliding(KX, size)
        high = BEGINNING
        for start in range(0, len(events), batch_size):
            batch = batch_of(events[start : start + batch_size], KX)
            high = max(high, operator.receive(0, batch).high)
            came = events[: start + batch_size]
            inserts = [event.vs for event in came if isinstance(event, Insert)]
            assert high == max(inserts, default=BEGINNING)
