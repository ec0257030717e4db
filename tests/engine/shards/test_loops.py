"""Loops on shards against the local runner: partitioned by a column that goes around unchanged, or
in one shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.core.batch import Batch
from driftline.engine.local import run
from driftline.engine.options import Options
from driftline.engine.plan_sources import constants
from driftline.engine.readers.inputs import events_from
from driftline.engine.shards.stages import Reading
from driftline.model.event import CLOSE, Event
from driftline.model.reference import Level
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
    inputs: dict[str, Sequence[Event]] = {
        name: [*came[name], CLOSE] for name in sources if name in came
    }
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
