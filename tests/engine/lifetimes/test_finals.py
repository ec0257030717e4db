from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.compile import compile_plan
from driftline.engine.core.batch import Batch
from driftline.engine.core.operator import Operator
from driftline.engine.lifetimes.finals import Finals
from driftline.model import reference
from driftline.model.event import Cti, Event, Insert
from driftline.model.history import History, canonical_history
from driftline.model.level import Level
from driftline.model.stream import breaches
from driftline.model.time import BEGINNING, INFINITY
from driftline.plan.finals import final
from driftline.testing import streams
from driftline.testing.driving import as_batched, batch_of, drive, events_of
from tests.build import cti, insert, retract
from tests.engine.held_to_reference import KX, at_one_port

WINDOWS = pa.schema([("k", pa.string()), ("window_end", pa.int64())])
COLUMNS = {"k": st.sampled_from(["a", None]), "window_end": st.sampled_from([4, 8, 12, None])}
A = {"k": "a", "x": 1}


def test_a_row_is_said_once_when_it_is_final() -> None:
    operator = Finals(KX)
    steps = [
        [insert(1, 9, A), insert(2, None, {"k": "b", "x": 2}), cti(3)],
        [retract(1, 9, 5, A), cti(4)],
        [cti(7)],
        [cti(INFINITY)],
    ]
    emitted = [events_of(operator.receive(0, batch_of(step, KX))) for step in steps]
    assert emitted == [
        [cti(1)],
        [],
        [insert(1, 5, A), cti(2)],  # b waits since 2
        [insert(2, None, {"k": "b", "x": 2}), cti(INFINITY)],
    ]
    assert operator.state_size()[0] == 0


def last_cti(events: list[Event]) -> int:
    return max((event.t for event in events if isinstance(event, Cti)), default=BEGINNING)


def waiting_since(history: History, last: int) -> int:
    return min((life.vs for life in history if life.ve > last), default=INFINITY)


@given(
    streams(COLUMNS),
    st.sampled_from([1, 2, 3, 100]),
    st.sampled_from([(), (("window_end", 0),), (("window_end", 3),), (("window_end", -1),)]),
    st.sampled_from([None, 0, 2]),
)
def test_it_is_its_reference_after_every_batch(
    events: list[Event], size: int, windows: tuple[tuple[str, int], ...], renew_after: int | None
) -> None:
    operator: Operator = Finals(WINDOWS, windows)
    promised = BEGINNING
    for number, (came, emitted) in enumerate(drive(operator, at_one_port(events), [WINDOWS], size)):
        so_far = [event for _, event in came]
        whole, last = canonical_history(so_far), last_cti(so_far)
        assert breaches(emitted) == []
        assert all(isinstance(event, (Insert, Cti)) for event in emitted)
        if not windows:
            assert canonical_history(emitted) == reference.finals(whole, last)
            since = INFINITY if last == INFINITY else waiting_since(whole, last)
            promised = max(promised, min(last, since))
            assert last_cti(emitted) == promised
        else:
            assert canonical_history(emitted) == reference.window_finals(whole, last, windows)
            assert last_cti(emitted) == last
        if number == renew_after:
            state = operator.snapshot()
            operator.__dict__.update(Finals(WINDOWS, windows).__dict__)
            operator.restore(state)


@given(streams({"k": st.sampled_from("ab"), "x": st.integers(0, 1)}), st.sampled_from([1, 2, 100]))
def test_final_answers_of_a_query_are_the_longest_stretches(events: list[Event], size: int) -> None:
    s = dl.stream("s", {"k": "STRING", "x": "BIGINT"})
    query = s.window(range=3).group_by("k").agg("count(*) AS n")
    emitted: list[Batch] = []
    graph = compile_plan(final(query.plan), emitted.append)
    schema = s.plan.schema.arrow
    for start in range(0, len(events), size):
        graph.push("s", batch_of(as_batched(events[start : start + size]), schema))
        so_far = events[: start + size]
        last = last_cti(so_far)
        answer = reference.group_by(
            reference.sliding(canonical_history(so_far), 3),
            {"k": lambda row: row["k"]},
            {"n": reference.aggregates.count_all()},
        ).coalesced()
        wanted = reference.finals(answer, last if last == INFINITY else last - 1)
        assert canonical_history(event for batch in emitted for event in events_of(batch)) == wanted


@given(
    streams({"k": st.sampled_from("ab"), "x": st.integers(0, 1)}, retractions=False),
    st.sampled_from([1, 2, 100]),
    st.sampled_from([Level.ORDERED, Level.EAGER]),
)
def test_final_answers_about_windows(events: list[Event], size: int, level: Level) -> None:
    s = dl.stream("s", {"k": "STRING", "x": "BIGINT"})
    query = s.tumble(5).group_by("window_end", "k").agg("count(*) AS n")
    plan = final(query.plan)
    assert plan.windows == (("window_end", 0),)
    emitted: list[Batch] = []
    graph = compile_plan(plan, emitted.append, level)
    schema = s.plan.schema.arrow
    for start in range(0, len(events), size):
        graph.push("s", batch_of(as_batched(events[start : start + size]), schema))
        so_far = events[: start + size]
        answer = reference.group_by(
            reference.tumble(canonical_history(so_far), 5),
            {"window_end": lambda row: row["window_end"], "k": lambda row: row["k"]},
            {"n": reference.aggregates.count_all()},
        )
        wanted = reference.window_finals(answer, last_cti(so_far))
        assert canonical_history(event for batch in emitted for event in events_of(batch)) == wanted
