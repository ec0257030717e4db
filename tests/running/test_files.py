"""Plain files that are read while a query runs: the same answers, and the right lines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftline as dl
from driftline.engine.readers import csv_records
from driftline.engine.readers.chunks import RecordFile, RecordForm
from driftline.engine.readers.inputs import events_from
from driftline.plan.errors import PlanError
from driftline.running.files import Lines, PlainFiles
from tests.cli.run import driftline

SOURCE = dl.stream("s", {"k": "STRING", "t": "BIGINT"}, time="t").plan.sources()["s"]
SCRIPT = """
CREATE STREAM s (k STRING, t BIGINT) WITH (time = 't', disorder = 2);
SELECT k, count(*) AS n FROM s [RANGE 5] GROUP BY k;
"""
ROWS = [(f"k{number % 3}", number // 2) for number in range(3000)]
LATE = (1700, 2600)  # the places of rows that come too late


@given(st.lists(st.lists(st.integers(1, 3), max_size=6), max_size=5))
def test_the_lines_of_all_parts(gaps: list[list[int]]) -> None:
    lines, expected, line = Lines(), [], 1
    for part in gaps:
        here = []
        for gap in part:
            line += gap
            here.append(line)
        lines.add(np.array(here, np.int64))
        expected += here
    assert [lines.of(number) for number in range(len(expected))] == expected


def test_lines_that_follow_each_other_take_no_room() -> None:
    lines = Lines()
    for start in range(0, 10_000, 1000):
        lines.add(np.arange(start, start + 1000) + 2)
    assert len(lines.numbers) == 10
    assert lines.of(9_999) == 10_001


def written(folder: Path, form: str) -> Path:
    """The rows in a file, some of them too late; in CSV also one that cannot be read, and one on
    two lines."""
    rows = [(k, 0) if number in LATE else (k, t) for number, (k, t) in enumerate(ROWS)]
    path = folder / f"s.{form}"
    if form == "parquet":
        columns = {"k": [k for k, _ in rows], "t": [t for _, t in rows]}
        pq.write_table(pa.table(columns), path, row_group_size=900)
        return path
    lines = [f"{k},{t}\n" for k, t in rows]
    lines[5] = '"k\n2",2\n'
    lines.insert(2000, "oops\n")
    path.write_text("k,t\n" + "".join(lines))
    return path


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_file_in_parts_is_the_whole_file(
    form: RecordForm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, form)
    whole = events_from(SOURCE, path)
    monkeypatch.setattr(csv_records, "BLOCK_BYTES", 4096)
    file = PlainFiles(SOURCE, [RecordFile(path, form)])
    for _ in range(2):  # it can be read again
        parts = list(file.parts(1024))
        assert len(parts) > 3
        assert np.concatenate([part.position for part in parts]).tolist() == list(range(len(whole)))
        assert np.concatenate([part.vs for part in parts]).tolist() == whole.vs.tolist()
        assert sum(len(part.bad) for part in parts) == len(whole.bad)
        assert whole.lines is not None
        found = [file.places.lines.of(number) for number in range(len(whole))]
        assert found == whole.lines.tolist()


@pytest.mark.parametrize(("form", "lines"), [("csv", [1703, 2604]), ("parquet", [1701, 2601])])
def test_dead_letters_name_the_lines(
    form: str, lines: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_records, "BLOCK_BYTES", 4096)
    (tmp_path / "q.sql").write_text(SCRIPT)
    path, dead = written(tmp_path, form), tmp_path / "dead.jsonl"
    query, out = tmp_path / "q.sql", tmp_path / "out.jsonl"
    ran = driftline(
        "run", query, "-i", f"s={path}", "--dead-letters", dead, "--output", out, "--batch", "300"
    )
    assert ran.code == 0, ran.err
    letters = [json.loads(line) for line in dead.read_text().splitlines()]
    late = [each for each in letters if "too late" in each["reason"]]
    assert [each["line"] for each in late] == lines
    assert {each["source"] for each in letters} == {str(path)}
    unread = [each["line"] for each in letters if each not in late]
    assert unread == ([2003] if form == "csv" else [])


def test_queries_of_several_consistencies_read_a_file_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_records, "BLOCK_BYTES", 4096)
    path = written(tmp_path, "csv")
    (tmp_path / "q.sql").write_text(
        "CREATE STREAM s (k STRING, t BIGINT) WITH (time = 't', disorder = 2);\n"
        "CREATE STREAM one AS SELECT k, count(*) AS n FROM s GROUP BY k;\n"
        "SET block = 3; CREATE STREAM two AS SELECT k, count(*) AS n FROM s GROUP BY k;\n"
    )
    opened: list[Path] = []
    init = csv_records.CsvFile.__init__

    def count(self: csv_records.CsvFile, source: object, what: Path, *rest: str) -> None:
        opened.append(what)
        init(self, source, what, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(csv_records.CsvFile, "__init__", count)
    ran = driftline(
        "run", tmp_path / "q.sql", "-i", f"s={path}", "--table", "--output", "-", "--batch", "300"
    )
    assert ran.code == 0, ran.err
    assert opened == [path]
    rows = [json.loads(line) for line in ran.out.splitlines()]
    tables = [
        [{**row, "stream": ""} for row in rows if row["stream"] == name] for name in ("one", "two")
    ]
    assert tables[0] == tables[1] != []


def test_a_column_that_is_missing_is_named_before_anything_is_written(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": ["a"]}), tmp_path / "s.parquet")
    (tmp_path / "q.sql").write_text(SCRIPT)
    out = tmp_path / "out.jsonl"
    ran = driftline("run", tmp_path / "q.sql", "-i", tmp_path / "s.parquet", "--output", out)
    assert ran.code != 0
    assert ran.err == "driftline: the stream s has no column t; it has k\n"
    assert not out.exists()


def test_what_is_no_parquet_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(PlanError, match=r"s\.parquet: "):
        list(PlainFiles(SOURCE, [RecordFile(tmp_path / "s.parquet", "parquet")]).parts(10))
