"""Plain records in several files, and in CSV that is written in other ways."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.run import Ran, driftline

SCRIPT = """
CREATE STREAM t (k STRING, v INT, ts TIMESTAMP) WITH (time = 'ts'{});
SELECT k, v, ts FROM t;
"""
US = 'k;v;ts\na;1;01/05/2026 09:00\nb;2;13/05/2026 09:00\n"c;\nd";3;01/06/2026 10:30\n'
OPTIONS = "delimiter=;&timestampFormat=MM/dd/yyyy HH:mm"
ROWS = [
    {"k": "a", "v": 1, "ts": "2026-01-05T09:00:00Z"},
    {"k": "c;\nd", "v": 3, "ts": "2026-01-06T10:30:00Z"},
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.sql").write_text(SCRIPT.format(""))


def ran(*inputs: str, stdin: bytes = b"") -> Ran:
    more = [part for each in inputs for part in ("-i", each)]
    letters = ["--dead-letters", "dead.jsonl", "--view", "current"]
    return driftline("run", "q.sql", *more, "--runner", "local", *letters, stdin=stdin)


def rows(*inputs: str, stdin: bytes = b"") -> list[dict[str, object]]:
    found = ran(*inputs, stdin=stdin)
    assert found.code == 0, found.err
    return [json.loads(line) for line in found.out.splitlines()]


def letters() -> list[tuple[str, int]]:
    lines = map(json.loads, Path("dead.jsonl").read_text().splitlines())
    return [(each["source"], each["line"]) for each in lines]


def test_another_delimiter_and_another_way_to_write_times() -> None:
    Path("us.csv").write_text(US)
    assert rows(f"t=us.csv?{OPTIONS}") == ROWS
    (letter,) = map(json.loads, Path("dead.jsonl").read_text().splitlines())
    assert letter["reason"] == (
        "'13/05/2026 09:00' in the column ts is not a TIMESTAMP as MM/dd/yyyy HH:mm"
    )
    assert (letter["source"], letter["line"], letter["column"]) == ("us.csv", 3, "ts")


def test_it_is_the_same_wherever_a_file_is_named() -> None:
    Path("data.txt").write_text(US)
    Path("dir").mkdir()
    Path("dir/1.csv").write_text(US)
    assert rows(f"t=data.txt?format=csv&{OPTIONS}") == ROWS
    assert rows(f"t=dir?{OPTIONS.replace('delimiter', 'sep')}") == ROWS
    assert rows(f"t=-?{OPTIONS}", stdin=US.encode()) == ROWS
    path = (
        ", path = 'data.txt', format = 'csv', delimiter = ';', timestampFormat = 'MM/dd/yyyy HH:mm'"
    )
    Path("q.sql").write_text(SCRIPT.format(path))
    assert rows() == ROWS


def test_tabs_and_dates() -> None:
    Path("q.sql").write_text(
        "CREATE STREAM t (d DATE, o BIGINT) WITH (time = 'o'); SELECT d FROM t;"
    )
    Path("t.csv").write_text("d\to\n31.12.2025\t1\n")
    assert rows(r"t=t.csv?delimiter=\t&dateFormat=dd.MM.yyyy") == [{"d": "2025-12-31"}]


def test_files_come_one_after_another() -> None:
    Path("b.csv").write_text("k,v,ts\nb,2,2026-01-02\nx,oops,2026-01-02\n")
    Path("a.csv").write_text("k,v,ts\nx,oops,2026-01-01\na,1,2026-01-01\n")
    Path("c.jsonl").write_text('{"k":"c","v":3,"ts":"2026-01-03"}\noops\n')
    table = {"k": ["d"], "v": pa.array([4], pa.int32()), "ts": ["2026-01-04"]}
    pq.write_table(pa.table(table), "d.parquet")
    found = rows("t=b.csv", "t=a.csv", "t=c.jsonl", "t=d.parquet")
    assert [each["k"] for each in found] == ["a", "b", "c", "d"]
    assert letters() == [("b.csv", 3), ("a.csv", 2), ("c.jsonl", 2)]
    assert [each["k"] for each in rows("t=[ab].csv")] == ["a", "b"]
    assert letters() == [("a.csv", 2), ("b.csv", 3)]


def test_many_files_are_the_one_they_are_cut_from() -> None:
    some = random.Random(1)
    lines = [f"k{some.randrange(5)},{n},2026-01-{some.randrange(1, 29):02}" for n in range(500)]
    Path("whole.csv").write_text("\n".join(["k,v,ts", *lines]))
    cuts = sorted(some.sample(range(501), 6))
    for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, 500], strict=True)):
        Path(f"part{number}.csv").write_text("\n".join(["k,v,ts", *lines[first:last]]))
    assert rows("t=part*.csv") == rows("t=whole.csv")


def test_a_pattern_names_streams_by_the_files() -> None:
    Path("q.sql").write_text(
        "CREATE STREAM a (v INT, ts BIGINT) WITH (time = 'ts');"
        "CREATE STREAM b (v INT, ts BIGINT) WITH (time = 'ts');"
        "SELECT v FROM a UNION ALL SELECT v FROM b;"
    )
    Path("a.csv").write_text("v,ts\n1,1\n")
    Path("b.csv").write_text("v,ts\n2,1\n")
    assert rows("*.csv") == [{"v": 1}, {"v": 2}]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("t=t.csv?delimiter=;;", "the delimiter of CSV is one character, not ';;'"),
        ('t=t.csv?delimiter="', "the delimiter of CSV is one character, not '\"'"),
        ("t=t.csv?delim=;", "--input: t.csv: a file has no option delim; there are format"),
        ("t=t.csv?format=xml", "--input: format is one of json, csv, parquet, log, not xml"),
        ("t=t.csv?timestampFormat=QQ", "[INVALID_DATETIME_PATTERN] 'QQ' is not a pattern"),
        ("t=t.jsonl?delimiter=;", "--input: delimiter is for CSV, and this is json"),
        ("t=kafka://h:1/t?delimiter=;", "--input: delimiter is for CSV, and this is json"),
        ("t=x*.csv", "--input: x*.csv: there is no such file"),
        ("t=t.txt", "--input: t.txt: its format is inferred from .jsonl, .csv or .parquet"),
        ("t=t.csv?format=parquet", "t.csv: this is not a Parquet file that can be read"),
    ],
)
def test_what_is_refused(given: str, error: str) -> None:
    Path("t.csv").write_text("k,v,ts\n")
    Path("t.jsonl").write_text('{"k":"c","v":3,"ts":"2026-01-03"}\n')
    Path("t.txt").write_text("")
    found = ran(given)
    assert found.code == 2
    assert found.err.removeprefix("driftline: ").startswith(error)


def test_an_output_is_none_of_the_files_of_a_pattern() -> None:
    Path("a.csv").write_text("k,v,ts\n")
    found = driftline("run", "q.sql", "-i", "t=*.csv", "-o", "a.csv", "--runner", "local")
    assert found.code == 2
    assert "--output a.csv is the same file as --input a.csv" in found.err


def test_a_pattern_is_not_followed() -> None:
    Path("a.csv").write_text("k,v,ts\n")
    found = driftline("run", "q.sql", "-i", "t=*.csv", "--follow", "--runner", "local")
    assert found.err == "driftline: --input: *.csv: --follow takes one file, or a directory\n"
