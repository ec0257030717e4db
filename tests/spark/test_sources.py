"""DataFrames as sources: what their rows are as raw events."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import driftline as dl
from driftline.engine.shards.reads import KEPT
from driftline.engine.shards.source_messages import KIND, VE, VN, VS
from driftline.engine.shards.stages import Reading
from driftline.model.columns import CTI, INSERT, RETRACT
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.fragments import SourcePrefix
from driftline.plan.nodes import Source
from driftline.spark.sources import prefixed, raw_events, reading_of

pytestmark = pytest.mark.spark

SECOND = 1_000_000


def source(kind: str) -> Source:
    return dl.stream("s", {"k": "STRING", "t": kind}, time="t").plan.sources()["s"]


def ticks(spark: Any, kind: str, value: str) -> tuple[int, Any]:
    frame = spark.sql(f"SELECT 'a' AS k, {value} AS T")
    (row,) = raw_events(frame, source(kind)).collect()
    return row[VS], row["t"]


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        ("BIGINT", "7", 7),
        ("BIGINT", "'7'", 7),
        ("BIGINT", "TIMESTAMP'1970-01-01 00:00:07'", 7),
        ("TIMESTAMP", "TIMESTAMP'1970-01-01 00:00:07'", 7 * SECOND),
        ("TIMESTAMP", "TIMESTAMP_NTZ'1970-01-01 00:00:07'", 7 * SECOND),
        ("TIMESTAMP", "'1970-01-01T00:00:07Z'", 7 * SECOND),
        ("TIMESTAMP", "DATE'1970-01-02'", 86_400 * SECOND),
        ("TIMESTAMP", "7", 7 * SECOND),
    ],
)
def test_a_records_time_is_that_of_its_column(
    spark: Any, kind: str, value: str, wanted: int
) -> None:
    """Also when its type is another one: as the local runner has it."""
    vs, emitted = ticks(spark, kind, value)
    assert vs == wanted
    if kind == "BIGINT":
        assert emitted == wanted


@pytest.mark.parametrize("value", ["1.5", "1.5D", "DATE'1970-01-02'", "true"])
def test_what_is_no_time(spark: Any, value: str) -> None:
    with pytest.raises(PlanError, match=r"the time of s, T, is a .*; it must be an integer"):
        ticks(spark, "BIGINT", value)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("arrival", ["t", None])
def test_records_with_an_arrival_clock_have_an_order(streaming: bool, arrival: str | None) -> None:
    stream = dl.stream("s", {"k": "STRING", "t": "BIGINT"}, time="t", arrival=arrival)
    frame: Any = SimpleNamespace(columns=["k", "t"], isStreaming=streaming)
    found = reading_of(frame, stream.plan.sources()["s"])
    assert found == Reading(plain=True, ordered=streaming and arrival is not None)


def test_events(spark: Any) -> None:
    frame = spark.sql(
        "SELECT * FROM VALUES ('insert', 1L, NULL, NULL, 'a'), ('Retract', 1L, NULL, 4L, 'a'), "
        "('x', 2L, NULL, 3L, 'b') AS t(kind, vs, ve, vn, k)"
    )
    found = raw_events(frame, dl.stream("s", {"k": "STRING"}).plan.sources()["s"]).collect()
    assert [tuple(row[each] for each in (KIND, VS, VE, VN)) for row in found] == [
        (INSERT, 1, INFINITY, INFINITY),
        (RETRACT, 1, INFINITY, 4),
        (-1, 2, INFINITY, 3),
    ]


def test_a_filter_that_spark_runs_leaves_ctis_alone(spark: Any) -> None:
    plan = dl.stream("s", {"k": "STRING", "t": "BIGINT"}, time="t").where("k = 'a'").plan
    frame = spark.sql(
        f"SELECT * FROM VALUES ({INSERT}, 1L, 'a', 1L), ({INSERT}, 2L, 'b', 2L), "
        f"({CTI}, {INFINITY}L, NULL, NULL) AS t(`{KIND}`, `{VS}`, k, t)"
    )
    (own,) = plan.sources().values()
    rows = prefixed(frame, SourcePrefix(own, (plan,)), None).collect()
    assert [(row[KIND], row[VS]) for row in rows] == [(INSERT, 1), (CTI, INFINITY)]
    counted = prefixed(frame, SourcePrefix(own, (plan,)), None, counted=True).collect()
    assert [(row[VS], row[KEPT], row["payload 0"]) for row in counted] == [
        (1, True, "a"), (2, False, None), (INFINITY, True, None),
    ]  # fmt: skip
