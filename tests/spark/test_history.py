from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftline.model.event import Event
from driftline.model.history import canonical_history
from driftline.model.row import Row
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.spark import views
from driftline.spark.history import as_of, intervals
from driftline.testing import streams
from driftline.testing.driving import as_batched, batch_of
from tests.build import insert, retract

KX = pa.schema([("k", pa.string()), ("x", pa.int64())])
A1 = {"k": "a", "x": 1}
START = datetime(2026, 1, 1, 10, tzinfo=UTC)

BELIEVED = """
    SELECT vs, ve, k, x FROM history
    WHERE system_time <= :at AND vs <= :about AND (ve > :about OR ve IS NULL)
    GROUP BY vs, ve, k, x HAVING sum(weight) > 0
"""


def at(number: int) -> datetime:
    """The system time of a micro-batch."""
    return START + timedelta(minutes=number)


def table_of(*batches: list[Event], timestamps: bool = False) -> pa.Table:
    return pa.concat_tables(
        views.history(
            views.MicroBatch(
                batch_of(batch, KX), number, int(at(number).timestamp() * 1000), timestamps
            )
        )
        for number, batch in enumerate(batches)
    )


# 10:00  A1 is there from 1 on
# 10:01  no, only until 4; and B2 from 2 to 6
# 10:02  A1 was never there
CORRECTED = table_of(
    [insert(1, None, A1)],
    [retract(1, None, 4, A1), insert(2, 6, {"k": "b", "x": 2})],
    [retract(1, 4, 1, A1)],
)


def test_the_answer_as_of_a_time() -> None:
    def keys(about: int, minute: int) -> list[str]:
        return sorted(
            as_of(CORRECTED, valid_time=about, system_time=at(minute)).column("k").to_pylist()
        )

    assert [keys(3, minute) for minute in range(3)] == [["a"], ["a", "b"], ["b"]]
    assert [keys(5, minute) for minute in range(3)] == [["a"], ["b"], ["b"]]
    assert as_of(CORRECTED, valid_time=3, system_time="2026-01-01T09:59:59Z").num_rows == 0
    assert as_of(CORRECTED, valid_time=3).num_rows == 1


def test_the_same_as_plain_sql_in_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("history", CORRECTED)
    sql = BELIEVED.replace(":about", "$about").replace(":at", "$at")
    for about in range(7):
        for minute in range(3):
            found = connection.execute(sql, {"about": about, "at": at(minute)}).fetchall()
            mine = as_of(CORRECTED, valid_time=about, system_time=at(minute)).to_pylist()
            assert sorted(found, key=str) == sorted([tuple(row.values()) for row in mine], key=str)


def test_intervals_of_both_times() -> None:
    found = intervals(CORRECTED)
    assert found.column_names == ["vs", "ve", "system_from", "system_to", "k", "x"]
    assert {tuple(row.values()) for row in found.to_pylist()} == {
        (1, None, at(0), at(1), "a", 1),
        (1, 4, at(1), at(2), "a", 1),
        (2, 6, at(1), None, "b", 2),
    }


def test_timestamps_and_polars() -> None:
    polars = pytest.importorskip("polars")
    second = 1_000_000
    table = table_of([insert(second, 5 * second, A1)], timestamps=True)
    assert as_of(table, valid_time="1970-01-01T00:00:04Z").num_rows == 1
    assert as_of(table, valid_time=datetime(1970, 1, 1, 0, 0, 5)).num_rows == 0
    frame = polars.from_arrow(table)
    assert as_of(frame, valid_time="1970-01-01T00:00:01Z")["k"].to_list() == ["a"]
    assert intervals(frame)["system_to"].to_list() == [None]


@settings(max_examples=40)
@given(
    streams({"k": st.sampled_from(["a", None]), "x": st.integers(0, 1)}), st.sampled_from([1, 3])
)
def test_every_belief_is_the_snapshot_of_the_history_of_then(
    events: list[Event], size: int
) -> None:
    chunks = [as_batched(events[start : start + size]) for start in range(0, len(events), size)]
    if not chunks:
        return
    table = table_of(*chunks)
    spans = intervals(table).to_pylist()
    for number in range(len(chunks)):
        then = canonical_history(event for chunk in chunks[: number + 1] for event in chunk)
        for about in range(14):
            assert _rows(
                as_of(table, valid_time=about, system_time=at(number)).to_pylist()
            ) == then.snapshot(about)
        held = [
            span
            for span in spans
            if span["system_from"] <= at(number)
            and (span["system_to"] is None or at(number) < span["system_to"])
        ]
        assert Counter(
            (span["vs"], INFINITY if span["ve"] is None else span["ve"], span["k"], span["x"])
            for span in held
        ) == Counter((vs, ve, row["k"], row["x"]) for vs, ve, row in then)


def _rows(lines: list[dict[str, Any]]) -> Counter[Row]:
    return Counter(Row({"k": line["k"], "x": line["x"]}) for line in lines)


def test_what_is_no_history_table_is_refused() -> None:
    with pytest.raises(PlanError, match=r"not a history table: it has no column system_time"):
        intervals(pa.table({"x": [1]}))
    with pytest.raises(PlanError, match=r"time is a plain number here"):
        as_of(CORRECTED, valid_time="2026-01-01")
    with pytest.raises(PlanError, match=r"not a list"):
        as_of([], valid_time=1)


@pytest.mark.spark
def test_the_same_on_spark(spark: Any) -> None:
    frame = spark.createDataFrame(CORRECTED)

    def lines(table: Any) -> list[str]:
        rows = table.to_pylist() if isinstance(table, pa.Table) else table.toArrow().to_pylist()
        return sorted(str({**row, "vs": int(row["vs"])}) for row in rows)

    assert lines(intervals(frame)) == lines(intervals(CORRECTED))
    for about, minute in [(3, 0), (3, 1), (3, 2), (5, 1)]:
        wanted = lines(as_of(CORRECTED, valid_time=about, system_time=at(minute)))
        assert lines(as_of(frame, valid_time=about, system_time=at(minute))) == wanted
        frame.createOrReplaceTempView("history")
        by_sql = spark.sql(BELIEVED, {"about": about, "at": at(minute)})
        assert lines(by_sql) == wanted
