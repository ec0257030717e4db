"""The now view is held to its reference: after every batch, at every clock."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from driftline.engine.core.operator import OperatorKey
from driftline.engine.outputs.now_view import NowChanges, NowView
from driftline.engine.shards.stored import state_from_bytes, state_to_bytes
from driftline.model.event import CLOSE, Event
from driftline.model.history import Bag, History, canonical_history
from driftline.model.reference import now_view
from driftline.model.reference.now_view import NowChange
from driftline.model.row import Row
from driftline.model.time import BEGINNING
from driftline.testing import streams
from driftline.testing.driving import as_batched, batch_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import KX


def plain(changes: NowChanges) -> list[NowChange]:
    rows = [Row(values) for values in changes.rows.to_pylist()]
    return [
        NowChange(int(at), int(weight), row)
        for at, weight, row in zip(changes.at, changes.weight, rows, strict=True)
    ]


def in_order(changes: list[NowChange]) -> bool:
    keys = [(change.at, change.copies > 0) for change in changes]
    return keys == sorted(keys)


def copies(changes: list[NowChange]) -> Counter[tuple[int, bool, Row]]:
    """How many copies of each row come (or go) when: no row does both at one time."""
    counts: Counter[tuple[int, bool, Row]] = Counter()
    for at, number, row in changes:
        counts[at, number > 0, row] += abs(number)
    return counts


def added_up(changes: list[NowChange], until: int) -> Bag:
    bag: Bag = Counter()
    for at, copies, row in changes:
        if at <= until:
            bag[row] += copies
    return +bag


@given(
    streams(),
    st.lists(st.integers(0, 4), min_size=20, max_size=20),
    st.integers(1, 4),
    st.integers(0, 6),
)
def test_every_update_is_the_references(
    events: list[Event], steps: list[int], size: int, restored: int
) -> None:
    view, clock, before, shown = NowView(KX), BEGINNING, History(), []
    for number, start in enumerate(range(0, len(events) + 8 * size, size)):
        chunk = as_batched(events[start : start + size])
        later = max(clock, -2) + steps[number % len(steps)]
        after = canonical_history(events[: start + size])
        changes = plain(view.update(batch_of(chunk, KX), later))
        assert copies(changes) == copies(now_view(before, after, clock, later))
        assert in_order(changes)
        shown += changes
        assert added_up(shown, later) == after.snapshot(later)
        assert Counter(Row(values) for values in view.shown().to_pylist()) == after.snapshot(later)
        before, clock = after, later
        if number == restored:
            key, state = OperatorKey("now"), view.snapshot()
            view = NowView(KX)
            view.restore(state_from_bytes(state_to_bytes({key: state}))[key])


def test_what_ends_before_the_clock_is_counted_and_not_kept() -> None:
    view = NowView(KX)
    view.update(batch_of([insert(1, 5, {"k": "a", "x": 1})], KX), 7)
    assert len(view.held) == 0
    changes = view.update(batch_of([retract(1, 5, 3, {"k": "a", "x": 1})], KX), 7)
    assert len(changes) == 0
    assert view.past == 2  # the lifetime that was, and the one that is


def test_the_clock_final_is_a_tick_before_the_cti() -> None:
    view = NowView(KX, "final")
    row = {"k": "a", "x": 1}
    assert plain(view.update(batch_of([insert(1, 5, row), insert(9, None, row)], KX), 9)) == []
    assert plain(view.update(batch_of([cti(5)], KX), 9)) == [NowChange(1, 1, Row(row))]
    assert plain(view.update(batch_of([cti(6)], KX), 9)) == [NowChange(5, -1, Row(row))]
    assert plain(view.update(batch_of([CLOSE], KX), 9)) == [NowChange(9, 1, Row(row))]
