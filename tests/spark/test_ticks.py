"""A timeout passes on Spark although no row comes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import driftline as dl
from driftline.plan.nodes import Source
from driftline.spark.query import SparkQuery
from driftline.spark.session import configured
from driftline.spark.ticks import FOR_EVER, Heard, patience, period, ticking, without_timeout
from driftline.spark.update import SparkUpdate

COLUMNS = {"k": "STRING", "ts": "BIGINT", "got": "BIGINT"}
WAIT = 200  # seconds


def readings(**bounds: Any) -> dl.Query:
    return dl.stream("r", COLUMNS, time="ts", **bounds)


def source(**bounds: Any) -> Source:
    return readings(**bounds).plan.sources()["r"]


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + WAIT
    while not what():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.1)


def test_how_often_and_for_how_long() -> None:
    def of(*timeouts: str) -> int:
        return period([source(disorder=0, timeout=timeout) for timeout in timeouts])

    assert [of("2s"), of("20s"), of("1h"), of("1h", "8s")] == [1_000, 5_000, 30_000, 2_000]
    both = [source(disorder=0, timeout="5s", latency="2s"), source(disorder=0, timeout="6s")]
    assert patience(both) == 7_000
    waiting = source(source="k", bounds=[("a", "a", "8s", 0, "1s"), ("a", "b", "20s", 0)])
    assert (period([waiting]), patience([waiting])) == (2_000, 21_000)
    assert (period([source(disorder=0, rate=1)]), patience([source(disorder=0, rate=1)])) == (
        5_000, FOR_EVER,
    )  # fmt: skip


class Frame:
    """As much of a DataFrame as is asked."""

    def __init__(self, *columns: str, moving: bool = True) -> None:
        self.columns, self.isStreaming = columns, moving
        # A session on a cluster, whose workers are not prepared.
        context = SimpleNamespace(master="spark://somewhere")
        self.sparkSession = SimpleNamespace(sparkContext=context)


@pytest.mark.parametrize(
    ("bounds", "frame", "ticks"),
    [
        ({"disorder": 5, "timeout": "5s"}, Frame(), True),
        ({"disorder": 5, "timeout": "5s"}, Frame(moving=False), False),
        ({"disorder": 5, "timeout": "5s"}, Frame("$position"), False),  # a file
        ({"disorder": 5, "timeout": "5s", "arrival": "got"}, Frame(), False),
        ({"disorder": 5, "latency": "5s"}, Frame(), False),
        ({"disorder": 5}, Frame(), False),
        ({}, Frame(), False),
        ({"timeout": "5s"}, Frame(), True),  # it ends the waiting
        ({"disorder": 5, "rate": 1}, Frame(), True),
        ({"source": "k", "bounds": [("a", "a", "2s", 0)]}, Frame(), True),
        ({"source": "k", "bounds": [("a", "a", "2 tuples", 0)]}, Frame(), False),
    ],
)
def test_who_needs_ticks(bounds: dict[str, Any], frame: Any, ticks: bool) -> None:
    assert bool(ticking({"r": frame}, {"r": source(**bounds)}, block=9)) == ticks


def test_where_nobody_waits_a_guess_needs_no_ticks() -> None:
    assert not ticking({"r": Frame()}, {"r": source(timeout="5s")})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("bounds", "frame", "warned"),
    [
        ({"disorder": 5}, Frame(), True),
        ({"disorder": 5, "source": "k", "skew": 2}, Frame(), True),
        ({"disorder": 5}, Frame(moving=False), False),
        ({"disorder": 5}, Frame("$position"), False),
        ({"disorder": 5, "timeout": "5s"}, Frame(), False),
        ({}, Frame(), False),  # a guess makes nothing final
    ],
)
def test_whose_last_records_wait(bounds: dict[str, Any], frame: Any, warned: bool) -> None:
    assert without_timeout({"r": frame}, {"r": source(**bounds)}) == (["r"] if warned else [])


class Reached(Exception):
    """The query would be started now."""


@pytest.mark.parametrize(
    ("trigger", "warned"),
    [(None, True), ({"processingTime": "1 second"}, True), ({"availableNow": True}, False)],
)
def test_it_is_said_when_a_query_starts_that_has_no_end(
    trigger: dict[str, Any] | None,
    warned: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def reached(*_: object, **__: object) -> None:
        raise Reached

    monkeypatch.setattr("driftline.spark.query.pipeline", reached)
    plans = {"result": readings(disorder=5).plan}
    query = SparkQuery(plans, {"r": Frame()}, shards=1)  # type: ignore[dict-item]
    with pytest.raises(Reached):
        query.start(print, checkpoint=tmp_path, trigger=trigger)
    emitted = "when all sources of r pause, the last records are not final: declare a timeout"
    assert (emitted in caplog.text) == warned


def test_rows_are_heard() -> None:
    heard = Heard()
    path = Path(heard.path)
    changes = []
    for rows in (3, 3, 5):  # the second is a tick
        at_source = ["finalize", "r", "r", {"changes_in": rows, "dead_letters": 0}]
        os.utime(path, (1, 1))
        heard.take({(1, 0): {"counters": [at_source, ["sum", "", "", {"changes_in": 9}]]}})
        changes.append(path.stat().st_mtime > 1)
    assert changes == [True, False, True]
    del heard
    assert not path.exists()


@pytest.fixture
def silent(spark: Any, tmp_path: Path) -> Any:
    """A followed directory that nobody adds to."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.json").write_text('{"k":"a","ts":3,"got":0}\n{"k":"b","ts":5,"got":0}\n')
    return spark.readStream.schema("k STRING, ts BIGINT, got BIGINT").json(str(folder))


STREAM = readings(disorder=10, source="k", timeout="2s")
TOTAL = STREAM.group_by("k").agg("count(*) AS n").agg("sum(n) AS n")  # in two stages


@pytest.mark.spark
def test_when_all_are_silent_answers_become_final(silent: Any, tmp_path: Path) -> None:
    """And after a crash a tick comes again as it was."""
    query = dl.on_spark(TOTAL, {"r": silent}, final=True, shards=2)
    emitted: list[SparkUpdate] = []

    def crash(each: SparkUpdate) -> None:
        emitted.append(each)
        if each.batch_id == 1:
            raise RuntimeError

    started = query.start(crash, checkpoint=tmp_path / "one")
    try:
        wait_for(lambda: not started.isActive)
    finally:
        started.stop()
    assert [each.batch_id for each in emitted] == [0, 1]

    started = query.start(emitted.append, checkpoint=tmp_path / "one")
    try:
        wait_for(lambda: not started.isActive or totals(emitted[2:]) == [1])
    finally:
        started.stop()
    before, again = emitted[1:3]
    assert (again.batch_id, again.time) == (before.batch_id, before.time)
    assert totals([again]) == totals([before])
    assert again.batches["result"].cti == before.batches["result"].cti

    last = emitted[-1].batch_id
    more = '{"k":"a","ts":4,"got":0}\n{"k":"a","ts":9,"got":0}\n'
    (tmp_path / "in" / "2.json").write_text(more)
    ending = query.start(
        emitted.append, checkpoint=tmp_path / "one", trigger={"availableNow": True}
    )
    assert ending.awaitTermination(WAIT)
    assert sum(len(letters) for each in emitted for letters in each.dead_letters.values()) == 1
    assert 1 <= emitted[-1].batch_id - last <= 2  # it came to an end


def totals(emitted: list[SparkUpdate]) -> list[int]:
    """From 3 to 5 there is one; what goes on from there is not over."""
    rows = [row for each in emitted for row in each.batches["result"].payload.to_pylist()]
    return [row["n"] for row in rows]


@pytest.mark.spark
def test_as_a_dataframe(spark: Any, silent: Any, tmp_path: Path) -> None:
    query = dl.on_spark(TOTAL, {"r": silent}, final=True)
    with configured(spark, query.settings):
        changes = query.changes().writeStream.format("memory").queryName("silent_changes")
        started = changes.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        wait_for(lambda: [row.n for row in spark.table("silent_changes").collect()] == [1])
    finally:
        started.stop()
