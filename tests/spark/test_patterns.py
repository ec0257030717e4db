"""Patterns and automata on Spark, micro-batch by micro-batch against the local runner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.model.event import Event
from driftline.model.reference import Level
from driftline.testing import streams
from tests.engine.automata.test_automaton_runs import MOVES, ROWS
from tests.engine.shards.test_patterns import patterns, runs
from tests.spark.test_random_plans import FIXED, check_queries
from tests.sql.test_match_answers import EVENTS

pytestmark = pytest.mark.spark

LEAST = 4
"""Events of each stream."""


def all_differ(queries: tuple[dl.Query, ...]) -> bool:
    return len({each.plan.tree() for each in queries}) == len(queries)


DRAWN = given(
    queries=st.tuples(*[patterns()] * 3, runs("operator"), runs("table")).filter(all_differ),
    rows=EVENTS.filter(lambda events: len(events) >= LEAST),
    tape=streams(ROWS, max_size=6).filter(lambda events: len(events) >= LEAST),
    moves=streams(MOVES, max_size=6).filter(lambda events: len(events) >= LEAST),
    level=st.sampled_from([Level.EAGER, Level.ORDERED, Level.PERFECT]),
)


def check(
    spark: Any, folder: Path, shards: int, drawn: dict[str, Any], level: Level | None = None
) -> None:
    came: dict[str, list[Event]] = {
        "s": drawn["rows"],
        "tape": drawn["tape"],
        "moves": drawn["moves"],
    }
    level = level or drawn["level"]
    check_queries(spark, folder, drawn["queries"], came, level, 3, shards)


@pytest.mark.parametrize("shards", [1, 3])
@settings(FIXED, max_examples=1)
@DRAWN
def test_random_patterns(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, shards: int, **drawn: Any
) -> None:
    check(spark, tmp_path_factory.mktemp("patterns"), shards, drawn, Level.EAGER)


@pytest.mark.long
@pytest.mark.parametrize("shards", [1, 3])
@settings(FIXED, max_examples=15)
@DRAWN
def test_many_random_patterns(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, shards: int, **drawn: Any
) -> None:
    check(spark, tmp_path_factory.mktemp("patterns"), shards, drawn)


def test_an_attempt_takes_no_more_steps_than_the_query_allows(spark: Any) -> None:
    rows = dl.stream("s", {"k": "STRING", "t": "INT", "x": "INT"}, time="t")
    costly = rows.match(
        "(A+ B+)+ C",
        {"A": "x >= FIRST(x)", "B": "x >= FIRST(x)", "C": "x < 0"},
        {"n": "count(*)"},
        per="k",
        by="t",
    )
    frame = spark.createDataFrame([("a", t, 1) for t in range(20)], "k STRING, t INT, x INT")
    query = dl.on_spark(costly, {"s": frame}, max_steps=1000)
    with pytest.raises(Exception, match="took more than 1,000 steps: .* or SET max_steps = 10000"):
        query.history().collect()
