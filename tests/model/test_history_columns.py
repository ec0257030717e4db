import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftline.model.columns import StreamColumns
from driftline.model.event import Event, malformed
from driftline.model.history import canonical_history
from driftline.model.history_columns import HistoryColumns, history_columns
from driftline.testing import streams
from tests.build import cti, history, insert, retract
from tests.disorder import any_events


def of(events: list[Event]) -> HistoryColumns:
    return history_columns(StreamColumns.from_events("s", events))


def test_a_retraction_shortens_a_lifetime() -> None:
    found = of([insert(1, None, "A"), cti(1), retract(1, None, 4, "A"), insert(2, 3, "B")])
    assert found.to_history() == history((1, 4, "A"), (2, 3, "B"))


def test_bags_keep_their_copies() -> None:
    assert len(of([insert(1, 5, "A"), insert(1, 5, "A")])) == 2


def test_a_snapshot() -> None:
    found = of([insert(1, 5, "A"), insert(5, 9, "B")]).alive(5)
    assert found.to_history() == history((5, 9, "B"))


def test_nothing() -> None:
    assert len(of([])) == 0
    assert len(of([cti(4)])) == 0


def test_a_retract_without_its_insert() -> None:
    with pytest.raises(ValueError, match=r"\[1, 9\) \{'p': 'A'\} is retracted, but no insert"):
        of([retract(1, 9, 4, "A")])


@given(streams(max_size=12), st.data())
def test_the_plain_history_of_every_prefix_in_the_same_order(
    events: list[Event], data: st.DataObject
) -> None:
    prefix = events[: data.draw(st.integers(0, len(events)))]
    found = of(prefix)
    plain = canonical_history(prefix)
    assert found.to_history() == plain
    rows = found.payload.to_pylist() if found.payload.num_columns else []
    assert [(vs, ve) for vs, ve, _ in plain] == list(
        zip(found.vs.tolist(), found.ve.tolist(), strict=True)
    )
    assert [dict(lifetime.row) for lifetime in plain] == rows


@given(any_events)
def test_the_same_complaint_as_the_plain_version(events: list[Event]) -> None:
    changes = [event for event in events if malformed(event) is None]
    try:
        expected = canonical_history(changes)
    except ValueError:
        with pytest.raises(ValueError, match="is retracted, but no insert or earlier retract"):
            of(changes)
    else:
        assert of(changes).to_history() == expected
