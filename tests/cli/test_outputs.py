"""What is written is what is read back, however far away its times are."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from driftline.model.time import INFINITY
from tests.cli.run import driftline, driftline_on_a_terminal

MICROS = [
    0, -1, 1_700_000_000_123_456,
    -62_135_596_800_000_000, -62_135_596_800_000_001,  # the year 0001, and just before
    253_402_300_799_999_999, 253_402_300_800_000_000,  # the end of 9999, and just after
    2**61, -(2**61), INFINITY - 1, -INFINITY,
]  # fmt: skip
DAYS = [0, -719_163, -719_162, 2_932_896, 2_932_897, -(10**6), 10**7, 2**31 - 800_000]
"""As far as Spark reads a year: seven digits."""

WRITE = """
CREATE STREAM s (x BIGINT, d INT, t BIGINT) WITH (time = 't');
SELECT x, timestamp_micros(x) AS ts, date_from_unix_date(d) AS day FROM s;
"""
READ = """
CREATE STREAM result (x BIGINT, ts TIMESTAMP, day DATE, vs BIGINT) WITH (time = 'vs');
SELECT x, unix_micros(ts) AS y, unix_date(day) AS d FROM result;
"""


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
def test_far_times_are_read_back(tmp_path: Path, name: str) -> None:
    (tmp_path / "write.sql").write_text(WRITE)
    (tmp_path / "read.sql").write_text(READ)
    rows = [(x, DAYS[place % len(DAYS)]) for place, x in enumerate(MICROS)]
    lines = [f"{x},{d},{place}\n" for place, (x, d) in enumerate(rows)]
    (tmp_path / "s.csv").write_text("x,d,t\n" + "".join(lines))
    given, made = f"s={tmp_path / 's.csv'}", tmp_path / name
    shape = [] if name.endswith("jsonl") else ["--table"]
    ran = driftline("run", tmp_path / "write.sql", "-i", given, "-o", made, *shape)
    assert (ran.code, ran.err) == (0, "")
    again = tmp_path / "again.parquet"
    ran = driftline("run", tmp_path / "read.sql", "-i", f"result={made}", "-o", again, "--table")
    assert (ran.code, ran.err) in (
        (0, ""),
        (0, "driftline: no row of result has a column vs: it is null\n"),
    )
    table = pq.read_table(again)
    assert [(r["x"], r["y"], r["d"]) for r in table.to_pylist()] == [(x, x, d) for x, d in rows]


def test_far_lifetimes_are_read_back(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (x INT) WITH (timestamps = true); SELECT x FROM s"
    )
    times = '"vs":-9000000000000000000,"ve":9000000000000000000'
    log = f'{{"stream":"s","kind":"insert",{times},"row":{{"x":1}}}}\n'
    (tmp_path / "s.jsonl").write_text(log)
    one = tmp_path / "one.jsonl"
    assert driftline("run", tmp_path / "q.sql", "-i", tmp_path / "s.jsonl", "-o", one).code == 0
    assert '"vs":"-283229-05-10T08:00:00Z","ve":"+287168-08-24T16:00:00Z"' in one.read_text()
    assert driftline("check", one).code == 0
    ran = driftline("history", one)
    assert '"vs":"-283229-05-10T08:00:00Z","ve":"+287168-08-24T16:00:00Z"' in ran.out


def test_far_times_are_drawn(tmp_path: Path) -> None:
    (tmp_path / "write.sql").write_text(
        WRITE.replace("ts,", "ts, array(timestamp_micros(x)) AS a,")
    )
    (tmp_path / "s.csv").write_text(f"x,d,t\n{2**62},{10**7},1\n")
    shown = driftline_on_a_terminal(
        "run",
        tmp_path / "write.sql",
        "-i",
        f"s={tmp_path / 's.csv'}",
        "--table",
        "--runner",
        "local",
    )
    assert "+148108-07-06T14:00:27.387904Z" in shown
    assert '["+148108-07-06T14:00:27.387904Z"]' in shown
