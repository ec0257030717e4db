"""Queries on Spark, from DataFrames to sinks."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import driftline as dl
from driftline.event_log.apart import SameFile
from driftline.plan.errors import PlanError
from driftline.running.locks import InUse
from driftline.spark import sinks
from driftline.spark.history import as_of, prefix_of
from driftline.spark.query import SparkQuery
from driftline.spark.retried import RetriedQuery
from driftline.spark.session import configured
from driftline.spark.update import SparkUpdate
from tests.spark.saying import coalesced

START = datetime(2026, 1, 1, 10, tzinfo=UTC)
COLUMNS = {"symbol": "STRING", "qty": "BIGINT", "at": "TIMESTAMP"}
TRADES = dl.stream("trades", COLUMNS, time="at", disorder="10 seconds")
VOLUME = TRADES.tumble("1 minute").group_by("window_end", "symbol").agg("sum(qty) AS qty")

# second, symbol, quantity; a line is a micro-batch
BATCHES = [
    [(1, "A", 5), (3, "B", 7), (2, "A", 1)],
    [(62, "A", 2), (58, "B", 4)],  # one in the next minute, one that comes later than it
    [(75, "A", 1), (130, "B", 6)],
]
FINAL = [
    (START + timedelta(minutes=minute), symbol, qty)
    for minute, symbol, qty in [(1, "A", 6), (1, "B", 11), (2, "A", 3)]
]


@pytest.fixture
def trades(spark: Any, tmp_path: Path) -> Any:
    """A directory of Parquet files that Spark streams, one a micro-batch."""
    folder = tmp_path / "trades"
    folder.mkdir()
    for number, batch in enumerate(BATCHES):
        seconds, symbols, quantities = zip(*batch, strict=True)
        at = pa.array([START + timedelta(seconds=second) for second in seconds])
        table = pa.table({"symbol": symbols, "qty": quantities, "at": at})
        path = folder / f"{number}.parquet"
        pq.write_table(table.cast(pa.schema([*list(table.schema)[:2], ("at", UTC_STAMP)])), path)
        os.utime(path, (number + 1, number + 1))
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


UTC_STAMP = pa.timestamp("us", "UTC")


def run(query: SparkQuery, sink: Any, folder: Path) -> None:
    started = query.start(sink, checkpoint=folder, trigger={"availableNow": True})
    assert started.awaitTermination(150)


@pytest.mark.spark
def test_every_sink_has_every_micro_batch(trades: Any, tmp_path: Path) -> None:
    memory = sinks.Memory()
    seen: list[SparkUpdate] = []
    query = dl.on_spark(
        {"volume": VOLUME, "all": TRADES}, {"trades": trades}, shards=2, outputs="marked"
    )
    sink = sinks.Several(
        memory,
        sinks.EventLog(tmp_path / "log.jsonl"),
        sinks.EventLogFiles(tmp_path / "logs"),
        sinks.Parquet(tmp_path / "history", "history"),
        sinks.Delta(str(tmp_path / "delta"), "history"),
        seen.append,
    )
    run(query, sink, tmp_path / "checkpoint")

    local = VOLUME.run(trades=_table(), keep_open=True)
    assert coalesced(memory.history("volume")) == coalesced(local.history())
    assert memory.history("all").num_rows == 7

    # The system time is the one that Spark wrote down for the micro-batch.
    for emitted in seen:
        offsets = tmp_path / "checkpoint" / "spark" / "offsets" / str(emitted.batch_id)
        written = json.loads(offsets.read_text().split("\n")[1])["batchTimestampMs"]
        assert emitted.time == written
    run_ids = {emitted.run for emitted in seen}
    metadata = json.loads((tmp_path / "checkpoint" / "spark" / "metadata").read_text())
    assert run_ids == {metadata["id"]}

    # On a disk all of the checkpoint has checksums, the source's part of it, too.
    for log in ("offsets", "commits", "sources/0"):
        found = [*(tmp_path / "checkpoint" / "spark" / log).glob("[0-9]*")]
        assert found
        assert all(path.with_name(f".{path.name}.crc").exists() for path in found)

    # The prefix of every micro-batch, and the file that it has read.
    read = [emitted.prefix for emitted in seen if emitted.prefix is not None]
    assert [prefix.events["trades"] for prefix in read][:3] == [3, 5, 7]
    files = [prefix.files["trades"] for prefix in read[:3]]
    assert [[Path(file).name for file in each] for each in files] == [
        [f"{number}.parquet"] for number in range(3)
    ]
    assert [*files[0].values()] == [3]

    history = sinks.read_parquet(tmp_path / "history", "volume")
    assert prefix_of(history) == {"trades": 7}
    first, *_ = (emitted.time for emitted in seen)
    at = datetime.fromtimestamp(first / 1000, UTC)
    about = START + timedelta(seconds=59)
    b = [
        row["qty"]
        for row in as_of(history, valid_time=about, system_time=at).to_pylist()
        if row["symbol"] == "B"
    ]
    assert b == [7]  # the rest came later
    b = [row["qty"] for row in as_of(history, valid_time=about).to_pylist() if row["symbol"] == "B"]
    assert b == [11]


def _table() -> pa.Table:
    rows = [row for batch in BATCHES for row in batch]
    seconds, symbols, quantities = zip(*rows, strict=True)
    at = pa.array([START + timedelta(seconds=second) for second in seconds]).cast(UTC_STAMP)
    return pa.table({"symbol": symbols, "qty": quantities, "at": at})


@pytest.mark.spark
def test_final_answers_only(trades: Any, tmp_path: Path) -> None:
    earlier = TRADES.select("symbol", "qty", "at - INTERVAL 5 HOURS AS at").tumble("1 minute", "at")
    moved = earlier.group_by("window_end", "symbol").agg("sum(qty) AS qty")
    query = dl.on_spark({"as it is": VOLUME, "moved": moved}, {"trades": trades}, final=True)
    memory = sinks.Memory()
    run(query, memory, tmp_path / "checkpoint")
    for name, by in (("as it is", timedelta()), ("moved", timedelta(hours=5))):
        rows = memory.table(name, "finals").to_pylist()
        found = [(row["window_end"] + by, row["symbol"], row["qty"]) for row in rows]
        assert sorted(found) == FINAL


@pytest.mark.spark
def test_matches_are_those_of_the_local_runner_and_final_ones_come_once(
    trades: Any, tmp_path: Path
) -> None:
    turns = TRADES.match(
        "DOWN+ UP",
        {"DOWN": "qty < PREV(qty)", "UP": "qty > PREV(qty)"},
        {"least": "DOWN.qty", "at": "UP.at"},
        per="symbol",
        by="at",
    )
    memory = sinks.Memory()
    run(dl.on_spark(turns, {"trades": trades}), memory, tmp_path / "checkpoint")
    wanted = turns.run(trades=_table()).history().drop_columns(["vs", "ve"]).to_pylist()
    found = memory.history().select(["symbol", "least", "at"]).to_pylist()
    assert sorted(found, key=str) == sorted(wanted, key=str)
    assert [row["symbol"] for row in sorted(found, key=str)] == ["A", "B"]
    finals = sinks.Memory()
    run(dl.on_spark(turns, {"trades": trades}, final=True), finals, tmp_path / "finals")
    (row,) = finals.table("result", "finals").to_pylist()
    assert (row["symbol"], row["least"]) == ("A", 1)  # of B's, the cti has not passed the last row


@pytest.mark.spark
def test_rows_that_the_query_brings_itself(trades: Any, tmp_path: Path) -> None:
    """VALUES is a table that does not change, SELECT without FROM a row that is always there."""
    script = """
        CREATE STREAM trades (symbol STRING, qty BIGINT, at TIMESTAMP) WITH (time = 'at');
        SELECT v.name, sum(t.qty) AS qty FROM trades t
        JOIN VALUES ('A', 'one'), ('C', 'none') AS v (symbol, name) ON t.symbol = v.symbol
        GROUP BY v.name
        UNION ALL SELECT 'alone' AS name, 7L AS qty
    """
    memory = sinks.Memory()
    query = dl.on_spark(dl.sql(script), {"trades": trades}, shards=2)
    run(query, memory, tmp_path / "checkpoint")
    ends = [row for row in memory.history().to_pylist() if row["ve"] is None]
    assert sorted((row["name"], row["qty"]) for row in ends) == [("alone", 7), ("one", 9)]


@pytest.mark.spark
def test_a_micro_batch_that_comes_again_is_written_once(trades: Any, tmp_path: Path) -> None:
    def crash(emitted: SparkUpdate) -> None:
        if emitted.batch_id == 1:
            raise RuntimeError("crash")

    log, folder = tmp_path / "log.jsonl", tmp_path / "checkpoint"
    query = dl.on_spark(VOLUME, {"trades": trades}, shards=2)
    memory = sinks.Memory()
    broken = sinks.Several(sinks.EventLog(log), sinks.Parquet(tmp_path / "rows"), crash, memory)
    with pytest.raises(Exception, match="crash"):
        run(query, broken, folder)
    assert sorted(memory.updates) == [0]
    again = sinks.Several(sinks.EventLog(log), sinks.Parquet(tmp_path / "rows"), memory)
    run(query, again, folder)
    assert sorted(memory.updates) == list(range(len(memory.updates)))
    once = sinks.EventLog(tmp_path / "once.jsonl")
    for _, emitted in sorted(memory.updates.items()):
        once(emitted)
    assert log.read_bytes() == (tmp_path / "once.jsonl").read_bytes()
    assert _lines(sinks.read_parquet(tmp_path / "rows")) == _lines(memory.table())


def _lines(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


class Crash:
    """A sink that wants no rows, and fails once."""

    def __init__(self) -> None:
        self.updates: list[SparkUpdate] = []

    def targets(self, about: SparkUpdate) -> dict[str, Any]:
        return {}

    def __call__(self, update: SparkUpdate) -> None:
        self.updates.append(update)
        if len(self.updates) == 2:
            raise RuntimeError("crash")


@pytest.mark.spark
def test_executors_write_files_and_the_driver_commits(trades: Any, tmp_path: Path) -> None:
    query, crash = dl.on_spark(VOLUME, {"trades": trades}, shards=2), Crash()
    files = (sinks.Parquet(tmp_path / "rows"), sinks.Delta(str(tmp_path / "table"), "history"))
    sink = sinks.Several(files[0], crash, files[1])  # between the two commits
    with pytest.raises(Exception, match="crash"):
        run(query, sink, tmp_path / "checkpoint")
    run(query, sink, tmp_path / "checkpoint")
    assert [len(update.batches["result"]) for update in crash.updates] == [0] * len(crash.updates)
    assert crash.updates[-1].batches["result"].cti > crash.updates[0].batches["result"].cti

    memory = sinks.Memory()
    run(query, memory, tmp_path / "again")
    found = sinks.read_parquet(tmp_path / "rows")
    assert _lines(found) == _lines(memory.table())
    from deltalake import DeltaTable

    kept = DeltaTable(tmp_path / "table").to_pyarrow_table().drop_columns(["system_time"])
    assert _lines(kept) == _lines(memory.table(view="history").drop_columns(["system_time"]))


@pytest.mark.spark
@pytest.mark.parametrize("form", ["parquet", "json", "memory", "console"])
def test_changes_go_into_sparks_own_sinks(
    spark: Any, trades: Any, tmp_path: Path, form: str
) -> None:
    query = dl.on_spark(TRADES.where("qty > 1").select("symbol", "qty"), {"trades": trades})
    with configured(spark, query.settings):
        writer = query.changes().writeStream.format(form).outputMode("append")
        writer = writer.queryName("changed").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        if form in ("parquet", "json"):
            started = writer.start(str(tmp_path / "out"))
        else:
            started = writer.start()
        assert started.awaitTermination(150)
    assert started.exception() is None
    if form == "console":  # it writes to the output of the JVM
        return
    found = (
        spark.table("changed")
        if form == "memory"
        else spark.read.format(form).load(str(tmp_path / "out"))
    )
    rows = found.select("kind", "symbol", "qty").collect()
    wanted = [("insert", symbol, qty) for batch in BATCHES for _, symbol, qty in batch if qty > 1]
    assert sorted(map(tuple, rows)) == sorted(wanted)


@pytest.mark.spark
def test_changes_go_on_with_the_shards_of_their_checkpoint(spark: Any, tmp_path: Path) -> None:
    """Also where Spark has another number of cores; another number that is asked for is refused."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    frame = spark.readStream.schema("k STRING, x BIGINT, t BIGINT").json(str(folder))
    counts = dl.stream("s", {"k": "STRING", "x": "BIGINT", "t": "BIGINT"}, time="t")
    counts = counts.group_by("k").agg("count(*) AS n")

    def run_with(shards: int | None) -> None:
        number = len(list(folder.iterdir()))
        lines = [{"k": f"k{key}", "x": 1, "t": number} for key in range(9)]
        (folder / f"{number}.json").write_text("\n".join(map(json.dumps, lines)))
        query = dl.on_spark(counts, {"s": frame}, shards=shards)
        with configured(spark, query.settings):
            writer = query.changes().writeStream.format("json").trigger(availableNow=True)
            writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
            started = RetriedQuery(lambda: writer.start(str(out)))  # the machine may be busy
            assert started.awaitTermination(150)

    run_with(3)
    run_with(None)
    inserts = spark.read.json(str(out)).where("kind = 'insert' AND vs = 1").collect()
    assert [row.n for row in inserts] == [2] * 9
    with pytest.raises(Exception, match="the state of 3 shards, and the query has 2: start it"):
        run_with(2)


@pytest.mark.spark
def test_what_cannot_be_run_is_refused(spark: Any, trades: Any) -> None:
    with pytest.raises(PlanError, match=r"needs a DataFrame for every stream"):
        dl.on_spark(VOLUME, {})
    with pytest.raises(PlanError, match=r"the stream trades, but no DataFrame was given for it"):
        dl.on_spark(VOLUME, {"trade": trades})
    with pytest.raises(PlanError, match=r"there is a DataFrame more, but the query reads only"):
        dl.on_spark(VOLUME, {"trades": trades, "more": trades})
    with pytest.raises(PlanError, match=r"none of the DataFrames is a stream"):
        dl.on_spark(VOLUME, {"trades": spark.range(1)}).start(print, checkpoint="nowhere")
    with pytest.raises(PlanError, match=r"emit is perfect, ordered or eager, not 'now'"):
        dl.on_spark(VOLUME, {"trades": trades}, emit="now")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="heartbeat is source, operator, memory or query, not"):
        dl.on_spark(VOLUME, {"trades": trades}, heartbeat="plan")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"there is no query to run"):
        dl.on_spark({}, {"trades": trades})
    with pytest.raises(PlanError, match=r"a str is not a query"):
        dl.on_spark({"volume": "SELECT"}, {"trades": trades})  # type: ignore[dict-item]
    with pytest.raises(PlanError, match=r"trades is a NoneType, not a DataFrame"):
        dl.on_spark(VOLUME, {"trades": None})  # type: ignore[dict-item]
    with pytest.raises(PlanError, match=r"at least one shard, not 0"):
        dl.on_spark(VOLUME, {"trades": trades}, shards=0)
    with pytest.raises(PlanError, match=r"there is no result x; there are result"):
        dl.on_spark(VOLUME, {"trades": trades}).changes("x")
    with pytest.raises(PlanError, match=r"a NoneType is not a sink: give one of"):
        dl.on_spark(VOLUME, {"trades": trades}).start(None, checkpoint="x")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"'soon' is not a duration"):
        dl.on_spark(VOLUME, {"trades": trades}, remember="soon")


@pytest.mark.spark
def test_sinks_and_the_checkpoint_are_apart(trades: Any, tmp_path: Path) -> None:
    query = dl.on_spark(VOLUME, {"trades": trades})
    one, other = tmp_path / "one", tmp_path / "other"
    other.symlink_to(one)
    for sink in (
        sinks.Parquet(tmp_path / "state"),
        sinks.EventLog(tmp_path / "state" / "x.jsonl"),
        sinks.Several(sinks.EventLogFiles(one), sinks.DeadLetterFiles(other)),
        sinks.Several(sinks.EventLog(one), sinks.EventLog(tmp_path / "." / "other")),
    ):
        with pytest.raises(SameFile, match="the sink"):
            query.start(sink, checkpoint=tmp_path / "state")
    assert not one.exists()


@pytest.mark.spark
def test_a_checkpoint_and_what_a_sink_writes_are_of_one_run_at_a_time(
    trades: Any, tmp_path: Path
) -> None:
    query = dl.on_spark(VOLUME, {"trades": trades})
    log = tmp_path / "log.jsonl"
    first = query.start(sinks.EventLog(log), checkpoint=tmp_path / "c")
    try:
        for sink, checkpoint in ((tmp_path / "x", "c"), (log, "d")):
            with pytest.raises(InUse, match=rf"another run \(process {os.getpid()}\)"):
                query.start(sinks.EventLog(sink), checkpoint=tmp_path / checkpoint)
        assert not (tmp_path / "x").exists()
        assert not (tmp_path / "d").exists()
    finally:
        first.stop()
    again = {"availableNow": True}
    query.start(sinks.EventLog(log), checkpoint=tmp_path / "c", trigger=again).awaitTermination()
