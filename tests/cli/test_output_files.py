"""Answers in Parquet are written group by group, and are there in full or not at all."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from driftline.cli import output_files
from tests.cli.run import Ran, driftline

QUERY = "CREATE STREAM s (t INT, x INT) WITH (time = 't'); SELECT 100 / x AS y FROM s;"


def _run(folder: Path, last: int) -> Ran:
    (folder / "q.sql").write_text(QUERY)
    rows = [f"{t},1\n" for t in range(20)] + [f"20,{last}\n"]
    (folder / "s.csv").write_text("t,x\n" + "".join(rows))
    given: list[str | Path] = [
        "run",
        folder / "q.sql",
        "-i",
        f"s={folder / 's.csv'}",
        "--runner",
        "local",
    ]
    return driftline(*given, "-o", folder / "out.parquet", "--batch", "4")


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_files, "ROW_GROUP", 5)


def test_all_groups_are_in_the_file(tmp_path: Path) -> None:
    assert _run(tmp_path, 2).code == 0
    file = pq.ParquetFile(tmp_path / "out.parquet")
    assert file.num_row_groups > 1
    rows = file.read().to_pylist()
    assert [row["y"] for row in rows if row["kind"] == "insert"] == [100.0] * 20 + [50.0]


def test_after_an_error_there_is_no_file(tmp_path: Path) -> None:
    assert _run(tmp_path, 0).code != 0
    assert {path.name for path in tmp_path.iterdir()} == {"q.sql", "s.csv"}


@pytest.mark.parametrize("runner", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_the_rows_that_are_there_in_the_end(tmp_path: Path, runner: str) -> None:
    script = tmp_path / "q.sql"
    script.write_text(
        "CREATE STREAM t (k STRING, ts BIGINT) WITH (time = 'ts');"
        "SELECT k, count(*) AS n FROM t GROUP BY k;"
    )
    (tmp_path / "t.csv").write_text("k,ts\nb,1\na,2\na,3\n")
    asked = ["run", str(script), "-i", f"t={tmp_path / 't.csv'}", "--runner", runner]
    asked += ["--view", "current"]
    wanted = [{"k": "a", "n": 2}, {"k": "b", "n": 1}]
    ran = driftline(*asked)
    assert [json.loads(line) for line in ran.out.splitlines()] == wanted
    if runner == "spark":
        return
    driftline(*asked, "-o", tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == '"k","n"\n"a",2\n"b",1\n'
    driftline(*asked, "-o", tmp_path / "o.parquet")
    assert pq.read_table(tmp_path / "o.parquet").to_pylist() == wanted
    history = driftline(*asked[:-1], "history")
    assert history.out == driftline(*asked[:-2], "--table").out
