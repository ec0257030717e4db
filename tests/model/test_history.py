from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.event import Event
from driftline.model.history import History, Lifetime, canonical_history
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.testing import histories, streams, streams_of
from tests.build import history, insert, retract, row


def test_a_full_retraction_removes_one_copy() -> None:
    events = [insert(1, 5, "a"), insert(1, 5, "a"), retract(1, 5, 1, "a")]
    assert canonical_history(events) == history((1, 5, "a"))


def test_a_retract_that_finds_nothing_has_no_history() -> None:
    with pytest.raises(ValueError, match="no insert or earlier retract gave it"):
        canonical_history([insert(1, 5, "a"), retract(1, 6, 3, "a")])


def test_an_empty_lifetime_is_no_lifetime() -> None:
    with pytest.raises(ValueError, match="empty"):
        history((3, 3, "a"))


def test_snapshots_lie_between_endpoints() -> None:
    #   a  1───────5
    #   b      3───────7
    table = history((1, 5, "a"), (3, 7, "b"))
    assert [(start, end, sorted(rows)) for start, end, rows in as_rows(table)] == [
        (1, 3, [row("a")]),
        (3, 5, [row("a"), row("b")]),
        (5, 7, [row("b")]),
    ]
    assert table.snapshot(0) == Counter()
    assert table.snapshot(7) == Counter()
    assert [snapshot.start for snapshot in table.snapshots(also=[4])] == [1, 3, 4, 5]


def as_rows(table: History) -> list[tuple[int, int, Counter[Row]]]:
    return [(snapshot.start, snapshot.end, snapshot.rows) for snapshot in table.snapshots()]


def test_lifetimes_and_snapshots_are_two_equalities() -> None:
    whole, parts = history((1, 5, "a")), history((1, 3, "a"), (3, 5, "a"))
    assert whole != parts
    assert whole.same_snapshots(parts)
    assert not whole.same_snapshots(history((1, 4, "a")))


def test_coalescing_counts_copies() -> None:
    #   1───────────9      becomes     1───────────9   at least one copy
    #       3───6                          3───────8   at least two
    #           6───8
    table = history((1, 9, "a"), (3, 6, "a"), (6, 8, "a"))
    assert table.coalesced() == history((1, 9, "a"), (3, 8, "a"))


def test_clipping() -> None:
    table = history((1, 5, "a"), (3, None, "b"))
    assert table.clip(2, 4) == history((2, 4, "a"), (3, 4, "b"))
    assert table.clip(5) == history((5, None, "b"))
    assert table.clip() == table


@given(histories(), st.integers(0, 13))
def test_coalescing_keeps_every_snapshot_and_nothing_touches(table: History, t: int) -> None:
    merged = table.coalesced()
    assert merged.snapshot(t) == table.snapshot(t)
    assert merged.coalesced() == merged
    ends = {(ve, row) for _, ve, row in merged}
    assert not any((vs, row) in ends for vs, _, row in merged)


@given(st.data(), histories())
def test_every_way_to_tell_a_history_tells_that_history(
    data: st.DataObject, table: History
) -> None:
    assert canonical_history(data.draw(streams_of(table))) == table


@given(streams(), st.randoms(use_true_random=False))
def test_arrival_order_is_no_part_of_the_meaning(events: list[Event], random: object) -> None:
    shuffled = list(events)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert canonical_history(shuffled) == canonical_history(events)


def test_iteration_has_a_fixed_order() -> None:
    table = history((3, 4, "b"), (1, None, "a"), (1, 2, "b"), (1, 2, "a"))
    assert [(vs, ve, row["p"]) for vs, ve, row in table] == [
        (1, 2, "a"),
        (1, 2, "b"),
        (1, INFINITY, "a"),
        (3, 4, "b"),
    ]
    assert str(Lifetime(1, INFINITY, Row(p="a"))) == "[1, ∞) {'p': 'a'}"
