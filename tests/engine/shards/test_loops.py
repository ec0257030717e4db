"""Loops on shards against the local runner: partitioned by a column that goes around unchanged, or
in one shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.core.batch import Batch
from driftline.engine.local import run
from driftline.engine.options import Options
from driftline.engine.plan_sources import constants
from driftline.engine.readers.inputs import events_from
from driftline.engine.shards.messages import Message, MessageKind, Target, unpack
from driftline.engine.shards.shard import Shard
from driftline.engine.shards.source_messages import VS, source_messages
from driftline.engine.shards.stages import Reading, stages
from driftline.model.event import CLOSE, Event
from driftline.model.reference import Level
from driftline.plan.fragments import RESULT, cut
from tests.engine.loop.random_loops import arrivals, queries
from tests.engine.shards.test_shard import Cluster, snapshots

DRAWN = {
    "level": st.sampled_from([Level.EAGER, Level.EAGER, Level.ORDERED, Level.PERFECT]),
    "size": st.sampled_from([2, 4, 8]),
    "shards": st.sampled_from([1, 3]),
    "tasks": st.integers(1, 2),
    "remember": st.sampled_from([3, dl.INFINITY]),
    "move_at": st.integers(-1, 3),
}
"""How a query is run on shards."""


@settings(max_examples=60)
@given(query=queries(), came=arrivals(), how=st.fixed_dictionaries(DRAWN))
def test_random_loops(query: dl.Query, came: dict[str, list[Event]], how: dict[str, Any]) -> None:
    check(query, came, **how)


def check(
    query: dl.Query,
    came: Mapping[str, list[Event]],
    level: Level,
    size: int,
    shards: int,
    tasks: int,
    remember: int,
    move_at: int,
) -> None:
    """At the level `eager` the answer after every micro-batch is the local runner's, and at all
    levels that in the end."""
    plan = query.plan
    options = Options(level, 0, remember, size, keep_open=True)
    sources = plan.sources()
    inputs: dict[str, Any] = {name: [*came[name], CLOSE] for name in sources if name in came}
    inputs |= constants(sources)
    readings = dict.fromkeys(inputs, Reading(plain=False, ordered=True))
    cluster = Cluster(plan, readings, options, shards)
    raw = {name: events_from(source, inputs[name]) for name, source in sources.items()}
    schema = plan.schema.arrow
    emitted: list[Batch] = []
    local: list[Batch] = []
    dead = 0
    for number, output in enumerate(run(plan, inputs, options)):
        if number == move_at:
            cluster.move()
        bounds = [number * size, (number + 1) * size]
        parts = {
            name: events.slice(*np.searchsorted(events.position, bounds).tolist())
            for name, events in raw.items()
        }
        emitted += cluster.step(parts, tasks)
        local.append(output.batch)
        dead += sum(map(len, output.dead.values()))
        assert cluster.dead == dead
        if level is Level.EAGER:
            assert snapshots(emitted, schema) == snapshots(local, schema)
    assert snapshots(emitted, schema) == snapshots(local, schema)
    assert cluster.final == dl.INFINITY


LINKS = dl.stream("links", {"t": "BIGINT", "a": "BIGINT", "b": "BIGINT"}, time="t", disorder=2)
FROM_SOME = dl.recursive(
    "reached",
    {"source": "BIGINT", "n": "BIGINT"},
    LINKS.window(range=4).where("a < 2 AND t > 1 AND a + b > 0").select("a AS source", "b AS n"),
    lambda reached: reached.join(LINKS.window(range=4), "reached.n = links.a").select(
        "reached.source", "b"
    ),
)

nodes = st.one_of(st.none(), st.integers(0, 4))
links = st.lists(st.tuples(st.integers(0, 9), nodes, nodes), max_size=8)


@given(st.lists(links, min_size=1, max_size=4), st.sampled_from([1, 2]))
def test_rows_that_the_base_of_a_loop_drops_need_not_come(
    came: list[list[tuple[int, int | None, int | None]]], count: int
) -> None:
    reading = {"links": Reading(plain=True, ordered=False)}
    made = stages(cut(FROM_SOME.plan), [RESULT], reading, Options(), count)
    copied, base = made.sources["links"]
    assert (copied.where, list(map(str, base.where))) == ((), ["(a < 2L)"])
    few, all_rows = ([Shard(made.levels[0], number) for number in range(count)] for _ in range(2))
    for rows in came:
        answer = taken(few, (copied, base), rows)
        assert answer == taken(all_rows, (copied, replace(base, where=())), rows)


def taken(
    shards: Sequence[Shard], targets: Sequence[Target], rows: list[tuple[Any, ...]]
) -> list[tuple[Message, list[dict[str, Any]]]]:
    """What shards send when plain records come, and the rows in that."""
    schema = LINKS.plan.schema.arrow
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    payload = pa.RecordBatch.from_arrays(
        [pa.array(column, each.type) for column, each in zip(columns, schema, strict=True)],
        schema=schema,
    )
    raw = pa.RecordBatch.from_arrays([payload.column("t")], names=[VS])
    sent = list(source_messages(raw, payload, targets, len(shards), 0, ordered=False))
    messages = [
        message
        for shard in shards
        for message in shard.step([each for each in sent if each.shard == shard.number])
    ]
    is_rows = [bool(message.data) and message.kind == MessageKind.ROWS for message in messages]
    return [
        (replace(message, data=b""), unpack(message.data).to_pylist()) if packed else (message, [])
        for message, packed in zip(messages, is_rows, strict=True)
    ]
