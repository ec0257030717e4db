"""Inputs that Spark reads as they come: directories, Kafka's messages, the rate source."""

from __future__ import annotations

import io
import json
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import driftline as dl
from driftline.cli.streams import streamed
from driftline.engine.ingest.source_time import NO_CLOCK
from driftline.engine.shards.source_messages import BAD, CLOCK, KIND, VS
from driftline.event_log.deadletters import from_text
from driftline.model.columns import CTI, INSERT
from driftline.model.time import INFINITY
from driftline.plan.errors import PlanError
from driftline.plan.nodes import Source
from driftline.running.streams import Streamed
from driftline.spark.inputs import (
    close,
    is_closing,
    log_table,
    message_events,
    streamed_events,
)
from driftline.spark.sources import UNREADABLE, payload_name, raw_events, reading_of
from tests.cli.run import driftline

pytestmark = pytest.mark.spark


def source(name: str, columns: dict[str, str], time: str) -> Source:
    return dl.stream(name, columns, time=time).plan.sources()[name]


TRADES = source("trades", {"symbol": "STRING", "qty": "INT", "ts": "BIGINT"}, "ts")
STAMPED = source("ticks", {"timestamp": "TIMESTAMP", "value": "BIGINT"}, "timestamp")


def given(text: str) -> Streamed:
    found = streamed(text)
    assert found is not None
    return found


def read(spark: Any, frame: Any, name: str, folder: Path) -> list[tuple[Any, ...]]:
    """The kind, the time and the payload of all that is there."""
    started = (
        frame.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    assert started.awaitTermination(150)
    rows = spark.table(name).collect()
    payload = [payload_name(place) for place in range(len(TRADES.schema))]
    return sorted((tuple(row[each] for each in (KIND, VS, *payload)) for row in rows), key=repr)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_directory_of_records(spark: Any, tmp_path: Path, form: str) -> None:
    folder, control = tmp_path / "in", tmp_path / "control"
    folder.mkdir()
    if form == "csv":  # in another order, and with a column more
        lines = (
            "ts,more,Qty,symbol",
            '1,"x, ""y""\nz",3,A',
            "2,y,many,B",
            '7,z," 5 ",',
            '8,,6,"""a\n"',
        )
        (folder / "1.csv").write_text("\n".join(lines))
    elif form == "jsonl":
        rows: list[dict[str, Any]] = [
            {"ts": 1, "qty": 3, "symbol": "A", "more": 1},
            {"ts": 2, "qty": "many", "symbol": "B"},
            {"ts": 7, "qty": 5},
            {"ts": 8, "qty": 6, "symbol": '"a\n'},
        ]
        (folder / "1.jsonl").write_text("\n".join(map(json.dumps, rows)))
    else:
        symbols = ["A", None, '"a\n']
        symbols.insert(1, "B")
        numbers = pa.array([3, 1 << 40, 5, 6], pa.int64())
        table = {"ts": [1, 2, 7, 8], "qty": numbers, "symbol": symbols}
        pq.write_table(pa.table(table), folder / "1.parquet")
    frame = streamed_events(spark, given(str(folder)), TRADES, control)
    reading = reading_of(frame, TRADES)
    assert (reading.plain, reading.ordered) == (True, False)
    found = read(spark, frame, f"read_{form}", tmp_path / "checkpoint")
    good = [row for row in found if row[0] == INSERT]
    assert good == [(INSERT, 1, "A", 3, 1), (INSERT, 7, None, 5, 7), (INSERT, 8, '"a\n', 6, 8)]
    assert len([row for row in found if row[0] == UNREADABLE]) == 1
    (written,) = (row[BAD] for row in spark.table(f"read_{form}").collect() if row[BAD])
    bad = from_text(written)
    assert bad.source == str(folder / f"1.{form}")
    assert bad.line == (4 if form == "csv" else 2)  # after a value with a line break
    assert (bad.column or "").lower() == "qty"
    assert bad.value == (str(1 << 40) if form == "parquet" else "many")
    assert f"in the column {bad.column} is not an INT" in bad.reason
    expected = {"csv": "2,y,many,B", "jsonl": '{"ts": 2, "qty": "many", "symbol": "B"}'}
    parquet = '{"symbol":"B","qty":1099511627776,"ts":2}'
    assert bad.text.decode() == expected.get(form, parquet)

    assert not is_closing(control)
    close(control)
    assert is_closing(control)
    more = read(spark, frame, f"closed_{form}", tmp_path / "another checkpoint")
    assert [row for row in more if row not in found] == [(CTI, INFINITY, None, None, None)]


def test_messages_are_json_of_the_streams_columns(spark: Any) -> None:
    values = [b'{"symbol":"A","qty":3,"ts":1,"more":{}}', b'{"symbol":"B","qty":"x"}', b"?", None]
    places = [(value, "kafka://h/t/0", 40 + at) for at, value in enumerate(values)]
    messages = spark.createDataFrame(places, "value BINARY, source STRING, line BIGINT").coalesce(1)
    rows = message_events(messages, TRADES, given("kafka://h:1/t")).collect()
    assert tuple(rows[0])[3:] == ("A", 3, 1)
    bad = [from_text(row[BAD]) for row in rows[1:]]
    assert [(each.source, each.line) for each in bad] == [
        ("kafka://h/t/0", n) for n in (41, 42, 43)
    ]
    assert bad[0].reason == "'x' in the column qty is not an INT"
    assert bad[0].text == values[1]
    assert bad[1].reason.startswith("malformed JSON")
    assert bad[2].reason == "a record is a JSON object, but this is not"


def test_the_rate_source(spark: Any, tmp_path: Path) -> None:
    frame = streamed_events(spark, given("rate://?rowsPerSecond=5"), STAMPED, tmp_path)
    assert frame.isStreaming
    assert frame.columns == [KIND, VS, payload_name(0), payload_name(1)]
    assert raw_events(frame, STAMPED).columns == [KIND, VS, "timestamp", "value"]


@pytest.mark.parametrize("form", ["json", "log"])
def test_what_is_followed_has_a_clock_if_it_needs_one(
    spark: Any, tmp_path: Path, form: str
) -> None:
    folder, control = tmp_path / "in", tmp_path / "control"
    folder.mkdir()
    line = '{"stream":"trades","kind":"insert","vs":7,"ve":null,"row":{"symbol":"A","qty":3}}'
    (folder / "1.jsonl").write_text(line if form == "log" else '{"symbol":"A","qty":3,"ts":7}')
    columns = {"symbol": "STRING", "qty": "INT", "ts": "BIGINT"}
    stream = dl.stream("trades", columns, time="ts", disorder=1, timeout="5s")
    timed = stream.plan.sources()["trades"]
    inside = given(f"{folder}?format={form}")
    assert CLOCK not in streamed_events(spark, inside, TRADES, control).columns
    frame = streamed_events(spark, inside, timed, control)
    close(control)
    before = time.time_ns() // 1_000_000
    started = (
        frame.writeStream.format("memory")
        .queryName(f"clock_{form}")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert started.awaitTermination(150)
    rows = {row[VS]: row[CLOCK] for row in spark.table(f"clock_{form}").collect()}
    assert before <= rows[7] <= time.time_ns() // 1_000_000
    assert rows[INFINITY] == NO_CLOCK


def log_batch(lines: bytes, source: Source, stream: str) -> pa.Table:
    return log_table(io.BytesIO(lines), source, stream)


LOG = """\
{"stream":"trades","kind":"insert","vs":1,"ve":null,"row":{"symbol":"A","qty":3}}
{"stream":"names","kind":"insert","vs":1,"ve":null,"row":{"symbol":"A","name":"Alpha"}}
what?
{"stream":"trades","kind":"cti","t":4}
"""


def test_lines_of_a_log() -> None:
    found = log_batch(LOG.encode(), TRADES, "Trades")
    assert found.column_names[:2] == [KIND, VS]
    assert found[KIND].to_pylist() == [INSERT, CTI, UNREADABLE]
    assert found[VS].to_pylist()[:2] == [1, 4]
    assert found[payload_name(0)].to_pylist()[0] == "A"
    assert found[payload_name(2)].to_pylist()[0] is None  # no row has it
    assert log_batch(b'{"stream":"trades","kind":"cti","t":4}', TRADES, "trades").num_rows == 1
    assert log_batch(b"", TRADES, "trades").num_rows == 0
    assert log_batch(b"", TRADES, "trades").schema == found.schema
    (bad,) = (from_text(each) for each in found[BAD].drop_null().to_pylist())
    assert (bad.line, bad.text) == (3, b"what?")


def test_the_values_of_a_log_that_json_does_not_have() -> None:
    kinds = {"d": "DOUBLE", "m": "DECIMAL(38,10)", "o": "MAP<STRING, INT>", "b": "BINARY"}
    row = '{"d":"NaN","m":12345678901234567890.0000000001,"o":{"k":1},"b":"AP8="}'
    line = f'{{"stream":"s","kind":"insert","vs":1,"ve":null,"row":{row}}}'
    source = dl.stream("s", kinds).plan.sources()["s"]
    found = log_batch(line.encode(), source, "s")
    payload = [found.column(payload_name(place))[0].as_py() for place in range(len(kinds))]
    assert str(payload[0]) == "nan"
    assert payload[1:] == [Decimal("12345678901234567890.0000000001"), [("k", 1)], b"\x00\xff"]


def test_times_of_a_log_that_the_stream_does_not_have() -> None:
    line = LOG.splitlines()[0].replace('"vs":1', '"vs":"2026-01-01T00:00:00Z"').encode()
    stamped = dl.stream("trades", {"symbol": "STRING", "qty": "INT"}, timestamps=True)
    assert log_batch(line, stamped.plan.sources()["trades"], "trades").num_rows == 1
    with pytest.raises(PlanError, match="the times of trades are timestamps, and the query takes"):
        log_batch(line, TRADES, "trades")


def test_a_directory_of_logs_is_a_stream_for_each_of_theirs(spark: Any, tmp_path: Path) -> None:
    """What one query wrote in micro-batches, another one reads."""
    query = tmp_path / "query.sql"
    query.write_text(
        "CREATE STREAM trades (symbol STRING, qty INT, at TIME);"
        "CREATE STREAM names (symbol STRING, name STRING);"
        "SELECT name, sum(qty) AS qty, max(at) AS latest "
        "FROM trades AS t JOIN names AS n ON t.symbol = n.symbol GROUP BY name"
    )
    folder = tmp_path / "in"
    folder.mkdir()
    log = LOG.replace("what?\n", "").replace('"qty":3', '"qty":3,"at":"10:20:30.5"')
    (folder / "1.jsonl").write_text(log)
    (folder / "2.jsonl").write_text(log.splitlines()[0].replace('"vs":1', '"vs":7') + "\n")
    ran = {
        runner: driftline("run", query, "--input", folder, "--table", "--runner", runner)
        for runner in ("spark", "local")
    }
    assert ran["spark"] == ran["local"]
    assert ran["local"].out.count("\n") == 2
