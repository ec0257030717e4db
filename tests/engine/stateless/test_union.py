from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.stateless.union import Union
from driftline.model.event import Event
from driftline.model.history import History
from driftline.model.reference import union_all
from driftline.model.stream import closed_up_to
from driftline.testing import interleaved, streams
from driftline.testing.driving import batch_of, drive, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import BATCH_SIZES, KX, Arrivals, hold

P = pa.schema([("p", pa.string())])


def test_the_changes_of_all_ports_pass() -> None:
    operator = Union(P)
    assert events_of(operator.receive(0, batch_of([insert(1, 9, "a")], P))) == [insert(1, 9, "a")]
    output = operator.receive(1, batch_of([insert(1, 9, "a"), retract(1, 9, 4, "a")], P))
    assert events_of(output) == [insert(1, 4, "a")]
    assert output.high == 1


def test_the_output_is_final_as_far_as_all_inputs_are() -> None:
    # left:   3 . 9 .    .
    # right:  . 5 . 5  (again: moves nothing)  20
    # output: . 3 5 .    9
    operator = Union(P)
    emitted: list[list[Event]] = []
    for port, t in [(0, 3), (1, 5), (0, 9), (1, 5), (1, 20)]:
        emitted.append(events_of(operator.receive(port, batch_of([cti(t)], P))))
    assert emitted == [[], [cti(3)], [cti(5)], [], [cti(9)]]


def test_three_inputs() -> None:
    operator = Union(P, ports=3)
    emitted = [events_of(operator.receive(port, batch_of([cti(7)], P))) for port in range(3)]
    assert emitted == [[], [], [cti(7)]]


@given(interleaved(streams(), streams()), st.integers(0, 10))
def test_union_is_the_reference(arrivals: Arrivals, renew_after: int) -> None:
    hold(lambda: Union(KX), union_all, arrivals, renew_after)


@settings(max_examples=30)
@given(interleaved(streams(), streams(), streams()))
def test_the_cti_is_the_least_of_all(arrivals: Arrivals) -> None:
    def all_three(one: History, two: History, three: History) -> History:
        return one + two + three

    hold(lambda: Union(KX, ports=3), all_three, arrivals)
    for size in BATCH_SIZES:
        for came, emitted in drive(Union(KX, ports=3), arrivals, [KX] * 3, size):
            inputs = [[event for port, event in came if port == which] for which in range(3)]
            assert closed_up_to(emitted) == min(closed_up_to(events) for events in inputs)
