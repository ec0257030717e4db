from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.batch import Batch
from driftline.engine.coalesce import Coalesce
from driftline.model import reference
from driftline.model.event import CLOSE, Cti, Event
from driftline.model.history import canonical_history
from driftline.model.time import BEGINNING
from driftline.testing import streams
from driftline.testing.driving import as_batched, batch_of, drive, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import KX, at_one_port, hold

COLUMNS = {"k": st.sampled_from(["a", None]), "x": st.sampled_from([1, 2])}
A = {"k": "a", "x": 1}


def test_a_stretch_that_may_still_grow_holds_the_cti_back() -> None:
    #   1───4           one stretch since 1, as long as the next piece starts where the last ended
    #       4───6
    said: list[Event] = []
    steps = [[insert(1, 4, A), cti(4)], [insert(4, 6, A), cti(6)], [cti(7)]]
    operator = Coalesce(KX)
    arrivals = [(0, event) for step in steps for event in step]
    *_, (_, said) = drive(operator, arrivals, [KX], 2)
    assert said == [
        insert(1, 4, A),
        cti(1),
        retract(1, 4, 1, A),
        insert(1, 6, A),
        cti(7),
    ]
    assert operator.state_size()[0] == 0


def held_back(events: list[Event]) -> int:
    """The cti that can be promised: stretches that reach up to the input's may still grow."""
    last = max((event.t for event in events if isinstance(event, Cti)), default=BEGINNING)
    stretches = reference.coalesce(canonical_history(events))
    growing = [life.vs for life in stretches if life.vs < last <= life.ve]
    return last if last == CLOSE.t else min([last, *growing])


@given(streams(COLUMNS), st.sampled_from([None, 0, 2, 5]))
def test_it_is_its_reference_after_every_batch(
    events: list[Event], renew_after: int | None
) -> None:
    hold(lambda: Coalesce(KX), reference.coalesce, at_one_port(events), renew_after)


@given(streams(COLUMNS), st.sampled_from([1, 2, 100]))
def test_it_promises_as_much_as_it_can(events: list[Event], size: int) -> None:
    operator = Coalesce(KX)
    best = BEGINNING
    for came, said in drive(operator, at_one_port([*events, CLOSE]), [KX], size):
        best = max(best, held_back([event for _, event in came]))
        promised = max((event.t for event in said if isinstance(event, Cti)), default=BEGINNING)
        assert promised == best
    assert operator.state_size()[0] == 0


@settings(max_examples=30)
@given(streams(COLUMNS), st.sampled_from([1, 2, 100]))
def test_growing_stretches_change_nothing_before_the_cti(events: list[Event], size: int) -> None:
    operator, final = Coalesce(KX, growing=True), BEGINNING
    said: list[Event] = []
    for start in range(0, len(events), size):
        output = operator.receive(0, batch_of(as_batched(events[start : start + size]), KX))
        before = canonical_history(said)
        said += _events(output)
        assert canonical_history(said).clip(end=final).same_snapshots(before.clip(end=final))
        final = max(final, output.cti)
    assert canonical_history(said) == reference.coalesce(canonical_history(events))


def _events(batch: Batch) -> list[Event]:
    return [event for event in events_of(batch) if not isinstance(event, Cti)]


def test_a_batch_costs_what_it_changes() -> None:
    # One row that comes and goes 50,000 times, and no cti: every batch adds at the end.
    operator = Coalesce(pa.schema([("x", pa.int64())]))
    for start in range(0, 50_000, 100):
        vs = 10 * np.arange(start, start + 100)
        rows = pa.RecordBatch.from_arrays([pa.array(np.zeros(100, np.int64))], ["x"])
        said = operator.receive(0, Batch(vs, vs + 5, np.ones(100, np.int64), rows))
        assert len(said) == 100
