"""Plans as Structured Streaming queries, over DataFrames of users: micro-batch by micro-batch what
the local runner says for what has been read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import driftline as dl
from driftline.engine.core.batch import Batch
from driftline.engine.tables import history_table
from driftline.plan.choices import Heartbeat
from driftline.plan.errors import PlanError
from driftline.plan.lifetimes import is_loose
from driftline.spark.query import SparkQuery
from driftline.spark.session import configured
from driftline.spark.update import SparkUpdate

pytestmark = pytest.mark.spark

TRADES = dl.stream("trades", {"symbol": "STRING", "qty": "INT", "ts": "BIGINT"}, time="ts")
NAMES = dl.stream("names", {"symbol": "STRING", "name": "STRING"})
ROWS: list[list[tuple[Any, ...]]] = [
    [("A", 3, 1), ("B", 5, 2), ("A", 4, 12)],
    [("A", 1, 3), ("C", 2, 14), ("B", None, 15)],
    [("C", 9, 25), ("A", 7, 2)],
]


def streamed(spark: Any, folder: Path, rows: Sequence[Sequence[tuple[Any, ...]]]) -> Any:
    """A stream whose micro-batches are these rows."""
    folder.mkdir()
    for number, part in enumerate(rows):
        columns = list(zip(*part, strict=True))
        table = pa.table(
            {
                "symbol": pa.array(columns[0], pa.string()),
                "qty": pa.array(columns[1], pa.int32()),
                "ts": pa.array(columns[2], pa.int64()),
            }
        )
        path = folder / f"{number}.parquet"
        pq.write_table(table, path)
        os.utime(path, (number + 1, number + 1))
    schema = spark.read.parquet(str(folder)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def said_by(query: SparkQuery, folder: Path) -> list[SparkUpdate]:
    emitted: list[SparkUpdate] = []
    started = query.start(
        emitted.append, checkpoint=folder / "checkpoint", trigger={"availableNow": True}
    )
    started.awaitTermination()
    return emitted


def table(emitted: Sequence[SparkUpdate], query: dl.Query, name: str) -> list[dict[str, Any]]:
    batches: list[Batch] = [each.batches[name] for each in emitted]
    loose = is_loose(query.plan)
    history = history_table(batches, query.plan.schema.arrow, loose=loose)
    return sorted(history.to_pylist(), key=repr)


QUERIES: Mapping[str, dl.Query] = {
    "native": TRADES.where("qty > 2").select("symbol", "qty * 2 AS twice"),
    "total": TRADES.group_by("symbol").agg("sum(qty) AS qty", "count(*) AS n"),
    "windows": TRADES.window(range=10, slide=5).group_by("symbol").agg("max(qty) AS most"),
    "two stages": TRADES.group_by("symbol").agg("sum(qty) AS qty").agg("max(qty) AS most"),
    "pairs": TRADES.alias("a").join(TRADES.alias("b"), "a.symbol = b.symbol AND a.ts < b.ts"),
}


def test_every_micro_batch_is_a_consistent_cut(spark: Any, tmp_path: Path) -> None:
    """Five queries as one; what has been emitted after each micro-batch is their answer for exactly
    what has been read."""
    frame = streamed(spark, tmp_path / "trades", ROWS)
    query = dl.on_spark(QUERIES, {"trades": frame}, emit="eager", shards=2)
    emitted = said_by(query, tmp_path)
    assert [each.batch_id for each in emitted] == [0, 1, 2]
    for number in range(len(ROWS)):
        read = [
            dict(zip(("symbol", "qty", "ts"), row, strict=True))
            for part in ROWS[: number + 1]
            for row in part
        ]
        for name, each in QUERIES.items():
            local = each.run(trades=read, emit="eager", keep_open=True).history().to_pylist()
            assert table(emitted[: number + 1], each, name) == sorted(local, key=repr), name


RATES = dl.stream("rates", {"symbol": "STRING", "qty": "INT", "ts": "BIGINT"}, time="ts")
TOGETHER: Mapping[str, dl.Query] = {
    "joined": TRADES.alias("t")
    .join(RATES.alias("r"), "t.symbol = r.symbol")
    .select("t.symbol", "t.qty * r.qty AS worth"),
    "all": TRADES.union(RATES).group_by("symbol").agg("count(*) AS n"),
    "unmatched": TRADES.join(RATES, on="symbol", how="anti").agg("sum(qty) AS qty"),
}


def test_several_results_of_several_sources_have_one_cut(spark: Any, tmp_path: Path) -> None:
    """One source has a part for every micro-batch, the other is idle after its first."""
    rates = [[("A", 2, 1), ("B", 3, 13)]]
    frames = {
        "trades": streamed(spark, tmp_path / "trades", ROWS),
        "rates": streamed(spark, tmp_path / "rates", rates),
    }
    query = dl.on_spark(TOGETHER, frames, emit="eager", shards=2)
    emitted = said_by(query, tmp_path)
    assert [each.batch_id for each in emitted] == [0, 1, 2]
    for number in range(len(ROWS)):
        read = {
            name: [
                dict(zip(("symbol", "qty", "ts"), row, strict=True))
                for part in parts[: number + 1]
                for row in part
            ]
            for name, parts in (("trades", ROWS), ("rates", rates))
        }
        for name, each in TOGETHER.items():
            local = each.run(read, emit="eager", keep_open=True).history().to_pylist()
            assert table(emitted[: number + 1], each, name) == sorted(local, key=repr), name


def test_shards_that_get_no_rows_hold_nothing_up(spark: Any, tmp_path: Path) -> None:
    """All rows are of one key, in one of three shards of the first stage; and a filter that Spark
    runs itself leaves nothing of the second micro-batch."""
    trades = dl.stream(
        "trades", {"symbol": "STRING", "qty": "INT", "ts": "BIGINT"}, time="ts", disorder=5
    )
    rows: list[list[tuple[Any, ...]]] = [[("A", 3, 10)], [("A", -1, 20)], [("A", 4, 30)]]
    query = trades.where("qty > 0").group_by("symbol").agg("sum(qty) AS qty").agg("max(qty) AS qty")
    frame = streamed(spark, tmp_path / "trades", rows)
    emitted = said_by(dl.on_spark(query, {"trades": frame}, shards=3), tmp_path)
    assert [each.batches["result"].cti for each in emitted] == [5, 15, 25]


@pytest.mark.parametrize("heartbeat", ["operator", "query"])
def test_rows_wait_for_other_streams(spark: Any, tmp_path: Path, heartbeat: Heartbeat) -> None:
    """The first and the second are joined, then the third, which is behind: for it the rows of the
    first wait if there is one heartbeat for the query."""
    columns = {"symbol": "STRING", "qty": "INT", "ts": "BIGINT"}
    one, two, three = (
        dl.stream(name, columns, time="ts", disorder=0).window(range=9)
        for name in ("one", "two", "three")
    )
    first = one.alias("a").join(two.alias("b"), "a.symbol = b.symbol")
    first = first.select("a.symbol AS symbol", "a.ts AS x", "b.ts AS y")
    query = first.alias("o").join(three.alias("c"), "o.symbol = c.symbol").select("x", "y", "c.ts")
    rows: dict[str, list[list[tuple[Any, ...]]]] = {
        name: [[("A", n, n - behind) for n in range(m, m + 6)] for m in (0, 6)]
        for name, behind in (("one", 0), ("two", 1), ("three", 5))
    }
    frames = {name: streamed(spark, tmp_path / name, parts) for name, parts in rows.items()}
    asked = dl.on_spark(query, frames, block="inf", heartbeat=heartbeat, shards=2)
    emitted = said_by(asked, tmp_path)
    read = {
        name: [dict(zip(columns, row, strict=True)) for part in parts for row in part]
        for name, parts in rows.items()
    }
    local = query.run(read, block="inf", heartbeat=heartbeat, keep_open=True)
    assert table(emitted, query, "result") == sorted(local.history().to_pylist(), key=repr)
    waiting = sum(
        counted["state_rows"]
        for key, counted in emitted[-1].counters.items()
        if (key.source, key.operator) == ("one", "align")
    )
    assert waiting == {"operator": 2, "query": 6}[heartbeat]


@pytest.mark.parametrize("first", ["UTC", "Europe/Berlin"])
def test_a_restart_in_another_session(spark: Any, tmp_path: Path, first: str) -> None:
    """Spark runs the filter and the product itself in UTC only. State is made after that or before,
    once for all."""
    frame = streamed(spark, tmp_path / "trades", ROWS[:1])
    twice = TRADES.where("qty > 2").select("symbol", "qty * 2 AS qty")
    query = twice.group_by("symbol").agg("sum(qty) AS qty")
    asked = dl.on_spark(query, {"trades": frame}, shards=2)
    with configured(spark, {"spark.sql.session.timeZone": first}):
        emitted = said_by(asked, tmp_path)
    (tmp_path / "more").mkdir()
    streamed(spark, tmp_path / "more" / "trades", ROWS[1:])
    for number in range(2):
        path = tmp_path / "more" / "trades" / f"{number}.parquet"
        path.rename(tmp_path / "trades" / f"{number + 1}.parquet")
    if first == "UTC":
        with (
            configured(spark, {"spark.sql.session.timeZone": "Europe/Berlin"}),
            pytest.raises(PlanError, match="Spark ran the first steps of trades in UTC"),
        ):
            said_by(asked, tmp_path)
    emitted += said_by(asked, tmp_path)
    rows = [dict(zip(("symbol", "qty", "ts"), row, strict=True)) for part in ROWS for row in part]
    local = query.run(trades=rows, keep_open=True).history().to_pylist()
    assert table(emitted, query, "result") == sorted(local, key=repr)


def test_the_time_zone_of_the_session_does_not_matter(spark: Any, tmp_path: Path) -> None:
    """Functions of dates and times go by UTC, whatever the session has; also in the hours that its
    zone leaves out or has twice."""
    frame = streamed(spark, tmp_path / "trades", ROWS[:1])
    hours = "timestamp_seconds(1772949600L + 1800 * (ts + qty)) AS at"  # 2026-03-08 06:00
    texts = """
        at|hour(at)|CAST(at AS STRING)|CAST(at AS DATE)|date_trunc('DAY', at)|unix_timestamp(at)
        CAST('2026-03-08 02:30:00' AS TIMESTAMP)|TIMESTAMP '2026-11-01 01:30:00'
        to_date('2026-03-08')|date_format(at, 'HH:mm')|datediff(at, '2026-01-01')
        CAST(DATE '2026-03-08' AS TIMESTAMP)|from_unixtime(1772949600L + qty)
        to_timestamp('2026-03-08 02:30', 'yyyy-MM-dd HH:mm')|at + INTERVAL 1 DAY|last_day(at)
        make_timestamp(2026, 3, 8, 2, 30, 0)|from_utc_timestamp(at, 'Asia/Tokyo')
    """
    each = [text.strip() for line in texts.split("\n") if line.strip() for text in line.split("|")]
    named = [f"{text} AS c{place}" for place, text in enumerate(each)]
    query = TRADES.select("symbol", "qty", "ts", hours).select("symbol", *named)
    with configured(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        emitted = said_by(dl.on_spark(query, {"trades": frame}, shards=1), tmp_path)
    rows = [dict(zip(("symbol", "qty", "ts"), row, strict=True)) for row in ROWS[0]]
    local = query.run(trades=rows, keep_open=True).history().to_pylist()
    assert table(emitted, query, "result") == sorted(local, key=repr)


def test_a_table_that_does_not_change(spark: Any, tmp_path: Path) -> None:
    frame = streamed(spark, tmp_path / "trades", ROWS)
    names = spark.createDataFrame([("A", "Alpha"), ("B", "Beta")], "symbol STRING, name STRING")
    query = TRADES.join(NAMES, on="symbol").group_by("name").agg("sum(qty) AS qty")
    emitted = said_by(dl.on_spark(query, {"trades": frame, "names": names}, shards=2), tmp_path)
    last = [row for row in table(emitted, query, "result") if row["ve"] is None]
    assert [(row["name"], row["qty"]) for row in last] == [("Alpha", 15), ("Beta", 5)]


def test_a_row_of_a_table_that_cannot_be_read_is_a_dead_letter(spark: Any, tmp_path: Path) -> None:
    frame = streamed(spark, tmp_path / "trades", ROWS[:1])
    names = spark.createDataFrame(
        [("A", "Alpha", "1"), ("B", "Beta", None), ("C", "Gamma", "soon")],
        "symbol STRING, name STRING, since STRING",
    )
    columns = {"symbol": "STRING", "name": "STRING", "since": "BIGINT"}
    query = TRADES.join(dl.stream("names", columns, time="since"), on="symbol")
    asked = dl.on_spark(query, {"trades": frame, "names": names}, shards=2)
    emitted = said_by(asked, tmp_path)
    assert sorted(letters_of(emitted, "names"), key=repr) == [
        ("soon", "'soon' in the column since is not a BIGINT"),
        (None, "it has no time: since is null"),
    ]
    assert {row["name"] for row in table(emitted, query, "result")} == {"Alpha"}
    strict = dl.on_spark(query, {"trades": frame, "names": names}, shards=2, strict=True)
    with pytest.raises(Exception, match="BadInput: <names>:0: "):
        said_by(strict, tmp_path / "strict")


def letters_of(emitted: list[SparkUpdate], name: str) -> list[tuple[str | None, str]]:
    found = [
        bad for each in emitted if name in each.dead_letters for bad in each.dead_letters[name].bad
    ]
    return [(bad.value, bad.reason) for bad in found]


def test_a_row_without_a_time_is_a_dead_letter(spark: Any, tmp_path: Path) -> None:
    frame = streamed(spark, tmp_path / "trades", [[("A", 3, 1), ("B", 5, None)], [("A", 1, 4)]])
    query = TRADES.agg("sum(qty) AS qty")
    emitted = said_by(dl.on_spark(query, {"trades": frame}, shards=2), tmp_path)
    assert letters_of(emitted, "trades") == [(None, "it has no time: ts is null")]
    assert [row["qty"] for row in table(emitted, query, "result")] == [3, 4]


@pytest.mark.parametrize("native", [True, False])
def test_rows_that_cannot_be_read_are_dead_letters(
    spark: Any, tmp_path: Path, native: bool
) -> None:
    frame = streamed(spark, tmp_path / "trades", ROWS[:1]).selectExpr(
        "symbol", "ts", "CASE symbol WHEN 'B' THEN 'many' ELSE concat(' ', qty, ' ') END AS qty"
    )
    query = QUERIES["native" if native else "total"]
    emitted = said_by(dl.on_spark(query, {"trades": frame}, shards=2), tmp_path)
    assert letters_of(emitted, "trades") == [("many", "'many' in the column qty is not an INT")]
    rows = [{"symbol": s, "qty": "many" if s == "B" else f" {q} ", "ts": t} for s, q, t in ROWS[0]]
    local = query.run(trades=rows, keep_open=True)
    assert table(emitted, query, "result") == sorted(local.history().to_pylist(), key=repr)
    assert local.dead_letters == {"trades": 1}
    (bad,) = emitted[0].dead_letters["trades"].bad
    assert bad.text == b'{"symbol":"B","qty":"many","ts":2}'


def test_another_plan_on_a_checkpoint_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = streamed(spark, tmp_path / "trades", ROWS)
    said_by(dl.on_spark(TRADES.agg("sum(qty) AS qty"), {"trades": frame}, shards=2), tmp_path)
    other = dl.on_spark(TRADES.agg("max(qty) AS qty"), {"trades": frame}, shards=2)
    with pytest.raises(PlanError, match=r"had “aggregate sum\(.*has “aggregate max\("):
        said_by(other, tmp_path)
    more = dl.on_spark(TRADES.agg("sum(qty) AS qty"), {"trades": frame}, shards=7)
    with pytest.raises(PlanError, match=r"has the state of 2 shards, and shards=7 was given"):
        said_by(more, tmp_path)
    again = dl.on_spark(TRADES.agg("sum(qty) AS qty"), {"trades": frame})
    again.shards = 7  # on a machine of so many cores
    assert said_by(again, tmp_path) == []  # nothing is new, and the shards are as they were


def test_what_is_missing_is_named(spark: Any) -> None:
    names = spark.createDataFrame([("A", "Alpha")], "symbol STRING, name STRING")
    with pytest.raises(PlanError, match="no DataFrame was given for it"):
        dl.on_spark(TRADES, {"names": names}).changes()
    with pytest.raises(PlanError, match="none of the DataFrames is a stream"):
        dl.on_spark(NAMES, {"names": names}).start(print, checkpoint="nowhere")
