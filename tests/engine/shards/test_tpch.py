"""All queries of TPC-H as streams in shards, in any order of arrival, against DuckDB."""

from __future__ import annotations

from random import Random

import pytest

import driftline as dl
from driftline.engine.core.batch import Batch
from driftline.engine.options import Options
from driftline.engine.readers.inputs import events_from
from driftline.engine.shards.stages import Reading
from driftline.engine.tables import history_table
from driftline.model.event import CLOSE
from tests.engine.shards.test_shard import Cluster
from tests.sql.tpch import QUERIES, STREAMS
from tests.sql.tpch_streams import Arrivals

SHARDS, TASKS, MICRO_BATCHES = 2, 2, 2


@pytest.fixture(scope="module")
def arrivals() -> Arrivals:
    return Arrivals()


@pytest.mark.parametrize("name", QUERIES)
def test_the_end_of_the_streams_is_the_answer_for_the_tables(name: str, arrivals: Arrivals) -> None:
    plan = dl.sql(STREAMS + QUERIES[name]).plan
    inputs = arrivals.of(plan.sources(), Random(name))
    raw = {
        source: events_from(node, [*inputs[source], CLOSE])
        for source, node in plan.sources().items()
    }
    readings = dict.fromkeys(raw, Reading(plain=False, ordered=True))
    cluster = Cluster(plan, readings, Options(keep_open=True), SHARDS)
    emitted: list[Batch] = []
    for number in range(MICRO_BATCHES):
        if number == 1:
            cluster.move()
        parts = {}
        for source, events in raw.items():
            first, last = (len(events) * n // MICRO_BATCHES for n in (number, number + 1))
            parts[source] = events.slice(first, last)
        emitted += cluster.step(parts, TASKS)
    assert cluster.final == dl.INFINITY
    assert not cluster.dead
    arrivals.check(name, history_table(emitted, plan.schema.arrow))
