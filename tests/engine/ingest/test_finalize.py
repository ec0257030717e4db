from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.ingest import admission
from driftline.engine.ingest.arrivals import ArrivedEvents
from driftline.engine.ingest.dead_letters import NOT_DECLARED, TOO_LATE, DeadLetters
from driftline.engine.ingest.finalize import Finalize
from driftline.model.columns import StreamColumns
from driftline.model.event import CLOSE, Cti, Event, Insert, Retract
from driftline.model.history import canonical_history
from driftline.model.reference import finalize
from driftline.model.reference.finalize import DeadLetter
from driftline.model.stream import breaches, closed_up_to
from driftline.model.time import BEGINNING, INFINITY
from driftline.testing import streams
from driftline.testing.driving import events_of
from tests.build import cti, external_cti, insert, retract
from tests.disorder import any_events, counted
from tests.engine.held_to_reference import BATCH_SIZES, KX

P = pa.schema([("p", pa.string())])
AB = pa.schema([("a", pa.int64()), ("b", pa.string())])
REMEMBER = st.one_of(st.integers(0, 14), st.just(INFINITY))


def columns(events: Sequence[Event], schema: pa.Schema) -> ArrivedEvents:
    return ArrivedEvents.of(StreamColumns.from_events("s", events, schema=schema), schema)


def letters_of(dead: DeadLetters) -> list[DeadLetter]:
    pairs = zip(dead.to_events(), dead.reasons(), strict=True)
    return [DeadLetter(event, reason) for event, reason in pairs]


def run(
    batches: Sequence[Sequence[Event]], remember: int = INFINITY
) -> tuple[list[list[Event]], list[DeadLetter]]:
    operator = Finalize(P, remember)
    emitted: list[list[Event]] = []
    letters: list[DeadLetter] = []
    for batch in batches:
        output, dead = operator.receive_events(columns(batch, P))
        emitted.append(events_of(output))
        letters += letters_of(dead)
    return emitted, letters


def test_a_valid_stream_passes_unchanged() -> None:
    events = [insert(1, None, "a"), retract(1, None, 5, "a"), cti(3), insert(3, 4, "b")]
    assert run([[event] for event in events]) == ([[event] for event in events], [])


def test_a_chain_that_comes_in_the_wrong_order_is_put_out_in_one_piece() -> None:
    # a  |---------------)    the first end is 9, then 7, then 3; the middle comes last
    #    1   3     7   9
    batches = [[insert(1, 9, "a")], [retract(1, 7, 3, "a")], [retract(1, 9, 7, "a")]]
    assert run(batches) == ([[insert(1, 9, "a")], [], [retract(1, 9, 3, "a")]], [])


def test_retracts_before_their_insert_shorten_or_remove_it() -> None:
    assert run([[retract(1, 9, 5, "a")], [insert(1, 9, "a")]])[0] == [[], [insert(1, 5, "a")]]
    assert run([[retract(1, 9, 1, "a")], [insert(1, 9, "a"), cti(9)]])[0] == [[], [cti(9)]]
    assert run([[retract(1, 9, 5, "a"), insert(1, 9, "a")]])[0] == [[insert(1, 5, "a")]]


def test_a_retract_whose_insert_never_came_is_a_dead_letter_when_its_time_has_passed() -> None:
    lost = retract(1, 9, 5, "a")
    emitted, dead = run([[lost], [cti(5)], [cti(6)]])
    assert emitted == [[], [cti(5)], [cti(6)]]
    assert dead == [DeadLetter(lost, "no insert came for it before its time passed")]


def test_remember_closes_the_past_also_inside_a_batch() -> None:
    events = [
        insert(10, None, "a"),
        insert(15, None, "b"),
        insert(9, None, "late"),
        insert(10, 12, "c"),
    ]
    emitted, dead = run([events], remember=5)
    assert emitted == [[insert(10, None, "a"), insert(10, 12, "c"), insert(15, None, "b"), cti(10)]]
    assert dead == [DeadLetter(events[2], "too late: its sync time 9 is before the watermark 10")]


def test_external_ctis_close_when_their_events_are_there_and_nothing_before_is_missing() -> None:
    emitted, dead = run(
        [
            [external_cti(5, 9, 1), insert(6, None, "b")],
            [external_cti(0, 5, 1)],
            [insert(2, None, "a")],
        ]
    )
    assert emitted == [[insert(6, None, "b")], [], [insert(2, None, "a"), cti(9)]]
    assert dead == []


def test_dead_letters_say_why_and_which_and_are_counted() -> None:
    operator = Finalize(P, INFINITY)
    operator.receive_events(columns([cti(5)], P))
    events = [
        insert(4, None, "late"),
        insert(9, 9, "empty"),
        external_cti(6, 9, 1),
        external_cti(8, 12, 1),
        insert(6, None, "a"),
        insert(7, None, "b"),
        insert(20, None, "c"),
        external_cti(19, 30, 0),
    ]
    _, dead = operator.receive_events(columns(events, P))
    assert dead.number.tolist() == [1, 2, 4, 6, 8]
    assert dead.reasons() == [
        "too late: its sync time 4 is before the watermark 5",
        "an insert needs vs < ve, but vs = 9, ve = 9",
        "it overlaps an earlier external cti",
        "one more than promised by the external cti: 1 events in [6, 9)",
        "1 events have come already",
    ]
    assert operator.dead.sum() == 5
    assert operator.dead[TOO_LATE] == 1


def test_a_stream_of_inserts_only_keeps_nothing() -> None:
    operator = Finalize(P, INFINITY, inserts_only=True)
    output, dead = operator.receive_events(
        columns([insert(1, None, "a"), retract(1, None, 5, "a"), external_cti(0, 9, 1)], P)
    )
    assert events_of(output) == [insert(1, None, "a")]
    assert dead.code.tolist() == [NOT_DECLARED, NOT_DECLARED]
    assert operator.state_size()[0] == 0


def test_rows_without_columns() -> None:
    operator = Finalize(pa.schema([]), INFINITY)
    events = [insert(1, 9, {}), insert(1, 9, {}), cti(1), retract(1, 9, 4, {}), insert(0, 9, {})]
    output, dead = operator.receive_events(columns(events, pa.schema([])))
    assert len(canonical_history(events_of(output))) == 2
    assert len(dead) == 1


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="remember = -1"):
        Finalize(P, -1)


def test_counts_of_a_far_past_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "COUNTS_KEPT", 2)
    operator = Finalize(P, INFINITY)
    for vs in range(20):
        operator.receive_events(columns([insert(vs, None, "a"), cti(vs)], P))
    assert operator.admission.kept < 10
    _, dead = operator.receive_events(
        columns([external_cti(0, 50, 30), external_cti(19, 30, 1)], P)
    )
    assert ["forgotten" in reason for reason in dead.reasons()] == [True]


def test_the_state_shrinks_when_a_cti_lets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftline.engine.ingest.chains._LEAST_CLEARED", 8)
    for taken_back in (False, True):
        operator = Finalize(P, remember=5)
        for vs in range(200):
            events = [insert(vs, vs + 3, "a"), insert(vs, vs + 3, "b")]
            events += [retract(vs, vs + 3, vs + 1, "a")] if taken_back else []
            operator.receive_events(columns(events, P))
        assert len(operator.chains) < 60


def hold(events: list[Event], schema: pa.Schema, remember: int, renew_after: int) -> None:
    """After every batch the history, the latest cti and the dead letters are the reference's; what
    dies of one event, in order of arrival."""
    arrival = {id(event): place for place, event in enumerate(events)}
    for size in BATCH_SIZES:
        operator = Finalize(schema, remember)
        outputs = finalize(events, remember)
        emitted: list[Event] = []
        expected: list[Event] = []
        dead_so_far: set[int] = set()
        for number, start in enumerate(range(0, len(events), size)):
            batch = events[start : start + size]
            output, dead = operator.receive_events(columns(batch, schema))
            emitted += events_of(output)
            letters: list[DeadLetter] = []
            for _ in batch:
                right = next(outputs)
                expected += right.events
                letters += sorted(right.dead, key=lambda letter: arrival[id(letter.event)])
            assert breaches(emitted) == []
            assert canonical_history(emitted) == canonical_history(expected)
            assert closed_up_to(emitted) == closed_up_to(expected)
            assert letters_of(dead) == letters
            dead_so_far |= {id(letter.event) for letter in letters}
            came = [e for e in events[: start + size] if id(e) not in dead_so_far]
            inserts = [event.vs for event in came if isinstance(event, Insert)]
            assert output.high <= max(inserts, default=BEGINNING)
            if number == renew_after:
                state = operator.snapshot()
                operator = Finalize(schema, remember)
                operator.restore(state)


@given(streams(), REMEMBER, st.integers(0, 12))
def test_valid_streams(events: list[Event], remember: int, renew_after: int) -> None:
    hold(events, KX, remember, renew_after)


@given(streams(), REMEMBER, st.integers(0, 12), st.randoms(use_true_random=False))
def test_streams_in_any_order(
    events: list[Event], remember: int, renew_after: int, random: object
) -> None:
    shuffled = list(events)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    hold(shuffled, KX, remember, renew_after)


@given(streams(closed=False), REMEMBER, st.randoms(use_true_random=False))
def test_broken_chains(events: list[Event], remember: int, random: object) -> None:
    changes = [event for event in events if not isinstance(event, Cti)]
    random.shuffle(changes)  # type: ignore[attr-defined]
    hold([*changes, CLOSE], KX, remember, renew_after=3)


@given(any_events, REMEMBER, st.integers(0, 12))
def test_any_events_at_all(events: list[Event], remember: int, renew_after: int) -> None:
    hold(events, AB, remember, renew_after)


@given(streams(closed=False).flatmap(counted), st.integers(0, 12))
def test_promises_that_are_kept_lose_nothing(events: list[Event], renew_after: int) -> None:
    hold(events, KX, INFINITY, renew_after)
    emitted = [event for output in finalize(events, INFINITY) for event in output.events]
    changes = [event for event in events if isinstance(event, Insert | Retract)]
    inserts_first = sorted(changes, key=lambda event: (isinstance(event, Retract), -event.ve))
    assert canonical_history(emitted) == canonical_history(inserts_first)
    assert closed_up_to(emitted) == INFINITY


def test_an_external_cti_waits_for_the_predecessor_of_a_retract() -> None:
    # a  |----------------)   the end is 13, then 9; the counts of [0, 11) are there before the 13
    #    8    9       13
    batches = [
        [external_cti(13, 14, 1), insert(8, None, "a")],
        [retract(8, 13, 9, "a")],
        [external_cti(0, 11, 2)],
        [external_cti(11, 13, 0)],
        [retract(8, None, 13, "a")],
    ]
    emitted, dead = run(batches)
    assert emitted == [
        [insert(8, None, "a")],
        [],
        [cti(9)],
        [],
        [retract(8, None, 9, "a"), cti(14)],
    ]
    assert dead == []


def test_a_retract_dies_when_its_predecessors_time_has_passed() -> None:
    lost = retract(1, 9, 5, "a")
    batches = [[lost, external_cti(0, 6, 1)], [external_cti(6, 10, 0)], [insert(11, 12, "b")]]
    assert run(batches) == (
        [[cti(5)], [cti(10)], [insert(11, 12, "b")]],
        [DeadLetter(lost, "no insert came for it before its time passed")],
    )
