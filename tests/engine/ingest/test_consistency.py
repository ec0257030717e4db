"""The whole triangle: a source at every consistency, and a count downstream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.ingest.arrivals import ArrivedEvents
from driftline.engine.ingest.consistency import consistency
from driftline.model.columns import StreamColumns
from driftline.model.event import CLOSE, Cti, Event, Insert, Retract
from driftline.model.history import Bag, History, Lifetime, canonical_history
from driftline.model.reference import finalize, snapshot_operator
from driftline.model.row import Row
from driftline.model.stream import breaches, closed_up_to, is_ordered
from driftline.model.time import INFINITY
from driftline.testing import streams
from driftline.testing.driving import events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import BATCH_SIZES, KX

P = pa.schema([("p", pa.string())])
TRIANGLE = st.tuples(
    st.one_of(st.integers(0, 15), st.just(INFINITY)),
    st.one_of(st.integers(0, 15), st.just(INFINITY)),
)


def run(
    events: Sequence[Event], schema: pa.Schema, block: int, remember: int, size: int
) -> Iterator[tuple[list[Event], list[Event], list[Event]]]:
    """After each batch: what came, what was released, and what is dead, each from the start on."""
    first, second = consistency(schema, block, remember)
    emitted: list[Event] = []
    lost: list[Event] = []
    for start in range(0, len(events), size):
        chunk = StreamColumns.from_events("s", events[start : start + size], schema=schema)
        batch, dead = first.receive_events(ArrivedEvents.of(chunk, schema))
        emitted += events_of(second.receive(0, batch))
        lost += dead.to_events()
        yield list(events[: start + size]), emitted, lost


def end_of(
    events: Sequence[Event], schema: pa.Schema, block: int, remember: int, size: int = 1
) -> tuple[list[Event], list[Event]]:
    [*_, (_, emitted, lost)] = run(events, schema, block, remember, size)
    return emitted, lost


def count(history: History) -> History:
    def counted(alive: Sequence[Lifetime]) -> Bag:
        return Bag([Row(n=len(alive))]) if alive else Bag()

    return snapshot_operator(counted, history)


# a comes in time, b late; then a is taken back to 4
#   arrival: a[5, ∞)  b[3, ∞)  a→[5, 8)  cti 9
STORY = [insert(5, None, "a"), insert(3, None, "b"), retract(5, None, 8, "a"), cti(9)]


def test_strong_says_everything_once_and_in_order() -> None:
    emitted, lost = end_of(STORY, P, block=INFINITY, remember=INFINITY)
    assert emitted == [insert(3, None, "b"), insert(5, 8, "a"), cti(9)]
    assert not lost


def test_middle_says_everything_at_once() -> None:
    assert end_of(STORY, P, block=0, remember=INFINITY) == (STORY, [])


def test_weak_forgets_what_is_late() -> None:
    emitted, lost = end_of(STORY, P, block=0, remember=1)
    assert emitted == [insert(5, None, "a"), cti(4), retract(5, None, 8, "a"), cti(9)]
    assert lost == [insert(3, None, "b")]


def test_between_a_little_patience_puts_things_in_order() -> None:
    events = [
        insert(5, None, "a"),
        insert(3, None, "b"),
        insert(7, None, "c"),
        insert(9, None, "d"),
    ]
    emitted, _ = end_of(events, P, block=2, remember=INFINITY)
    assert emitted == [insert(3, None, "b"), insert(5, None, "a"), insert(7, None, "c")]


@given(streams(), TRIANGLE)
def test_the_count_is_right_at_every_consistency(
    events: list[Event], corner: tuple[int, int]
) -> None:
    """In the end, the count of what was released is that of the source without its dead letters;
    and at any time it is so as far as the stream is final."""
    block, remember = corner
    outputs = list(finalize([*events, CLOSE], remember))
    dead = [letter.event for output in outputs for letter in output.dead]
    for size in BATCH_SIZES:
        for came, emitted, lost in run([*events, CLOSE], KX, block, remember, size):
            kept = [event for output in outputs[: len(came)] for event in output.events]
            final = closed_up_to(emitted)
            assert breaches(emitted) == []
            assert final == closed_up_to(kept)
            shown = count(canonical_history(emitted)).clip(end=final)
            right = count(canonical_history(kept)).clip(end=final)
            assert shown.same_snapshots(right)
            assert lost == dead[: len(lost)]
        assert len(lost) == len(dead)


@given(streams(retractions=False, max_delay=4), st.integers(4, 9), st.sampled_from(BATCH_SIZES))
def test_a_block_of_the_real_disorder_leaves_no_speculation(
    events: list[Event], block: int, size: int
) -> None:
    emitted, lost = end_of([*events, CLOSE], KX, block, INFINITY, size)
    changes = [event for event in emitted if not isinstance(event, Cti)]
    assert is_ordered(changes)
    assert not any(isinstance(event, Retract) for event in changes)
    assert not lost


@given(streams(max_delay=4), st.sampled_from(BATCH_SIZES))
def test_strong_consistency_never_speculates(events: list[Event], size: int) -> None:
    """What is released is in order, and a retract is among it only for a lifetime whose start was
    final before its end was."""
    for _, emitted, _ in run(events, KX, INFINITY, INFINITY, size):
        changes = [event for event in emitted if not isinstance(event, Cti)]
        assert is_ordered(changes)
        final_starts = {(event.vs, event.row) for event in changes if isinstance(event, Insert)}
        for event in changes:
            if isinstance(event, Retract):
                assert not event.full
                assert (event.vs, event.row) in final_starts


@given(streams(), TRIANGLE, st.sampled_from(BATCH_SIZES))
def test_nothing_is_taken_back_but_what_the_source_takes_back(
    events: list[Event], corner: tuple[int, int], size: int
) -> None:
    emitted, _ = end_of([*events, CLOSE], KX, *corner, size)
    chains = {(event.vs, event.row) for event in events if isinstance(event, Retract)}
    assert all((event.vs, event.row) in chains for event in emitted if isinstance(event, Retract))
