from hypothesis import given

from driftline.model import predicates, stream
from driftline.model.columns import StreamColumns
from driftline.model.event import Event
from driftline.model.time import BEGINNING, INFINITY
from tests.build import cti, insert
from tests.disorder import any_events


def test_lateness_over_the_whole_range_of_time() -> None:
    events = [insert(INFINITY - 1, None, "A"), insert(BEGINNING + 1, None, "A")]
    assert predicates.late(StreamColumns.from_events("s", events)) == (1, 2**64 - 3)


def test_a_closed_stream() -> None:
    assert predicates.is_closed(StreamColumns.from_events("s", [insert(1, 5, "A"), cti(2)]))
    assert not predicates.is_closed(StreamColumns.from_events("s", [insert(2, 5, "A"), cti(2)]))


@given(any_events)
def test_the_same_as_the_plain_predicates(events: list[Event]) -> None:
    columns = StreamColumns.from_events("s", events)
    assert predicates.is_ordered(columns) == stream.is_ordered(events)
    assert predicates.is_perfect(columns) == stream.is_perfect(events)
    assert predicates.closed_up_to(columns) == stream.closed_up_to(events)
    assert predicates.is_closed(columns) == stream.is_closed(events)
