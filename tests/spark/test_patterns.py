"""MATCH_RECOGNIZE on Spark, micro-batch by micro-batch against the local runner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftline as dl
from driftline.model.event import Event
from driftline.model.reference import Level
from tests.spark.test_random_plans import FIXED, check_queries
from tests.sql.test_match_answers import EVENTS, ORDERS, S, clauses

pytestmark = pytest.mark.spark


def queries(texts: list[str]) -> list[dl.Query]:
    return [dl.sql(f"SELECT * FROM s MATCH_RECOGNIZE ({text})", s=S) for text in texts]


DRAWN = given(
    texts=st.lists(clauses(ORDERS), min_size=4, max_size=4),
    events=EVENTS.filter(lambda events: len(events) > 2),
    level=st.sampled_from([Level.EAGER, Level.ORDERED, Level.PERFECT]),
    shards=st.integers(1, 3),
)


@settings(FIXED, max_examples=2)
@DRAWN
def test_random_patterns(
    spark: Any,
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    events: list[Event],
    level: Level,
    shards: int,
) -> None:
    folder = tmp_path_factory.mktemp("patterns")
    check_queries(spark, folder, queries(texts), {"s": events}, level, 3, shards)


@pytest.mark.long
@settings(FIXED, max_examples=30)
@DRAWN
def test_many_random_patterns(
    spark: Any,
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    events: list[Event],
    level: Level,
    shards: int,
) -> None:
    folder = tmp_path_factory.mktemp("patterns")
    check_queries(spark, folder, queries(texts), {"s": events}, level, 3, shards)


def test_an_attempt_takes_no_more_steps_than_the_query_allows(spark: Any, tmp_path: Path) -> None:
    rows = dl.stream("s", {"k": "STRING", "t": "INT", "x": "INT"}, time="t")
    costly = rows.match(
        "(A+ B+)+ C",
        {"A": "x >= FIRST(x)", "B": "x >= FIRST(x)", "C": "x < 0"},
        {"n": "count(*)"},
        per="k",
        by="t",
    )
    frame = spark.createDataFrame([("a", t, 1) for t in range(20)], "k STRING, t INT, x INT")
    frame.write.parquet(str(tmp_path / "rows"))
    given = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "rows"))
    started = dl.on_spark(costly, {"s": given}, max_steps=1000).start(
        lambda update: None, checkpoint=tmp_path / "checkpoint", trigger={"availableNow": True}
    )
    with pytest.raises(Exception, match="took more than 1,000 steps: .* or SET max_steps = 10000"):
        started.awaitTermination(120)
