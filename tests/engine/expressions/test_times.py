"""Times of the day, by examples that were asked of Spark 4.3 (with spark.sql.timeType.enabled)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from driftline.engine.expressions import EvaluationError
from driftline.plan import ExpressionError
from tests.cli.run import driftline
from tests.engine.of_rows import value


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("TIME'14:30:45'", time(14, 30, 45)),
        ("string(TIME'00:00:00.100')", "00:00:00.1"),
        ("string(TIME'1:02:03 PM')", "13:02:03"),
        ("string(TIME'12:00 am')", "00:00:00"),
        ("string(CAST('T12' AS TIME))", "12:00:00"),
        ("string(CAST(' 1:2:3 ' AS TIME))", "01:02:03"),
        ("string(try_cast('12:3:4.' AS TIME))", "12:03:04"),
        ("string(try_cast('00:00:00.1234567' AS TIME))", "00:00:00.123456"),
        ("string(try_cast('12:3  pm ' AS TIME))", "12:03:00"),
        ("CAST(TIMESTAMP'2024-01-01 10:11:12.345678' AS TIME)", time(10, 11, 12, 345678)),
        ("CAST(TIMESTAMP_NTZ'1960-01-01 10:11:12' AS TIME)", time(10, 11, 12)),
        ("CAST(TIME'12:30:01.5' AS BIGINT)", 45001),
        ("CAST(TIME'12:30:01.5' AS DECIMAL(10,2))", Decimal("45001.50")),
        ("typeof(TIME'12:30:01.5')", "time(6)"),
        ("make_time(6, 30, 45.8871234)", time(6, 30, 45, 887123)),
        ("make_time(NULL, 1, 1)", None),
        ("time_diff('MICROSECOND', TIME'20:30:29', TIME'21:30:28.5')", 3_599_500_000),
        ("time_diff('minute', TIME'10:00', TIME'09:58:30')", -1),
        ("time_from_seconds(1.5BD)", time(0, 0, 1, 500_000)),
        ("time_from_seconds(CAST(0.25 AS FLOAT))", time(0, 0, 0, 250_000)),
        ("time_to_seconds(TIME'14:30:00.5')", Decimal("52200.500000")),
        ("time_trunc('second', TIME'09:32:05.359')", time(9, 32, 5)),
        ("time_trunc('HOUR', '09:32:05')", time(9)),
        ("time_trunc(NULL, TIME'1:2')", None),
        ("to_time('12:30 PM', 'hh:mm a')", time(12, 30)),
        ("try_to_time('no')", None),
        ("try_to_time('12', 'yyyy')", None),
        ("TIME'12:30' + INTERVAL '1' HOUR", time(13, 30)),
        ("TIME'12:30' - INTERVAL '1:30' HOUR TO MINUTE", time(11)),
        ("TIME'12:30' - TIME'11:00'", timedelta(minutes=90)),
        ("try_add(TIME'23:00', INTERVAL '2' HOUR)", None),
        ("TIME'12:30' = '12:30:00'", True),
        ("TIME'10:00' BETWEEN '09:00' AND '11:00'", True),
        ("greatest(TIME'10:00', TIME'10:01')", time(10, 1)),
        ("second(TIME'12:58:59.5')", 59),
        ("extract(SECOND FROM TIME'12:58:59.5')", Decimal("59.500000")),
        ("date_part('HOUR', TIME'12:58:59')", 12),
        ("date_format(TIME'14:30:45.5', 'hh:mm:ss.SSS a')", "02:30:45.500 PM"),
        ("to_json(named_struct('t', TIME'10:00:00.25'))", '{"t":"10:00:00.25"}'),
        ("to_json(map(TIME'10:00', 1))", '{"36000000000000":1}'),
        ("""from_json('{"t":"12:30:05"}', 't TIME').t""", time(12, 30, 5)),
        ("hash(TIME'12:30')", -1091328570),
        ("xxhash64(TIME'12:30')", 1128842886192098135),
        ("string(array(TIME'10:00', NULL))", "[10:00:00, null]"),
        (
            "make_timestamp(DATE'2024-01-01', TIME'1:2:3')",
            datetime(2024, 1, 1, 1, 2, 3, tzinfo=UTC),
        ),
        ("make_timestamp(DATE'2024-01-01', NULL)", None),
        ("make_timestamp_ntz(DATE'2024-01-01', TIME'1:2:3')", datetime(2024, 1, 1, 1, 2, 3)),
    ],
)
def test_times(text: str, result: Any) -> None:
    assert value(text) == result


@pytest.mark.parametrize(
    "text",
    ["12", "12:", "t12:3", "12:3Z", "", "0:3 PM", "13:3 AM", "1:2:3:4", "123:1", "1:60", "-1:0"],
)
def test_texts_that_are_no_times(text: str) -> None:
    assert value(f"try_cast('{text}' AS TIME)") is None


@pytest.mark.parametrize(
    "text",
    [
        "make_time(24, 0, 0)",
        "make_time(23, 59, 60)",
        "time_from_seconds(86400)",
        "time_from_seconds(double('NaN'))",
        "time_from_micros(-1)",
        "to_time('no')",
        "TIME'23:30' + INTERVAL '1' HOUR",
        "TIME'12:30' + INTERVAL '1' DAY",
        "date_format(TIME'14:30:45', 'yyyy')",
        "CAST(TIME'23:59:59' AS TINYINT)",
    ],
)
def test_failures(text: str) -> None:
    with pytest.raises(EvaluationError):
        value(text)


@pytest.mark.parametrize(
    "text",
    [
        "TIME'24:00'",
        "CAST(3600 AS TIME)",
        "CAST(TIME'12:30' AS TIMESTAMP)",
        "CAST('1:2' AS TIME(3))",
        "time_diff('DAY', TIME'1:00', TIME'2:00')",
        "time_from_millis(1.5)",
        "extract(YEAR FROM TIME'12:58:59')",
        "TIME'10:00' = TIMESTAMP'2024-01-01 10:00:00'",
        "make_timestamp('2024-01-01', '1:2:3')",
    ],
)
def test_what_has_no_meaning(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(text)


@pytest.mark.parametrize("name", ["in.jsonl", "in.csv", "in.parquet"])
def test_columns_of_times_are_read_and_written(tmp_path: Path, name: str) -> None:
    query, given = tmp_path / "query.sql", tmp_path / name
    query.write_text(
        "CREATE STREAM shifts (who STRING, starts TIME, n INT) WITH (time = 'n');\n"
        "SELECT starts, max(who) AS who, starts + INTERVAL '1' HOUR AS ends FROM shifts "
        "GROUP BY starts"
    )
    if name.endswith("parquet"):
        times = pa.array([time(9, 30), time(10, 0, 0, 500_000)], pa.time64("ns"))
        rows = {"who": ["a", "b"], "starts": times, "n": pa.array([1, 2], pa.int32())}
        pq.write_table(pa.table(rows), given)
    elif name.endswith("csv"):
        given.write_text("who,starts,n\na,09:30,1\nb,10:00:00.5,2\nc,late,3\n")
    else:
        given.write_text(
            '{"who":"a","starts":"09:30","n":1}\n{"who":"b","starts":"10:00:00.5","n":2}\n'
            '{"who":"c","starts":"late","n":3}\n'
        )
    output = tmp_path / "out.jsonl"
    ran = driftline("run", query, "--runner", "local", "--input", given, "--output", output)
    assert ("'late' in the column starts is not a TIME" in ran.err) == (
        not name.endswith("parquet")
    )
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["row"] for line in lines if line["kind"] == "insert"] == [
        {"starts": "09:30:00", "who": "a", "ends": "10:30:00"},
        {"starts": "10:00:00.5", "who": "b", "ends": "11:00:00.5"},
    ]
