"""Shards of the answer now, against the view of the whole answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.engine.core.batch import Batch
from driftline.engine.outputs.now_view import NowChanges, NowView, in_one_step
from driftline.engine.shards.messages import (
    OUTPUT,
    Message,
    MessageKind,
    Target,
    packed_batch,
    unpacked_batch,
)
from driftline.engine.shards.now_shard import NowShard, NowStage
from driftline.plan.expressions import Column
from driftline.plan.types import BIGINT

SCHEMA = pa.schema([("k", pa.int64())])
SHARDS = 3
TO = Target(2, "result", (Column("k", BIGINT),))
STAGE = NowStage(2, "result", SCHEMA, "latest", SHARDS)

lifetimes = st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(0, 4))
steps = st.lists(
    st.tuples(st.lists(lifetimes, max_size=5), st.sets(st.integers(0, 8), max_size=3)),
    min_size=1,
    max_size=5,
)


def batch(changes: list[tuple[int, int, int, int]]) -> Batch:
    vs, ve, weight, k = (np.array(each, np.int64) for each in zip(*changes, strict=True))
    return Batch(vs, ve, weight, pa.record_batch({"k": k}))


def counted(changes: NowChanges) -> Counter[tuple[int, int]]:
    return Counter(
        {
            (at, k): weight
            for at, weight, k in zip(
                changes.at.tolist(), changes.weight.tolist(), changes.rows["k"].to_pylist(),
                strict=True,
            )
        }
    )  # fmt: skip


def emitted(messages: list[Message]) -> list[NowChanges]:
    found = [unpacked_batch(message.data, SCHEMA) for message in messages]
    assert all(message.level == OUTPUT for message in messages)
    return [NowChanges(each.vs, each.weight, each.payload) for each in found]


@settings(max_examples=40)
@given(steps, st.integers(0, 4))
def test_shards_add_up_to_the_view_of_the_whole(parts: Any, crash: int) -> None:
    whole = NowView(SCHEMA)
    shards = [NowShard(STAGE, number) for number in range(SHARDS)]
    live: list[tuple[int, int, int]] = []
    for number, (added, dropped) in enumerate(parts):
        changes = [(vs, vs + length, 1, k) for vs, length, k in added]
        gone = [each for place, each in enumerate(live) if place in dropped]
        changes += [(vs, ve, -1, k) for vs, ve, k in gone]
        live = [each for place, each in enumerate(live) if place not in dropped]
        live += [(vs, ve, k) for vs, ve, _, k in changes[: len(added)]]
        if not changes:
            continue
        made, now = batch(changes), 3 * number
        expected = in_one_step(whole.update(made, now))
        if number == crash:
            for place, shard in enumerate(shards):
                shards[place] = NowShard(STAGE, place)
                shards[place].restore(shard.snapshot())
        messages = list(packed_batch(made, TO, SHARDS, 1))
        messages += [Message(2, MessageKind.CLOCK, "", each, 0, high=now) for each in range(SHARDS)]
        found: Counter[tuple[int, int]] = Counter()
        for shard in shards:
            mine = [message for message in messages if message.shard == shard.number]
            for each in emitted(shard.step(mine)):
                found.update(counted(each))
        assert found == counted(expected)


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from([-2, -1, 1, 2]), st.integers(0, 2))))
@settings(max_examples=40)
def test_one_step_is_the_sum_of_all(steps: list[tuple[int, int, int]]) -> None:
    steps = sorted(steps)
    at, weight, k = (np.array([each[place] for each in steps], np.int64) for place in range(3))
    found = in_one_step(NowChanges(at, weight, pa.record_batch({"k": k})))
    sums: Counter[int] = Counter()
    for _, each, key in steps:
        sums[key] += each
    rows = found.rows["k"].to_pylist()
    assert len(rows) == len(set(rows))
    assert dict(zip(rows, found.weight.tolist(), strict=True)) == {
        key: each for key, each in sums.items() if each
    }
    assert found.at.tolist() == sorted(found.at.tolist())


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 2)), max_size=9))
@settings(max_examples=40)
def test_with_keys_at_is_since_when_a_key_has_its_row(steps: list[tuple[int, int, int]]) -> None:
    """At random times a key gets a row (or none, 0) in the place of the one before."""
    has: dict[int, int] = {}
    before = {0: 1, 1: 2}
    has.update(before)
    changes: list[tuple[int, int, int, int]] = []
    since: dict[int, int] = {}
    time = 0
    for passed, row, key in steps:
        time += passed
        if has.get(key, 0) == row:
            continue
        if has.get(key, 0):
            changes.append((time, -1, key, has[key]))
        if row:
            changes.append((time, 1, key, row))
        has[key], since[key] = row, time
    at, weight, k, x = (np.array([each[n] for each in changes], np.int64) for n in range(4))
    made = in_one_step(NowChanges(at, weight, pa.record_batch({"k": k, "x": x})), [0])
    found = {
        (key, row): (times, copies)
        for times, copies, key, row in zip(
            made.at.tolist(), made.weight.tolist(), made.rows["k"].to_pylist(),
            made.rows["x"].to_pylist(), strict=True,
        )
    }  # fmt: skip
    changed = [key for key in since if before.get(key, 0) != has[key]]
    expected = {(key, has[key]): (since[key], 1) for key in changed if has[key]}
    expected |= {(key, before[key]): (since[key], -1) for key in changed if before.get(key, 0)}
    assert found == expected
