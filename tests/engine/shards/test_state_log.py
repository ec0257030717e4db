"""State as a log: whichever process takes a micro-batch in, and whatever it has kept from before,
the answer and the state are the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.core.operator import OperatorKey
from driftline.engine.options import Options
from driftline.engine.shards import state_log
from driftline.engine.shards.lending import Lending
from driftline.engine.shards.messages import Message
from driftline.engine.shards.shard import Shard
from driftline.engine.shards.source_messages import VS, source_messages
from driftline.engine.shards.stages import Reading, stages
from driftline.engine.shards.state_log import HEAD, Head, StateLog
from driftline.engine.shards.stored import Kept, state_to_bytes
from driftline.plan.errors import PlanError
from driftline.plan.fragments import RESULT, cut

S = dl.stream("s", {"k": "BIGINT", "x": "BIGINT"}, time="x")
QUERY = S.window(range=6).group_by("k").agg("sum(x) AS x", "max(x) AS m")


class Store(dict[str, bytes]):
    """A store in memory; what is not committed can be undone."""

    def put(self, name: str, value: bytes) -> None:
        self[name] = value

    def remove(self, name: str) -> None:
        del self[name]


MADE = stages(cut(QUERY.plan), [RESULT], {"s": Reading(True, False)}, Options(), 1)
LEVEL = MADE.levels[0]


def micro_batch(times: list[int]) -> list[Message]:
    payload = pa.RecordBatch.from_arrays(
        [pa.array([time % 3 for time in times], pa.int64()), pa.array(times, pa.int64())],
        schema=S.plan.schema.arrow,
    )
    events = pa.RecordBatch.from_pydict({VS: np.array(times, np.int64)})
    return list(source_messages(events, payload, MADE.sources["s"], 1, 0, ordered=False))


@settings(max_examples=40)
@given(
    batches=st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=5), min_size=1, max_size=12),
    luck=st.lists(st.integers(0, 4), min_size=12, max_size=12),
    least=st.sampled_from([1, 3_000, 1 << 22]),
    lend=st.booleans(),
)
def test_any_process_comes_to_the_same_state(
    batches: list[list[int]], luck: list[int], least: int, lend: bool
) -> None:
    """Three processes take turns; one loses what it had; one micro-batch is done in vain first."""
    alone = Shard(LEVEL, 0)
    store = Store()
    processes: list[dict[str, Kept]] = [{}, {}, {}]
    lending = [Lending(kept) if lend else None for kept in processes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state_log, "LEAST", least)
        patch.setattr(state_log, "LONGEST", 4)
        for times, fate in zip(batches, luck, strict=False):
            messages = micro_batch(times)
            if fate == 3:
                processes[0].clear()
            if fate == 4:  # a try that is never committed
                StateLog(LEVEL, 0, Store(store), processes[1], lending[1]).step(messages)
            log = StateLog(LEVEL, 0, store, processes[fate % 3], lending[fate % 3])
            assert log.step(messages) == alone.step(messages)
    withdraw(*lending)
    assert Head.from_bytes(store[HEAD]).version == min(len(batches), len(luck))
    entries = [name for name in store if name.startswith("log ")]
    assert len(entries) < 4


def withdraw(*lending: Lending | None) -> None:
    for each in filter(None, lending):
        for lineage in list(each.offered):
            each.withdraw(lineage)


def test_objects_are_no_state() -> None:
    with pytest.raises(ValueError, match="not an array of plain values"):
        state_to_bytes({OperatorKey("a"): {"x": np.array([object()])}})


@pytest.mark.parametrize("same_process", [False, True])
def test_another_number_of_shards_is_refused(same_process: bool) -> None:
    store, kept = Store(), dict[str, Kept]()
    StateLog(LEVEL, 0, store, kept).step([])
    other = replace(LEVEL, shards=7)
    for number in (0, 1):  # with other shards, what lies here may be that of another one
        with pytest.raises(PlanError, match="has the state of 1 shards, and the query has 7"):
            StateLog(other, number, store, kept if same_process else {}).step([])


@pytest.mark.parametrize("same_process", [False, True])
def test_the_state_of_another_query_is_refused(same_process: bool) -> None:
    store, kept = Store(), dict[str, Kept]()
    StateLog(replace(LEVEL, query="sum"), 0, store, kept).step(micro_batch([1]))
    with pytest.raises(PlanError, match="the state of another query: the plan, an option or"):
        StateLog(replace(LEVEL, query="max"), 0, store, kept if same_process else {})


def test_the_state_of_another_shard_is_refused() -> None:
    store = Store()
    StateLog(LEVEL, 0, store, {}).step(micro_batch([1]))
    with pytest.raises(PlanError, match="the state of shard 1/0 where that of shard 1/1 belongs"):
        StateLog(LEVEL, 1, store, {})


def test_a_hole_in_the_log_is_named() -> None:
    store = Store()
    StateLog(LEVEL, 0, store, {}).step(micro_batch([1]))
    del store["log 1"]
    with pytest.raises(ValueError, match="lacks its log 1"):
        StateLog(LEVEL, 0, store, {}).step(micro_batch([2]))
