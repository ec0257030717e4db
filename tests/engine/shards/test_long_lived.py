"""Shards of which neither the memory nor what they store grows, however many micro-batches come."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import driftline as dl
from driftline.engine.options import Options
from driftline.engine.shards import state_log
from driftline.engine.shards.long_lived import LATELY, LongLived
from driftline.engine.shards.messages import Message
from driftline.engine.shards.source_messages import VS, source_messages
from driftline.engine.shards.stages import Reading, stages
from driftline.engine.shards.state_log import StateLog
from driftline.engine.shards.stored import Kept
from driftline.plan.fragments import RESULT, cut
from tests.engine.shards.test_state_log import Store

S = dl.stream("s", {"k": "BIGINT", "x": "BIGINT"}, time="x", disorder=0)
QUERY = S.window(range=6).group_by("k").agg("sum(x) AS x", "max(x) AS m")
MADE = stages(cut(QUERY.plan), [RESULT], {"s": Reading(True, False)}, Options(), 1)
LEVEL = MADE.levels[0]


def micro_batch(first: int, rows: int) -> list[Message]:
    """Rows of so many moments, which follow each other."""
    times = np.arange(first, first + rows)
    columns = [pa.array(times % 5), pa.array(times)]
    payload = pa.RecordBatch.from_arrays(columns, schema=S.plan.schema.arrow)
    events = pa.RecordBatch.from_pydict({VS: times})
    return list(source_messages(events, payload, MADE.sources["s"], 1, 0, ordered=False))


def micro_batches(sizes: list[int]) -> Iterator[list[Message]]:
    first = 0
    for rows in sizes:
        yield micro_batch(first, rows)
        first += rows


def array_bytes(found: object, seen: set[int]) -> int:
    """The bytes of all arrays that belong to an object."""
    if id(found) in seen:
        return 0
    seen.add(id(found))
    if isinstance(found, np.ndarray):
        base = found if found.base is None else found.base
        return array_bytes(base, seen) if base is not found else found.nbytes
    if isinstance(found, dict):
        return sum(array_bytes(each, seen) for each in found.values())
    if isinstance(found, list | tuple | set):
        return sum(array_bytes(each, seen) for each in found)
    names = [*getattr(found, "__dict__", ()), *getattr(type(found), "__slots__", ())]
    return sum(array_bytes(getattr(found, name, None), seen) for name in names)


def test_neither_memory_nor_the_store_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first logs every micro-batch takes what those before took."""
    monkeypatch.setattr(state_log, "LONGEST", 16)
    store, kept = Store(), dict[str, Kept]()
    held: list[int] = []
    stored: list[int] = []
    values: list[int] = []
    for messages in micro_batches([20] * 250):
        StateLog(LEVEL, 0, store, kept).step(messages)
        stored.append(sum(map(len, store.values())))
        values.append(len(store))
        if len(stored) % 10 == 0:
            held.append(sum(array_bytes(each.shard, set()) for each in kept.values()))
    assert len(kept) == 1
    for found, first in ((stored, 40), (values, 40), (held, 3)):
        assert max(found[first:]) <= 1.05 * max(found[first : 3 * first])
    assert max(values) <= 16 + 4


def test_what_a_large_micro_batch_took_is_given_back() -> None:
    sizes = [20, 100_000, *[20] * LATELY]
    store, kept = Store(), dict[str, Kept]()
    alone = LEVEL.shard(0)
    held = []
    for messages in micro_batches(sizes):
        assert StateLog(LEVEL, 0, store, kept).step(messages) == alone.step(messages)
        held.append(sum(array_bytes(each.shard, set()) for each in kept.values()))
    assert held[1] > 20 * held[0]
    assert held[-1] < 2 * held[0]
    assert array_bytes(alone, set()) > 20 * held[0]


def test_a_shard_that_has_taken_little_is_not_made_anew() -> None:
    shard = LongLived(LEVEL, 0)
    made = shard.shard
    for messages in micro_batches([*[20, 60] * LATELY, 10_000, *[20] * 2 * LATELY]):
        shard.step(messages)
        shard.counters()
    assert shard.shard is made  # the largest was small, too
