from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.core.batch import Batch
from driftline.engine.ingest.align import Align
from driftline.model.event import CLOSE, Cti, Event, Insert
from driftline.model.history import History, Lifetime, canonical_history
from driftline.model.reference import align
from driftline.model.row import Row
from driftline.model.stream import breaches, closed_up_to, is_ordered
from driftline.model.time import INFINITY
from driftline.testing import streams
from driftline.testing.driving import batch_of, drive, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import BATCH_SIZES, KX, at_one_port

P = pa.schema([("p", pa.string())])
BLOCKS = st.one_of(st.integers(0, 15), st.just(INFINITY))


def said_by(operator: Align, *batches: list[Event]) -> list[list[Event]]:
    return [events_of(operator.receive(0, batch_of(batch, P))) for batch in batches]


def test_without_blocking_everything_passes_at_once() -> None:
    batches = [[insert(5, None, "a"), insert(3, None, "b")], [retract(5, None, 900, "a"), cti(3)]]
    emitted = said_by(Align(P, block=0), *batches)
    assert emitted == [[insert(3, None, "b"), insert(5, None, "a")], batches[1]]


def test_a_cti_releases_in_sync_order() -> None:
    operator = Align(P, INFINITY)
    emitted = said_by(
        operator, [insert(5, None, "a"), insert(3, None, "b")], [insert(9, None, "c")], [cti(6)]
    )
    assert emitted == [[], [], [insert(3, None, "b"), insert(5, None, "a"), cti(6)]]
    assert operator.state_size()[0] == 1


def test_what_follows_a_waiting_change_is_merged_with_it() -> None:
    # a   |------------------∞   inserted, shortened to 10, to 5, all while it waits
    # b   |--------)             inserted, and taken back
    # c   |------------------∞   goes out; then it is shortened to 10 and to 7
    operator = Align(P, INFINITY)
    emitted = said_by(
        operator,
        [insert(1, None, "c"), cti(2)],
        [insert(2, None, "a"), insert(2, 9, "b"), retract(1, None, 10, "c")],
        [retract(2, None, 10, "a"), retract(2, 9, 2, "b"), retract(1, 10, 7, "c")],
        [retract(2, 10, 5, "a"), cti(3)],
        [cti(8)],
    )
    assert emitted == [
        [insert(1, None, "c"), cti(2)],
        [],
        [],
        [insert(2, 5, "a"), cti(3)],
        [retract(1, None, 7, "c"), cti(8)],
    ]


def test_blocking_by_application_time() -> None:
    events: list[Event] = [
        insert(1, None, "a"),
        insert(4, None, "b"),
        insert(3, None, "late"),
        insert(6, None, "c"),
    ]
    assert said_by(Align(P, 3), *([event] for event in events)) == [
        [],
        [events[0]],
        [],
        [events[2]],
    ]
    # in one batch all come at 6
    assert said_by(Align(P, 3), events) == [[events[0], events[2]]]
    assert said_by(Align(P, 2), events) == [[events[0], events[2], events[1]]]


def test_blocking_by_system_time_also_ends_when_nothing_comes() -> None:
    operator = Align(P, block=10, clock="system")
    first, second = insert(7, None, "a"), insert(3, None, "b")
    emitted = [
        operator.advance(100, batch_of([first], P)),
        operator.advance(105, batch_of([second], P)),
        operator.advance(110),
        operator.advance(115),
    ]
    assert [events_of(batch) for batch in emitted] == [[], [], [first], [second]]


def test_a_retract_that_comes_when_its_insert_is_due_is_merged() -> None:
    operator = Align(P, block=10, clock="system")
    assert not len(operator.advance(100, batch_of([insert(7, None, "a")], P)))
    output = operator.advance(110, batch_of([retract(7, None, 9, "a")], P))
    assert events_of(output) == [insert(7, 9, "a")]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="block = -1"):
        Align(P, -1)
    with pytest.raises(ValueError, match="no system clock"):
        Align(P, 1).advance(5)


def renewed(operator: Align) -> Align:
    other = Align(operator.schema, operator.block, operator.clock)
    other.restore(operator.snapshot())
    return other


@given(streams(), BLOCKS, st.integers(0, 12))
def test_event_by_event_it_is_the_reference(
    events: list[Event], block: int, renew_after: int
) -> None:
    operator = Align(KX, block)
    expected: list[Event] = []
    emitted: list[Event] = []
    for number, (event, output) in enumerate(zip(events, align(events, block), strict=True)):
        expected += output
        emitted += events_of(operator.receive(0, batch_of([event], KX)))
        assert breaches(emitted) == []
        assert canonical_history(emitted) == canonical_history(expected)
        assert closed_up_to(emitted) == closed_up_to(expected)
        if number == renew_after:
            operator = renewed(operator)


@given(streams(), st.integers(0, 15), st.data())
def test_by_system_time_it_is_the_reference(
    events: list[Event], block: int, data: st.DataObject
) -> None:
    pauses: list[Event | None] = [*events, *[None] * data.draw(st.integers(0, 3))]
    steps = st.lists(st.integers(0, 6), min_size=len(pauses), max_size=len(pauses))
    moments = list(accumulate(data.draw(steps)))
    operator = Align(KX, block, clock="system")
    expected: list[Event] = []
    emitted: list[Event] = []
    outputs = align(pauses, block, moments)
    for event, now, output in zip(pauses, moments, outputs, strict=True):
        expected += output
        batch: Batch | None = None if event is None else batch_of([event], KX)
        emitted += events_of(operator.advance(now, batch))
        assert breaches(emitted) == []
        assert canonical_history(emitted) == canonical_history(expected)
        if data.draw(st.integers(0, 5)) == 0:
            operator = renewed(operator)


@given(streams(retractions=False), BLOCKS)
def test_inserts_go_out_as_in_the_reference_in_batches_of_any_size(
    events: list[Event], block: int
) -> None:
    """An insert waits from its vs on, however late the clock is: batches make no difference."""
    for size in BATCH_SIZES:
        for came, emitted in drive(Align(KX, block), at_one_port(events), [KX], size):
            outputs = align([event for _, event in came], block)
            expected = [event for output in outputs for event in output]
            assert canonical_history(emitted) == canonical_history(expected)


@given(streams(), BLOCKS, st.integers(0, 6))
def test_what_is_final_is_never_held_back(
    events: list[Event], block: int, renew_after: int
) -> None:
    for size in BATCH_SIZES:
        operator = Align(KX, block)
        emitted: list[Event] = []
        for number, start in enumerate(range(0, len(events), size)):
            emitted += events_of(operator.receive(0, batch_of(events[start : start + size], KX)))
            came = events[: start + size]
            final = closed_up_to(came)
            shown = canonical_history(emitted).clip(end=final)
            assert breaches(emitted) == []
            assert shown.same_snapshots(canonical_history(came).clip(end=final))
            assert closed_up_to(emitted) == final
            if number == renew_after:
                operator = renewed(operator)
        emitted += events_of(operator.receive(0, batch_of([CLOSE], KX)))
        assert canonical_history(emitted) == canonical_history(events)
        assert operator.state_size()[0] == 0


def shown_by(events: Sequence[Event], block: int, size: int, later: Event) -> History:
    operator = Align(KX, block)
    emitted: list[Event] = []
    for start in range(0, len(events), size):
        emitted += events_of(operator.receive(0, batch_of(events[start : start + size], KX)))
    emitted += events_of(operator.receive(0, batch_of([later], KX)))
    return canonical_history(emitted)


@given(streams(closed=False), st.integers(1, 15))
def test_nothing_waits_longer_than_block(events: list[Event], block: int) -> None:
    clocks = [event.vs if isinstance(event, Insert) else getattr(event, "t", 0) for event in events]
    moment = max(clocks, default=0) + block
    row = Row(k="later", x=0)
    for size in BATCH_SIZES:
        shown = shown_by(events, block, size, Insert(moment, INFINITY, row))
        assert shown == canonical_history(events)
        assert shown_by(events, block, size, Cti(moment)) == canonical_history(events)
    assert Lifetime(moment, INFINITY, row) not in shown.lifetimes


@given(streams(), st.sampled_from(BATCH_SIZES))
def test_strong_consistency_is_in_order(events: list[Event], size: int) -> None:
    [*_, (_, emitted)] = drive(Align(KX, INFINITY), at_one_port([*events, CLOSE]), [KX], size)
    assert is_ordered(event for event in emitted if not isinstance(event, Cti))
