"""One rule for numbers that are times, wherever they come from."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import driftline as dl
from tests.cli.run import driftline

AT = 1_700_000_000_123_000
"""2023-11-14T22:13:20.123Z"""
UNITS = {None: 1_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}


def given(form: str, number: Any, folder: Path) -> Any:
    """A record with a number, in some form."""
    if form == "json":
        (path := folder / "s.jsonl").write_text(json.dumps({"ts": number, "x": 1}) + "\n")
    elif form == "json text":
        (path := folder / "s.jsonl").write_text(json.dumps({"ts": str(number), "x": 1}) + "\n")
    elif form == "csv":
        (path := folder / "s.csv").write_text(f"ts,x\n {number} ,1\n")
    elif form == "parquet":
        pq.write_table(pa.table({"ts": [number], "x": [1]}), path := folder / "s.parquet")
    elif form == "arrow":
        return pa.table({"ts": pa.array([number]), "x": [1]})
    elif form == "log":
        log = {"stream": "s", "kind": "insert", "vs": 5, "ve": None, "row": {"ts": number, "x": 1}}
        (path := folder / "s.jsonl").write_text(json.dumps(log) + "\n")
    else:
        return [{"ts": number, "x": 1}]
    return path


FORMS = ["json", "json text", "csv", "parquet", "arrow", "log", "rows"]


def micros(query: dl.Query, data: Any) -> list[int]:
    return list(query.select("unix_micros(ts) AS u").run(s=data).history().column("u").to_pylist())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("unit", UNITS)
def test_a_number_counts_what_the_stream_says(form: str, unit: Any, tmp_path: Path) -> None:
    stream = dl.stream("s", {"ts": "TIMESTAMP", "x": "INT"}, time="ts", time_unit=unit)
    number = AT // UNITS[unit]
    assert micros(stream, given(form, number, tmp_path)) == [number * UNITS[unit]]


def test_fractions_and_parts_of_values() -> None:
    columns = {"ts": "TIMESTAMP", "a": "ARRAY<TIMESTAMP>", "r": "STRUCT<t: TIMESTAMP>"}
    stream = dl.stream("s", columns, time="ts", time_unit="ms")
    row = {"ts": Decimal("1700000000123.5"), "a": [1, None], "r": {"t": 1.5}}
    wanted = ("unix_micros(ts) AS u", "unix_micros(a[0]) AS a", "unix_micros(r.t) AS r")
    [found] = stream.select(*wanted).run(s=[row]).history().to_pylist()
    assert (found["u"], found["a"], found["r"]) == (1_700_000_000_123_500, 1_000, 1_500)


@pytest.mark.parametrize("form", FORMS)
def test_years_that_are_none_are_refused_with_a_hint(form: str, tmp_path: Path) -> None:
    query = dl.stream("s", {"ts": "TIMESTAMP", "x": "INT"}, time="ts")
    result = query.run(s=given(form, AT // 1000, tmp_path))
    assert result.history().num_rows == 0
    [letters] = [emitted.dead_letters["s"] for emitted in result.updates if emitted.dead_letters]
    assert "outside the years 0001 to 9999; is it milliseconds? time_unit = 'ms'" in str(
        letters.reasons(True)
    )


def test_an_integer_time_counts_too() -> None:
    stream = dl.stream("s", {"t": "BIGINT", "x": "INT"}, time="t", time_unit="ms")
    rows = stream.window(range="1 second").run(s=[{"t": AT // 1000, "x": 1}]).history()
    assert rows.column("vs").cast("int64").to_pylist() == [AT]
    assert rows.column("ve").cast("int64").to_pylist() == [AT + 1_000_000]
    result = stream.run(s=[{"t": 2**62, "x": 1}])
    assert result.dead_letters == {"s": 1}


def test_times_of_events() -> None:
    events = [dl.Insert(2, dl.INFINITY, dl.Row(x=1)), dl.Retract(2, dl.INFINITY, 5, dl.Row(x=1)),
              dl.ExternalCti(0, 3, 1), dl.Cti(9)]  # fmt: skip
    for unit, size in (("s", 1_000_000), ("ms", 1_000), ("us", 1), (None, 1)):
        stream = dl.stream("s", {"x": "INT"}, timestamps=True, time_unit=unit)  # type: ignore[arg-type]
        result = stream.run(s=events, keep_open=True)
        assert result.dead_letters == {}
        table = result.history()
        found = [table.column(name).cast("int64").to_pylist() for name in ("vs", "ve")]
        assert found == [[2 * size], [5 * size]]
        assert result.final_up_to == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
            microseconds=9 * size
        )


def test_arrival_clocks() -> None:
    for unit, clock in (("s", 60), ("ms", 60_000), ("us", 60_000_000), (None, 60_000)):
        stream = dl.stream(
            "s", {"t": "TIMESTAMP", "got": "BIGINT", "k": "STRING"}, time="t", source="k",
            sources=2, disorder="0s", timeout="30s", arrival="got", time_unit=unit,  # type: ignore[arg-type]
        )  # fmt: skip
        rows = [{"t": 0, "got": 0, "k": "a"}, {"t": 1, "got": clock // 6, "k": "b"},
                {"t": 2, "got": clock, "k": "b"}]  # fmt: skip
        found = stream.run(s=rows, batch=1, keep_open=True)
        assert found.final_up_to is not None, unit  # a is silent for longer than its timeout


@pytest.mark.parametrize("runner", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_in_sql(runner: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if runner == "spark":
        request.getfixturevalue("spark")
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (ts TIMESTAMP, x INT) WITH (time = 'ts', time_unit = 'ms');"
        "SELECT ts, x FROM s;"
    )
    folder = tmp_path / "in"
    folder.mkdir()
    pq.write_table(pa.table({"ts": [AT // 1000, 2**60], "x": [1, 2]}), folder / "1.parquet")
    options = ("--runner", runner, "--table")
    ran = driftline("run", tmp_path / "q.sql", "-i", f"s={folder}", *options)
    assert (ran.code, ran.out) == (
        0,
        '{"vs":"2023-11-14T22:13:20.123Z","ve":null,'
        '"row":{"ts":"2023-11-14T22:13:20.123Z","x":1}}\n',
    )
    assert "outside the years 0001 to 9999" in ran.err


def test_what_is_no_unit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (ts TIMESTAMP) WITH (time = 'ts', time_unit = 'ns'); SELECT ts FROM s;"
    )
    ran = driftline("run", tmp_path / "q.sql", "-i", "s.csv", "--runner", "local")
    assert "time_unit is s, ms or us, not 'ns'" in ran.err
