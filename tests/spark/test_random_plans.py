"""Random plans over random streams on Spark: micro-batch by micro-batch what the local runner says.

Several plans make one query, with one cut in common. At the level `eager` the answers after every
micro-batch are compared, and at every level those after the last, which closes the streams.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.core.batch import Batch
from driftline.engine.local import run_all
from driftline.engine.options import Options
from driftline.engine.plan_sources import sources_of
from driftline.model.event import CLOSE, Event
from driftline.model.reference import Level
from driftline.spark.query import SparkQuery
from driftline.spark.spool import spool, spooled
from driftline.spark.update import SparkUpdate
from tests.build import insert, retract
from tests.engine.shards.test_shard import snapshots
from tests.engine.test_plans import ARRIVALS, ONE, PLANS, TWO, Both, S, T

pytestmark = pytest.mark.spark

FIXED = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
DRAWN = given(
    plans=st.lists(PLANS, min_size=3, max_size=3),
    arrivals=ARRIVALS.filter(lambda arrivals: len(arrivals) > 2),
    level=st.sampled_from([Level.EAGER, Level.ORDERED, Level.PERFECT]),
    micro_batches=st.integers(2, 4),
    shards=st.integers(1, 3),
    block=st.sampled_from([0, 2]),
    remember=st.sampled_from([dl.INFINITY, 3]),
)


def check(
    spark: Any,
    folder: Path,
    plans: Sequence[Both],
    arrivals: list[tuple[int, Event]],
    level: Level,
    micro_batches: int,
    shards: int,
    block: int,
    remember: int,
) -> None:
    came = {name: [event for port, event in arrivals if "st"[port] == name] for name in "st"}
    queries = [each.query for each in plans]
    check_queries(spark, folder, queries, came, level, micro_batches, shards, block, remember)


def check_queries(
    spark: Any,
    folder: Path,
    queries: Sequence[dl.Query],
    came: Mapping[str, list[Event]],
    level: Level,
    micro_batches: int,
    shards: int,
    block: int = 0,
    remember: int = dl.INFINITY,
) -> None:
    named = {f"plan {number}": each.plan for number, each in enumerate(queries)}
    sources = sources_of(named.values())
    inputs = {name: [*came[name], CLOSE] for name in sources}
    longest = max(len(events) for events in inputs.values())
    batch = -(-longest // micro_batches)
    options = Options(level, block, remember, batch, keep_open=True)
    expected = list(run_all(named, inputs, options))

    folders = spool(sources, inputs, folder / "input", batch, keep_open=True)
    frames = {name: spooled(spark, path) for name, path in folders.items()}
    emitted: list[SparkUpdate] = []
    started = SparkQuery(named, frames, options, shards).start(
        emitted.append, checkpoint=folder / "checkpoint", trigger={"availableNow": True}
    )
    assert started.awaitTermination(300)

    assert len(emitted) == len(expected)
    ours: dict[str, list[Batch]] = {name: [] for name in named}
    local: dict[str, list[Batch]] = {name: [] for name in named}
    for number, (one, other) in enumerate(zip(emitted, expected, strict=True)):
        for name, plan in named.items():
            ours[name].append(one.batches[name])
            local[name].append(other.batches[name])
            if level is Level.EAGER or number == len(emitted) - 1:
                schema = plan.schema.arrow
                assert snapshots(ours[name], schema) == snapshots(local[name], schema), plan.tree()
        dead = [
            {name: len(dead) for name, dead in letters.items() if len(dead)}
            for letters in (one.dead_letters, other.dead)
        ]
        assert dead[0] == dead[1]
    assert all(each.cti == dl.INFINITY for each in emitted[-1].batches.values())


def check_operators(spark: Any, folder: Path, *names: str) -> None:
    """Some operators, each over the sources, in one query."""
    both = (Both(S, lambda s, t: s), Both(T, lambda s, t: t))
    plans = [TWO[name](*both) if name in TWO else ONE[name](both[0]) for name in names]
    came = {name: events_of_both(Random(name)) for name in "st"}
    queries = [each.query for each in plans]
    check_queries(spark, folder, queries, came, Level.EAGER, micro_batches=2, shards=2)


def test_operators_of_lifetimes(spark: Any, tmp_path: Path) -> None:
    """Those that may not be among the random plans below."""
    check_operators(spark, tmp_path, "session columns", "until", "as-of join")


@pytest.mark.long
def test_more_operators_of_lifetimes(spark: Any, tmp_path: Path) -> None:
    check_operators(
        spark, tmp_path, "session", "stitch", "cumulate", "pivot", "unpivot", "over", "top"
    )


def events_of_both(random: Random) -> list[Event]:
    """Rows in no order, some of which are taken back or end sooner than they were to."""
    events: list[Event] = []
    for _ in range(12):
        vs, row = random.randrange(20), {"k": random.choice("ab"), "x": random.randrange(4)}
        ve = random.choice([vs + 4, None])
        events.append(insert(vs, ve, row))
        if random.random() < 0.3:
            events.append(retract(vs, ve, random.choice([vs, vs + 1]), row))
    return events


@settings(FIXED, max_examples=4)
@DRAWN
def test_random_plans(spark: Any, tmp_path_factory: pytest.TempPathFactory, **drawn: Any) -> None:
    check(spark, tmp_path_factory.mktemp("plans"), **drawn)


@pytest.mark.long
@settings(FIXED, max_examples=30)
@DRAWN
def test_many_random_plans(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, **drawn: Any
) -> None:
    check(spark, tmp_path_factory.mktemp("plans"), **drawn)
