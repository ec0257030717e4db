"""Loops on Spark, micro-batch by micro-batch against the local runner."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.model.reference import Level
from driftline.spark.failures import cause
from driftline.spark.update import SparkUpdate
from tests.engine.loop.random_loops import (
    ANSWERS,
    BASES,
    CARRYING,
    CHANGING,
    DISTANCES,
    LINKS,
    PAIR,
    arrivals,
    queries,
    together,
)
from tests.engine.shards.test_shard import snapshots
from tests.spark.test_random_plans import FIXED, check_queries

pytestmark = pytest.mark.spark


def loop(base: str, step: str, links: str) -> dl.Query:
    follow = {**CARRYING, **CHANGING}[step]
    return dl.recursive("r", PAIR, BASES[base], lambda rows: follow(rows.alias("r"), LINKS[links]))


CHOSEN = [
    ANSWERS["by node"](loop("roots", "follow", "edges")),
    loop("edges", "of the same key", "window").union(loop("groups", "swap", "groups")),
    together(
        "r", BASES["two"], lambda rows: CARRYING["or itself"](rows.alias("r"), LINKS["edges"])
    ),
    dl.recursive(
        "again",
        PAIR,
        BASES["some"],
        lambda rows: CARRYING["follow"](
            rows.alias("r"),
            loop("roots", "follow", "edges").select("k", "k AS a", "n AS b").alias("e"),
        ),
    ),
    DISTANCES,
]
"""A loop under an aggregate, two in a query, rules that use each other, a loop that reads the
answer of another, and the least in a loop."""


RANDOM = st.lists(queries(), min_size=3, max_size=3, unique_by=lambda each: each.plan.tree())


@settings(FIXED, max_examples=1)
@given(loops=RANDOM, came=arrivals())
def test_chosen_loops_and_some_random_ones(
    spark: Any,
    tmp_path_factory: pytest.TempPathFactory,
    loops: list[dl.Query],
    came: dict[str, Any],
) -> None:
    folder = tmp_path_factory.mktemp("loops")
    check_queries(spark, folder, [*CHOSEN, *loops], came, Level.EAGER, 3, 3)


@pytest.mark.long
@settings(FIXED, max_examples=30)
@given(
    loops=RANDOM,
    came=arrivals(),
    level=st.sampled_from([Level.EAGER, Level.ORDERED, Level.PERFECT]),
    micro_batches=st.integers(2, 4),
    shards=st.sampled_from([1, 3]),
    remember=st.sampled_from([dl.INFINITY, 3]),
)
def test_random_loops(
    spark: Any,
    tmp_path_factory: pytest.TempPathFactory,
    loops: list[dl.Query],
    came: dict[str, Any],
    level: Level,
    micro_batches: int,
    shards: int,
    remember: int,
) -> None:
    folder = tmp_path_factory.mktemp("loops")
    check_queries(spark, folder, loops, came, level, micro_batches, shards, remember=remember)


def test_a_bag_over_a_circle_is_stopped_and_goes_on_from_the_state_before(
    spark: Any, tmp_path: Path
) -> None:
    links = dl.stream("links", {"a": "INT", "b": "INT", "t": "INT"}, time="t")

    def paths(limit: int) -> dl.Query:
        return dl.recursive(
            "paths",
            {"a": "INT", "b": "INT"},
            links.select("a", "b"),
            lambda paths: paths.join(links, "paths.b = links.a").select("paths.a", "links.b"),
            all=True,
            limit=limit,
        )

    emitted: list[SparkUpdate] = []

    def run(limit: int) -> None:
        reader = spark.readStream.schema("a INT, b INT, t INT").option("maxFilesPerTrigger", 1)
        query = dl.on_spark(paths(limit), {"links": reader.json(str(tmp_path / "links"))})
        query.start(
            emitted.append, checkpoint=tmp_path / "checkpoint", trigger={"availableNow": True}
        ).awaitTermination(120)

    came = [[(1, 2), (2, 3)], [(3, 1)], [(0, 1)]]
    write_links(tmp_path / "links", came)
    with pytest.raises(Exception, match="RECURSION_LEVEL_LIMIT_EXCEEDED") as raised:
        run(6)
    assert cause(str(raised.value)) == (
        "the recursion of paths goes on after level 6: rows may lead back to themselves (UNION "
        "drops such repetitions, UNION ALL counts them for ever); a deeper one needs MAX "
        "RECURSION LEVEL"
    )
    assert len(emitted) == 1

    # Without the circle, but deeper than before.
    came[1] = [(n, n + 1) for n in range(3, 10)]
    write_links(tmp_path / "links", came)
    run(20)
    assert [each.batch_id for each in emitted] == [0, 1, 2]
    rows = [dict(zip("abt", row, strict=True)) for row in written(came)]
    local = [each.batch for each in paths(20).changes(links=rows, keep_open=True)]
    schema = paths(20).plan.schema.arrow
    ours = [each.batches["result"] for each in emitted]
    assert snapshots(ours, schema) == snapshots(local, schema)


def written(came: list[list[tuple[int, int]]]) -> list[tuple[int, int, int]]:
    return [(a, b, time) for time, links in enumerate(came) for a, b in links]


def write_links(folder: Path, came: list[list[tuple[int, int]]]) -> None:
    """A file for every micro-batch."""
    folder.mkdir(exist_ok=True)
    for number in range(len(came)):
        rows = [dict(zip("abt", row, strict=True)) for row in written(came) if row[2] == number]
        path = folder / f"{number}.json"
        path.write_text("\n".join(map(json.dumps, rows)))
        os.utime(path, (number + 1, number + 1))
