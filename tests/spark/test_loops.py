"""Loops on Spark, micro-batch by micro-batch against the local runner."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.model.reference import Level
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


@settings(FIXED, max_examples=1)
@given(came=arrivals())
def test_chosen_loops(
    spark: Any, tmp_path_factory: pytest.TempPathFactory, came: dict[str, Any]
) -> None:
    check_queries(spark, tmp_path_factory.mktemp("loops"), CHOSEN, came, Level.EAGER, 3, 3)


@pytest.mark.long
@settings(FIXED, max_examples=30)
@given(
    loops=st.lists(queries(), min_size=3, max_size=3),
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
